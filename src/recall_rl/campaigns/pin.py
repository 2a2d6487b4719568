"""A core for each run, its workers with it: two runs on two cores beat one run on both.

Campaigns of one machine, whoever started them, keep out of each other's way: a core is taken by binding a socket that
has a name and no file, and the run inherits it. The kernel frees the name when the run ends, however it ends.
"""

from __future__ import annotations

import contextlib
import os
import socket

_NAME = "\0recall-rl/core/"


class Core:
    """A core that no other run of a campaign keeps to."""

    def __init__(self, number: int, hold: socket.socket):
        self.number, self._hold = number, hold

    def fileno(self) -> int:
        """What the process of the run has to inherit."""
        return self._hold.fileno()

    def give(self, pid: int) -> None:
        """Keep the process that inherited it, and those it will start, on this core, which is its own until it ends."""
        with contextlib.suppress(ProcessLookupError):  # It has ended already.
            os.sched_setaffinity(pid, {self.number})
        self._hold.close()

    def keep(self) -> None:
        """Keep this process, and those it will start, on this core, which is taken for as long as this object lives."""
        os.sched_setaffinity(0, {self.number})


def take_core() -> Core | None:
    """A core for a run; None if all are taken, or on a system without such names: then the kernel shares them out."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    for number in sorted(os.sched_getaffinity(0)):
        hold = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            hold.bind(f"{_NAME}{number}")
        except OSError:
            hold.close()
        else:
            return Core(number, hold)
    return None
