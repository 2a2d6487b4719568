"""What a Ray task of a campaign does: one attempt at a run, in a process that leaves when the task's worker does."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import Final

from recall_rl.campaigns.campaign import CAMPAIGN
from recall_rl.campaigns.process import RunProcess

MISSING: Final = -1000
"""In place of an exit code: the campaign's folder is not there."""
_PAUSE_SECONDS = 0.1


def attempt(folder: str, place: str, take_over: bool, gpus: float) -> tuple[int, str]:
    """Try a run; returns the exit code of its process, and why it failed if it did."""
    path = Path(folder)
    if not (path / CAMPAIGN).exists():
        return MISSING, f"{folder} is not there on {socket.gethostname()}: all machines must see the campaign's folder."
    process = RunProcess(path, place, take_over, bound=True, more=share(gpus))
    try:
        while (code := process.poll()) is None:
            time.sleep(_PAUSE_SECONDS)
    except BaseException:  # Ray cancels tasks with KeyboardInterrupt.
        code = process.leave()
    return code, process.reason() if code else ""


def share(gpus: float) -> dict[str, str]:
    """Environment variables by which a run takes no more of a GPU than its share."""
    if gpus == 0:
        return {"JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", "cpu")}
    return {"XLA_PYTHON_CLIENT_MEM_FRACTION": f"{0.9 * gpus:.3f}"} if gpus < 1 else {}
