import numpy as np
import pytest

from recall_rl.collect.collector import Collector
from recall_rl.collect.episode import Address, Dice, Purpose, uniform
from recall_rl.collect.play import Lane, Player
from recall_rl.collect.policy import Actor, Dense
from recall_rl.collect.row import Row
from recall_rl.collect.worker import InlineWorker, ProcessWorker, WorkerLostError
from recall_rl.errors import RunError
from recall_rl.tasks.probes import Constant, Reach
from recall_rl.tasks.task import Task

TASK = Task("reach", "recall_rl.tasks.probes:Reach", {})
ROW = Row(4, 2)


def test_a_row_holds_each_number_once():
    row = Row(3, 2)
    places = [*range(10)][row.observation], [*range(10)][row.action], [*range(10)][row.next_observation]
    assert sorted([*places[0], *places[1], row.reward, row.terminated, *places[2]]) == list(range(row.width))


def test_rows_follow_one_another_and_ends_are_marked():
    row = Row(2, 1)
    for terminates in (True, False):
        lane = Lane(Player("c", Constant(reward=3.0, length=4, terminates=terminates, clock=True)), 0, 0, 0, 1)
        rows, ended = lane.collect(10, None, lambda: None)
        assert [e.length for e in ended] == [4, 4]
        assert [e.number for e in ended] == [0, 1]
        assert [e.total for e in ended] == [12.0, 12.0]
        np.testing.assert_array_equal(rows[:, row.reward], 3.0)
        marked = [3, 7] if terminates else []
        np.testing.assert_array_equal(np.flatnonzero(rows[:, row.terminated]), marked)
        time, then = rows[:, row.observation][:, 1], rows[:, row.next_observation][:, 1]
        np.testing.assert_allclose(then - time, 0.25, err_msg="the final observation is the episode's own")


def test_collecting_in_pieces_is_collecting_at_once():
    def lane():
        return Lane(Player("r", Reach()), 5, 2, 0, 1)

    whole, _ = lane().collect(90, None, lambda: None)
    pieces = lane()
    parts = [pieces.collect(n, None, lambda: None)[0] for n in (1, 19, 20, 50)]
    assert whole.tobytes() == np.concatenate(parts).tobytes()


def test_uniform_actions_are_uniform():
    dice = Dice(Address(0, Purpose.TRAIN, 0, 0, 0), 1000)
    actions = np.sort(np.concatenate([uniform(dice.noise()) for _ in range(20)]))
    assert np.abs(actions - np.linspace(-1, 1, len(actions))).max() < 0.02


def gather(workers, lanes, chunks=4):
    collector = Collector(workers, run_seed=3, lanes=lanes, row=ROW)
    out = []
    for _ in range(chunks):
        collector.begin([(0, TASK, 48, None)])
        (chunk,) = collector.finish()
        out.append((chunk.rows.tobytes(), chunk.ended))
    return out


def test_the_number_and_kind_of_workers_changes_nothing():
    workers = [ProcessWorker(patience=30) for _ in range(2)]
    try:
        expected = gather([InlineWorker()], lanes=4)
        assert gather(workers, lanes=4) == expected
        assert gather([InlineWorker() for _ in range(3)], lanes=4) == expected
        assert gather([InlineWorker()], lanes=2) != expected, "the number of lanes does"
    finally:
        for worker in workers:
            worker.close()


def test_a_worker_that_dies_is_replaced_and_no_row_is_missing_or_doubled():
    workers = [ProcessWorker(patience=30) for _ in range(2)]
    expected = gather([InlineWorker()], lanes=4, chunks=6)
    collector, out = Collector(workers, run_seed=3, lanes=4, row=ROW), []
    try:
        for k in range(6):
            if k == 2:
                workers[0]._process.kill()  # Before it is asked.
                workers[0]._process.wait()
            collector.begin([(0, TASK, 48, None)])
            if k == 4:
                workers[1]._process.kill()  # While it works, or with its answer on the way.
            (chunk,) = collector.finish()
            out.append((chunk.rows.tobytes(), chunk.ended))
    finally:
        for worker in workers:
            worker.close()
    assert out == expected
    assert collector.given_up == 0


class Unlucky(InlineWorker):
    """A worker whose process is gone this often when its answer is waited for."""

    def __init__(self, times):
        super().__init__()
        self.left = times

    def receive(self):
        if self.left:
            self.left -= 1
            raise WorkerLostError("gone")
        return super().receive()


def test_a_worker_may_die_three_times_over_one_request_but_not_more():
    expected = gather([InlineWorker()], lanes=1, chunks=2)
    assert gather([Unlucky(3)], lanes=1, chunks=2) == expected
    with pytest.raises(WorkerLostError):
        gather([Unlucky(4)], lanes=1, chunks=2)


def test_lanes_go_on_with_new_workers_where_they_were():
    first, expected = Collector([InlineWorker()], run_seed=3, lanes=2, row=ROW), gather([InlineWorker()], lanes=2)
    for _ in range(2):
        first.begin([(0, TASK, 48, None)])
        first.finish()
    second = Collector([InlineWorker(), InlineWorker()], run_seed=3, lanes=2, row=ROW)
    second.begin([(0, TASK, 48, None)], first.lanes())
    (chunk,) = second.finish()
    assert (chunk.rows.tobytes(), chunk.ended) == expected[2]
    second.begin([(0, TASK, 48, None)])
    (chunk,) = second.finish()
    assert (chunk.rows.tobytes(), chunk.ended) == expected[3]


def test_an_episode_that_does_not_repeat_itself_is_given_up():
    first = Collector([InlineWorker()], run_seed=3, lanes=1, row=ROW)
    first.begin([(0, TASK, 30, None)])
    (chunk,) = first.finish()
    ((place, episode),) = first.lanes().items()
    assert (episode.number, len(episode.actions)) == (1, 10)
    np.testing.assert_array_equal(episode.actions, chunk.rows[-10:, ROW.action])
    changed = episode._replace(observation=episode.observation + 1)
    second = Collector([InlineWorker()], run_seed=3, lanes=1, row=ROW)
    second.begin([(0, TASK, 20, None)], {place: changed})
    (chunk,) = second.finish()
    assert [e.number for e in chunk.ended] == [2], "the next one is played instead"
    assert second.given_up == 1


def test_lanes_share_out_the_episode_numbers():
    collector = Collector([InlineWorker()], run_seed=3, lanes=2, row=ROW)
    collector.begin([(0, TASK, 120, None)])
    (chunk,) = collector.finish()
    assert sorted(e.number for e in chunk.ended) == [0, 1, 2, 3, 4, 5]


def test_a_policy_that_diverged_is_told_from_a_broken_environment():
    bad = Actor((Dense(np.full((4, 4), np.nan, np.float32), np.zeros(4, np.float32)),), "relu")
    player = Player("reach", Reach())
    player.begin(Address(0, Purpose.TRAIN, 0, 0, 0))
    with pytest.raises(RunError, match="Learning diverged: the policy's action for task 'reach'"):
        player.step(bad)
