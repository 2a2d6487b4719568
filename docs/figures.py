"""Draws the figures of the documentation from committed results: python docs/figures.py (needs matplotlib)."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib.pyplot as plt

ROOT = Path(__file__).parent.parent
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#999999"


def evaluations(run: Path) -> list[dict]:
    """The evaluations in a run's journal."""
    lines = map(json.loads, (run / "journal.jsonl").read_text().splitlines())
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


if __name__ == "__main__":
    forgetting()
    first_layer()
