"""A run is its folder: config.json, journal.jsonl, times.jsonl, weights.safetensors, workers.log.

The journal holds no times, so the same command gives the same bytes; times stand beside it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recall_rl.errors import RunError, UsageError
from recall_rl.runs.config import Config, read_file, resolve

CONFIG, JOURNAL, TIMES, WEIGHTS, LOG = (
    "config.json",
    "journal.jsonl",
    "times.jsonl",
    "weights.safetensors",
    "workers.log",
)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


class RunDirectory:
    """The folder of one run."""

    def __init__(self, path: Path):
        self.path = path

    @staticmethod
    def create(path: Path, config: Config) -> RunDirectory:
        """A new folder for this run; one in which a run has begun is refused."""
        if _size(path / JOURNAL):
            raise UsageError(f"{path} already holds a run. Choose another folder with --out, or remove it.")
        try:
            path.mkdir(parents=True, exist_ok=True)
            (path / CONFIG).write_text(config.to_json(), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"The run folder {path} cannot be written: {error.strerror}.") from error
        return RunDirectory(path)

    @property
    def log(self) -> Path:
        """Where workers write what they print."""
        return self.path / LOG

    def config(self) -> Config:
        """The resolved config of the run."""
        return resolve(file=read_file(self.path / CONFIG))

    def journal(self) -> list[dict[str, Any]]:
        """Everything the run has noted so far, in order."""
        try:
            lines = (self.path / JOURNAL).read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise UsageError(f"{self.path} holds no journal: {error.strerror}.") from error
        return [json.loads(line) for line in lines]

    def evaluations(self) -> Iterator[dict[str, Any]]:
        """The evaluations of the run, in order."""
        return (entry for entry in self.journal() if entry["event"] == "evaluation")


class Journal:
    """Appends lines to a run's journal, each with its time in the file beside it."""

    def __init__(self, directory: RunDirectory):
        # Open for as long as the run lasts; close() brings them to the disk.
        self._journal = open(directory.path / JOURNAL, "a", encoding="utf-8")  # noqa: SIM115
        self._times = open(directory.path / TIMES, "a", encoding="utf-8")  # noqa: SIM115
        self._line = 0

    def write(self, event: str, **content: Any) -> None:
        """Append one event."""
        try:
            line = json.dumps({"event": event, **content}, allow_nan=False)
        except ValueError as error:
            raise RunError(f"Learning diverged: a {event} holds a value that is not finite ({content}).") from error
        self._journal.write(line + "\n")
        self._journal.flush()
        self._times.write(json.dumps({"line": self._line, "event": event, "time": round(time.time(), 3)}) + "\n")
        self._times.flush()
        self._line += 1

    def close(self) -> None:
        """Bring everything to the disk."""
        for file in (self._journal, self._times):
            file.flush()
            os.fsync(file.fileno())
            file.close()
