"""Draws the figures of the documentation from committed results: python docs/figures.py (needs matplotlib)."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib.pyplot as plt

from recall_rl.methods.catalogue import CATALOGUE

ROOT = Path(__file__).parent.parent
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#999999"


def evaluations(run: Path) -> list[dict]:
    """The evaluations in a run's journal."""
    journal = run / "journal.jsonl" if run.is_dir() else run
    lines = map(json.loads, journal.read_text().splitlines())
    return [line for line in lines if line["event"] == "evaluation"]


def curve(run: Path, position: int) -> tuple[list[int], list[float]]:
    """(steps, success) of one task of a run."""
    points = [(e["step"], s["success"]) for e in evaluations(run) for s in e["scores"] if s["position"] == position]
    return [p[0] for p in points], [p[1] for p in points]


def forgetting() -> None:
    """One run over two tasks: the first is learnt, then forgotten."""
    run = ROOT / "results/foundation/pair-mw3-seed0"
    figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
    for position, (name, colour) in enumerate((("handle-press-side", BLUE), ("window-close", ORANGE))):
        axis.plot(*curve(run, position), color=colour, linewidth=2, label=name)
    axis.axvline(100_000, color=GREY, linestyle="--", linewidth=1)
    axis.text(98_500, 0.1, "second task begins", color=GREY, fontsize=9, va="center", ha="right")
    axis.set(xlabel="environment steps", ylabel="success (10 episodes)", ylim=(-0.03, 1.03), xlim=(0, 200_000))
    axis.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    axis.set_title("Fine-tuning, protocol mw3, budget laptop, seed 0", fontsize=10, loc="left")
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(0.2, 0.5))
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(ROOT / "docs/_static/forgetting.png", dpi=130)


