"""The report's figures: each a function of runs that returns a Matplotlib figure."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from recall_rl.analysis import metrics
from recall_rl.analysis.metrics import Rates, Steps
from recall_rl.analysis.read import Result
from recall_rl.analysis.setting import Setting
from recall_rl.reports.drawing import (
    COLOURS,
    FEW_METHODS,
    GREY,
    Looks,
    boundaries,
    draw,
    grid,
    label,
    legend,
    looks,
    named,
    plain_number,
    step_axis,
    thinned,
    together,
    value_axis,
)
from recall_rl.reports.study import Study, by_method, plain
from recall_rl.reports.tables import TITLES
from recall_rl.tasks.metaworld import CW10


def curves(runs: Sequence[Result], look: Looks) -> Figure:
    """Success of every task over the run, a panel a task; shaded while it is being learnt."""
    tasks, first = runs[0].tasks, runs[0]
    figure, axes = grid(len(tasks), 3 if len(tasks) < 8 else 5, 2.9 if len(tasks) < 8 else 2.1, 1.8)
    longest = max(runs, key=lambda r: len(r.at))
    edges = [0, *boundaries(longest), first.steps]
    spans = metrics.spans(longest.success)
    for position, axis in enumerate(axes):
        begun = sum(s.first < spans[position].first for s in {s.first: s for s in spans}.values())
        if begun + 1 < len(edges):
            axis.axvspan(edges[begun], edges[begun + 1], color=GREY, alpha=0.13, linewidth=0)
        for edge in edges[1:-1]:
            axis.axvline(edge, color=GREY, linestyle=":", linewidth=0.7)

        def curve(run: Result, p: int = position) -> tuple[Steps, Rates]:
            met = ~np.isnan(run.success[:, p])
            return run.at[met], run.success[met, p]

        for method, members in by_method(runs).items():
            if method in look and (drawn := together(members, curve)):
                draw(axis, *drawn, look[method], members[0], len(look) <= FEW_METHODS)
        axis.set(ylim=(-0.03, 1.03), title=f"{position + 1} {tasks[position]}")
        step_axis(axis, first)
    label(axes, "success")
    legend(figure, axes)
    return figure


def average(runs: Sequence[Result], look: Looks) -> Figure:
    """Average performance P(t) of every method."""
    figure = Figure(figsize=(6.4, 3.1))
    axis = figure.subplots()
    for method, members in by_method(runs).items():
        drawn = together(members, lambda r: (r.at, metrics.average_performance(r.success)))
        if method in look and drawn:
            draw(axis, *drawn, look[method], members[0], len(look) <= FEW_METHODS)
    for edge in boundaries(max(runs, key=lambda r: len(r.at))):
        axis.axvline(edge, color=GREY, linestyle=":", linewidth=0.7)
    axis.set(ylim=(-0.03, 1.03), ylabel="average performance", xlabel="environment steps")
    step_axis(axis, runs[0])
    legend(figure, [axis])
    return figure


def matrix(runs: Sequence[Result], look: Looks) -> Figure:
    """Success of each task (rows) over time, a panel a method: what was learnt, kept and lost at a glance."""
    groups = {m: members for m, members in by_method(runs).items() if m in look}
    figure, axes = grid(len(groups), 2, 3.6, 0.55 + 0.22 * len(runs[0].tasks))
    image = None
    for axis, (method, members) in zip(axes, groups.items(), strict=True):
        n = min(len(r.at) for r in members)
        stack = np.stack([r.success[:n] for r in members])
        mean = stack.mean(axis=0) if n else np.zeros((1, len(runs[0].tasks)))
        end = float(members[0].at[n - 1]) if n else 1.0
        image = axis.imshow(
            mean.T,
            aspect="auto",
            cmap="viridis",
            vmin=0,
            vmax=1,
            extent=(0, end, len(runs[0].tasks) + 0.5, 0.5),
            interpolation="nearest",
        )
        for edge in boundaries(members[0]):
            axis.axvline(edge, color="white", linewidth=0.8)
        axis.set_yticks(range(1, len(runs[0].tasks) + 1), runs[0].tasks, fontsize=7)
        axis.set_title(str(look[method]["label"]), fontsize=8)
        step_axis(axis, runs[0])
    if image is not None:
        figure.colorbar(image, ax=axes, label="success", fraction=0.03, pad=0.02)
    label(axes)
    return figure


_PAIR = re.compile(r"pair-(\d)-(\d)")


def pairs(runs: Sequence[Result], method: str, window: int) -> Figure:
    """The paper's figures 1 and 4: first task, second task and forgetting of the first, over pairs of tasks."""
    first, second, lost = (np.full((10, 10), np.nan) for _ in range(3))
    cells: dict[tuple[int, int], list[Result]] = {}
    for run in runs:
        match = _PAIR.fullmatch(run.sequence)
        if match and run.method == method and run.finished and len(run.at):
            cells.setdefault((int(match[1]), int(match[2])), []).append(run)
    for (i, j), members in cells.items():
        ends = np.mean([metrics.at_end(r.success, window) for r in members], axis=0)
        own = np.mean([metrics.at_own_end(r.success, window)[0] for r in members])
        first[i, j], second[i, j], lost[i, j] = ends[0], ends[1], own - ends[0]
    figure, axes = grid(3, 3, 2.9, 2.5)
    shown = (
        ("first task", first, "RdYlGn", 0),
        ("second task", second, "RdYlGn", 0),
        ("forgetting", lost, "RdYlGn_r", -1),
    )
    for axis, (title, values, colours, low) in zip(axes, shown, strict=True):
        image = axis.imshow(values, cmap=colours, vmin=low, vmax=1)
        axis.set_facecolor("#8080801f")
        axis.set_title(f"{title}: mean {np.nanmean(values):.2f}")
        axis.set_xticks(range(10))
        axis.set_yticks(range(10))
        axis.set_xlabel("second task")
        figure.colorbar(image, ax=axis, shrink=0.75)
        for i, j in cells:
            axis.text(
                j, i, f"{values[i, j]:.1f}".lstrip("0") or "0", ha="center", va="center", fontsize=5.5, color="black"
            )
    axes[0].set_ylabel("first task")
    figure.supxlabel(
        "  ".join(f"{k} {task}" for k, task in enumerate(CW10[:5]))
        + "\n"
        + "  ".join(f"{k + 5} {task}" for k, task in enumerate(CW10[5:])),
        fontsize=7,
    )
    return figure


