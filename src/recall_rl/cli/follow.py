"""Training with a display: what `recall train`, `resume` and `extend` have in common."""

from __future__ import annotations

import sys

from recall_rl.runs.config import Config
from recall_rl.runs.directory import RunDirectory


def follow(config: Config, directory: RunDirectory, debug: bool = False, take_over: bool = False) -> int:
    """Train or go on to the end; the exit code is 128 and the signal's number if a signal ended it."""
    from recall_rl.cli.display import watch
    from recall_rl.runs.checkpoint import latest
    from recall_rl.runs.clean import cleaned
    from recall_rl.runs.stop import StoppedError
    from recall_rl.runs.train import finished, run

    if cleaned(directory.path):
        print(f"This run is finished; its rows and checkpoints were removed, its results are there: {directory.path}")
        return 0
    if finished(directory):
        print(f"This run is finished, and every file of it is as it was written: {directory.path}")
        return 0
    search = latest(directory.path, verify_memory=False)
    for problem in search.problems:
        print(f"recall: passed over {problem}.", file=sys.stderr)
    if search.checkpoint is not None:
        print(f"Going on from step {search.checkpoint.manifest.step:,}.", flush=True)
    try:
        watch(config, directory, run(config, directory, debug, take_over))
    except StoppedError as stopped:
        print(f"recall: {stopped}", file=sys.stderr)
        return 128 + stopped.number
    return 0
