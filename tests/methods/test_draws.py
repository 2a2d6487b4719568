import numpy as np
import pytest

from recall_rl.agent.config import AgentConfig
from recall_rl.collect.row import Row
from recall_rl.errors import UsageError
from recall_rl.memory.memory import Memory
from recall_rl.memory.reservoir import ranks
from recall_rl.methods.draws import everything, half_past, reservoir, this_task, with_reference
from recall_rl.tasks.task import Stage

ROW, CONFIG = Row(1, 1), AgentConfig(batch=64)


def memory(lengths, tasks=5):
    """Rows whose reward tells their position and whose observation tells their number."""
    made = Memory(ROW, tasks)
    for position, length in lengths.items():
        rows = np.zeros((length, ROW.width), np.float32)
        rows[:, ROW.reward] = position
        rows[:, ROW.observation] = np.arange(length)[:, None]
        made.open(position, length)
        made.append(position, rows)
    return made


def test_half_of_each_batch_is_new_and_half_is_drawn_from_all_old_rows_alike():
    given = memory({0: 300, 1: 100, 3: 50})
    drawn = half_past().batches(given, Stage(new=(3,)), CONFIG, 200, 10**6, np.random.default_rng(0))
    positions = drawn.learn.rows[..., ROW.reward]
    np.testing.assert_array_equal(positions[:, :64], 3)
    assert set(np.unique(positions[:, 64:])) == {0, 1}
    assert abs((positions[:, 64:] == 0).mean() - 0.75) < 0.02
    np.testing.assert_array_equal(drawn.heads[drawn.learn.slot], positions, "each row's slot is its own head")
    np.testing.assert_array_equal(drawn.heads, [3, 0, 1, 5, 5], "places left over hold the scratch head")
    numbers = drawn.learn.rows[:, 64:, 0][positions[:, 64:] == 1]
    assert set(numbers) == set(range(100)), "every row can be drawn"


def test_without_old_rows_a_batch_is_new_alone():
    drawn = half_past().batches(memory({0: 30}), Stage(new=(0,)), CONFIG, 3, 10**6, np.random.default_rng(0))
    assert drawn.learn.rows.shape == (3, 64, ROW.width)
    assert drawn.distil.rows.shape[1] == 0


def test_only_the_newest_rows_are_drawn_from_a_long_task():
    drawn = this_task().batches(memory({0: 1000}), Stage(new=(0,)), CONFIG, 50, 100, np.random.default_rng(0))
    assert drawn.learn.rows[..., 0].min() >= 900


def test_what_memory_keeps():
    given = memory({0: 1, 1: 1})
    half_past().forget(given, Stage(new=(2,)), np.random.default_rng(0))
    assert set(given.segments) == {0, 1}
    this_task().forget(given, Stage(new=(2,)), np.random.default_rng(0))
    assert not given.segments


def test_everything_is_drawn_alike():
    drawn = everything().batches(
        memory({0: 300, 2: 100}), Stage(new=(2,)), CONFIG, 200, 10**6, np.random.default_rng(0)
    )
    positions = drawn.learn.rows[..., ROW.reward]
    assert abs((positions == 0).mean() - 0.75) < 0.02
    np.testing.assert_array_equal(drawn.heads[drawn.learn.slot], positions)
    assert drawn.heads[0] == 2, "the first slot is the new task's"


def test_the_authors_code_counts_old_rows_by_the_number_of_old_tasks():
    given = memory({0: 30, 1: 30, 3: 30})
    drawn = half_past("times old tasks").batches(given, Stage(new=(3,)), CONFIG, 2, 10**6, np.random.default_rng(0))
    each = np.random.default_rng(1).standard_normal(128)
    mean = (drawn.learn.weight[0] * each).mean()
    np.testing.assert_allclose(mean, each[:64].mean() + 2 * each[64:].mean(), rtol=1e-5)
    assert half_past().batches(given, Stage(new=(3,)), CONFIG, 2, 10**6, np.random.default_rng(0)).learn.weight is None


