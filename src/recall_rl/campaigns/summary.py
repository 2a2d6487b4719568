"""How far a campaign is, in a few numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from recall_rl.campaigns.standing import Standing
from recall_rl.runs.glance import speed


@dataclass(frozen=True)
class Summary:
    """Counts of runs, shared beginnings included, and the steps behind and before them."""

    done: int
    running: int
    ready: int
    waiting: int
    """For the run that they extend."""
    set_aside: int
    failed_attempts: int
    steps: int
    """Steps made, or not needed any more."""
    whole: int
    """Steps of the whole campaign."""
    steps_per_second: float | None
    """Of all running runs together, by what they noted last; None if none has noted enough."""
    seconds_left: float | None
    """At this speed, without those set aside."""


def summary(found: Iterable[Standing]) -> Summary:
    """Sum up; of running runs a few last lines are read, of others nothing."""
    standings = list(found)
    count = Counter(s.state for s in standings)
    made = sum(s.job.steps if s.state == "done" else s.step for s in standings)
    left = sum(max(0, s.job.steps - s.step) for s in standings if s.state not in ("done", "set aside"))
    journals = [s.glance.journal for s in standings if s.state == "running"]
    rates = [rate for journal in journals if journal is not None and (rate := speed(journal)) is not None]
    rate = sum(rates) if rates else None
    return Summary(
        count["done"],
        count["running"],
        count["ready"],
        count["waiting"],
        count["set aside"],
        sum(s.failures for s in standings),
        made,
        sum(s.job.steps for s in standings),
        rate,
        left / rate if rate else None,
    )
