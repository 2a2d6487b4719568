"""The measures on matrices that can be worked out by hand, and their properties."""

import numpy as np
import pytest

from recall_rl.analysis import metrics

NAN = np.nan
# Three tasks, two evaluations each: learnt, kept in part, forgotten.
SUCCESS = np.array(
    [
        [0.2, NAN, NAN],
        [1.0, NAN, NAN],
        [0.8, 0.1, NAN],
        [0.6, 0.5, NAN],
        [0.4, 0.5, 0.0],
        [0.2, 0.7, 0.9],
    ]
)


def test_when_each_task_was_learnt():
    assert metrics.spans(SUCCESS) == [(0, 2), (2, 4), (4, 6)]
    together = np.full((4, 3), 0.5)
    assert metrics.spans(together) == [(0, 4)] * 3
    unmet = np.column_stack([SUCCESS[:3, :2], np.full(3, NAN)])
    assert metrics.spans(unmet) == [(0, 2), (2, 3), (3, 3)]


def test_average_performance_counts_tasks_not_met_as_zero():
    np.testing.assert_allclose(
        metrics.average_performance(SUCCESS), [0.2 / 3, 1 / 3, 0.9 / 3, 1.1 / 3, 0.9 / 3, 1.8 / 3]
    )
    assert metrics.final_performance(SUCCESS) == pytest.approx(0.6)
    assert metrics.final_performance(SUCCESS, 2) == pytest.approx((0.3 + 0.6 + 0.45) / 3)


def test_forgetting_is_the_papers():
    """F = ((1.0 - 0.2) + (0.5 - 0.7) + (0.9 - 0.9)) / 3."""
    assert metrics.forgetting(SUCCESS) == pytest.approx(0.6 / 3)
    assert metrics.forgetting(SUCCESS, last_task=False) == pytest.approx(0.6 / 2)
    assert metrics.backward_transfer(SUCCESS) == pytest.approx(-0.6 / 2)
    assert metrics.forgetting(SUCCESS, window=2) == pytest.approx(((0.6 - 0.3) + (0.3 - 0.6) + 0.0) / 3)


def test_a_window_stays_within_a_tasks_own_training():
    np.testing.assert_allclose(metrics.at_own_end(SUCCESS, 10), [0.6, 0.3, 0.45])


def test_forward_transfer_is_the_papers():
    np.testing.assert_allclose(metrics.areas(SUCCESS), [0.6, 0.3, 0.45])
    references = np.array([0.6, 0.5, 0.0])
    np.testing.assert_allclose(metrics.transfer(metrics.areas(SUCCESS), references), [0.0, -0.4, 0.45])
    assert metrics.forward_transfer(SUCCESS, references) == pytest.approx(0.05 / 3)
    assert metrics.forward_transfer(SUCCESS, np.array([0.6, NAN, 0.0])) is None
    assert metrics.forward_transfer(SUCCESS, np.array([0.6, 1.0, 0.0])) is None, "nothing is left to gain"


def test_a_single_task():
    alone = np.array([[0.0], [0.5], [1.0]])
    assert metrics.forgetting(alone) == metrics.backward_transfer(alone) == 0.0
    assert metrics.forward_transfer(alone, np.array([0.5])) == 0.0


@pytest.mark.parametrize("seed", range(20))
def test_properties_of_random_runs(seed):
    rng = np.random.default_rng(seed)
    tasks, each = rng.integers(1, 6), rng.integers(1, 8)
    success = rng.uniform(size=(tasks * each, tasks))
    for i in range(tasks):
        success[: i * each, i] = NAN
    assert metrics.spans(success) == [(i * each, (i + 1) * each) for i in range(tasks)]
    windows = [metrics.forgetting(success, w) for w in (1, 3, 5, 10)]
    assert all(-1 <= f <= 1 for f in windows)
    assert metrics.final_performance(success) == pytest.approx(metrics.average_performance(success)[-1])
    # A run against itself transfers nothing; a better one something.
    own = metrics.areas(success)
    assert metrics.forward_transfer(success, own) == pytest.approx(0.0)
    assert metrics.forward_transfer(np.clip(success + 0.1, 0, 2), own) > 0
    # Forgetting and the end add up to the ends of each training.
    assert metrics.forgetting(success) + metrics.final_performance(success) == pytest.approx(
        metrics.at_own_end(success).mean()
    )