def test_a_reservoir_holds_its_size_and_every_row_with_the_same_chance():
    given, draw = memory({0: 1000, 1: 1000}), reservoir(rows=400)
    draw.forget(given, Stage(new=(2,)), np.random.default_rng(0))
    kept = {p: set(s.numbers) for p, s in given.segments.items()}
    assert abs(len(given.segments[0]) - 200) < 50
    assert abs(sum(map(len, given.segments.values())) - 400) < 80
    given.open(2, 1000)
    given.append(2, np.full((500, ROW.width), 2, np.float32))
    drawn = draw.batches(given, Stage(new=(2,)), CONFIG, 300, 10**6, np.random.default_rng(0))
    positions = drawn.heads[drawn.learn.slot]
    assert abs((positions == 2).mean() - 0.2) < 0.06, "500 of the 2500 rows seen"
    old = drawn.learn.rows[positions == 0][:, 0]
    assert set(old.astype(int)) < kept[0], "fewer than before, none that was let go of"


def test_ranks_are_uniform_and_belong_to_position_and_row():
    numbers = np.arange(100_000)
    found = ranks(3, numbers)
    assert found.min() >= 0
    assert found.max() < 1
    np.testing.assert_allclose(np.histogram(found, 10, (0, 1))[0] / 1e5, 0.1, atol=0.005)
    assert abs(np.corrcoef(found, ranks(4, numbers))[0, 1]) < 0.02
    np.testing.assert_array_equal(ranks(3, numbers[500:600]), found[500:600])


def test_a_reference_is_drawn_from_the_rows_kept_of_old_tasks():
    given, draw = memory({0: 1000, 1: 20}), with_reference(rows=50)
    draw.forget(given, Stage(new=(2,)), np.random.default_rng(0))
    assert [len(s) for s in given.segments.values()] == [50, 20]
    given.open(2, 100)
    given.append(2, np.full((100, ROW.width), 2, np.float32))
    drawn = draw.batches(given, Stage(new=(2,)), CONFIG, 50, 10**6, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn.learn.rows[..., ROW.reward], 2)
    assert set(np.unique(drawn.reference.rows[..., ROW.reward])) == {0, 1}
    np.testing.assert_array_equal(drawn.heads[drawn.reference.slot], drawn.reference.rows[..., ROW.reward])


def test_with_a_limit_a_chunk_has_few_old_tasks_and_all_get_their_turn():
    given, stage = memory({0: 200, 1: 200, 2: 200, 3: 200}), Stage(new=(3,))
    for position in (0, 1, 2):
        given.teach(position, given.segments[position], 200).outputs.append(np.full((200, 2), position, np.float32))
    drawn = [
        half_past(old_tasks=2).batches(given, stage, CONFIG, 5, 10**6, np.random.default_rng(seed))
        for seed in range(20)
    ]
    for one in drawn:
        assert len(one.heads) == 3
        assert one.heads[0] == 3
        assert set(one.heads[one.distil.slot].ravel()) <= set(one.heads[1:].tolist())
        np.testing.assert_array_equal(one.heads[one.learn.slot], one.learn.rows[..., ROW.reward])
        np.testing.assert_array_equal(one.heads[one.distil.slot], one.distil.rows[..., -1])
    assert {int(p) for one in drawn for p in one.heads} == {0, 1, 2, 3}


def test_a_limit_that_is_not_reached_changes_no_row():
    given, stage = memory({0: 200, 1: 200, 2: 200}), Stage(new=(2,))
    free, bound = (
        draw.batches(given, stage, CONFIG, 5, 10**6, np.random.default_rng(0))
        for draw in (half_past(), half_past(old_tasks=2))
    )
    np.testing.assert_array_equal(free.learn.rows, bound.learn.rows)
    np.testing.assert_array_equal(free.learn.slot, bound.learn.slot)
    np.testing.assert_array_equal(free.heads[:3], bound.heads)
    with pytest.raises(UsageError, match="at least one"):
        half_past(old_tasks=0)


@pytest.mark.parametrize(("most", "later"), [(None, 9), (3, 4)])
def test_the_number_of_slots_changes_once_when_there_is_anything_old(most, later):
    counts = []
    for met in range(1, 10):
        given, stage = memory(dict.fromkeys(range(met), 20), tasks=9), Stage(new=(met - 1,))
        draw = half_past(old_tasks=most)
        heads = draw.batches(given, stage, CONFIG, 1, 10**6, np.random.default_rng(0)).heads
        counts.append(len(heads))
        assert heads[0] == met - 1
        assert all(heads[met:] == 9), "places left over hold the scratch head"
    assert counts == [1] + [later] * 8
