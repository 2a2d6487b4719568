"""Mean and deviation of the value targets of each task that a run has met, from its last checkpoint.

python benchmarks/values.py runs/NAME...
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load

from recall_rl.runs.checkpoint import latest
from recall_rl.runs.directory import RunDirectory


def statistics(run: Path) -> list[tuple[str, float, float]]:
    """(task, mu, sigma) of every head but the scratch one."""
    found = latest(run, verify_memory=False).checkpoint
    if found is None:
        sys.exit(f"{run} has no checkpoint: give the folder of a run, not one that a campaign has tidied.")
    arrays = load(found.state())
    mu, variance = (
        next(v for k, v in arrays.items() if k.endswith(f"statistics.{name}")) for name in ("mu", "variance")
    )
    tasks = RunDirectory(run).config().sequence.split(",")
    return [(task, float(m), float(np.sqrt(v))) for task, m, v in zip(tasks, mu, variance, strict=False)]


if __name__ == "__main__":
    for name in sys.argv[1:] or sys.exit(__doc__):
        print(name, *(f"{task} {mu:,.0f} ± {sigma:,.0f}" for task, mu, sigma in statistics(Path(name))), sep="  ")
