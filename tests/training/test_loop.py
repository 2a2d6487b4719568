import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.agent.export import actors
from recall_rl.collect.episode import Purpose
from recall_rl.collect.row import Row
from recall_rl.collect.worker import Collect, InlineWorker, Play
from recall_rl.errors import UsageError
from recall_rl.memory.segment import row_bytes
from recall_rl.methods.draws import half_past
from recall_rl.methods.find import method as find
from recall_rl.methods.method import Method, Phase, Start
from recall_rl.methods.starts import best_return
from recall_rl.tasks.protocol import PROTOCOLS
from recall_rl.tasks.sequences import sequence
from recall_rl.training import loop
from recall_rl.training.config import TrainingConfig
from recall_rl.training.loop import Setup, learn
from recall_rl.training.team import MachineConfig, Team

NET = NetworkConfig(width=16, trunk=1)
AGENT = AgentConfig(actor=NET, critic=NET, batch=16)
TRAINING = TrainingConfig(steps=200, start_steps=40, update_after=40, chunk=20, evaluate_every=100)
OWN = dataclasses.replace(PROTOCOLS["own"], episodes=4)


def setup(tasks="probe", method=None, seed=0, **training):
    return Setup(
        sequence(tasks, OWN),
        method or Method(),
        OWN,
        AGENT,
        dataclasses.replace(TRAINING, **training),
        seed,
        Row(4, 2),
    )


