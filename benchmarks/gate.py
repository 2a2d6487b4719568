"""How often the gate errs and how soon it answers, by simulation; results/gate.jsonl is what it prints.

python benchmarks/gate.py

Simulated are the pairs, not the policies: of each task a policy loses a share of the old one's episodes and gains a
share of its failures. The judgement is the gate's own, looked at after every tenth pair, up to 500 pairs a task.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import numpy as np

from recall_rl.analysis.retention import log_capital, risk
from recall_rl.runs.gate import ROUND

LIMIT, ALPHA, PAIRS, GATES = 0.05, 0.05, 500, 4000

Task = tuple[float, float]
"""Shares of pairs in which a skill is lost and gained."""

CASES: dict[str, list[Task]] = {
    "the same policy": [(0.0, 0.0)] * 3,
    "as good, 2% of episodes differ": [(0.01, 0.01)] * 3,
    "as good, 10% of episodes differ": [(0.05, 0.05)] * 3,
    "as good, 20% of episodes differ": [(0.1, 0.1)] * 3,
    "0.02 lost on each task": [(0.02, 0.0)] * 3,
    "just 0.05 lost on one task of three": [(0.0, 0.0), (0.05, 0.0), (0.0, 0.0)],
    "just 0.05 lost on one task, 25% of episodes differ": [(0.0, 0.0), (0.15, 0.1), (0.0, 0.0)],
    "just 0.05 lost on each task": [(0.05, 0.0)] * 3,
    "just 0.05 lost on each task, 25% of episodes differ": [(0.15, 0.1)] * 3,
    "0.1 lost on one task of three": [(0.0, 0.0), (0.1, 0.0), (0.0, 0.0)],
    "0.2 lost on one task of three": [(0.0, 0.0), (0.2, 0.0), (0.0, 0.0)],
    "one skill of three gone": [(0.0, 0.0), (1.0, 0.0), (0.0, 0.0)],
}


@dataclass(frozen=True)
class Found:
    """How gates of one kind ended."""

    passed: float
    failed: float
    undecided: float
    pairs: float
    """Mean number played, of all tasks, to the answer."""
    lost_task: float
    """Mean number played on the task that lost most."""


def simulate(tasks: list[Task], rng: np.random.Generator) -> Found:
    granted, looks = risk(ALPHA, len(tasks)), PAIRS // ROUND
    verdicts, played = [], []
    for lost, gained in tasks:
        drawn = rng.multinomial(ROUND, [lost, gained, 1 - lost - gained], size=(GATES, looks)).cumsum(axis=1)
        losses, gains, same = drawn[..., 0], drawn[..., 1], drawn[..., 2]
        passing = log_capital(losses, gains, same, LIMIT) >= -np.log(granted.passing)
        failing = log_capital(gains, losses, same, -LIMIT) >= -np.log(granted.failing)
        first = [np.where(hit.any(axis=1), hit.argmax(axis=1), looks) for hit in (passing, failing)]
        verdicts.append(np.where(first[0] < first[1], 1, np.where(first[1] < first[0], -1, 0)))
        played.append(ROUND * np.minimum(np.minimum(*first) + 1, looks))
    passed, failed = np.all(np.array(verdicts) == 1, axis=0), np.any(np.array(verdicts) == -1, axis=0)
    worst = max(range(len(tasks)), key=lambda k: tasks[k][0] - tasks[k][1])
    return Found(
        float(passed.mean()),
        float(failed.mean()),
        float((~passed & ~failed).mean()),
        float(np.sum(played, axis=0).mean()),
        float(played[worst].mean()),
    )


def main() -> None:
    rng = np.random.default_rng(0)
    for name, tasks in CASES.items():
        print(json.dumps({"case": name, "tasks": len(tasks), **asdict(simulate(tasks, rng))}), flush=True)


if __name__ == "__main__":
    main()
