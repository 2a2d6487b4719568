"""What is left to do: found from what the runs' folders say, with no other memory."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from recall_rl.campaigns.jobs import Job
from recall_rl.runs.glance import Glance

ATTEMPTS = 3
"""Attempts at a run that fails for its own reasons, before it is set aside."""

State = Literal["done", "running", "ready", "waiting", "set aside"]


@dataclass(frozen=True)
class Standing:
    """Where a run of a campaign is."""

    job: Job
    state: State
    """done: there is nothing to do for it; waiting: for the run that it extends."""
    step: int
    failures: int
    reason: str | None
    """Why it failed last."""
    average: float | None
    glance: Glance


def stand(
    jobs: Sequence[Job],
    looks: Mapping[str, Glance],
    failures: Mapping[str, Sequence[str]],
    published: Container[str],
    can_be_extended: Callable[[Job], bool],
) -> list[Standing]:
    """Where every run is; `jobs` have beginnings before what extends them."""
    undone = to_do(jobs, looks, published, can_be_extended)
    states: dict[str, State] = {}
    found: list[Standing] = []
    for job in jobs:
        seen, reasons = looks[job.place], failures.get(job.place, ())
        parent = states[job.parent] if job.parent else "done"
        states[job.place] = _state(seen, len(reasons), parent) if job.place in undone else "done"
        step = max(0, seen.step - job.before * job.config.training.steps)
        reason = reasons[-1] if reasons else None
        found.append(Standing(job, states[job.place], step, len(reasons), reason, seen.average, seen))
    return found


def to_do(
    jobs: Sequence[Job],
    looks: Mapping[str, Glance],
    published: Container[str],
    can_be_extended: Callable[[Job], bool],
) -> set[str]:
    """Places of the runs that are to be done; `jobs` have beginnings before what extends them.

    A result is complete where its journal is, here or published. A run is to be done if it is wanted and not complete,
    or if one to be done still has to begin from it; for the latter its checkpoint must be there, not only its journal.
    """
    undone: set[str] = set()
    begun_from: set[str] = set()
    for job in reversed(jobs):
        seen = looks[job.place]
        complete = seen.state == "finished" or job.place in published
        lacks = job.place in begun_from and not (seen.state == "finished" and can_be_extended(job))
        if not lacks and (complete or not job.wanted):
            continue
        undone.add(job.place)
        if job.parent and seen.state == "new":
            begun_from.add(job.parent)
    return undone


def _state(seen: Glance, failures: int, parent: State) -> State:
    if seen.state == "running":
        return "running"
    if failures >= ATTEMPTS or (parent == "set aside" and seen.state == "new"):
        return "set aside"
    return "ready" if parent == "done" or seen.state != "new" else "waiting"
