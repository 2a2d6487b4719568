"""Statistics over the seeds of runs, each with its percentile-bootstrap interval.

What to report and how to resample follow Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical
Precipice" (2021): runs are resampled within each stratum, the sequence of tasks they were trained on, because the
sequences are chosen and only the seeds are random. A stratum of one run therefore adds nothing to an interval's width.

Data is sorted before it is resampled, so that the order in which runs were found changes no bit of a result.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL = 0.9
"""Share of repetitions of the experiment whose interval should cover the truth."""
RESAMPLES = 4000
"""Resamples behind an interval: its ends then move by about one per cent of its width from seed to seed."""
FEWEST = 5
"""Below this many runs points are drawn instead of intervals."""
CHUNK = 2**20
"""Numbers held in one array at a time, which bounds the memory whatever the number of runs."""

Values = NDArray[np.float64]
Statistic = Callable[[Values, int], Values]
"""What summarises values along an axis, many samples at once."""
Key = TypeVar("Key", bound=tuple[Hashable, ...])
Stratum = TypeVar("Stratum", bound=Hashable)


@dataclass(frozen=True)
class Interval:
    """A statistic of some runs and the interval around it."""

    value: float
    low: float
    high: float
    n: int
    """Number of runs behind it."""
    level: float = LEVEL


def mean(values: ArrayLike, axis: int = -1) -> Values:
    """The mean along an axis."""
    return np.asarray(np.mean(np.asarray(values, np.float64), axis=axis))


def iqm(values: ArrayLike, axis: int = -1) -> Values:
    """The interquartile mean along an axis: the mean of the middle half.

    Each of the n sorted values fills one unit of [0, n] and weighs as much as of its unit lies in [n/4, 3n/4], so that
    the middle half is exact for every n.
    """
    data = np.moveaxis(_finite(values, "values"), axis, -1)
    n = data.shape[-1]
    left = np.arange(n)
    weights = np.clip(np.minimum(left + 1, 0.75 * n) - np.maximum(left, 0.25 * n), 0.0, 1.0) / (0.5 * n)
    return np.asarray(np.sort(data, axis=-1) @ weights)


def interval(
    groups: Sequence[ArrayLike],
    statistic: Statistic = mean,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """The statistic of all runs pooled, and its interval when runs are resampled within each group.

    A group is one stratum's 1-d array of values, one a run; a single group is the usual case.
    """
    _check(level, resamples)
    if len(groups) == 0:
        raise ValueError("There are no groups of runs to take a statistic of.")
    strata = sorted(_runs(group, f"group {k}").tolist() for k, group in enumerate(groups))
    pooled = np.concatenate([np.asarray(stratum) for stratum in strata])
    sizes = [len(stratum) for stratum in strata]
    ends = np.repeat(np.cumsum(sizes), sizes)
    starts = ends - np.repeat(sizes, sizes)

    rng = np.random.default_rng(seed)
    found = [
        statistic(pooled[rng.integers(starts, ends, size=(rows, pooled.size))], -1)
        for rows in _chunks(resamples, pooled.size)
    ]
    low, high = _ends(np.concatenate(found), level)
    return Interval(float(statistic(pooled, -1)), float(low), float(high), pooled.size, level)


def band(curves: ArrayLike, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0) -> tuple[Values, Values]:
    """The low and the high end, at each time, of the interval of the mean of (n, T) curves, one a run.

    Whole curves are resampled, and a resample's mean is a product of how often each curve was drawn with the curves.
    """
    _check(level, resamples)
    data = _finite(curves, "curves")
    if data.ndim != 2:
        raise ValueError(f"The curves have shape {data.shape}; pass one row a run and one column a time.")
    data = data[np.lexsort(data.T[::-1])]
    n, times = data.shape
    counts = _counts(np.random.default_rng(seed), n, resamples)

    # Deviations from one curve are exactly 0 where all curves agree, so rounding opens no gap there.
    first = data[0]
    deviations = data - first
    low, high = np.empty(times), np.empty(times)
    at = 0
    for width in _chunks(times, resamples):
        part = slice(at, at + width)
        low[part], high[part] = _ends((deviations[:, part].T @ counts.T) / n, level)
        at += width
    return first + low, first + high


def paired_difference(
    a: Mapping[Key, float],
    b: Mapping[Key, float],
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """The mean of a - b over the keys that both have, or None where there are none.

    A key is (sequence, seed): pairs are resampled within each sequence, and `n` counts pairs.
    """
    _check(level, resamples)
    for name, values in (("a", a), ("b", b)):
        for key, value in values.items():
            _finite(value, f"{name}[{key!r}]")
    strata: dict[Hashable, list[float]] = {}
    for key in a:
        if key in b:
            strata.setdefault(key[0], []).append(a[key] - b[key])
    if not strata:
        return None
    return interval(list(strata.values()), level=level, resamples=resamples, seed=seed)


def probability_of_improvement(
    a: Mapping[Stratum, ArrayLike],
    b: Mapping[Stratum, ArrayLike],
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """How probably a run of a beats a run of b: P(X > Y) + P(X = Y) / 2, or None where no stratum is common.

    The probability is averaged over the strata that both have, each weighing the same; both sides are resampled within
    each stratum, and `n` counts the runs of both sides.
    """
    _check(level, resamples)
    ours = {stratum: _runs(values, f"a[{stratum!r}]") for stratum, values in a.items()}
    theirs = {stratum: _runs(values, f"b[{stratum!r}]") for stratum, values in b.items()}
    pairs = sorted((ours[stratum].tolist(), theirs[stratum].tolist()) for stratum in ours if stratum in theirs)
    if not pairs:
        return None

    rng = np.random.default_rng(seed)
    value, found = 0.0, np.zeros(resamples)
    for mine, other in pairs:
        x, y = np.asarray(mine)[:, None], np.asarray(other)
        # Wins and counts are whole or half numbers, so the products below are exact.
        wins = (x > y) + 0.5 * (x == y)
        n, m = wins.shape
        value += float(wins.mean()) / len(pairs)
        drawn = [
            np.sum((_counts(rng, n, rows) @ wins) * _counts(rng, m, rows), axis=-1)
            for rows in _chunks(resamples, max(n, m))
        ]
        found += np.concatenate(drawn) / (n * m * len(pairs))
    low, high = _ends(found, level)
    return Interval(value, float(low), float(high), sum(len(x) + len(y) for x, y in pairs), level)


def _check(level: float, resamples: int) -> None:
    if not 0 < level < 1:
        raise ValueError(f"The level is {level}; it must lie between 0 and 1, such as {LEVEL}.")
    if resamples < 1:
        raise ValueError(f"The number of resamples is {resamples}; it must be at least 1, such as {RESAMPLES}.")


def _finite(values: ArrayLike, name: str) -> Values:
    data = np.asarray(values, np.float64)
    if data.size == 0:
        raise ValueError(f"There is nothing in {name}; leave it out or give it runs.")
    if not np.isfinite(data).all():
        raise ValueError(f"There is a NaN or an infinity in {name}; leave out runs that have no result.")
    return data


def _runs(values: ArrayLike, name: str) -> Values:
    """The values of one stratum, sorted."""
    data = _finite(values, name)
    if data.ndim != 1:
        raise ValueError(f"The shape of {name} is {data.shape}; pass a 1-d array of one value a run.")
    return np.sort(data)


def _chunks(total: int, width: int) -> Iterator[int]:
    """Numbers of rows of this width that sum to the total and fit a chunk each."""
    rows = max(1, CHUNK // width)
    for done in range(0, total, rows):
        yield min(rows, total - done)


def _counts(rng: np.random.Generator, n: int, rows: int) -> Values:
    """How often each of n runs is drawn in each of many resamples of n."""
    cells = rng.integers(n, size=(rows, n)) + n * np.arange(rows)[:, None]
    return np.bincount(cells.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def _ends(found: Values, level: float) -> Values:
    """The low and the high end of what was found by resampling, along the last axis."""
    return np.quantile(found, [(1 - level) / 2, (1 + level) / 2], axis=-1)
