"""Runs as processes of this machine: as many side by side as there are slots, each on cores of its own."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from recall_rl.campaigns.campaign import Campaign, Standing
from recall_rl.campaigns.pin import take_cores
from recall_rl.campaigns.process import LEAVE_SECONDS, RunProcess
from recall_rl.campaigns.queue import QUIET_SECONDS, Attempt, Queue
from recall_rl.runs.stop import Stop, StoppedError, listening, wait_longer

_PAUSE_SECONDS = 0.2


@dataclass
class _Work:
    attempt: Attempt
    process: RunProcess


class Local:
    """Carries a campaign to its end on this machine; whatever happens, the same call goes on."""

    def __init__(
        self,
        campaign: Campaign,
        slots: int,
        tell: Callable[[str], None],
        quiet: float = QUIET_SECONDS,
        cores: int = 1,
    ):
        self.campaign, self.slots, self.tell, self.cores = campaign, slots, tell, cores
        self.queue = Queue(campaign, tell, quiet)
        self.running: list[_Work] = []

    def go(self) -> list[Standing]:
        """Work until nothing is left that can be done; returns where every run is then."""
        with listening() as stop:
            try:
                while not self.queue.over:
                    self._look()
                    self.queue.look()
                    self._fill()
                    if stop.asked is not None:
                        self._leave(stop)
                    time.sleep(_PAUSE_SECONDS)
            finally:
                self._end_all()
        return self.campaign.standings()

    def _fill(self) -> None:
        while len(self.running) < self.slots and (attempt := self.queue.take()) is not None:
            self._start(attempt)

    def _start(self, attempt: Attempt) -> None:
        place = attempt.job.place
        process = RunProcess(self.campaign.path, place, attempt.take_over, cores=take_cores(self.cores))
        self.running.append(_Work(attempt, process))
        self.tell(f"started  {place}")

    def _look(self) -> None:
        """Take note of processes that ended."""
        for work in list(self.running):
            code = work.process.poll()
            if code is not None:
                self.running.remove(work)
                self.queue.report(work.attempt, code, work.process.reason())

    def _leave(self, stop: Stop) -> None:
        wait_longer()
        self._end_all()
        number = stop.asked or signal.SIGTERM
        raise StoppedError(number, f"stopped; every run is saved, go on with the same command: {self.campaign.path}")

    def _end_all(self) -> None:
        """Ask all processes to save and leave, and wait for them."""
        for work in self.running:
            work.process.ask_to_leave()
        end = time.monotonic() + LEAVE_SECONDS
        for work in self.running:
            work.process.end(end - time.monotonic())
        self.running.clear()
