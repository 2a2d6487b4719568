"""Asking a campaign to stop, from any shell and any machine that sees its folder.

A process that carries a campaign has a file below `drivers`, which it holds a lock on and touches while it lives. A
file `stop` in the folder asks all of them to leave; each then does what SIGTERM makes it do: save every run and end.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from recall_rl.campaigns.campaign import Campaign
from recall_rl.errors import UsageError

DRIVERS, STOP = "drivers", "stop"
_LOOK_SECONDS = 1.0
_QUIET_SECONDS = 60.0
"""A driver on another machine without a sign of life for so long counts as gone."""


@contextmanager
def heeding(folder: Path) -> Generator[None]:
    """Carry a campaign, and leave as on SIGTERM when its folder asks for it; an earlier request no longer counts."""
    (folder / STOP).unlink(missing_ok=True)
    (folder / DRIVERS).mkdir(exist_ok=True)
    host = socket.gethostname()
    sign = folder / DRIVERS / f"{host}-{os.getpid()}.json"
    file = os.open(sign, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    with contextlib.suppress(OSError):  # A file system without locks: its time of change has to do.
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.ftruncate(file, 0)
    os.write(file, json.dumps({"pid": os.getpid(), "host": host}).encode())
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(folder, sign, ended), name="stop", daemon=True)
    watch.start()
    try:
        yield
    finally:
        ended.set()
        watch.join()
        sign.unlink(missing_ok=True)
        os.close(file)


def _watch(folder: Path, sign: Path, ended: threading.Event) -> None:
    asked = False
    while not ended.wait(_LOOK_SECONDS):
        with contextlib.suppress(OSError):
            os.utime(sign)
        if not asked and (folder / STOP).exists():
            asked = True
            os.kill(os.getpid(), signal.SIGTERM)


def drivers(folder: Path) -> list[str]:
    """The processes that carry a campaign now, each as `process PID on HOST`."""
    found: list[str] = []
    for sign in sorted((folder / DRIVERS).glob("*.json")):
        host, _, pid = sign.stem.rpartition("-")
        if _alive(sign, host):
            found.append(f"process {pid} on {host}")
    return found


def _alive(sign: Path, host: str) -> bool:
    try:
        if host != socket.gethostname():
            return time.time() - sign.stat().st_mtime < _QUIET_SECONDS
        file = os.open(sign, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return time.time() - os.fstat(file).st_mtime < _QUIET_SECONDS
    finally:
        os.close(file)
    return False


def workers(campaign: Campaign) -> list[str]:
    """The processes that a request to stop reaches: drivers and, where a job array carries the campaign, its runs."""
    found = drivers(campaign.path)
    if (campaign.path / "slurm").is_dir():
        found += [standing.job.place for standing in campaign.standings() if standing.state == "running"]
    return found


def stop(campaign: Campaign, seconds: float) -> list[str]:
    """Ask all processes that carry a campaign to leave, and wait so long; returns those that are still there."""
    try:
        (campaign.path / STOP).touch()
    except OSError as error:
        raise UsageError(f"{campaign.path} cannot be written: {error.strerror}.") from error
    end = time.monotonic() + seconds
    while (left := workers(campaign)) and time.monotonic() < end:
        time.sleep(0.5)
    return left