def first_layer() -> None:
    """handle-press-side alone, with and without the normalised first layer."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 2.8), layout="constrained", sharey=True)
    for axis, (kind, title) in zip(
        axes, (("hps", "first layer normalised (budget laptop)"), ("hps-plain", "plain first layer")), strict=True
    ):
        for seed, colour in enumerate((BLUE, ORANGE, "#009e73")):
            run = ROOT / f"results/foundation/{kind}-cw-seed{seed}"
            if run.exists():
                axis.plot(*curve(run, 0), color=colour, label=f"seed {seed}")
        axis.set(xlabel="environment steps", ylim=(-0.03, 1.03), xlim=(0, 100_000))
        axis.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:,.0f}k")
        axis.set_title(title, fontsize=10, loc="left")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("success (10 episodes)")
    axes[0].legend(frameon=False)
    figure.savefig(ROOT / "docs/_static/first_layer.png", dpi=130)


def _tidy(axis: plt.Axes, title: str, steps: int) -> None:
    axis.set(ylim=(-0.04, 1.04), xlim=(0, steps))
    axis.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:,.0f}k")
    axis.set_title(title, fontsize=9, loc="left")
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)


def pair() -> None:
    """Every method on the pair of tasks, one panel each: both tasks' success, thin lines for further seeds."""
    found = sorted((ROOT / "results/methods/pair").glob("*.jsonl"))
    methods = sorted({path.stem.rsplit("-", 1)[0] for path in found}, key=list(CATALOGUE).index)
    columns = min(4, len(methods))
    rows, size = -(-len(methods) // columns), {"layout": "constrained", "squeeze": False}
    figure, axes = plt.subplots(
        rows, columns, figsize=(2.5 * columns + 0.5, 1.9 * rows + 0.6), sharex=True, sharey=True, **size
    )
    for axis, method in zip(axes.flat, methods, strict=False):
        for seed, path in enumerate(p for p in found if p.stem.rsplit("-", 1)[0] == method):
            for position, (name, colour) in enumerate((("handle-press-side", BLUE), ("window-close", ORANGE))):
                label = name if seed == 0 and axis is axes.flat[0] else None
                axis.plot(
                    *curve(path, position), color=colour, linewidth=1.3, alpha=1 if seed == 0 else 0.45, label=label
                )
        axis.axvline(100_000, color=GREY, linestyle="--", linewidth=0.8)
        _tidy(axis, method, 200_000)
    for axis in axes.flat[len(methods) :]:
        axis.set_visible(False)
    figure.supylabel("success (10 episodes)", fontsize=9)
    figure.supxlabel("environment steps", fontsize=9)
    figure.legend(loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    figure.savefig(ROOT / "docs/_static/pair.png", dpi=130)


def single() -> None:
    """The ten tasks alone, with normalised targets."""
    found = sorted((ROOT / "results/methods/single").glob("*.jsonl"))
    tasks = sorted({path.stem.rsplit("-", 1)[0] for path in found})
    figure, axes = plt.subplots(2, 5, figsize=(10, 3.6), layout="constrained", sharex=True, sharey=True)
    for axis, task in zip(axes.flat, tasks, strict=False):
        for seed, colour in enumerate((BLUE, ORANGE, "#009e73")):
            path = ROOT / f"results/methods/single/{task}-{seed}.jsonl"
            if path.exists():
                axis.plot(
                    *curve(path, 0), color=colour, linewidth=1.2, label=f"seed {seed}" if axis is axes.flat[0] else None
                )
        _tidy(axis, task, 100_000)
    figure.supylabel("success (10 episodes)", fontsize=9)
    figure.supxlabel("environment steps", fontsize=9)
    figure.legend(loc="outside upper right", ncols=3, frameon=False, fontsize=9)
    figure.savefig(ROOT / "docs/_static/single.png", dpi=130)


def paper() -> None:
    """window-close alone with the paper's networks: normalised and raw targets."""
    figure, axis = plt.subplots(figsize=(7, 2.6), layout="constrained")
    for method, name, colour in (("recall-tn", "normalised targets", BLUE), ("fine-tuning", "raw targets", ORANGE)):
        run = ROOT / f"results/methods/paper/window-close-{method}-0.jsonl"
        axis.plot(*curve(run, 0), color=colour, linewidth=2, marker="o", markersize=3, label=name)
    _tidy(axis, "window-close, protocol cw, budget paper, seed 0", 303_000)
    axis.set(xlabel="environment steps", ylabel="success (10 episodes)")
    axis.legend(frameon=False, loc="center right", fontsize=9)
    figure.savefig(ROOT / "docs/_static/paper.png", dpi=130)


def cheetah() -> None:
    """The tasks of examples/cheetah.toml with two methods: returns in the environment's own unit."""
    methods, scales = ("naive-replay", "recall"), (1.0, 100.0, 10_000.0)
    names = ("forward", "backward (rewards x 100)", "walk (rewards x 10,000)")
    figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained", sharey=True)
    for axis, method in zip(axes, methods, strict=True):
        for seed, path in enumerate(sorted((ROOT / "results/cheetah").glob(f"{method}-*.jsonl"))):
            for position, (name, scale, colour) in enumerate(
                zip(names, scales, (BLUE, ORANGE, "#009e73"), strict=True)
            ):
                points = [
                    (e["step"], s["total"] / scale)
                    for e in evaluations(path)
                    for s in e["scores"]
                    if s["position"] == position
                ]
                label = name if seed == 0 and axis is axes[0] else None
                axis.plot(*zip(*points, strict=True), color=colour, alpha=1 if seed == 0 else 0.45, label=label)
        for step in (20_000, 40_000):
            axis.axvline(step, color=GREY, linestyle="--", linewidth=0.8)
        axis.set(xlim=(0, 60_000), xlabel="environment steps")
        axis.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:,.0f}k")
        axis.set_title(method, fontsize=10, loc="left")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("return of 200 steps, unscaled")
    figure.legend(loc="outside upper right", ncols=3, frameon=False, fontsize=9)
    figure.savefig(ROOT / "docs/_static/cheetah.png", dpi=130)


if __name__ == "__main__":
    forgetting()
    first_layer()
    pair()
    paper()
    if (ROOT / "results/cheetah").exists():
        cheetah()
    if (ROOT / "results/methods/single").exists():
        single()
