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
from recall_rl.tasks.sequences import task_names


def statistics(run: Path) -> list[tuple[str, float, float]]:
    """(task, mu, sigma) of every head but the scratch one."""
    found = latest(run, verify_memory=False).checkpoint
    if found is None:
        sys.exit(f"{run} has no checkpoint: give the folder of a run, not one that a campaign has tidied.")
    arrays = {name.rsplit(".", 1)[-1]: array for name, array in load(found.state()).items() if ".statistics." in name}
    if "mu" not in arrays:
        sys.exit(f"{run} does not normalise its targets, so it keeps no statistics of them.")
    tasks = task_names(RunDirectory(run).config().sequence)
    spreads = np.sqrt(arrays["variance"])
    return [(task, float(m), float(s)) for task, m, s in zip(tasks, arrays["mu"], spreads, strict=False)]


if __name__ == "__main__":
    for name in sys.argv[1:] or sys.exit(__doc__):
        print(name, *(f"{task} {mu:,.0f} ± {sigma:,.0f}" for task, mu, sigma in statistics(Path(name))), sep="  ")
