"""Evaluations whose cost does not grow with the number of tasks."""

import dataclasses
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from processes import SMALL

import recall_rl
from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.analysis.metrics import average_performance, final_performance, forgetting
from recall_rl.analysis.read import read
from recall_rl.collect.episode import Address, Purpose
from recall_rl.collect.play import Player, play
from recall_rl.collect.policy import Actor, Dense
from recall_rl.collect.row import Row
from recall_rl.collect.worker import InlineWorker, Play
from recall_rl.methods.method import Method
from recall_rl.runs.config import resolve
from recall_rl.tasks.probes import probe_task
from recall_rl.tasks.protocol import PROTOCOLS
from recall_rl.tasks.sequences import sequence
from recall_rl.tasks.task import Stage
from recall_rl.training.config import TrainingConfig
from recall_rl.training.loop import Setup, learn
from recall_rl.training.recipe import IN_TURN, Recipe
from recall_rl.training.team import MachineConfig, Team

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))
import made_up

ONE_BY_ONE = tuple(Stage(new=(p,)) for p in range(9))


def steps_of(stages, steps, every):
    """The steps of a run at which it is evaluated."""
    before = 0
    for stage in stages:
        inside = [*range(every, steps, every), steps]
        yield from (before + len(stage.new) * k for k in inside)
        before += len(stage.new) * steps


@pytest.mark.parametrize("every", [100, 30, 1000])
def test_flat_plays_the_new_tasks_and_two_old_ones_in_turn_and_all_at_the_end(every):
    recipe = Recipe("flat", ONE_BY_ONE, 100, every)
    moments = [recipe.at(step) for step in steps_of(ONE_BY_ONE, 100, every)]
    for moment in moments[:-1]:
        assert set(moment.new) <= set(moment.played) <= set(moment.met)
        assert len(moment.played) == min(len(moment.met), 1 + IN_TURN)
    assert moments[-1].played == moments[-1].met == tuple(range(9))


def test_every_old_task_has_its_turn_even_where_several_are_learnt_together():
    for stages in (
        (*ONE_BY_ONE[:7], Stage(new=(7,))),
        (Stage(new=(0, 1, 2, 3, 4, 5)), Stage(new=(6, 7, 8)), Stage((9,))),
    ):
        recipe = Recipe("flat", stages, 1000, 100)
        before = 1000 * sum(len(s.new) for s in stages[:-2])
        inside = [before + len(stages[-2].new) * k for k in range(100, 1001, 100)]
        old = set(recipe.at(inside[0]).met) - set(stages[-2].new)
        rounds = math.ceil(len(old) / IN_TURN)
        for k in range(len(inside) - rounds + 1):
            assert old <= {p for step in inside[k : k + rounds] for p in recipe.at(step).played}


def test_full_plays_all_tasks_met():
    recipe = Recipe("full", ONE_BY_ONE, 100, 50)
    for step in steps_of(ONE_BY_ONE, 100, 50):
        assert recipe.at(step).played == recipe.at(step).met == tuple(range(math.ceil(step / 100)))


def test_the_average_counts_old_tasks_that_were_not_played_as_the_mean_of_those_that_were():
    recipe = Recipe("flat", ONE_BY_ONE, 100, 50)
    played = recipe.at(550).played
    success = {p: 1.0 if p == 5 else 0.5 for p in played}
    assert recipe.average(550, success, 9) == (1.0 + 5 * 0.5) / 9
    assert recipe.average(100, {0: 0.7}, 9) == 0.7 / 9
    assert recipe.average(900, dict.fromkeys(range(9), 0.3), 9) == pytest.approx(0.3)


