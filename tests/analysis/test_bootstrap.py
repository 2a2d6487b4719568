"""Bootstrap intervals against hand-computed cases, SciPy, arch, plain loops and their own promises."""

import dataclasses
import itertools
import time

import numpy as np
import pytest
import scipy.stats
from arch.bootstrap import IIDBootstrap

from recall_rl.analysis import bootstrap
from recall_rl.analysis.bootstrap import (
    FEWEST,
    LEVEL,
    RESAMPLES,
    Interval,
    band,
    interval,
    iqm,
    mean,
    paired_difference,
    probability_of_improvement,
)

MANY = 20_000
"""Resamples at which an end of an interval is known to about half a per cent of the interval's width."""
LOOPS = 8_000
"""Resamples of the references that loop in Python, known to about one per cent."""


def samples():
    rng = np.random.default_rng(7)
    return {
        "normal": rng.normal(3.0, 2.0, 20),
        "skewed": rng.exponential(1.0, 50),
        "success": rng.binomial(20, 0.8, 30) / 20,
        "few": rng.uniform(size=8),
    }


def strata():
    """Three sequences of tasks, of different difficulty and number of runs."""
    rng = np.random.default_rng(8)
    return [rng.normal(0.0, 1.0, 10), rng.normal(5.0, 1.0, 6), rng.normal(10.0, 2.0, 14)]


def assert_ends_agree(found, low, high, share=0.03):
    """The ends agree within a share of the interval's width."""
    allowed = share * (high - low)
    assert found.low == pytest.approx(low, abs=allowed)
    assert found.high == pytest.approx(high, abs=allowed)


# The interquartile mean.


@pytest.mark.parametrize("n", [4, 8, 40])
def test_iqm_is_the_trimmed_mean_where_a_quarter_is_a_whole_number_of_runs(n):
    values = np.random.default_rng(n).normal(size=n)
    assert iqm(values) == pytest.approx(scipy.stats.trim_mean(values, 0.25), abs=1e-14)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([7.0], 7.0),
        ([1.0, 4.0], 2.5),
        ([9.0, 0.0, 3.0], (0.25 * 0 + 3 + 0.25 * 9) / 1.5),
        ([4.0, 0.0, 1.0, 2.0, 100.0], (0.75 * 1 + 2 + 0.75 * 4) / 2.5),
        ([0.0, 1.0, 2.0, 3.0, 4.0, 99.0], (0.5 * 1 + 2 + 3 + 0.5 * 4) / 3),
    ],
)
def test_iqm_weighs_the_edges_by_what_lies_in_the_middle_half(values, expected):
    assert iqm(values) == pytest.approx(expected)


@pytest.mark.parametrize("n", range(1, 14))
def test_iqm_is_unchanged_when_every_run_is_counted_four_times(n):
    """Four copies of each value make every quarter whole, so the trimmed mean is the reference for any n."""
    values = np.random.default_rng(n).normal(size=n)
    assert iqm(values) == pytest.approx(scipy.stats.trim_mean(np.repeat(values, 4), 0.25), abs=1e-14)


def test_iqm_goes_along_the_axis_asked_for():
    values = np.random.default_rng(0).normal(size=(5, 6, 7))
    for axis in (0, 1, 2, -1, -2):
        expected = np.apply_along_axis(lambda x: float(iqm(x)), axis, values)
        np.testing.assert_allclose(iqm(values, axis), expected, atol=1e-14)


def test_iqm_ignores_an_outlier_and_changes_nothing_it_is_given():
    values = np.array([5.0, 3.0, 1.0, 4.0, 2.0, 6.0, 7.0, 8.0])
    wild = np.where(values == 8.0, 1e9, values)
    assert iqm(wild) == iqm(values) == 4.5
    assert values[0] == 5.0


# One statistic and its interval.


def test_two_runs_by_hand():
    """Resampled means of 0 and 1 are 0, 1/2 and 1 with probability 1/4, 1/2 and 1/4."""
    assert interval([[0.0, 1.0]]) == Interval(0.5, 0.0, 1.0, 2, 0.9)
    assert interval([[0.0, 1.0]], level=0.4) == Interval(0.5, 0.5, 0.5, 2, 0.4)


