"""Cores for each run, its workers with it: two runs on two cores beat one run on both, but a single run may have both.

Campaigns of one machine, whoever started them, keep out of each other's way: a core is taken by binding a socket that
has a name and no file, and the run inherits it. The kernel frees the name when the run ends, however it ends.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping

_NAME = "\0recall-rl/core/"


class Cores:
    """Cores that no other run of a campaign keeps to."""

    def __init__(self, holds: Mapping[int, socket.socket]):
        self.numbers, self._holds = frozenset(holds), list(holds.values())

    def filenos(self) -> tuple[int, ...]:
        """What the process of the run has to inherit."""
        return tuple(hold.fileno() for hold in self._holds)

    def give(self, pid: int) -> None:
        """Keep the process that inherited them, and those it will start, on these cores, its own until it ends."""
        with contextlib.suppress(ProcessLookupError):  # It has ended already.
            os.sched_setaffinity(pid, self.numbers)
        self.leave()

    def keep(self) -> None:
        """Keep this process, and those it will start, on these cores, which are taken while this object lives."""
        os.sched_setaffinity(0, self.numbers)

    def leave(self) -> None:
        """Hold them no longer; a process that inherited them still does."""
        for hold in self._holds:
            hold.close()


def take_cores(count: int = 1) -> Cores | None:
    """Cores for a run; None if so many are not free, or on a system without such names: then the kernel shares all."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    holds: dict[int, socket.socket] = {}
    for number in sorted(os.sched_getaffinity(0)):
        if len(holds) == count:
            break
        hold = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            hold.bind(f"{_NAME}{number}")
        except OSError:
            hold.close()
        else:
            holds[number] = hold
    found = Cores(holds)
    if len(holds) == count:
        return found
    found.leave()
    return None
