"""Where many runs are: looked at one after another where the storage is quick, side by side where it is slow."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from recall_rl.runs.glance import Glance, glance

_FIRST = 32
"""Runs that are looked at to see how quick the storage is."""
_SLOW_SECONDS = 0.003
"""A look that takes so long waits for the storage, not for the processor."""
SIDE_BY_SIDE = 32


def look(folders: Sequence[Path], slow: float = _SLOW_SECONDS) -> list[Glance]:
    """Where each of these runs is."""
    began = time.perf_counter()
    found = [glance(folder) for folder in folders[:_FIRST]]
    rest = folders[_FIRST:]
    if time.perf_counter() - began < slow * len(found):
        return found + [glance(folder) for folder in rest]
    with ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix="look") as threads:
        return found + list(threads.map(glance, rest))