def test_three_runs_by_hand():
    """The sum of a resample of 0, 0 and 3 is 3 times a binomial of 3 and 1/3, whose tails are 8/27 and 1/27."""
    found = interval([[0.0, 3.0, 0.0]])
    assert found == Interval(1.0, 0.0, 2.0, 3)
    assert interval([[0.0, 3.0, 0.0]], level=0.98) == Interval(1.0, 0.0, 3.0, 3, 0.98)


def test_one_run_has_no_width():
    assert interval([[0.3]]) == Interval(0.3, 0.3, 0.3, 1)
    assert interval([[0.3]], iqm) == Interval(0.3, 0.3, 0.3, 1)


def test_equal_runs_have_no_width():
    found = interval([[0.1] * 7])
    assert found.low == found.value == found.high == pytest.approx(0.1)


@pytest.mark.parametrize("name", samples())
@pytest.mark.parametrize("statistic", [mean, iqm, np.median], ids=["mean", "iqm", "median"])
def test_the_interval_is_that_of_scipy(name, statistic):
    values = samples()[name]
    reference = scipy.stats.bootstrap(
        (values,),
        statistic,
        confidence_level=0.9,
        n_resamples=MANY,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    found = interval([values], statistic, resamples=MANY)
    assert found.value == pytest.approx(float(statistic(values, -1)))
    assert found.n == len(values)
    assert_ends_agree(found, reference.low, reference.high)


@pytest.mark.parametrize("name", samples())
def test_the_interval_is_that_of_arch(name):
    values = samples()[name]
    reference = IIDBootstrap(values, seed=np.random.default_rng(2))
    low, high = reference.conf_int(np.mean, reps=LOOPS, method="percentile", size=0.9).ravel()
    assert_ends_agree(interval([values], resamples=MANY), low, high)


def test_the_interval_of_the_mean_is_nearly_the_normal_one_for_many_runs():
    values = np.random.default_rng(3).normal(size=1000)
    width = scipy.stats.norm.ppf(0.95) * values.std() / np.sqrt(1000)
    assert_ends_agree(interval([values]), values.mean() - width, values.mean() + width)


def test_a_90_per_cent_interval_covers_the_truth_nine_times_in_ten():
    rng = np.random.default_rng(4)
    found = [interval([rng.normal(1.0, 3.0, 30)], seed=k) for k in range(300)]
    assert 0.84 <= np.mean([one.low <= 1.0 <= one.high for one in found]) <= 0.94


def test_a_higher_level_contains_a_lower_one():
    values = samples()["normal"]
    found = [interval([values], level=level) for level in (0.5, 0.8, 0.9, 0.99)]
    for inner, outer in itertools.pairwise(found):
        assert outer.low < inner.low < inner.value < inner.high < outer.high


def test_the_order_of_runs_and_of_groups_changes_no_bit():
    groups, rng = strata(), np.random.default_rng(5)
    shuffled = [rng.permutation(groups[k]) for k in (2, 0, 1)]
    assert interval(shuffled) == interval(groups)


@pytest.mark.parametrize("statistic", [mean, iqm], ids=["mean", "iqm"])
def test_shift_and_scale_carry_over(statistic):
    groups = strata()
    plain = dataclasses.astuple(interval(groups, statistic))[:3]
    moved = dataclasses.astuple(interval([2.5 * group - 7 for group in groups], statistic))[:3]
    np.testing.assert_allclose(moved, 2.5 * np.array(plain) - 7, atol=1e-12)


def test_a_sign_mirrors_the_interval():
    values = samples()["skewed"]
    plain, mirrored = interval([values], resamples=MANY), interval([-values], resamples=MANY)
    assert mirrored.value == pytest.approx(-plain.value)
    assert_ends_agree(mirrored, -plain.high, -plain.low)


def test_the_same_seed_gives_the_same_bits_and_another_does_not():
    values = samples()["normal"]
    assert interval([values], iqm, seed=3) == interval([values], iqm, seed=3)
    assert interval([values], iqm, seed=3) != interval([values], iqm, seed=4)


def test_the_size_of_chunks_changes_no_bit_of_an_interval(monkeypatch):
    whole = interval(strata(), iqm)
    monkeypatch.setattr(bootstrap, "CHUNK", 1000)
    assert interval(strata(), iqm) == whole


def test_a_thousand_runs_are_held_in_small_pieces():
    sizes = []

    def watched(values, axis):
        sizes.append(values.size)
        return mean(values, axis)

    began = time.process_time()
    interval([np.random.default_rng(0).normal(size=1000)], watched)
    assert max(sizes) <= bootstrap.CHUNK
    assert sum(sizes) == 1000 * (RESAMPLES + 1)
    assert time.process_time() - began < 5


# Strata.


def test_strata_by_hand():
    """Runs never change places: 0 and 10 alone in their strata stay, and only the pair moves."""
    assert interval([[0.0], [10.0]]) == Interval(5.0, 5.0, 5.0, 2)
    assert interval([[30.0], [0.0, 3.0]]) == Interval(11.0, 10.0, 12.0, 3)


def test_strata_of_different_means_narrow_the_interval():
    groups = strata()
    within, pooled = interval(groups), interval([np.concatenate(groups)])
    assert within.value == pytest.approx(pooled.value)
    assert within.n == pooled.n == 30
    assert within.high - within.low < 0.5 * (pooled.high - pooled.low)


@pytest.mark.parametrize("statistic", [mean, iqm], ids=["mean", "iqm"])
def test_strata_are_resampled_as_scipy_resamples_several_samples(statistic):
    groups = strata()
    reference = scipy.stats.bootstrap(
        groups,
        lambda *parts, axis: statistic(np.concatenate(parts, axis=axis), axis),
        vectorized=True,
        confidence_level=0.9,
        n_resamples=MANY,
        method="percentile",
        rng=np.random.default_rng(6),
    ).confidence_interval
    assert_ends_agree(interval(groups, statistic, resamples=MANY), reference.low, reference.high)


def test_strata_are_resampled_as_by_a_plain_loop():
    groups, rng, found = strata(), np.random.default_rng(7), []
    for _ in range(LOOPS):
        total = sum(group[rng.integers(len(group), size=len(group))].sum() for group in groups)
        found.append(total / 30)
    low, high = np.percentile(found, [5, 95])
    assert_ends_agree(interval(groups, resamples=MANY), low, high)


# Curves.


def test_a_band_is_the_interval_at_each_time():
    curves = np.cumsum(np.random.default_rng(8).normal(size=(25, 6)), axis=1)
    low, high = band(curves, resamples=MANY)
    for t in range(6):
        at_t = interval([curves[:, t]], resamples=MANY)
        assert_ends_agree(at_t, low[t], high[t])


def test_a_band_of_one_curve_or_of_equal_curves_has_no_width():
    curve = np.random.default_rng(9).uniform(size=11)
    for n in (1, 7):
        low, high = band(np.tile(curve, (n, 1)))
        np.testing.assert_array_equal(low, curve)
        np.testing.assert_array_equal(high, curve)


def test_a_band_by_hand_and_for_every_order_of_curves():
    low, high = band([[0.0, 5.0, 0.0], [1.0, 5.0, -2.0]])
    assert (low.tolist(), high.tolist()) == ([0.0, 5.0, -2.0], [1.0, 5.0, 0.0])
    curves = np.random.default_rng(10).integers(0, 3, size=(12, 5)).astype(float)
    expected = band(curves)
    np.testing.assert_array_equal(band(curves[::-1]), expected)
    np.testing.assert_array_equal(band(curves), expected)


def test_a_band_is_made_in_pieces_of_time(monkeypatch):
    curves = np.random.default_rng(11).integers(0, 9, size=(12, 50)).astype(float)
    whole = band(curves)
    monkeypatch.setattr(bootstrap, "CHUNK", 7 * RESAMPLES)
    np.testing.assert_allclose(band(curves), whole, atol=1e-12)


def test_a_band_of_a_hundred_long_curves_is_fast():
    curves = np.random.default_rng(12).normal(size=(100, 500))
    began = time.process_time()
    low, high = band(curves)
    assert time.process_time() - began < 3
    assert low.shape == high.shape == (500,)
    assert np.all((low < curves.mean(0)) & (curves.mean(0) < high))


# Two methods.


def test_a_paired_difference_is_taken_over_common_keys():
    a = {("cw10", 0): 0.9, ("cw10", 1): 0.7, ("cw3-1", 0): 0.5, ("cw3-1", 9): 0.0}
    b = {("cw10", 0): 0.5, ("cw10", 1): 0.5, ("cw3-1", 0): 0.6, ("cw3-2", 0): 1.0}
    found = paired_difference(a, b)
    assert found is not None
    assert found.n == 3
    assert found.value == pytest.approx((0.4 + 0.2 - 0.1) / 3)
    # The lone pair of cw3-1 stays, so the extremes draw one pair of cw10 twice.
    assert (found.low, found.high) == pytest.approx(((0.2 + 0.2 - 0.1) / 3, (0.4 + 0.4 - 0.1) / 3))


def test_a_paired_difference_is_the_interval_of_differences_within_sequences():
    rng = np.random.default_rng(13)
    keys = [(sequence, seed) for sequence in ("one", "two") for seed in range(9)]
    b = {key: float(rng.normal(100.0 * (key[0] == "two"), 5.0)) for key in keys}
    a = {key: value + float(rng.normal(1.0, 0.1)) for key, value in reversed(b.items())}
    groups = [[a[key] - b[key] for key in keys if key[0] == sequence] for sequence in ("one", "two")]
    found = paired_difference(a, b, level=0.8, resamples=500, seed=3)
    assert found == interval(groups, level=0.8, resamples=500, seed=3)
    assert 0.9 < found.low < found.high < 1.1


def test_a_paired_difference_needs_common_keys():
    assert paired_difference({("cw10", 0): 1.0}, {("cw10", 1): 1.0}) is None
    assert paired_difference({}, {}) is None
    assert paired_difference({("cw10", 0): 1.0}, {("cw10", 0): 0.5}) == Interval(0.5, 0.5, 0.5, 1)


def test_a_probability_of_improvement_by_hand():
    """1 against 1 is half a win and 2 against 1 a whole one, of four meetings."""
    found = probability_of_improvement({"s": [1.0, 2.0]}, {"s": [3.0, 1.0]})
    assert found is not None
    assert (found.value, found.n) == (0.375, 4)
    assert 0 <= found.low < 0.375 < found.high <= 1


def test_strata_weigh_the_same_in_a_probability_of_improvement():
    a = {"sure": [2.0] * 10, "tied": [0.0], "a only": [5.0]}
    b = {"tied": [0.0], "sure": [1.0], "b only": [5.0]}
    assert probability_of_improvement(a, b) == Interval(0.75, 0.75, 0.75, 13)


def test_separated_samples_always_improve_and_identical_ones_half_the_time():
    values = samples()["normal"]
    assert probability_of_improvement({0: values + 100}, {0: values}) == Interval(1.0, 1.0, 1.0, 40)
    assert probability_of_improvement({0: values - 100}, {0: values}) == Interval(0.0, 0.0, 0.0, 40)
    same = probability_of_improvement({0: values}, {0: values})
    assert same is not None
    assert same.value == 0.5
    assert same.low < 0.5 < same.high


def test_a_probability_of_improvement_and_its_reverse_sum_to_one():
    rng = np.random.default_rng(14)
    a = {k: rng.integers(0, 5, size=7 + k) for k in range(3)}
    b = {k: rng.integers(0, 5, size=9 - k) for k in range(3)}
    there = probability_of_improvement(a, b, resamples=MANY)
    back = probability_of_improvement(b, a, resamples=MANY)
    assert there is not None
    assert back is not None
    assert there.value + back.value == pytest.approx(1.0, abs=1e-14)
    assert_ends_agree(there, 1 - back.high, 1 - back.low)


def test_a_probability_of_improvement_is_the_statistic_of_mann_and_whitney():
    x, y = samples()["normal"], samples()["skewed"]
    found = probability_of_improvement({0: x}, {0: y})
    assert found is not None
    assert found.value == pytest.approx(scipy.stats.mannwhitneyu(x, y).statistic / (len(x) * len(y)))


def test_a_probability_of_improvement_is_resampled_as_by_a_plain_loop():
    rng = np.random.default_rng(15)
    a = {k: rng.normal(0.3 * k, 1.0, 8 + k) for k in range(2)}
    b = {k: rng.normal(0.0, 1.0, 10) for k in range(2)}
    loop = []
    for _ in range(LOOPS):
        shares = []
        for k in range(2):
            x = a[k][rng.integers(len(a[k]), size=len(a[k]))]
            y = b[k][rng.integers(len(b[k]), size=len(b[k]))]
            shares.append(np.mean(x[:, None] > y))
        loop.append(sum(shares) / 2)
    found = probability_of_improvement(a, b, resamples=MANY)
    assert found is not None
    assert_ends_agree(found, *np.percentile(loop, [5, 95]))


def test_a_probability_of_improvement_has_the_same_bits_for_the_same_seed_and_any_order():
    a, b = {"x": samples()["normal"], "y": samples()["few"]}, {"x": samples()["skewed"], "y": samples()["success"]}
    expected = probability_of_improvement(a, b, seed=1)
    turned = [{k: v[::-1] for k, v in reversed(side.items())} for side in (a, b)]
    assert probability_of_improvement(*turned, seed=1) == expected
    assert probability_of_improvement(a, b, seed=2) != expected


def test_a_probability_of_improvement_needs_common_strata():
    assert probability_of_improvement({"x": [1.0]}, {"y": [1.0]}) is None
    assert probability_of_improvement({}, {}) is None


# What is refused.


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_are_refused_everywhere(bad):
    for call in (
        lambda: iqm([1.0, bad]),
        lambda: interval([[1.0], [2.0, bad]]),
        lambda: band([[1.0, 2.0], [bad, 3.0]]),
        lambda: paired_difference({("s", 0): bad}, {("s", 0): 1.0}),
        lambda: paired_difference({("s", 0): 1.0}, {("s", 1): bad}),
        lambda: probability_of_improvement({"s": [1.0]}, {"s": [bad]}),
    ):
        with pytest.raises(ValueError, match="NaN or an infinity"):
            call()


def test_empty_input_is_refused():
    for call in (
        lambda: iqm([]),
        lambda: interval([[1.0], []]),
        lambda: band(np.empty((0, 5))),
        lambda: band(np.empty((5, 0))),
        lambda: probability_of_improvement({"s": []}, {"s": [1.0]}),
    ):
        with pytest.raises(ValueError, match="nothing in"):
            call()
    with pytest.raises(ValueError, match="no groups"):
        interval([])


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match=r"group 0 is .*1-d"):
        interval(np.arange(3.0))
    with pytest.raises(ValueError, match="1-d"):
        probability_of_improvement({"s": [[1.0]]}, {"s": [1.0]})
    with pytest.raises(ValueError, match="one row a run"):
        band(np.arange(3.0))


@pytest.mark.parametrize("wrong", [{"level": 0.0}, {"level": 1.0}, {"level": 90}, {"resamples": 0}])
def test_wrong_settings_are_refused(wrong):
    for call in (
        lambda: interval([[1.0]], **wrong),
        lambda: band([[1.0]], **wrong),
        lambda: paired_difference({("s", 0): 1.0}, {("s", 0): 1.0}, **wrong),
        lambda: probability_of_improvement({"s": [1.0]}, {"s": [1.0]}, **wrong),
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            call()


def test_the_settings_of_the_report():
    assert (LEVEL, RESAMPLES, FEWEST) == (0.9, 4000, 5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Interval(0.0, 0.0, 0.0, 1).value = 1.0
