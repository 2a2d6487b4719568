"""Playing a kept policy on the tasks it knows, in as many episodes as one wants."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recall_rl.collect.worker import ProcessWorker
from recall_rl.errors import UsageError, unknown
from recall_rl.runs.policy import Policy, read_policy
from recall_rl.tasks.sequences import task
from recall_rl.tasks.task import one_by_one
from recall_rl.training.evaluate import Evaluator

_Z90 = 1.6449
"""The normal distribution's 95th percentile: a two-sided level of 90%."""


@dataclass(frozen=True)
class Score:
    """How a policy did on one task."""

    position: int
    task: str
    episodes: int
    success: float
    """Share of episodes that succeeded at any step."""
    low: float
    """Lower end of Wilson's 90% interval of the success rate."""
    high: float
    """Upper end of it."""
    total: float
    """Mean return."""
    length: float
    """Mean number of steps."""


def wilson(share: float, n: int) -> tuple[float, float]:
    """The 90% interval of a success rate that was seen in n episodes."""
    z2 = _Z90**2 / n
    centre, half = (share + z2 / 2) / (1 + z2), math.sqrt(share * (1 - share) * z2 + z2**2 / 4) / (1 + z2)
    return max(0.0, centre - half), min(1.0, centre + half)


def positions(policy: Policy, tasks: Sequence[str]) -> list[int]:
    """Where these tasks stand in the policy; all positions if none is named."""
    names = policy.about.tasks
    for name in tasks:
        if name not in names:
            raise unknown("task", name, names, "These are the tasks that this policy knows.")
    return [p for p, name in enumerate(names) if not tasks or name in tasks]


def evaluate(
    path: str | Path,
    episodes: int = 50,
    *,
    tasks: Sequence[str] = (),
    after: int | None = None,
    workers: int = 1,
    trust_code: bool = False,
) -> list[Score]:
    """Play a run's policy, or that of a policy file, on the tasks it knows, as `recall evaluate` does.

    The first episodes are those of the run's own last evaluation, so with as many of them its figures come out again.
    """
    if episodes < 1 or workers < 1:
        raise UsageError("--episodes and --workers must be positive.")
    policy = read_policy(Path(path), after, trust_code)
    about, chosen = policy.about, positions(policy, tasks)
    protocol = dataclasses.replace(about.protocol, episodes=episodes)
    sequence = one_by_one("", tuple(task(name, protocol, about.own) for name in about.tasks))
    team = [ProcessWorker(60.0) for _ in range(workers)]
    try:
        evaluator = Evaluator(team, sequence, protocol, about.seed)
        evaluator.begin(about.step, [(p, policy.actors[p]) for p in chosen])
        found = evaluator.finish()
    finally:
        for worker in team:
            worker.close()
    return [
        Score(s.position, s.task, episodes, s.success, *wilson(s.success, episodes), s.total, s.length)
        for s in found.scores
    ]
