"""Figures of a campaign from its published journals: what results/PLAN.md asks to be measured, with paired intervals.

    python benchmarks/evidence.py primary   # measures of every method, and every method against recall
    python benchmarks/evidence.py pairs     # for sequences of two tasks also how the second one ended

Reads results/NAME, and results/references for forward transfer. "The end" is the mean of the last three evaluations.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from recall_rl.analysis import metrics
from recall_rl.analysis.bootstrap import Interval, interval, paired_difference
from recall_rl.analysis.read import Result, read
from recall_rl.analysis.summary import measure, references

WINDOW = 3
MEASURES = ("average_performance", "forgetting", "forward_transfer")
Values = Mapping[tuple[str, int], float]
"""A number for each sequence and seed."""


def shown(found: Interval | None) -> str:
    if found is None:
        return "–"
    width = f" [{found.low:.2f}, {found.high:.2f}]" if found.low < found.high else ""
    return f"{found.value:.2f}{width}"


def over(values: Values) -> Interval | None:
    """The mean over all runs, resampled within each sequence."""
    strata: dict[str, list[float]] = {}
    for (sequence, _), value in values.items():
        strata.setdefault(sequence, []).append(value)
    return interval(list(strata.values())) if strata else None


def table(head: list[str], rows: list[list[str]]) -> None:
    for row in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(row) + " |")
    print()


def collect(results: list[Result], known) -> dict[str, dict[str, dict[tuple[str, int], float]]]:
    """Values of each measure, by method."""
    found: dict[str, dict[str, dict[tuple[str, int], float]]] = {}
    for result in results:
        values = measure(result, known, WINDOW)
        if len(result.tasks) == 2:
            values["second task"] = float(metrics.at_end(result.success, WINDOW)[1])
        for name, value in values.items():
            found.setdefault(result.method, {}).setdefault(name, {})[result.sequence, result.seed] = value
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="a folder below results")
    parser.add_argument("--against", default="recall", help="the method that the others are paired with")
    given = parser.parse_args()
    everything = read([Path("results") / given.name])
    ended = [r for r in everything.results if r.finished]
    alone = read([Path("results/references")]).results if Path("results/references").exists() else []
    found = collect(ended, references([*ended, *alone]))
    extra = ("second task",) if any("second task" in f for f in found.values()) else ()
    print(f"{len(ended)} finished runs of {len(everything.results)}\n")
    rows = []
    for method, values in sorted(found.items(), key=lambda kv: -np.mean([*kv[1]["average_performance"].values()])):
        cells = [shown(over(values.get(name, {}))) for name in (*MEASURES, *extra)]
        rows.append([method, *cells, str(len(values["average_performance"]))])
    table(["method", *(name.replace("_", " ") for name in (*MEASURES, *extra)), "runs"], rows)
    base = next((m for m in found if m.split(" ")[0].split("(")[0] == given.against), None)
    if base is None:
        return
    rows = []
    for method, values in found.items():
        if method != base:
            names = ("average_performance", "forgetting", *extra)
            pairs = [paired_difference(found[base][name], values[name]) for name in names]
            rows.append([method, *map(shown, pairs), str(pairs[0].n if pairs[0] else 0)])
    print(f"{base} minus each other, on the same sequence and seed:\n")
    table(["method", "average performance", "forgetting", *extra, "pairs"], rows)


if __name__ == "__main__":
    main()
