"""The gate's statistics: exact properties, and its promises by simulation."""

import math
from itertools import pairwise

import numpy as np
import pytest

from recall_rl.analysis.retention import Pairs, Risk, judge, log_capital, risk, upper

LIMIT = 0.05
GRANTED = Risk(0.05, 0.05)


def capital(pairs, limit):
    """What one coin has become."""
    return math.exp(log_capital(pairs.lost, pairs.gained, pairs.same, limit))


@pytest.mark.parametrize("limit", [0.02, 0.05, 0.3])
@pytest.mark.parametrize("gained", [0.0, 0.1, 0.4])
def test_no_bet_can_be_expected_to_gain_when_the_drop_is_the_limit(limit, gained):
    """The capital after one more pair is, on average over its three outcomes, what it was; less if more is lost."""
    for extra in (0.0, 0.1):
        lost = gained + limit + extra
        for seen in (Pairs(0, 0, 0), Pairs(3, 1, 40), Pairs(0, 9, 5)):
            now = capital(seen, limit)
            after = (
                lost * capital(Pairs(seen.lost + 1, seen.gained, seen.same), limit)
                + gained * capital(Pairs(seen.lost, seen.gained + 1, seen.same), limit)
                + (1 - lost - gained) * capital(Pairs(seen.lost, seen.gained, seen.same + 1), limit)
            )
            assert after == pytest.approx(now) if extra == 0 else after < now


def test_capital_rises_with_the_limit_and_the_bound_is_where_it_reaches_its_goal():
    for pairs in (Pairs(0, 0, 80), Pairs(3, 1, 60), Pairs(20, 0, 30), Pairs(0, 40, 10)):
        rising = [capital(pairs, limit) for limit in np.linspace(-0.95, 0.95, 39)]
        assert all(a <= b for a, b in pairwise(rising))
        assert capital(pairs, upper(pairs, 0.05)) == pytest.approx(20)
    assert upper(Pairs(0, 0, 0), 0.05) == 1.0
    assert upper(Pairs(500, 0, 0), 0.05) == 1.0


@pytest.mark.parametrize(
    ("pairs", "verdict"),
    [
        (Pairs(0, 0, 80), "pass"),
        (Pairs(0, 0, 50), "undecided"),
        (Pairs(10, 0, 0), "fail"),
        (Pairs(1, 0, 9), "undecided"),
        (Pairs(0, 30, 20), "pass"),
        (Pairs(25, 0, 475), "undecided"),
        (Pairs(60, 0, 440), "fail"),
    ],
)
def test_verdicts_agree_with_their_bounds(pairs, verdict):
    found = judge(pairs, LIMIT, GRANTED)
    assert found.verdict == verdict
    assert (found.high <= LIMIT, found.low >= LIMIT) == (verdict == "pass", verdict == "fail")
    assert found.low <= found.drop <= found.high


def test_exchanging_old_and_new_turns_the_interval_round():
    there, back = (judge(p, LIMIT, GRANTED) for p in (Pairs(30, 10, 60), Pairs(10, 30, 60)))
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=1e-9)


def test_only_the_error_of_failing_is_shared_by_tasks():
    assert risk(0.05, 10) == Risk(0.05, 0.005)


def _answers(lost, gained, pairs=300, alpha=0.05):
    """The exact probabilities of passing and of failing a task that is looked at after every tenth pair."""
    chance, passing, failing = np.zeros((pairs + 1, pairs + 1)), 0.0, 0.0
    chance[0, 0] = 1.0
    count = np.arange(pairs + 1)
    for n in range(1, pairs + 1):
        after = chance * (1 - lost - gained)
        after[1:] += lost * chance[:-1]
        after[:, 1:] += gained * chance[:, :-1]
        chance = after
        if n % 10 == 0:
            here = np.ix_(count[: n + 1], count[: n + 1])
            losses, gains = np.meshgrid(count[: n + 1], count[: n + 1], indexing="ij")
            same = np.maximum(n - losses - gains, 0)
            passed = log_capital(losses, gains, same, LIMIT) >= -math.log(alpha)
            failed = log_capital(gains, losses, same, -LIMIT) >= -math.log(alpha)
            assert not (passed & failed & (losses + gains <= n)).any()
            passing, failing = passing + chance[here][passed].sum(), failing + chance[here][failed].sum()
            chance[here] = np.where(passed | failed, 0.0, chance[here])
    return passing, failing


@pytest.mark.parametrize(("lost", "gained"), [(0.05, 0.0), (0.07, 0.02), (0.15, 0.1)])
def test_wrong_answers_are_as_rare_as_promised(lost, gained):
    """At a drop that is just the limit, where errors are most frequent."""
    passing, failing = _answers(lost, gained)
    assert 0.0 < passing <= 0.05
    assert 0.0 < failing <= 0.05


def test_clear_answers_are_found():
    assert _answers(0.005, 0.005)[0] > 0.95
    assert _answers(0.3, 0.0, 100)[1] > 0.95
