"""The paper's measures of many runs: one row a method and sequence, never across settings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from recall_rl.analysis import metrics
from recall_rl.analysis.bootstrap import (
    Interval,
    interval,
    iqm,
    paired_difference,
    probability_of_improvement,
)
from recall_rl.analysis.metrics import Rates
from recall_rl.analysis.read import Result
from recall_rl.analysis.setting import Setting

METRICS = ("average_performance", "forgetting", "forward_transfer", "backward_transfer")
"""The paper's three, and the field's fourth."""
REFERENCE = "fine-tuning"
"""The method whose training from scratch is the reference of forward transfer: plain soft actor-critic."""

References = Mapping[tuple[Setting, str], list[float]]
"""Areas of training a task from scratch, a value a run."""


@dataclass(frozen=True)
class Measured:
    """One measure of the finished runs of a method on a sequence."""

    metric: str
    values: dict[int, float]
    """By seed."""
    interval: Interval


@dataclass(frozen=True)
class Row:
    """The measures of a method on a sequence."""

    setting: Setting
    sequence: str
    method: str
    seeds: tuple[int, ...]
    """Of finished runs."""
    unfinished: int
    """Runs that are not counted, because they have not ended."""
    measures: dict[str, Measured]


def references(results: Iterable[Result], method: str = REFERENCE) -> References:
    """Areas of first tasks of runs of this method: nothing was learnt before them, whatever follows."""
    found: dict[tuple[Setting, str], list[float]] = defaultdict(list)
    for result in results:
        if result.method == method and len(result.success):
            first = metrics.spans(result.success)[0]
            alone = np.isnan(result.success[: first.stop, 1:]).all()
            ended = result.finished or first.stop < len(result.success)
            if alone and ended:
                found[result.setting, result.definitions[0]].append(float(metrics.areas(result.success)[0]))
    return found


def measure(result: Result, known: References, window: int = 1) -> dict[str, float]:
    """The measures of one finished run; forward transfer only where every task has a reference."""
    areas: Rates = np.array(
        [np.mean(known.get((result.setting, task), [np.nan])) for task in result.definitions], np.float64
    )
    transfer = metrics.forward_transfer(result.success, areas)
    found = {
        "average_performance": metrics.final_performance(result.success, window),
        "forgetting": metrics.forgetting(result.success, window),
        "backward_transfer": metrics.backward_transfer(result.success, window),
    }
    return found | ({} if transfer is None else {"forward_transfer": transfer})


def summarise(results: Iterable[Result], known: References, window: int = 1) -> list[Row]:
    """A row a setting, sequence and method, in this order; runs that have not ended are counted, not measured."""
    groups: dict[tuple[Setting, str, str], list[Result]] = defaultdict(list)
    for result in results:
        groups[result.setting, result.sequence, result.method].append(result)
    return [_row(*key, runs, known, window) for key, runs in sorted(groups.items())]


def _row(setting: Setting, sequence: str, method: str, runs: list[Result], known: References, window: int) -> Row:
    ended = sorted((run for run in runs if run.finished and len(run.at)), key=lambda run: run.seed)
    by_seed = {run.seed: measure(run, known, window) for run in ended}
    measures: dict[str, Measured] = {}
    for metric in METRICS:
        values = {seed: found[metric] for seed, found in by_seed.items() if metric in found}
        if values:
            measures[metric] = Measured(metric, values, interval([list(values.values())]))
    return Row(setting, sequence, method, tuple(by_seed), len(runs) - len(ended), measures)


@dataclass(frozen=True)
class Overall:
    """A method over several sequences: those that every method of the family has finished runs of."""

    setting: Setting
    family: str
    sequences: tuple[str, ...]
    method: str
    means: dict[str, Interval]
    middle: dict[str, Interval]
    """Interquartile means."""


def family(sequence: str) -> str | None:
    """What a sequence is averaged with: cw3, cw6 and pair as in the paper; one's own sequences of as many tasks."""
    if "," in sequence:
        return f"own, {sequence.count(',') + 1} tasks"
    name = sequence.split("-")[0]
    return name if name in ("cw3", "cw6", "pair") and sequence != name else None


def overall(rows: Iterable[Row]) -> list[Overall]:
    """Every method over the sequences of its family, resampled within each sequence."""
    groups: dict[tuple[Setting, str], list[Row]] = defaultdict(list)
    for row in rows:
        name = family(row.sequence)
        if name is not None and row.seeds:
            groups[row.setting, name].append(row)
    found: list[Overall] = []
    for (setting, name), members in sorted(groups.items()):
        methods = sorted({row.method for row in members})
        by_method = {m: {row.sequence: row for row in members if row.method == m} for m in methods}
        common = sorted(set.intersection(*(set(by_method[m]) for m in methods)))
        if len(common) < 2:
            continue
        for m in methods:
            chosen = [by_method[m][sequence].measures for sequence in common]
            full = [metric for metric in METRICS if all(metric in measures for measures in chosen)]
            groups_of = {metric: [list(c[metric].values.values()) for c in chosen] for metric in full}
            found.append(
                Overall(
                    setting,
                    name,
                    tuple(common),
                    m,
                    {metric: interval(values) for metric, values in groups_of.items()},
                    {metric: interval(values, iqm) for metric, values in groups_of.items()},
                )
            )
    return found


@dataclass(frozen=True)
class Comparison:
    """One method against another, in average performance at the end, on what both have finished."""

    setting: Setting
    method: str
    against: str
    difference: Interval
    """Mean of the differences between runs with the same sequence and seed; n counts pairs."""
    improvement: Interval | None
    """Probability that a run of the method ends higher than one of the other; n counts runs."""


def compare(rows: Iterable[Row], preferred: str = "recall") -> list[Comparison]:
    """Every method of a setting against one: the preferred, or its variant with most runs, or the first."""
    by_setting: dict[Setting, dict[str, dict[str, dict[int, float]]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        if "average_performance" in row.measures:
            by_setting[row.setting][row.method][row.sequence] = row.measures["average_performance"].values
    found: list[Comparison] = []
    for setting, methods in sorted(by_setting.items()):
        count = {m: sum(map(len, values.values())) for m, values in methods.items()}
        ours = [m for m in methods if m.split(" ")[0].split("(")[0] == preferred]
        base = max(ours or methods, key=lambda m: (count[m], m))
        for m, values in methods.items():
            if m == base:
                continue
            flat = [
                {(s, seed): v for s, by in side.items() for seed, v in by.items()} for side in (values, methods[base])
            ]
            difference = paired_difference(*flat)
            if difference is not None:
                sides = [{s: list(by.values()) for s, by in side.items()} for side in (values, methods[base])]
                found.append(Comparison(setting, m, base, difference, probability_of_improvement(*sides)))
    return found
