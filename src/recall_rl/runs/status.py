"""How far runs are, found without importing what they name and without waiting for them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from recall_rl.errors import RunError, UsageError
from recall_rl.runs.config import read_file
from recall_rl.runs.directory import CONFIG, RunDirectory
from recall_rl.runs.generation import generations
from recall_rl.tasks.sequences import task_names

State = Literal["new", "running", "stopped", "finished", "failed", "damaged"]


@dataclass(frozen=True)
class Status:
    """Where a run is."""

    run: str
    state: State
    method: str | None = None
    sequence: str | None = None
    seed: int | None = None
    step: int = 0
    """Steps that the journal tells of."""
    steps: int | None = None
    """Steps of the whole run."""
    average: float | None = None
    """Average success in the last evaluation."""
    last_seen: float | None = None
    """When a process was last seen working on it, in seconds since 1970."""
    reproducible: bool | None = None
    """Whether every environment repeats itself under a seed, and no open episode had to be given up."""
    reason: str | None = None
    """Why it failed, or cannot be read."""


def statuses(folder: Path) -> list[Status]:
    """The runs below a folder, by name; run folders are not searched for others."""
    found: list[Status] = []
    for path, names, files in os.walk(folder):
        names.sort()
        if CONFIG in files:
            names.clear()
            found.append(status(Path(path)))
    return found


def status(path: Path) -> Status:
    """Where the run of this folder is."""
    directory = RunDirectory(path)
    try:
        config = read_file(path / CONFIG)
        method, text, seed = config.get("method"), config.get("sequence"), config.get("seed")
        training = config.get("training")
        each = training.get("steps") if isinstance(training, dict) else None  # pyright: ignore
        steps = each * len(task_names(text)) if isinstance(text, str) and isinstance(each, int) else None
        events = directory.journal() if directory.begun() else []
    except (RunError, UsageError) as error:
        return Status(str(path), "damaged", reason=str(error))
    known = [e for e in events if isinstance(e.get("step"), int)]
    evaluations = [e for e in events if e.get("event") == "evaluation"]
    newest = next(iter(generations(path)), None)
    last = events[-1] if events else {}
    state: State = "stopped" if events else "new"
    if newest is not None and newest.held():
        state = "running"
    elif last.get("event") == "end":
        state = "finished"
    elif last.get("event") == "failed":
        state = "failed"
    return Status(
        run=str(path),
        state=state,
        method=method if isinstance(method, str) else None,
        sequence=text if isinstance(text, str) else None,
        seed=seed if isinstance(seed, int) else None,
        step=max((e["step"] for e in known), default=0),
        steps=steps,
        average=evaluations[-1].get("average") if evaluations else None,
        last_seen=newest.last_sign() if newest else None,
        reproducible=bool(events[0].get("reproducible")) and not any(e.get("event") == "gap" for e in events)
        if events
        else None,
        reason=str(last.get("reason")) if state == "failed" else None,
    )
