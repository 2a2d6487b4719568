"""The figures of docs/results.md, from published journals: python benchmarks/evidence_figures.py (needs matplotlib).

The primary comparison is drawn once all its runs are there, the ablation for each sequence that has all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from evidence_runs import WINDOW, Campaign, base, campaign, named
from evidence_tables import short

from recall_rl.analysis import metrics
from recall_rl.analysis.bootstrap import band, paired_difference

STATIC = Path(__file__).parent.parent / "docs/_static"
GREY = "#777777"
STYLES = {
    "recall": ("RECALL", "#d55e00"),
    "clonex": ("ClonEx", "#0072b2"),
    "packnet": ("PackNet", "#009e73"),
    "ewc": ("EWC", "#cc79a7"),
    "perfect-memory": ("Perfect Memory", "#e69f00"),
    "fine-tuning": ("fine-tuning", GREY),
}
"""Each method's name and colour."""
PARTS = {
    "recall": ("both: RECALL", "#d55e00"),
    "recall-tn": ("normalisation", "#0072b2"),
    "recall-pd": ("distillation", "#e69f00"),
    "naive-replay": ("neither", GREY),
}
"""The same of the ablation."""
KEPT = {**PARTS, "recall-steady": ("RECALL kept steady", "#009e73")}
"""The same with the remedy."""


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


def draw_curves(axis: plt.Axes, found: Campaign, styles: Mapping[str, tuple[str, str]]) -> dict[str, float]:
    """Average performance over training, methods named at its end; returns where they end."""
    last: dict[str, float] = {}
    for method in sorted(found.methods(), key=list(styles).index):
        colour, ours = styles[method][1], method == "recall"
        at, values = curves(found, method)
        axis.fill_between(at, *band(values), color=colour, alpha=0.14, linewidth=0)
        width = 2.4 if ours else 1.5
        axis.plot(at, values.mean(axis=0), color=colour, linewidth=width, zorder=3 if ours else 2)
        last[method] = float(values.mean(axis=0)[-WINDOW:].mean())
    whole, tasks = int(at[-1]), len(found.runs[0].tasks)
    for k in range(1, tasks):
        axis.axvline(k * whole / tasks, color=GREY, linewidth=0.8, linestyle=":")
    for method, height in spread(last, 0.055).items():
        (name, colour), weight = styles[method], "bold" if method == "recall" else "normal"
        axis.text(whole * 1.015, height, name, color=colour, fontsize=9.5, va="center", fontweight=weight)
    axis.set(xlim=(0, whole), ylim=(0, 1), xlabel="environment steps")
    axis.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:,.0f}k")
    plain(axis)
    return last


def plain(axis: plt.Axes) -> None:
    """No box around it, and small ticks."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=9)


def headline(found: Campaign) -> plt.Figure:
    """Average performance over training, and RECALL against each other method by paired runs."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained", width_ratios=[3, 2])
    last = draw_curves(left, found, STYLES)
    left.set_title("Success over all tasks, those not met yet counting 0", fontsize=10, loc="left")

    theirs = sorted((m for m in last if m != "recall"), key=lambda m: last[m])
    of = named("average_performance")
    mine = found.values("recall", of)
    for y, method in enumerate(theirs):
        difference = paired_difference(mine, found.values(method, of))
        if difference is None:
            continue
        colour = STYLES[method][1]
        right.plot([difference.low, difference.high], [y, y], color=colour, linewidth=2.5)
        right.plot(difference.value, y, "o", color=colour, markersize=7)
        right.text(difference.value, y + 0.2, f"{difference.value:+.2f}", fontsize=9, ha="center", color=colour)
    right.axvline(0, color=GREY, linewidth=0.8)
    right.set_yticks(range(len(theirs)), [f"against {STYLES[m][0]}" for m in theirs], fontsize=9.5)
    right.set_ylim(-0.5, len(theirs) - 0.3)
    right.set_title("RECALL's lead at the end", fontsize=10, loc="left")
    right.set_xlabel(f"difference in success, {len(mine)} pairs each", fontsize=10)
    plain(right)
    return figure


def ablation(found: Sequence[Campaign]) -> plt.Figure:
    """What each part of RECALL does to average performance over training, as the paper's figure of it."""
    figure, axes = plt.subplots(1, len(found), figsize=(5 * len(found), 3.6), layout="constrained", squeeze=False)
    for axis, each in zip(axes[0], found, strict=True):
        draw_curves(axis, each, PARTS)
        axis.set_title(f"{short(each.runs[0].sequence)}: success over all tasks", fontsize=10, loc="left")
    return figure


def run_away(doubled: Campaign, others: Sequence[Campaign], longest: Campaign) -> plt.Figure:
    """How far value targets are spread, over training: each run of six tasks, and RECALL's of ten."""
    figure, axis = plt.subplots(figsize=(7.5, 3.9), layout="constrained")
    ends: dict[str, tuple[int, float]] = {}
    for found, style in ((doubled, "-"), *((other, "-") for other in others), (longest, "--")):
        for run in found.runs:
            if base(run) not in KEPT:
                continue
            name, colour = KEPT[base(run)]
            spread_of = run.training.values["target_deviation"]
            axis.plot(run.training.at, spread_of, style, color=colour, linewidth=1.3)
            label = f"{name}, ten tasks" if found is longest else name
            ends[label] = max(ends.get(label, (0, 0.0)), (int(run.training.at[-1]), float(spread_of[-1])))
    axis.set(yscale="log", ylim=(10, 3e9), xlim=(0, 1e6), xlabel="environment steps")
    axis.plot([0, 6e5], [3e5, 3e5], ":", color=GREY, linewidth=0.8)
    axis.text(6e3, 3.8e5, "no return is larger", color=GREY, fontsize=9)
    places = spread({label: np.log10(value) for label, (_, value) in ends.items()}, 0.42)
    for label, height in places.items():
        colour = dict(KEPT.values())[label.removesuffix(", ten tasks")]
        last = label.endswith("ten tasks")
        axis.text(
            9.9e5 if last else 6.1e5,
            10 ** (height - (0.6 if last else 0)),
            label,
            color=colour,
            fontsize=9.5,
            va="center",
            ha="right" if last else "left",
        )
    axis.set_title("Deviation of value targets in a batch", fontsize=10, loc="left")
    axis.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:,.0f}k")
    plain(axis)
    return figure


def main() -> None:
    """Draw what has all its runs."""
    found = campaign("primary")
    if found.complete:
        headline(found).savefig(STATIC / "primary.png", dpi=130)
    else:
        print(f"The primary comparison has {len(found.runs)} of {found.asked} runs; it is drawn once it has all.")
    whole = [each for each in campaign("ablation").split() if each.complete]
    if whole:
        ablation(whole).savefig(STATIC / "ablation.png", dpi=130)
    else:
        print("No sequence of the ablation has all its runs yet; each is drawn once it has.")
    doubled = campaign("ablation").split()[1]
    kept = [part for part in campaign("steady").split() if part.runs[0].sequence == doubled.runs[0].sequence]
    run_away(doubled, kept, campaign("cw10")).savefig(STATIC / "values.png", dpi=130)


if __name__ == "__main__":
    main()
