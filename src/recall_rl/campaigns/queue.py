"""What is left of a campaign, in which order, and what became of each attempt; engines take from it and report back.

The disk is the queue: this is what was found there, kept up to date by one engine while it works.
"""

from __future__ import annotations

import heapq
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from recall_rl.campaigns.campaign import ATTEMPTS, Campaign
from recall_rl.campaigns.estimate import costs
from recall_rl.campaigns.jobs import Job
from recall_rl.runs.status import Status, status

HELD: Final = 75
"""Exit code of a run's process where another process holds the run."""
LOSSES: Final = 20
"""Attempts in a row that were lost with their machine, the run no further, before they count as a failure."""
QUIET_SECONDS: Final = 600.0
"""A run whose holder gave no sign of life for so long is taken from it; what the holder still writes does not count."""
_LOOK_SECONDS = 2.0

Rank = tuple[int, int, int, float, str]


@dataclass(frozen=True)
class Attempt:
    """One process's try at a run."""

    job: Job
    step: int
    """Where the run was before it."""
    take_over: bool
    """Whether it takes the run from a process that is stuck or gone."""


def ranks(jobs: Iterable[Job]) -> dict[str, Rank]:
    """The order of runs: the longest chains of runs that extend one another first, of equal ones a seed of all methods.

    A run stands where the longest chain through it does, so a seed's chains are ended before the next seed's begin. Of
    a seed the slowest methods come first, so that no core waits long for the last run.
    """
    speeds = costs()
    listed = list(jobs)  # Beginnings come before what extends them.
    above: dict[str | None, int] = {None: 0}
    for job in listed:
        above[job.place] = above[job.parent] + job.steps
    below: dict[str | None, int] = defaultdict(int)
    for job in reversed(listed):
        below[job.parent] = max(below[job.parent], job.steps + below[job.place])
    return {
        job.place: (
            -(above[job.place] + below[job.place]),
            job.config.seed,
            above[job.place],
            speeds.get(job.config.method, 1.0),
            job.place,
        )
        for job in listed
    }


class Queue:
    """The runs of a campaign as one engine sees them."""

    def __init__(self, campaign: Campaign, tell: Callable[[str], None], quiet: float = QUIET_SECONDS):
        self.campaign, self.tell, self.quiet = campaign, tell, quiet
        self.ranks = ranks(campaign.jobs)
        self.busy: set[str] = set()
        """Runs that this engine has taken."""
        self.held: dict[str, tuple[float | None, float]] = {}
        """Runs that other processes hold: their last sign of life, and when we saw it change."""
        self.failed: dict[str, int] = {}
        self._lost: dict[str, int] = defaultdict(int)
        self._stuck: set[str] = set()
        self._ready: list[tuple[Rank, str]] = []
        self._waiting: dict[str, list[Job]] = defaultdict(list)
        self._looked = time.monotonic()
        self._fill()

    def _fill(self) -> None:
        standings = self.campaign.standings()
        done = {s.job.place for s in standings if s.state == "done"}
        for standing in standings:
            job = standing.job
            self.failed[job.place] = standing.failures
            if standing.state == "done":
                continue
            if standing.state == "running":
                self.held[job.place] = (None, time.monotonic())
            elif job.parent is not None and job.parent not in done:
                self._waiting[job.parent].append(job)
            else:
                self._offer(job)

    def _offer(self, job: Job) -> None:
        if self.failed[job.place] < ATTEMPTS:
            heapq.heappush(self._ready, (self.ranks[job.place], job.place))

    @property
    def ready(self) -> int:
        """Runs that could begin now."""
        return len(self._ready)

    @property
    def over(self) -> bool:
        """Whether nothing is left that can be done."""
        return not (self._ready or self.busy or self.held)

    @property
    def waiting(self) -> bool:
        """Whether runs wait for others that are being worked on."""
        return any(parent in self.busy or parent in self.held for parent in self._waiting)

    def take(self, skip: int = 0) -> Attempt | None:
        """The next run that can begin, or one further down; it is the engine's until it reports back."""
        if not self._ready:
            return None
        passed = [heapq.heappop(self._ready) for _ in range(skip % len(self._ready) + 1)]
        _, place = passed.pop()
        for entry in passed:
            heapq.heappush(self._ready, entry)
        job = self.campaign.by_place[place]
        self.busy.add(place)
        folder = self.campaign.folder(job)
        attempt = Attempt(job, status(folder).step if folder.exists() else 0, place in self._stuck)
        self._stuck.discard(place)
        return attempt

    def put_back(self, attempt: Attempt) -> None:
        """Return a run that was not tried after all."""
        self.busy.discard(attempt.job.place)
        self._offer(attempt.job)

    def report(self, attempt: Attempt, code: int, reason: str) -> None:
        """Take note of how a run's process ended."""
        job = attempt.job
        if code == 0:
            return self._finish(job)
        self.busy.discard(job.place)
        if code == HELD:
            self.held[job.place] = (None, time.monotonic())
            return None
        # A run that got further before something ended it is begun again without counting the attempt.
        if (code < 0 or code > 128) and self._seen(job).step > attempt.step:
            self.tell(f"again    {job.place}: {reason}")
        else:
            self._fail(job, reason)
        self._offer(job)

    def lose(self, attempt: Attempt, reason: str, machine: bool = False) -> None:
        """Take note that an attempt was lost with what carried it; with its machine, nobody is left to let go."""
        job, seen = attempt.job, self._seen(attempt.job)
        self.busy.discard(job.place)
        self._lost[job.place] = 0 if seen.step > attempt.step else self._lost[job.place] + 1
        if self._lost[job.place] >= LOSSES:
            self._lost[job.place] = 0
            self._fail(job, f"{reason}, {LOSSES} times in a row")
        else:
            self.tell(f"again    {job.place}: {reason}")
        if machine:
            self._stuck.add(job.place)
        elif seen.state == "running":
            self.held[job.place] = (seen.last_seen, time.monotonic())
            return
        self._offer(job)

    def look(self) -> None:
        """See every few seconds whether other processes have let go of their runs."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        for place, (sign, since) in list(self.held.items()):
            job = self.campaign.by_place[place]
            seen = self._seen(job)
            if seen.state == "running" and seen.last_seen != sign:
                self.held[place] = (seen.last_seen, now)
            elif seen.state == "finished":
                del self.held[place]
                self._finish(job)
            elif seen.state != "running" or now - since > self.quiet:
                del self.held[place]
                if seen.state == "running":
                    self._stuck.add(place)
                    self.tell(f"again    {place}: its process gave no sign of life")
                self._offer(job)

    def _seen(self, job: Job) -> Status:
        folder = self.campaign.folder(job)
        return status(folder) if folder.exists() else Status(str(folder), "new")

    def _finish(self, job: Job) -> None:
        self.busy.discard(job.place)
        self.tell(f"done     {job.place}")
        for child in self._waiting.pop(job.place, []):
            self._offer(child)

    def _fail(self, job: Job, reason: str) -> None:
        self.campaign.note_failure(job, reason)
        self.failed[job.place] += 1
        left = ATTEMPTS - self.failed[job.place]
        self.tell(f"failed   {job.place}: {reason}" + (f" ({left} attempts left)" if left > 0 else "; set aside"))
