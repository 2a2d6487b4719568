"""How far a campaign is, in a few numbers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

from recall_rl.campaigns.jobs import Job
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
    """With as many at a time as are running, each as fast as others of its method; without those set aside."""


def summary(found: Iterable[Standing]) -> Summary:
    """Sum up; a few last lines are read of running runs, and of one finished run of a kind."""
    standings = list(found)
    count = Counter(s.state for s in standings)
    made = sum(s.job.steps if s.state == "done" else s.step for s in standings)
    running = [(s.job, rate) for s in standings if s.state == "running" and (rate := _speed(s)) is not None]
    return Summary(
        count["done"],
        count["running"],
        count["ready"],
        count["waiting"],
        count["set aside"],
        sum(s.failures for s in standings),
        made,
        sum(s.job.steps for s in standings),
        sum(rate for _, rate in running) if running else None,
        _work_left(standings, running) / count["running"] if running else None,
    )


def _speed(standing: Standing) -> float | None:
    return speed(standing.glance.journal) if standing.glance.journal is not None else None


def _work_left(standings: Iterable[Standing], running: Iterable[tuple[Job, float]]) -> float:
    """Seconds that one after another would take: methods differ in speed, and so do long and short sequences."""
    rates: dict[tuple[str, int], list[float]] = defaultdict(list)
    for job, rate in running:
        rates[_kind(job)].append(rate)
    for standing in standings:
        if standing.glance.state == "finished" and _kind(standing.job) not in rates:
            rate = _speed(standing)
            rates[_kind(standing.job)] += [rate] if rate is not None else []
    known = {kind: fmean(some) for kind, some in rates.items() if some}
    left: Counter[tuple[str, int]] = Counter()
    for standing in standings:
        if standing.state not in ("done", "set aside"):
            left[_kind(standing.job)] += max(0, standing.job.steps - standing.step)
    return sum(steps / _nearest(known, kind) for kind, steps in left.items())


def _kind(job: Job) -> tuple[str, int]:
    """Its method as its folder has it, and how many tasks it knows in the end."""
    return job.name.split("/")[0], len(job.tasks)


def _nearest(known: Mapping[tuple[str, int], float], kind: tuple[str, int]) -> float:
    """The rate of the same method, with the nearest number of tasks; of all together, if the method is new."""
    method, tasks = kind
    same = [other for other in known if other[0] == method]
    return known[min(same, key=lambda other: abs(other[1] - tasks))] if same else fmean(known.values())
