"""Making room: a finished run without its rows and checkpoints is still its config, journal, weights and policies."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from recall_rl.errors import RunError
from recall_rl.runs.files import sync_folder, write_new
from recall_rl.runs.generation import MEMORY, current, generations

CLEANED = "cleaned.json"
"""Stands in the newest generation of a run that has only its results left."""


@dataclass
class Freed:
    """What removing files gives back; a file that two runs have is freed with the last of them."""

    files: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict[tuple[int, int], tuple[int, int]])
    """By device and number: names that are left, and bytes."""

    def note(self, path: Path) -> None:
        """Count a name that goes."""
        seen = path.lstat()
        key = seen.st_dev, seen.st_ino
        left, _ = self.files.get(key, (seen.st_nlink, 0))
        self.files[key] = left - 1, seen.st_blocks * 512

    @property
    def bytes(self) -> int:
        """Room on the disk that all removals together give back."""
        return sum(size for left, size in self.files.values() if left <= 0)


def cleaned(run: Path) -> bool:
    """Whether only the results of a finished run are left."""
    try:
        found = current(run)
    except RunError:
        return False
    return found is not None and (found.path / CLEANED).exists()


def clean_run(run: Path, freed: Freed, dry: bool = False) -> bool:
    """Remove rows and checkpoints of a finished run that no process holds; returns whether there were any.

    The mark comes first, so that a run of which half is removed is never taken for a damaged one.
    """
    found = generations(run)
    newest = current(run)
    if newest is None or found[0].held():
        return False
    parts = [part for generation in found for part in _parts(generation.path)]
    for part in parts:
        for file in _files(part):
            with contextlib.suppress(FileNotFoundError):
                freed.note(file)
    if dry or not parts:
        return bool(parts)
    try:
        write_new(newest.path / CLEANED, json.dumps({"parts": len(parts)}).encode() + b"\n")
        sync_folder(newest.path)
    except FileExistsError:
        pass  # Of a removal that was interrupted, or of another process that removes the same.
    for part in parts:
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)
    return True


def make_anew(run: Path) -> None:
    """Let a cleaned run be learnt again from its beginning; its old results count until it has begun."""
    clean_run(run, Freed())  # What may be left of a removal that was interrupted.


def _parts(generation: Path) -> Iterator[Path]:
    yield from generation.glob("checkpoint-*")
    if (generation / MEMORY).is_dir():
        yield from (generation / MEMORY).iterdir()


def _files(part: Path) -> Iterator[Path]:
    if not part.is_dir():
        yield part
        return
    for folder, _, names in os.walk(part):
        yield from (Path(folder) / name for name in names)
