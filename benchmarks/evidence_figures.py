"""The figures of docs/results.md, from published journals: python benchmarks/evidence_figures.py (needs matplotlib).

The primary comparison is drawn once all its runs are there.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from evidence import WINDOW, Campaign, base, campaign, named

from recall_rl.analysis import metrics
from recall_rl.analysis.bootstrap import band, paired_difference

STATIC = Path(__file__).parent.parent / "docs/_static"
GREY = "#777777"
COLOURS = {
    "recall": "#d55e00",
    "clonex": "#0072b2",
    "packnet": "#009e73",
    "ewc": "#cc79a7",
    "perfect-memory": "#e69f00",
    "fine-tuning": "#777777",
}
NAMES = {
    "recall": "RECALL",
    "clonex": "ClonEx",
    "packnet": "PackNet",
    "ewc": "EWC",
    "perfect-memory": "Perfect Memory",
    "fine-tuning": "fine-tuning",
}


def curves(found: Campaign, method: str) -> tuple[np.ndarray, np.ndarray]:
    """(steps, average performance of each run), all sequences together."""
    runs = [run for run in found.runs if base(run) == method]
    return runs[0].at, np.array([metrics.average_performance(run.success) for run in runs])


def spread(places: dict[str, float], gap: float) -> dict[str, float]:
    """Heights for labels that keep a gap, as near to their places as that allows."""
    order = sorted(places, key=lambda name: places[name])
    heights = [places[name] for name in order]
    for _ in range(200):
        for k in range(1, len(heights)):
            lack = gap - (heights[k] - heights[k - 1])
            if lack > 0:
                heights[k - 1] -= lack / 2
                heights[k] += lack / 2
    return dict(zip(order, heights, strict=True))


def headline(found: Campaign) -> plt.Figure:
    """Average performance over training, and RECALL against each other method by paired runs."""
    methods = sorted(found.methods(), key=list(COLOURS).index)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained", width_ratios=[3, 2])
    last: dict[str, float] = {}
    for method in methods:
        at, values = curves(found, method)
        low, high = band(values)
        front = 3 if method == "recall" else 2
        left.fill_between(at, low, high, color=COLOURS[method], alpha=0.14, linewidth=0)
        left.plot(
            at, values.mean(axis=0), color=COLOURS[method], linewidth=2.4 if method == "recall" else 1.5, zorder=front
        )
        last[method] = float(values.mean(axis=0)[-WINDOW:].mean())
    whole = int(at[-1])
    tasks = len(found.runs[0].tasks)
    for k in range(1, tasks):
        left.axvline(k * whole / tasks, color=GREY, linewidth=0.8, linestyle=":")
    for method, height in spread(last, 0.055).items():
        weight = "bold" if method == "recall" else "normal"
        left.text(
            whole * 1.015, height, NAMES[method], color=COLOURS[method], fontsize=9.5, va="center", fontweight=weight
        )
    left.set(xlim=(0, whole), ylim=(0, 1), xlabel="environment steps")
    left.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:,.0f}k")
    left.set_title("Success over all tasks, those not met yet counting 0", fontsize=10, loc="left")

    theirs = sorted((m for m in methods if m != "recall"), key=lambda m: last[m])
    of = named("average_performance")
    mine = found.values("recall", of)
    for y, method in enumerate(theirs):
        difference = paired_difference(mine, found.values(method, of))
        if difference is None:
            continue
        right.plot([difference.low, difference.high], [y, y], color=COLOURS[method], linewidth=2.5)
        right.plot(difference.value, y, "o", color=COLOURS[method], markersize=7)
        right.text(
            difference.value, y + 0.2, f"{difference.value:+.2f}", fontsize=9, ha="center", color=COLOURS[method]
        )
    right.axvline(0, color=GREY, linewidth=0.8)
    right.set_yticks(range(len(theirs)), [f"against {NAMES[m]}" for m in theirs], fontsize=9.5)
    right.set_ylim(-0.5, len(theirs) - 0.3)
    right.set_title("RECALL's lead at the end", fontsize=10, loc="left")
    right.set_xlabel(f"difference in success, {len(mine)} pairs each", fontsize=10)
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=9)
    return figure


if __name__ == "__main__":
    found = campaign("primary")
    if len(found.runs) == found.asked:
        headline(found).savefig(STATIC / "primary.png", dpi=130)
    else:
        print(f"The primary comparison has {len(found.runs)} of {found.asked} runs; it is drawn once it has all.")
