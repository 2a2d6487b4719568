"""Prints the table of docs/tutorials/own-tasks.md from the journals in results/cheetah."""

from __future__ import annotations

import json
from pathlib import Path

METHODS, SEEDS, STEPS = ("naive-replay", "recall"), (0, 1), 20_000
TASKS = (("forward", 1), ("backward, rewards x 100", 100), ("walk, rewards x 10,000", 10_000))


def scores(method: str, seed: int, step: int) -> list[dict[str, float]]:
    """Scores of the evaluation at this step."""
    path = Path("results/cheetah") / f"{method}-forward,backward,walk-seed{seed}.jsonl"
    lines = map(json.loads, path.read_text().splitlines())
    return next(line["scores"] for line in lines if line["event"] == "evaluation" and line["step"] == step)


def cell(method: str, position: int, step: int) -> str:
    """Unscaled returns of all seeds, with the share of episodes that succeeded."""
    found = [scores(method, seed, step)[position] for seed in SEEDS]
    return ", ".join(f"{s['total'] / TASKS[position][1]:.0f} ({s['success']:.1f})" for s in found)


if __name__ == "__main__":
    for when, at_end in (("its own training", False), ("all three", True)):
        for position, (name, _) in enumerate(TASKS):
            step = STEPS * (len(TASKS) if at_end else position + 1)
            cells = " | ".join(cell(method, position, step) for method in METHODS)
            print(f"| {when if position == 0 else ''} | {name} | {cells} |")
