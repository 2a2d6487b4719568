"""What a plan needs, before it starts."""

import dataclasses
import json

import jax
import numpy as np
import pytest

from recall_rl.campaigns.estimate import agent_bytes, guess_row, hours, need, run_size, shown
from recall_rl.campaigns.jobs import jobs
from recall_rl.campaigns.measure import Measured, measure
from recall_rl.campaigns.plan import Member, Plan
from recall_rl.cli.main import main
from recall_rl.collect.row import Row
from recall_rl.methods.find import method
from recall_rl.methods.method import new_agent

PLAN = Plan("own", (Member("recall"),), ("reach-0,reach-90,reach-180", "reach-0,reach-180"), (0, 1), "smoke")


def jobs_of(name, **changes):
    return jobs(dataclasses.replace(PLAN, methods=(Member(name),), **changes))


@pytest.mark.parametrize("name", ["recall", "fine-tuning", "recall-paper"])
def test_weights_are_counted_as_they_are(name):
    (config,) = {job.config.agent: job.config for job in jobs_of(name)}.values()
    agent = new_agent(method(name, config.options), config.agent, Row(4, 2), 3, 0)
    trees = agent.shared.params, agent.heads.params
    real = sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves(trees))
    assert agent_bytes(config.agent, Row(4, 2), 3) == pytest.approx(real, rel=0.1)


def test_methods_that_keep_old_rows_need_room_for_them():
    long = {name: max(jobs_of(name), key=lambda job: len(job.tasks)) for name in ("recall", "fine-tuning")}
    keeping, forgetting = (run_size(long[name]) for name in ("recall", "fine-tuning"))
    assert keeping.memory > forgetting.memory
    many = dataclasses.replace(PLAN, sequences=(",".join(["reach-0", "reach-90"] * 5),), methods=(Member("recall"),))
    few = dataclasses.replace(many, methods=(Member("fine-tuning"),))
    assert run_size(jobs(many)[0]).rows == 5 * run_size(jobs(few)[0]).rows


def test_cleaning_needs_less_room_and_more_slots_more():
    found = jobs_of("recall", seeds=tuple(range(10)))
    one, four = need(found, 1), need(found, 4)
    assert one.disk_results < one.disk < four.disk < one.disk_kept == four.disk_kept
    assert one.memory == four.memory


def test_hours_are_those_of_the_tasks_that_are_learnt():
    measured = Measured(4, 2, gather=0.0, first=0.01, later=0.02, memory=10**9)
    found = jobs_of("recall", seeds=(0,))
    # One shared beginning of one task, then a run of one more task and one of two more.
    assert hours(found, measured) == pytest.approx(6000 * (0.01 + 0.02 + 2 * 0.02) / 3600)
    # Fine-tuning's later tasks cost it no more than its first.
    both = [*found, *jobs_of("fine-tuning", seeds=(0,))]
    assert hours(found, measured) < hours(both, measured) < 2 * hours(found, measured)
    assert hours(found, dataclasses.replace(measured, gather=0.001)) > hours(found, measured)
    assert hours(found, None) is None


def test_short_runs_are_measured_for_real():
    config = jobs_of("recall")[-1].config
    found = measure(config, slots=2, seconds=300)
    assert found is not None
    assert (found.observation_size, found.action_size) == (4, 2)
    assert guess_row(config) == Row(4, 2)
    assert found.gather > 0
    assert found.first > 0
    assert found.later > 0
    assert found.memory > 10**8


def test_runs_side_by_side_are_taken_together(monkeypatch):
    one = Measured(4, 2, gather=0.1, first=0.01, later=None, memory=10**9)
    two = Measured(4, 2, gather=0.3, first=0.03, later=0.05, memory=2 * 10**9, alone=False)
    found = iter([one, two, *[one] * 8, one, None])
    monkeypatch.setattr("recall_rl.campaigns.measure._measure_one", lambda config, seconds: next(found))
    config = jobs_of("recall")[0].config
    both = measure(config, slots=2)
    assert (both.gather, both.first, both.later) == pytest.approx((0.2, 0.02, 0.05))
    assert (both.memory, both.alone) == (2 * 10**9, False)
    assert measure(config, slots=100) == one  # Eight of them, however many slots.
    assert measure(config, slots=2) is None  # One did not come to an end.
    assert next(found, "over") == "over"


def test_what_cannot_be_measured_is_not_guessed():
    config = dataclasses.replace(jobs_of("recall")[0].config, sequence="gym:NoSuchThing-v0")
    assert measure(config, slots=2, seconds=1) is None


def test_a_measurement_that_ran_out_of_time_says_so(tmp_path, capsys, monkeypatch):
    path = tmp_path / "own.toml"
    path.write_text('methods = ["fine-tuning"]\nsequences = ["reach-0,reach-90"]\nseeds = [0]\nbudget = "smoke"\n')
    monkeypatch.setattr("recall_rl.campaigns.measure.measure", lambda config, slots: measure(config, slots, 0.0))
    assert main(["campaign", "plan", str(path)]) == 0
    said = capsys.readouterr().out
    assert "not measured" in said
    assert "machine is busy" in said


@pytest.mark.parametrize("alone", [True, False])
def test_hours_measured_beside_other_runs_are_said_to_be_too_many(tmp_path, capsys, monkeypatch, alone):
    path = tmp_path / "own.toml"
    path.write_text('methods = ["fine-tuning"]\nsequences = ["reach-0,reach-90"]\nseeds = [0]\nbudget = "smoke"\n')
    measured = Measured(4, 2, gather=0.0, first=0.01, later=0.02, memory=10**9, alone=alone)
    monkeypatch.setattr("recall_rl.campaigns.measure.measure", lambda config, slots: measured)
    assert main(["campaign", "plan", str(path)]) == 0
    assert ("hours are too many" in capsys.readouterr().out) == (not alone)


def test_a_plan_tells_what_it_needs_and_a_full_disk_is_refused(tmp_path, capsys):
    path = tmp_path / "own.toml"
    path.write_text('methods = ["recall"]\nsequences = ["reach-0,reach-90"]\nseeds = [0]\nbudget = "smoke"\n')
    assert main(["campaign", "plan", str(path), "--no-measure", "--json", "--slots", "3"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["runs"], told["steps"], told["slots"], told["measured"]) == (1, 12_000, 3, None)
    assert told["need"]["hours"] is None
    assert told["need"]["disk"] > 12_000 * 28
    assert main(["campaign", "plan", str(path), "--no-measure"]) == 0
    said = capsys.readouterr().out
    assert "disk, at most" in said
    assert shown(told["need"]["disk_results"]) in said
    assert main(["campaign", "plan", str(path), "--no-measure", "--done", str(tmp_path / "none")]) == 2
    assert "There is nothing at" in capsys.readouterr().err
    large = ["--set", "training.steps=1000000000000"]
    assert main(["campaign", "run", str(path), "--out", str(tmp_path / "out"), *large]) == 2
    said = capsys.readouterr().err
    assert "TB on the disk" in said
    assert not list((tmp_path / "out").glob("runs/*"))