class Recorder(InlineWorker):
    """A worker that notes what it is asked."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def send(self, request):
        self.asked.append(request)
        super().send(request)


def team(workers=1):
    made = Team(MachineConfig(workers=workers), inline=True)
    made.collecting = [Recorder() for _ in range(workers)]
    made.evaluating = [Recorder()]
    return made


def play(given, workers=1):
    """(every progress without its agent, bytes of all parameters after each chunk, the team)."""
    crew, seen, weights = team(workers), [], []
    for progress in learn(given, crew):
        seen.append(dataclasses.replace(progress, agent=None))
        weights.append([np.asarray(x).tobytes() for x in jax.tree.leaves(progress.agent.heads.params)])
    return seen, weights, crew


def test_the_same_seed_gives_the_same_bits_and_another_does_not():
    first, second, other = play(setup()), play(setup()), play(setup(seed=1))
    assert first[0] == second[0]
    assert first[1] == second[1]
    assert first[1][-1] != other[1][-1]


def test_one_and_two_workers_with_two_lanes_agree():
    one, two = play(setup(lanes=2)), play(setup(lanes=2), workers=2)
    assert one[0] == two[0]
    assert one[1] == two[1]
    assert all(worker.asked for worker in two[2].collecting)


@pytest.mark.parametrize("lag", [0, 1])
def test_a_chunk_acts_with_the_weights_that_the_lag_says(lag):
    """Chunk c acts with the weights after chunk c - 1 - lag of its stage."""
    given, crew, after = setup("reach-0", lag=lag), team(), []
    for progress in learn(given, crew):
        after.append(actors(progress.agent, given.method, given.agent, [0])[0].layers[0].w)
    sent = [ask.stretches[0].actor for ask in crew.collecting[0].asked if isinstance(ask, Collect)]
    assert len(sent) == 10
    assert sent[0] is sent[1] is None, "the first 40 steps are random"
    for c in range(2, 10):
        np.testing.assert_array_equal(sent[c].layers[0].w, after[c - 1 - lag])
    assert not np.array_equal(after[-2], after[0])


def test_evaluations_cover_the_tasks_met_and_count_the_others_zero():
    seen, _, crew = play(setup("reach-0,reach-90,reach-180"))
    evaluations = [p.evaluation for p in seen if p.evaluation]
    assert [e.step for e in evaluations] == [100, 200, 300, 400, 500, 600]
    assert [len(e.scores) for e in evaluations] == [1, 1, 2, 2, 3, 3]
    for e in evaluations:
        assert e.average == pytest.approx(sum(s.success for s in e.scores) / 3)
    addresses = [job.address for ask in crew.evaluating[0].asked for job in ask.jobs]
    assert len(set(addresses)) == len(addresses) == 4 * (1 + 1 + 2 + 2 + 3 + 3)
    assert {a.purpose for a in addresses} == {Purpose.EVALUATE}


def test_reports_count_every_training_episode_once():
    seen, _, _ = play(setup("reach-0"))
    reports = [p.report for p in seen if p.report]
    assert [r.step for r in reports] == [100, 200]
    assert sum(r.episodes for r in reports) == 10
    assert reports[0].learning.keys() == reports[1].learning.keys() > {"critic_loss", "actor_loss", "alpha"}


def test_the_first_task_does_not_know_what_follows():
    short, long = play(setup("reach-0")), play(setup("reach-0,reach-180"))
    for x, y in zip(short[0][:10], long[0][:10], strict=True):
        assert (x.step, x.report) == (y.step, y.report)


def test_trials_are_played_one_head_at_a_time_and_stay_out_of_memory_and_evaluations():
    tried = []

    def begin(agent, stage, returns):
        tried.append(returns)
        return agent

    start = Start(candidates=best_return().candidates, begin=begin)
    plain, with_trials = play(setup()), play(setup(method=Method(start=start)))
    assert [sorted(returns) for returns in tried] == [[], [0]]
    trials = [ask for ask in with_trials[2].collecting[0].asked if isinstance(ask, Play)]
    assert [{job.address.purpose for job in ask.jobs} for ask in trials] == [{Purpose.TRIAL}]
    assert plain[0] == with_trials[0]
    assert plain[1] == with_trials[1]


def test_rows_of_the_old_task_are_forgotten_by_fine_tuning():
    drawn = []

    def spy(memory, stage, *rest):
        drawn.append((stage.new, set(memory.segments)))
        return Method().draw.batches(memory, stage, *rest)

    method = Method(draw=dataclasses.replace(Method().draw, batches=spy))
    play(setup(method=method))
    assert {(new, tuple(kept)) for new, kept in drawn} == {((0,), (0,)), ((1,), (1,))}


def spied(monkeypatch):
    """The batches that every update is given."""
    seen, original = [], loop.make_update

    def make(*args):
        update = original(*args)

        def noting(agent, batches, anchored):
            seen.append(batches)
            return update(agent, batches, anchored)

        return noting

    monkeypatch.setattr(loop, "make_update", make)
    return seen


def test_a_budget_of_bytes_bounds_what_is_remembered():
    sizes = []
    forget = half_past().forget

    def noting(memory, stage, rng):
        sizes.append(memory.size())
        forget(memory, stage, rng)

    method = dataclasses.replace(find("naive-replay"), draw=dataclasses.replace(half_past(), forget=noting))
    one = 200 * row_bytes(Row(4, 2), 20)
    *_, last = learn(setup(method=method, memory_bytes=one + 2000), team(1))
    assert sizes[1] > 2000, "the first task gathered more than is left beside the second"
    assert last.tables is not None
    assert sum(table.size() for table in last.tables()) <= one + 2000
    with pytest.raises(UsageError, match="one stage alone"):
        play(setup(method=method, memory_bytes=1000))


def test_the_anchor_holds_once_a_stage_has_ended():
    anchor = dataclasses.replace(Method().anchor, loss=lambda kept, config, params, seen, groups: jnp.ones(()))
    progress, *_ = play(setup(method=Method(anchor=anchor)))
    losses = [(p.stage, p.report.learning["anchor_loss"]) for p in progress if p.report and p.report.learning]
    assert set(losses) == {(0, 0.0), (1, 1.0)}


def test_the_learning_rate_falls_within_each_task(monkeypatch):
    seen = spied(monkeypatch)
    play(setup(anneal=0.1))
    rates = np.array([float(b.rate) for b in seen])
    np.testing.assert_allclose(rates, np.tile(1 - 0.9 * np.arange(1, 10) / 10, 2), rtol=1e-6)
    seen.clear()
    play(setup())
    assert {float(b.rate) for b in seen} == {1.0}


def test_tasks_learnt_together_gather_and_learn_a_share_each(monkeypatch):
    seen = spied(monkeypatch)
    progress, _, crew = play(setup("reach-0,reach-90,reach-180", method=find("mtl")))
    assert progress[-1].step == progress[-1].steps == 600
    assert {p.new for p in progress} == {(0, 1, 2)}
    gathered = [s for ask in crew.collecting[0].asked if isinstance(ask, Collect) for s in ask.stretches]
    assert [sum(s.steps for s in gathered if s.position == p) for p in range(3)] == [200] * 3
    assert len(seen) == 9
    assert seen[0].learn.rows.shape[:2] == (60, 16)
    np.testing.assert_array_equal(np.bincount(seen[0].learn.slot[0]), [6, 5, 5])


def test_old_environments_are_visited_again_if_asked_and_their_old_rows_dropped(monkeypatch):
    lengths = []

    def spy(memory, stage, *rest):
        lengths.append((stage.new[0], {p: len(s) for p, s in memory.segments.items()}))
        return find("perfect-memory").draw.batches(memory, stage, *rest)

    method = dataclasses.replace(find("perfect-memory"), draw=dataclasses.replace(half_past(), batches=spy))
    progress, _, crew = play(setup(method=method, revisit=True))
    assert progress[-1].steps == 400, "visits are not counted as steps"
    assert lengths[-1] == (1, {0: 200, 1: 200})
    assert next(kept for new, kept in lengths if new == 1) == {0: 40, 1: 40}
    second = [ask for ask in crew.collecting[0].asked if isinstance(ask, Collect)][10:]
    assert all({s.position for s in ask.stretches} == {0, 1} for ask in second)
    first_chunk = {s.position: s.actor for s in second[0].stretches}
    assert first_chunk[1] is None, "the new task starts at random"
    assert first_chunk[0] is not None, "an old one acts with its policy"


def test_later_tasks_may_start_with_their_policy():
    _, _, crew = play(setup(explore_again=False))
    sent = [ask.stretches[0].actor for ask in crew.collecting[0].asked if isinstance(ask, Collect)]
    assert [actor is None for actor in sent[:2] + sent[10:12]] == [True, True, False, False]


def test_a_phase_after_a_task_learns_without_gathering_and_before_the_evaluation(monkeypatch):
    seen, begun = spied(monkeypatch), []

    def begin(agent, stage, config):
        begun.append((stage.new, len(seen)))
        return agent

    phase = Phase(begin, updates=lambda agent, stage, training: 60)
    progress, _, crew = play(setup(method=Method(settle=(phase,))))
    assert begun == [((0,), 9), ((1,), 9 + 3 + 9)]
    assert len(seen) == 2 * (9 + 3)
    assert len([ask for ask in crew.collecting[0].asked if isinstance(ask, Collect)]) == 20
    assert [p.step for p in progress].count(200) == 1 + 3
    asked = [ask.jobs[0].address for ask in crew.evaluating[0].asked]
    assert len(asked) == 4
