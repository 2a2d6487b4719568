"""What the learner must know of a sequence's tasks before it begins."""

from __future__ import annotations

from dataclasses import dataclass

from recall_rl.collect.row import Row
from recall_rl.collect.worker import Describe, Description, Worker
from recall_rl.errors import UsageError
from recall_rl.tasks.task import Sequence


@dataclass(frozen=True)
class Spaces:
    """The sizes all tasks of a sequence share, and whether each of them repeats itself under a seed."""

    row: Row
    reproducible: bool


def describe(worker: Worker, sequence: Sequence) -> Spaces:
    """Make each task once in a worker and look at it."""
    seen: dict[str, Description] = {}
    for task in sequence.tasks:
        if task.name not in seen:
            worker.send(Describe(task))
            seen[task.name] = worker.receive()
    sizes = {name: (d.observation_size, d.action_size) for name, d in seen.items()}
    if len(set(sizes.values())) > 1:
        listing = ", ".join(f"{name} has {o} and {a}" for name, (o, a) in sizes.items())
        wide, deep = (max(size[k] for size in sizes.values()) for k in (0, 1))
        raise UsageError(
            f"The tasks of a sequence must agree in numbers of observation and action; {listing}. Tasks of "
            f"your own can be filled up: observation_size = {wide}, action_size = {deep}."
        )
    first = next(iter(seen.values()))
    return Spaces(Row(first.observation_size, first.action_size), all(d.reproducible for d in seen.values()))
