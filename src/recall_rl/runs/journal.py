"""What a run notes, line by line; times stand in a file beside it, so the same command gives the same bytes."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

from recall_rl.errors import RunError
from recall_rl.runs.files import FileRecord
from recall_rl.runs.writer import Writer

JOURNAL, TIMES = "journal.jsonl", "times.jsonl"


class Journal:
    """Appends lines to a run's journal, each with its time in the file beside it."""

    def __init__(self, folder: Path, writer: Writer | None = None):
        self._path = folder / JOURNAL
        self._writer = writer
        # Unbuffered: a line is written when it is noted, and an error belongs to it.
        self._journal = open(self._path, "ab", buffering=0)  # noqa: SIM115
        self._times = open(folder / TIMES, "ab", buffering=0)  # noqa: SIM115
        content = self._path.read_bytes()
        self._hash, self._length, self._line = hashlib.sha256(content), len(content), content.count(b"\n")

    def write(self, event: str, **content: Any) -> None:
        """Append one event."""
        try:
            line = json.dumps({"event": event, **content}, allow_nan=False).encode() + b"\n"
        except ValueError as error:
            raise RunError(f"Learning diverged: a {event} holds a value that is not finite ({content}).") from error
        self._append(self._journal, line)
        self._hash.update(line)
        self._length += len(line)
        self.note_time(event)
        self._line += 1
        if self._writer is not None:
            self._writer.write(json.loads(line))

    def note_time(self, event: str, **content: Any) -> None:
        """Note when something happened, without a line in the journal."""
        at = {"line": self._line, "event": event, "time": round(time.time(), 3), **content}
        self._append(self._times, json.dumps(at).encode() + b"\n")

    def _append(self, file: Any, line: bytes) -> None:
        try:
            written = file.write(line)
        except OSError as error:
            raise RunError(f"{self._path.name} cannot be written: {error.strerror}.") from error
        if written != len(line):
            raise RunError(f"{self._path.name} cannot be written: no room for a whole line.")

    def record(self) -> FileRecord:
        """Its length and digest now."""
        return FileRecord(self._length, self._hash.hexdigest())

    def open_files(self) -> list[int]:
        """Descriptors to bring what was written to the disk with, to be closed by the caller."""
        return [os.dup(file.fileno()) for file in (self._journal, self._times)]

    def close(self) -> None:
        """Bring everything to the disk."""
        if self._writer is not None:
            self._writer.close()
        for file in (self._journal, self._times):
            os.fsync(file.fileno())
            file.close()


def copy_beginning(old: Path, new: Path, record: FileRecord) -> None:
    """Copy the journal of a folder up to a record, and the times of these lines."""
    content = (old / JOURNAL).read_bytes()[: record.length]
    if FileRecord(len(content), hashlib.sha256(content).hexdigest()) != record:
        raise RunError(f"{JOURNAL} is not what was written.")
    (new / JOURNAL).write_bytes(content)
    lines = content.count(b"\n")
    kept: list[bytes] = []
    for line in (old / TIMES).read_bytes().splitlines(keepends=True):
        try:
            if int(json.loads(line)["line"]) < lines:
                kept.append(line)
        except (ValueError, KeyError, TypeError):
            break  # A line that was not finished; times are a convenience.
    (new / TIMES).write_bytes(b"".join(kept))
