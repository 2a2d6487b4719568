import numpy as np

from recall_rl.agent.config import AgentConfig
from recall_rl.collect.row import Row
from recall_rl.memory.memory import Memory
from recall_rl.methods.draws import half_past, this_task
from recall_rl.tasks.task import Stage

ROW, CONFIG = Row(1, 1), AgentConfig(batch=64)


def memory(lengths):
    """Rows whose reward tells their position and whose observation tells their number."""
    made = Memory(ROW, 5)
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
    assert half_past().keeps(Stage(new=(2,)), given) == {0, 1}
    assert this_task().keeps(Stage(new=(2,)), given) == set()
