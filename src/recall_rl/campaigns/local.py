"""Runs as processes of this machine: as many side by side as there are slots, each on a core of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from recall_rl.campaigns.campaign import ATTEMPTS, Campaign, Standing
from recall_rl.campaigns.jobs import Job
from recall_rl.campaigns.work import HELD
from recall_rl.runs.status import status
from recall_rl.runs.stop import Stop, StoppedError, listening

_PAUSE_SECONDS = 0.2
_HELD_SECONDS = 2.0
_LEAVE_SECONDS = 40.0
"""For a run to save after it was asked to stop; it promises 30."""


@dataclass
class _Work:
    job: Job
    process: subprocess.Popen[bytes]
    slot: int
    log: IO[bytes]
    step: int
    """Where the run was when this attempt began."""


class Local:
    """Carries a campaign to its end on this machine; whatever happens, the same call goes on."""

    def __init__(self, campaign: Campaign, slots: int, tell: Callable[[str], None]):
        self.campaign, self.slots, self.tell = campaign, slots, tell
        self.running: list[_Work] = []
        standings = campaign.standings()
        self.done = {s.job.place for s in standings if s.state == "done"}
        self.failed = {s.job.place: s.failures for s in standings}
        self.held = {s.job.place for s in standings if s.state == "running"}
        """Runs that other processes hold, such as those that outlived a campaign that was killed."""
        self.looked = time.monotonic()
        self.left = sorted((s.job for s in standings if s.state != "done"), key=_order)

    def go(self) -> list[Standing]:
        """Work until nothing is left that can be done; returns where every run is then."""
        with listening() as stop:
            try:
                while self.running or self.held or self._ready() is not None:
                    self._look()
                    self._look_at_held()
                    self._fill()
                    if stop.asked is not None:
                        self._leave(stop)
                    time.sleep(_PAUSE_SECONDS)
            finally:
                self._end_all()
        return self.campaign.standings()

    def _ready(self) -> Job | None:
        """The next run that can begin: not held, not set aside, and what it extends is done."""
        busy = {work.job.place for work in self.running} | self.held
        for job in self.left:
            ended = job.parent is None or job.parent in self.done
            if job.place not in busy and ended and self.failed[job.place] < ATTEMPTS:
                return job
        return None

    def _fill(self) -> None:
        while len(self.running) < self.slots and (job := self._ready()) is not None:
            self._start(job)

    def _start(self, job: Job) -> None:
        path = self.campaign.path
        slot = next(k for k in range(self.slots) if k not in {work.slot for work in self.running})
        name = path / "logs" / f"{job.place.replace('/', '~')}.log"
        name.parent.mkdir(exist_ok=True)
        log = open(name, "ab")  # noqa: SIM115
        process = subprocess.Popen(
            [sys.executable, "-m", "recall_rl.campaigns.work", str(path), job.place],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            env=_environment(self.campaign),
            start_new_session=True,  # Ctrl-C is for us; we ask them to save.
        )
        _pin(process.pid, slot)
        folder = self.campaign.folder(job)
        step = status(folder).step if folder.exists() else 0
        self.running.append(_Work(job, process, slot, log, step))
        self.tell(f"started  {job.place}")

    def _look(self) -> None:
        """Take note of processes that ended."""
        for work in list(self.running):
            code = work.process.poll()
            if code is None:
                continue
            self.running.remove(work)
            work.log.close()
            if code == 0:
                self._finish(work.job)
            elif code == HELD:
                self.held.add(work.job.place)
            else:
                self._note(work, code)

    def _look_at_held(self) -> None:
        """See every few seconds whether other processes have let go of their runs."""
        if time.monotonic() - self.looked < _HELD_SECONDS:
            return
        self.looked = time.monotonic()
        for place in list(self.held):
            found = status(self.campaign.path / place)
            if found.state != "running":
                self.held.remove(place)
                if found.state == "finished":
                    self._finish(self.campaign.by_place[place])

    def _finish(self, job: Job) -> None:
        self.done.add(job.place)
        self.left.remove(job)
        self.tell(f"done     {job.place}")

    def _note(self, work: _Work, code: int) -> None:
        """A run that got further before something ended it is begun again without counting the attempt."""
        place, folder = work.job.place, self.campaign.folder(work.job)
        reason = f"ended by {signal.Signals(-code).name}" if code < 0 else _last_line(work.log.name)
        further = folder.exists() and status(folder).step > work.step
        if further and (code < 0 or code > 128):
            self.tell(f"again    {place}: {reason}")
            return
        self.campaign.note_failure(work.job, reason)
        self.failed[place] += 1
        left = ATTEMPTS - self.failed[place]
        self.tell(f"failed   {place}: {reason}" + (f" ({left} attempts left)" if left > 0 else "; set aside"))

    def _leave(self, stop: Stop) -> None:
        self._end_all()
        number = stop.asked or signal.SIGTERM
        raise StoppedError(number, f"stopped; every run is saved, go on with the same command: {self.campaign.path}")

    def _end_all(self) -> None:
        """Ask all processes to save and leave, and wait for them."""
        for work in self.running:
            work.process.send_signal(signal.SIGTERM)
        end = time.monotonic() + _LEAVE_SECONDS
        for work in self.running:
            try:
                work.process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                work.process.kill()
                work.process.wait()
            work.log.close()
        self.running.clear()


def _order(job: Job) -> tuple[bool, int, str]:
    """Beginnings that others wait for first, then the longest."""
    return job.wanted, -job.steps, job.place


def _environment(campaign: Campaign) -> dict[str, str]:
    """One thread a process, and compiled programs shared by all runs."""
    threads = dict.fromkeys(("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str((campaign.path / "compiled").resolve()),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.5",
    }
    return {**os.environ, **threads, **cache}


def _pin(pid: int, slot: int) -> None:
    """Keep a run, its workers with it, on one core: two runs on two cores beat one run on both."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        with contextlib.suppress(ProcessLookupError):  # It has ended already.
            os.sched_setaffinity(pid, {cores[slot % len(cores)]})


def _last_line(name: str) -> str:
    with open(name, "rb") as file:
        file.seek(max(0, os.path.getsize(name) - 4096))
        lines = [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
