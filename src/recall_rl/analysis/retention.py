"""Whether a skill was kept: a sequential test on pairs of episodes that may stop whenever the answer is clear.

A pair is one episode of the old policy and one of the new with the same start, goal and noise; its drop d is 1 if only
the old policy succeeded (a skill lost), -1 if only the new one did, else 0. Two gamblers watch the pairs. One bets that
the mean drop is below the limit m: with the bet c his capital is multiplied by 1 + c (m - d) / (1 - m) at every pair.
If the mean drop is m or more, no bet can be expected to gain, and by Ville's inequality his capital ever reaches
1 / alpha with probability alpha at most, however often one looks. The other bets against him. Each spreads his capital
over several bets once and for all, so it depends on the numbers of the three outcomes alone (betting as in Waudby-Smith
and Ramdas, "Estimating means of bounded random variables by betting", with a grid of bets).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Verdict = Literal["pass", "fail", "undecided"]
Count = int | NDArray[np.integer[Any]]
Capital = NDArray[np.float64]

_BETS = np.sqrt(np.linspace(0.01, 0.98, 10))
"""Shares of the capital put at stake: bold ones find out soon where pairs never differ, timid ones live with noise."""
_HALVINGS = 40
"""Of an interval in the search for a bound."""


@dataclass(frozen=True)
class Pairs:
    """How many pairs of each kind were seen."""

    lost: int
    """Only the old policy succeeded."""
    gained: int
    """Only the new one did."""
    same: int
    """Both did, or neither."""

    @property
    def count(self) -> int:
        """All of them."""
        return self.lost + self.gained + self.same

    @property
    def drop(self) -> float:
        """The mean drop of success that was seen."""
        return (self.lost - self.gained) / self.count if self.count else 0.0

    def turned(self) -> Pairs:
        """The same pairs with old and new exchanged."""
        return Pairs(self.gained, self.lost, self.same)


@dataclass(frozen=True)
class Judgement:
    """What pairs say about one task."""

    verdict: Verdict
    drop: float
    """Mean drop that was seen."""
    low: float
    """The drop is at least this, unless the error that was granted happened."""
    high: float
    """The drop is at most this, likewise."""


@dataclass(frozen=True)
class Risk:
    """The errors that are granted to the test of one task."""

    passing: float
    """Of passing a task whose drop is the limit or more."""
    failing: float
    """Of failing a task whose drop is the limit or less."""


def risk(alpha: float, tasks: int) -> Risk:
    """What each of several tasks is granted, so that the gate as a whole errs with alpha at most in either direction.

    The gate passes if all tasks do, so a lost task must itself pass wrongly: nothing is to be shared. It fails if any
    task does, so that error is shared.
    """
    return Risk(alpha, alpha / tasks)


def log_capital(lost: Count, gained: Count, same: Count, limit: float) -> Capital:
    """The logarithm of what one coin has become in bets that the mean drop is below the limit; counts of one shape."""
    share = _BETS / (1 - limit)
    logs = (
        np.multiply.outer(lost, np.log1p(share * (limit - 1)))
        + np.multiply.outer(gained, np.log1p(share * (limit + 1)))
        + np.multiply.outer(same, np.log1p(share * limit))
    )
    top = logs.max(axis=-1)
    return top + np.log(np.exp(logs - top[..., None]).mean(axis=-1))


def shows_less(pairs: Pairs, limit: float, alpha: float) -> bool:
    """Whether the pairs show, but for an error of alpha, that the mean drop is below the limit."""
    return bool(log_capital(pairs.lost, pairs.gained, pairs.same, limit) >= -math.log(alpha))


def upper(pairs: Pairs, alpha: float) -> float:
    """The smallest limit that the mean drop is shown to be below; 1 if there is none."""
    low, high = -1.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # Capital rises with the limit, for every bet.
        low, high = (low, middle) if shows_less(pairs, middle, alpha) else (middle, high)
    return high


def judge(pairs: Pairs, max_drop: float, granted: Risk) -> Judgement:
    """Whether the pairs show that less than `max_drop` was lost, that more was, or neither."""
    passes = shows_less(pairs, max_drop, granted.passing)
    fails = shows_less(pairs.turned(), -max_drop, granted.failing)
    verdict: Verdict = "pass" if passes else "fail" if fails else "undecided"
    return Judgement(verdict, pairs.drop, -upper(pairs.turned(), granted.failing), upper(pairs, granted.passing))
