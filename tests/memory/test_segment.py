import numpy as np
import pytest

from recall_rl.collect.row import Row
from recall_rl.memory.memory import Memory
from recall_rl.memory.segment import Segment
from recall_rl.memory.store import Store

ROW = Row(3, 2)


def episodes(count, seed=0, terminating=True):
    """Rows as a lane gathers them: each next observation is the following one's, but where an episode ends."""
    rng = np.random.default_rng(seed)
    rows, observation = [], rng.standard_normal(3, dtype=np.float32)
    for k in range(count):
        after = rng.standard_normal(3, dtype=np.float32)
        ended = k % 17 == 16
        row = np.concatenate([observation, rng.standard_normal(3, dtype=np.float32), [ended and terminating], after])
        rows.append(row.astype(np.float32))
        observation = rng.standard_normal(3, dtype=np.float32) if ended else after
    return np.array(rows)


def segment(rows, store=None, appends=50):
    made = Segment.new(ROW, len(rows), store or Store(), "x")
    for start in range(0, len(rows), appends):
        made.append(rows[start : start + appends])
    return made


@pytest.mark.parametrize("appends", [1, 7, 50, 1000])
@pytest.mark.parametrize("terminating", [True, False])
def test_rows_come_back_bit_for_bit(appends, terminating):
    rows = episodes(400, terminating=terminating)
    kept = segment(rows, appends=appends)
    numbers = np.random.default_rng(1).integers(0, 400, 1000)
    np.testing.assert_array_equal(kept.take(numbers).view(np.uint32), rows[numbers].view(np.uint32))
    np.testing.assert_array_equal(kept.states(numbers), rows[numbers, :3])


def test_rows_that_do_not_follow_each_other_come_back_too():
    rows = np.random.default_rng(0).standard_normal((100, ROW.width), dtype=np.float32)
    rows[3, ROW.next_observation], rows[4, ROW.observation] = 0.0, -0.0  # Equal, but not the same bits.
    rows[:, ROW.terminated] = 0
    rows[5, ROW.terminated], rows[6, ROW.observation] = 1, rows[5, ROW.next_observation]
    kept = segment(rows)
    np.testing.assert_array_equal(kept.take(np.arange(100)).view(np.uint32), rows.view(np.uint32))


def test_bytes_of_a_transition():
    """39 numbers of observation and 4 of action, episodes of 500, chunks of 50: 336 bytes as a row."""
    row = Row(39, 4)
    rng = np.random.default_rng(0)
    states = rng.standard_normal((10_001, 39), dtype=np.float32)
    rows = np.zeros((10_000, row.width), np.float32)
    rows[:, row.observation], rows[:, row.next_observation] = states[:-1], states[1:]
    kept = Segment.new(row, 10_000, Store(), "x")
    for start in range(0, 10_000, 50):
        kept.append(rows[start : start + 50])
    assert kept.size() / 10_000 < 180


@pytest.mark.parametrize("mapped", [False, True])
def test_thinning_keeps_rows_with_their_numbers(tmp_path, mapped):
    rows, store = episodes(300), Store(tmp_path, tmp_path, mapped)
    numbers = np.sort(np.random.default_rng(0).choice(300, 90, replace=False))
    kept = segment(rows, store).thinned(numbers, store, "y")
    np.testing.assert_array_equal(kept.take(np.arange(90)), rows[numbers])
    np.testing.assert_array_equal(kept.numbers, numbers)
    assert kept.gathered == 300
    again = kept.thinned(np.arange(0, 90, 2), store, "z")
    np.testing.assert_array_equal(again.numbers, numbers[::2])
    assert again.gathered == 300


def remembered(count=300):
    memory = Memory(ROW, 3)
    for position in (0, 1):
        memory.open(position, count)
        memory.append(position, episodes(count, seed=position))
    lesson = memory.teach(0, memory.segments[0], count)
    lesson.outputs.append(np.arange(4 * count, dtype=np.float32).reshape(count, 4))
    return memory


def test_a_budget_of_bytes_thins_every_task_and_its_lesson_with_it():
    memory = remembered()
    memory.fit(10_000, run_seed=0)
    assert 7_000 < memory.size() <= 10_000
    lesson, numbers = memory.lessons[0], memory.segments[0].numbers
    assert lesson.states is memory.segments[0]
    np.testing.assert_array_equal(lesson.outputs.records[:, 0], 4.0 * numbers)
    np.testing.assert_array_equal(lesson.take(np.arange(len(lesson)))[:, :3], episodes(300)[numbers, :3])


def test_what_a_budget_keeps_depends_on_the_seed_and_not_on_the_way_there():
    at_once, twice, other = remembered(), remembered(), remembered()
    at_once.fit(6_000, run_seed=0)
    twice.fit(10_000, run_seed=0)
    twice.fit(6_000, run_seed=0)
    other.fit(6_000, run_seed=1)
    np.testing.assert_array_equal(at_once.segments[1].numbers, twice.segments[1].numbers)
    assert set(at_once.segments[1].numbers) != set(other.segments[1].numbers)


def test_what_fits_is_left_alone():
    memory = remembered()
    before = memory.segments[0]
    memory.fit(10**6, run_seed=0)
    assert memory.segments[0] is before
