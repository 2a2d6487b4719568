"""Waiting for a run in another process to come to a place."""

import time
from pathlib import Path

from recall_rl.runs.checkpoint import latest


def step(path):
    """Where the newest checkpoint of a run is; -1 before there is one."""
    try:
        found = latest(Path(path), verify_memory=False).checkpoint
    except Exception:  # It may be replaced while it is read.
        return -1
    return found.manifest.step if found else -1


def until(condition, seconds=120):
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