class Recorder(InlineWorker):
    """A worker that notes what it is asked."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def send(self, request):
        self.asked.append(request)
        super().send(request)


def evaluations(recipe):
    """The evaluations of a small run over five tasks, and the positions played in each."""
    net = NetworkConfig(width=16, trunk=1)
    protocol = dataclasses.replace(PROTOCOLS["own"], episodes=2, recipe=recipe)
    training = TrainingConfig(steps=80, start_steps=40, update_after=40, chunk=20, evaluate_every=40)
    tasks = sequence("reach-0,reach-90,reach-180,reach-270,reach-0@2", protocol)
    made = Team(MachineConfig(), inline=True)
    made.evaluating = [Recorder()]
    setup = Setup(tasks, Method(), protocol, AgentConfig(actor=net, critic=net, batch=16), training, 0, Row(4, 2))
    found = [p.evaluation for p in learn(setup, made) if p.evaluation]
    return found, [
        [job.address.position for job in ask.jobs] for ask in made.evaluating[0].asked if isinstance(ask, Play)
    ]


def test_a_flat_run_plays_less_and_finds_the_same_where_it_plays():
    flat, flat_played = evaluations("flat")
    full, full_played = evaluations("full")
    assert [len(p) for p in full_played] == [2 * n for n in (1, 1, 2, 2, 3, 3, 4, 4, 5, 5)]
    assert [len(p) for p in flat_played] == [2 * n for n in (1, 1, 2, 2, 3, 3, 3, 3, 3, 5)]
    for one, other in zip(flat, full, strict=True):
        assert set(one.scores) <= set(other.scores)
    assert flat[-1] == full[-1]


def test_a_flat_run_can_be_extended_to_the_bytes_of_the_longer_one(tmp_path):
    few = {**SMALL, "training.steps": 120, "protocol.recipe": "flat"}
    first, more = "reach-0,reach-90,reach-180,reach-270", "reach-0@10"
    short = recall_rl.train(first, budget="smoke", out=tmp_path / "short", settings=few)
    assert len(list(short.evaluations())[-1]["scores"]) == 4
    grown = recall_rl.extend(short.path, more, tmp_path / "grown")
    known = recall_rl.train(f"{first},{more}", budget="smoke", out=tmp_path / "known", settings=few)
    for file in ("config.json", "journal.jsonl", "weights.safetensors"):
        assert (grown.path / file).read_bytes() == (known.path / file).read_bytes(), file


def test_identities_are_those_of_before_and_flat_runs_have_others():
    plain = resolve(sequence="probe")
    assert plain.identity() == "75affe9223cb6e27", "the identity that this config had before there were recipes"
    flat = resolve(sequence="probe", settings=["protocol.recipe=flat"])
    assert flat.identity() != plain.identity()
    assert flat.protocol.name == "own+changed"
    old = json.loads(plain.to_json())
    del old["protocol"]["recipe"]
    del old["machine"]["fast_environments"]
    assert resolve(file=old) == plain, "a config from before can be read"


def test_what_was_not_played_keeps_what_was_found_last(tmp_path):
    tasks, each = "reach-0,reach-90,reach-180,reach-270,reach-0@2", 4
    full = made_up.curves(5, kept=0.6, each=each)
    recipe = Recipe("flat", tuple(Stage(new=(p,)) for p in range(5)), each, 1)
    flat = full.copy()
    for k in range(len(full)):
        flat[k, [p for p in range(5) if p not in recipe.at(k + 1).played]] = np.nan
    assert np.isnan(flat).sum() > np.isnan(full).sum()
    made_up.write(tmp_path, "full", sequence=tasks, success=full)
    made_up.write(tmp_path, "flat", sequence=tasks, success=flat, **{"protocol.recipe": "flat"})
    by_name = {r.name: r for r in read([tmp_path]).results}
    one, other = by_name["flat"], by_name["full"]
    assert "recipe=flat" in one.setting.protocol
    assert one.setting != other.setting, "figures of different recipes never meet"
    assert (one.played == ~np.isnan(flat)).all()
    assert (np.isnan(one.success) == np.isnan(full)).all()
    assert (one.success[one.played] == full[one.played]).all()
    assert final_performance(one.success) == final_performance(full)
    assert forgetting(one.success) == forgetting(full)
    assert np.abs(average_performance(one.success) - average_performance(full)).max() < 0.2


def test_a_report_of_flat_runs_can_be_made(tmp_path):
    pytest.importorskip("matplotlib")
    from recall_rl.reports.report import gather, write_report

    full = made_up.curves(5, kept=0.6)
    flat = full.copy()
    flat[14:19, :2] = np.nan
    for seed in range(2):
        for ended in (True, False):
            made_up.write(
                tmp_path / "runs",
                f"flat-{seed}-{ended}",
                sequence="reach-0,reach-90,reach-180,reach-270,reach-0@2",
                seed=seed + 10 * ended,
                success=flat if ended else flat[:17],
                ended=ended,
                **{"protocol.recipe": "flat"},
            )
    page = write_report(gather([tmp_path / "runs"]), tmp_path / "out")
    assert "recipe=flat" in page.read_text()


def test_an_episode_that_stops_at_success_succeeds_as_often():
    """Played by a policy that goes straight to the goal, with enough noise to miss it at times."""
    straight = np.array([[-5, 0, 0, 0], [0, -5, 0, 0], [5, 0, 0, 0], [0, 5, 0, 0]], np.float32)
    actor = Actor((Dense(straight, np.array([0, 0, -0.5, -0.5], np.float32)),), "relu")
    task = probe_task("reach-0")
    assert task is not None
    player = Player("reach-0", task.make())

    def episodes(stop):
        addresses = [Address(0, Purpose.EVALUATE, 0, 0, number) for number in range(40)]
        return [play(player, address, actor, True, stop, lambda: None) for address in addresses]

    whole, stopped = episodes(False), episodes(True)
    assert [e.success for e in stopped] == [e.success for e in whole]
    assert {e.success for e in whole} == {True, False}
    assert all(e.length == 20 for e in whole)
    assert sum(e.length for e in stopped) < sum(e.length for e in whole)
    assert all(e.length == 20 for e in stopped if not e.success)
