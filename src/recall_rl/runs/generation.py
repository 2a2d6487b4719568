"""One process's claim on a run: a numbered folder that it alone writes to.

A claim is made by renaming a folder, whose lock is already held, to the next number; of two processes one fails. A
process that was replaced goes on writing to its own folder, which nobody reads any more: the run is what the highest
number that has begun says it is. Nothing is checked before it is written, and no clock is trusted.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from recall_rl.errors import RunError, UsageError
from recall_rl.runs.files import parse_json, read_bounded, replace_file

LEASE, START, MEMORY = "lease.json", "start.json", "memory"
_FOLDER = re.compile(r"g(\d{4,9})")
_QUIET_SECONDS = 600.0
"""A lease on another machine without a sign of life for so long may be taken."""


@dataclass(frozen=True)
class Lease:
    """Who holds a run."""

    pid: int
    host: str
    began: float


@dataclass(frozen=True)
class Start:
    """Where a generation began."""

    generation: int | None
    """The generation that it goes on from; None: at the beginning of the run."""
    checkpoint: int | None
    """The checkpoint of it."""


class HeldError(UsageError):
    """Another process holds the run."""


class Generation:
    """A folder of a run with all that one process wrote."""

    def __init__(self, path: Path):
        self.path = path
        self.number = int(path.name[1:])
        self._lock: int | None = None
        self._seen = 0.0

    @property
    def memory(self) -> Path:
        """Where its segments lie."""
        return self.path / MEMORY

    def begin(self, start: Start) -> None:
        """From now on the run is what this generation says it is."""
        replace_file(self.path / START, msgspec.json.encode(start))

    def start(self) -> Start | None:
        """Where it began; None if it has not yet."""
        try:
            found = parse_json(read_bounded(self.path / START, 4096), START)
            return msgspec.convert(found, Start)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.ValidationError) as error:
            raise RunError(f"{self.path / START} cannot be read: {error}.") from error

    def lease(self) -> Lease | None:
        """Who holds it, or held it."""
        try:
            return msgspec.convert(parse_json(read_bounded(self.path / LEASE, 4096), LEASE), Lease)
        except (OSError, RunError, msgspec.ValidationError):
            return None

    def last_sign(self) -> float | None:
        """When its holder was last seen alive, in seconds since 1970."""
        try:
            return (self.path / LEASE).stat().st_mtime
        except OSError:
            return None

    def held(self) -> bool:
        """Whether a living process holds it; of another machine, whether it was seen lately."""
        if _locked(self.path / LEASE):
            return True
        lease = self.lease()
        away = lease is not None and lease.host != socket.gethostname()
        return away and time.time() - (self.last_sign() or 0.0) < _QUIET_SECONDS

    def alive(self) -> None:
        """Give a sign of life, at most once in some seconds."""
        now = time.monotonic()
        if now - self._seen > 5.0:
            self._seen = now
            os.utime(self.path / LEASE)

    def release(self) -> None:
        """Let go of the run."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def generations(run: Path) -> list[Generation]:
    """All generations of a run, the newest first."""
    try:
        names = [entry.name for entry in os.scandir(run) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [Generation(run / name) for name in sorted(filter(_FOLDER.fullmatch, names), key=_number, reverse=True)]


def _number(name: str) -> int:
    return int(name[1:])


def current(run: Path) -> Generation | None:
    """The generation that says what the run is: the newest that has begun."""
    return next((g for g in generations(run) if g.start() is not None), None)


def claim(run: Path, take_over: bool = False) -> Generation:
    """Become the one process that writes to this run; refused while another holds it."""
    found = generations(run)
    if found and not take_over and found[0].held():
        raise HeldError(_refusal(run, found[0]))
    _remove_left_over(run)
    aside = run / f".claim-{uuid4().hex}"
    aside.mkdir()
    (aside / MEMORY).mkdir()
    lease: dict[str, Any] = {"pid": os.getpid(), "host": socket.gethostname(), "began": round(time.time(), 3)}
    lock = os.open(aside / LEASE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    with contextlib.suppress(OSError):  # A file system without locks: folders alone keep processes apart.
        fcntl.flock(lock, fcntl.LOCK_EX)
    os.write(lock, json.dumps(lease).encode())
    made = Generation(run / f"g{(found[0].number if found else 0) + 1:04d}")
    try:
        aside.rename(made.path)
    except OSError as error:
        os.close(lock)
        shutil.rmtree(aside, ignore_errors=True)
        raise HeldError(f"Another process has just taken {run}.") from error
    made._lock = lock  # pyright: ignore[reportPrivateUsage]
    return made


def _locked(lease: Path) -> bool:
    try:
        file = os.open(lease, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False  # A file system without locks.
    finally:
        os.close(file)
    return False


def _remove_left_over(run: Path) -> None:
    """Remove what processes that died while they claimed the run left behind."""
    for path in run.glob(".claim-*"):
        if (path / LEASE).exists() and not _locked(path / LEASE):
            shutil.rmtree(path, ignore_errors=True)


def _refusal(run: Path, holder: Generation) -> str:
    lease, sign = holder.lease(), holder.last_sign()
    who = f"process {lease.pid} on {lease.host}" if lease else "another process"
    seen = f", last seen {max(0, round(time.time() - sign))} s ago" if sign else ""
    return f"{run} is being trained by {who}{seen}. If that process is stuck or gone, add --take-over."