def forgotten(runs: Sequence[Result], method: str, window: int) -> Figure | None:
    """First tasks of the pairs that lose more than 0.1, as the paper's appendix shows them; None if there is none."""
    members = [r for r in runs if r.method == method and len(r.tasks) == 2 and r.finished and len(r.at)]
    bad = [r for r in members if (metrics.at_own_end(r.success, window) - metrics.at_end(r.success, window))[0] > 0.1]
    if not bad:
        return None
    figure = Figure(figsize=(6.4, 2.8))
    axis = figure.subplots()
    for k, run in enumerate(bad[:40]):
        x, y = thinned(run.at, run.success[None, :, 0], run.steps)
        label = f"{run.sequence} seed {run.seed}" if len(bad) <= 8 else None
        axis.plot(x, y[0], linewidth=1, alpha=0.8, color=COLOURS[k % len(COLOURS)], label=label)
    for edge in boundaries(bad[0]):
        axis.axvline(edge, color=GREY, linestyle=":", linewidth=0.8)
    axis.set(ylim=(-0.03, 1.03), ylabel="success of the first task", xlabel="environment steps")
    step_axis(axis, bad[0])
    legend(figure, [axis])
    return figure


_LEARNING = {
    "critic_loss": "critic loss",
    "actor_loss": "actor loss",
    "q": "predicted value (network's units)",
    "target": "mean of targets",
    "target_deviation": "deviation of targets",
    "alpha": "temperature",
}


def learning(runs: Sequence[Result], look: Looks) -> Figure | None:
    """Losses, predicted value, targets and temperature, as means over batches (the paper's appendix figure)."""
    names = [n for n in _LEARNING if any(n in r.training.values for r in runs)]
    if not names:
        return None
    figure, axes = grid(len(names), 3, 2.9, 1.7, share_y=False)
    for axis, name in zip(axes, names, strict=True):

        def curve(run: Result, n: str = name) -> tuple[Steps, Rates]:
            values = run.training.values.get(n, np.zeros(0))
            return run.training.at[: len(values)], values

        for method, members in by_method(runs).items():
            if method in look and (drawn := together(members, curve)) and np.isfinite(drawn[1]).all():
                draw(axis, *drawn, look[method], members[0], len(look) <= FEW_METHODS)
        for edge in boundaries(max(runs, key=lambda r: len(r.at))):
            axis.axvline(edge, color=GREY, linestyle=":", linewidth=0.7)
        axis.set_title(_LEARNING[name])
        if name == "alpha":
            axis.set_yscale("log")
            low, high = axis.dataLim.intervaly
            axis.set_ylim(low / 2, high * 2)
            axis.yaxis.set_minor_locator(NullLocator())
            axis.yaxis.set_major_formatter(plain_number)
        else:
            value_axis(axis)
        step_axis(axis, runs[0])
    label(axes)
    legend(figure, axes)
    return figure


ABLATION = {"naive-replay": "none", "recall-tn": "TN", "recall-pd": "PD", "recall": "TN+PD"}
"""The paper's ablation: target normalisation and policy distillation, alone and together."""


def ablation(runs: Sequence[Result]) -> Figure | None:
    """Average performance of the four variants; None unless RECALL and another are there."""
    names = sorted(
        (m for m in by_method(runs) if plain(m) in ABLATION and "lam=" not in m),
        key=lambda m: (list(ABLATION).index(plain(m)), m),
    )
    if len({plain(m) for m in names}) < 2 or not any(plain(m) == "recall" for m in names):
        return None
    look = named(looks(names), names)
    for m in names:
        look[m]["label"] = f"{ABLATION[plain(m)]} ({look[m]['label']})"
    return average([r for r in runs if r.method in names], look)


def sweep(made: Study, setting: Setting, sequence: str) -> Figure | None:
    """The measures against the coefficient of distillation; None unless there are two of them."""
    from recall_rl.methods.find import options

    points: dict[float, dict[str, tuple[float, float, float]]] = {}
    for row in made.rows:
        if row.setting != setting or row.sequence != sequence or plain(row.method) != "recall":
            continue
        match = re.search(r"lam=([0-9.e+-]+)", row.method)
        lam = float(match[1]) if match else float(str(options("recall")["lam"]))
        for metric, measured in row.measures.items():
            i = measured.interval
            points.setdefault(lam, {})[metric] = (i.value, i.low, i.high)
    if len(points) < 2:
        return None
    figure, axes = grid(3, 3, 2.4, 2.0, share_y=False)
    for axis, metric in zip(axes, ("average_performance", "forgetting", "forward_transfer"), strict=True):
        known = sorted((lam, *found[metric]) for lam, found in points.items() if metric in found)
        if known:
            x, y, low, high = np.array(known).T
            axis.errorbar(x, y, [y - low, high - y], marker="o", markersize=4, color=COLOURS[0], linewidth=1.2)
        axis.set_xscale("log")
        axis.set(xlabel="λ", title=TITLES[metric])
    return figure
