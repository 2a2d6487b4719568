"""The paper's measures as pure functions of one run's evaluations (section 5.1, "Metrics").

`success` are the success rates p_i(t) of E evaluations and N tasks, shape (E, N), NaN where task i was not met yet. An
evaluation at step t measures the policy after t steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Steps = NDArray[np.int64]
Rates = NDArray[np.float64]


class Span(NamedTuple):
    """The evaluations made while a task was being learnt: `first` to before `stop`."""

    first: int
    stop: int


def spans(success: Rates) -> list[Span]:
    """When each task was being learnt: from its first evaluation to the last before another task joins."""
    met = ~np.isnan(success)
    firsts = [int(np.argmax(column)) if column.any() else len(success) for column in met.T]
    changes = sorted({*firsts, len(success)})
    return [Span(f, next((c for c in changes if c > f), len(success))) for f in firsts]


def average_performance(success: Rates) -> Rates:
    """P(t) = 1/N Σ p_i(t) at every evaluation; tasks not met yet count 0."""
    return np.nan_to_num(success, nan=0.0).mean(axis=1)


def at_end(success: Rates, window: int = 1) -> Rates:
    """p_i(N·Δ) of every task: the mean of its last evaluations of the run."""
    return np.nanmean(success[-window:], axis=0)


def at_own_end(success: Rates, window: int = 1) -> Rates:
    """p_i(i·Δ) of every task: the mean of the last evaluations of its own training."""
    return np.array([success[max(s.first, s.stop - window) : s.stop, i].mean() for i, s in enumerate(spans(success))])


def final_performance(success: Rates, window: int = 1) -> float:
    """P(N·Δ), the average performance at the end."""
    return float(at_end(success, window).mean())


def forgetting(success: Rates, window: int = 1, last_task: bool = True) -> float:
    """F = 1/N Σ p_i(i·Δ) - p_i(N·Δ); without the last task, whose term is 0, the mean is over N - 1."""
    lost = at_own_end(success, window) - at_end(success, window)
    return float((lost if last_task or len(lost) == 1 else lost[:-1]).mean())


def backward_transfer(success: Rates, window: int = 1) -> float:
    """What later training did to the tasks before the last: 1/(N-1) Σ p_i(N·Δ) - p_i(i·Δ); 0 for a single task."""
    return -forgetting(success, window, last_task=False) if success.shape[1] > 1 else 0.0


def areas(success: Rates) -> Rates:
    """AUC_i of every task: its mean success over its own training.

    The integral is a sum over the intervals between evaluations, each with the value at its end: nothing is known of a
    task before its first evaluation.
    """
    return np.array([success[s.first : s.stop, i].mean() for i, s in enumerate(spans(success))])


def transfer(areas: Rates, references: Rates) -> Rates:
    """FT_i = (AUC_i - AUC_i^b) / (1 - AUC_i^b); NaN where there is no reference, or one that is always 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (areas - references) / (1.0 - references)
    return np.where(np.isfinite(found), found, np.nan)


def forward_transfer(success: Rates, references: Rates) -> float | None:
    """FT = 1/N Σ FT_i against the areas of training each task from scratch; None unless every task has one."""
    found = transfer(areas(success), references)
    return None if np.isnan(found).any() else float(found.mean())
