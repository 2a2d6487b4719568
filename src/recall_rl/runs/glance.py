"""Where a run is, from the last lines of its journal: a folder of ten thousand runs is looked at in seconds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall_rl.errors import RunError
from recall_rl.runs.files import parse_json
from recall_rl.runs.generation import START, Generation, generations
from recall_rl.runs.journal import JOURNAL, TIMES
from recall_rl.runs.status import State

_FIRST_LOOK = 1 << 14
"""Bytes from the end of a journal that usually hold an evaluation."""
_BESIDE = ("resumed", "extended", "stopped")
"""Events that have a time but no line in the journal."""


@dataclass(frozen=True)
class Glance:
    """What the end of a run's journal says."""

    state: State
    step: int = 0
    average: float | None = None
    """Average success in the last evaluation."""
    journal: Path | None = None


def glance(run: Path) -> Glance:
    """Where the run of this folder is; one that has written its last line counts as finished, held or not."""
    found = generations(run)
    begun = next((g for g in found if os.path.exists(g.path / START)), None)
    journal = begun.path / JOURNAL if begun else run / JOURNAL
    try:
        last, step, average = _ending(journal)
    except (FileNotFoundError, NotADirectoryError):
        last, step, average = None, 0, None
    except (OSError, RunError):
        return Glance("damaged", journal=journal)
    return Glance(_state(last, found[:1]), step, average, journal)


def _state(last: str | None, newest: list[Generation]) -> State:
    if last == "end":
        return "finished"
    if any(generation.held() for generation in newest):
        return "running"
    if last is None:
        return "new"
    return "failed" if last == "failed" else "stopped"


def _ending(journal: Path) -> tuple[str | None, int, float | None]:
    """The last event of a journal, the last step it tells of, and the last average."""
    size = _FIRST_LOOK
    while True:
        lines, whole = last_lines(journal, size)
        event, step, average = None, None, None
        for entry in _backwards(lines):
            event = event or str(entry.get("event"))
            step = entry["step"] if step is None and isinstance(entry.get("step"), int) else step
            if entry.get("event") == "evaluation" and isinstance(entry.get("average"), int | float):
                average = float(entry["average"])
                break
        if average is not None or whole:
            return event, step or 0, average
        size *= 8


def _backwards(lines: list[bytes]) -> Iterator[dict[str, Any]]:
    for line in reversed(lines):
        entry = parse_json(line, JOURNAL)
        if not isinstance(entry, dict):
            raise RunError(f"{JOURNAL} holds a line that is no event.")
        yield entry  # pyright: ignore[reportUnknownVariableType]


def last_lines(path: Path, size: int) -> tuple[list[bytes], bool]:
    """The whole lines within the last bytes of a file, and whether these are all it has."""
    with open(path, "rb") as file:
        start = max(0, file.seek(0, os.SEEK_END) - size)
        file.seek(start)
        content = file.read(size)
    lines = content.split(b"\n")[:-1]
    return (lines[1:] if start else lines), start == 0


def speed(journal: Path) -> float | None:
    """Steps a second that a run made lately; None if its last lines do not tell."""
    try:
        noted = [parse_json(line, TIMES) for line in last_lines(journal.with_name(TIMES), _FIRST_LOOK)[0]]
        told = [parse_json(line, JOURNAL) for line in last_lines(journal, _FIRST_LOOK)[0]]
        since = max((k + 1 for k, entry in enumerate(noted) if entry["event"] in _BESIDE), default=0)
        times = [float(entry["time"]) for entry in noted[since:]]
        # Each of these lines has its time, and both files end with the same one.
        both = [(e["step"], t) for e, t in zip(reversed(told), reversed(times), strict=False) if "step" in e]
        (last, end), (first, begin) = both[0], both[-1]
        return (last - first) / (end - begin) if end > begin and last > first else None
    except (OSError, RunError, IndexError, KeyError, TypeError, ValueError):
        return None
