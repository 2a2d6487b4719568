"""One task of a job array: takes runs that are ready, one after another, and saves and asks to be requeued in time."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

from recall_rl.campaigns.campaign import Campaign
from recall_rl.campaigns.process import RunProcess
from recall_rl.campaigns.queue import HELD, Attempt, Queue
from recall_rl.campaigns.stop import STOP, heeding

_PAUSE_SECONDS = 0.2
_LOOK_SECONDS = 10.0


class ArrayTask:
    """What submitit pickles and calls; it holds no more than where the campaign is and which task this is."""

    def __init__(self, folder: str, number: int):
        self.folder, self.number = folder, number
        self._process: RunProcess | None = None

    def __call__(self) -> int:
        """Work until nothing is left for this task, or until it is asked to stop; returns how many runs it ended."""
        if self._stopped():
            return 0
        with heeding(Path(self.folder)):
            return self._work()

    def _work(self) -> int:
        # Tasks start together: each begins with another run, so that they do not all reach for the same.
        skip, ended = self.number, 0
        while (taken := self._take(skip)) is not None:
            code = self._try(*taken)
            ended += code == 0
            skip = random.randrange(1000) if code == HELD else 0
        return ended

    def _take(self, skip: int) -> tuple[Queue, Attempt] | None:
        """A run that is ready, if need be after others have ended; None once there will be none."""
        queue = Queue(Campaign.existing(Path(self.folder)), lambda line: print(line, flush=True))
        while not self._stopped():
            attempt = queue.take(skip)
            if attempt is not None:
                return queue, attempt
            if not queue.waiting:
                return None
            time.sleep(_LOOK_SECONDS)
            queue.look()
        return None

    def _try(self, queue: Queue, attempt: Attempt) -> int:
        self._process = RunProcess(Path(self.folder), attempt.job.place, attempt.take_over, bound=True)
        print(f"started  {attempt.job.place}", flush=True)
        while (code := self._process.poll()) is None:
            if self._stopped():
                return self._process.leave()
            time.sleep(_PAUSE_SECONDS)
        queue.report(attempt, code, self._process.reason())
        self._process = None
        return code

    def _stopped(self) -> bool:
        return (Path(self.folder) / STOP).exists()

    def checkpoint(self) -> Any:
        """Save the run and go on later: submitit calls it before the time limit and when the job is preempted."""
        from submitit.helpers import DelayedSubmission

        if self._process is not None:
            self._process.leave()
        return DelayedSubmission(ArrayTask(self.folder, self.number))
