"""Append-only records of one width, in RAM or memory-mapped, and in a file if they are to outlive the process.

Records are written with `write`, never through the map, so a full or broken disk is an error at a known line instead
of a signal; a map sees what was written, because both go through the same page cache.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recall_rl.errors import RunError

Kind = Literal["float32", "int64"]
_AT_ONCE = 1 << 24
"""Bytes that are hashed or copied at a time."""


@dataclass(frozen=True)
class TableRecord:
    """What a table held at one moment: enough to open it again as it was, and to notice damage."""

    file: str
    """Name of its file, relative to the run folder."""
    kind: Kind
    width: int
    """Numbers in a record."""
    count: int
    """Records it held."""
    capacity: int
    """Records it has room for."""
    sealed: bool
    """Whether nothing is ever appended again."""
    sha256: str
    """Of the bytes of these records."""


class Table:
    """Records in the order they were appended; a snapshot of it is a count."""

    def __init__(
        self, width: int, capacity: int, kind: Kind = "float32", path: Path | None = None, mapped: bool = False
    ):
        self.width, self.capacity, self.path = width, capacity, path
        self.kind: Kind = kind
        self._type = np.dtype(kind).newbyteorder("<")
        self._count = 0
        self._hash: Any = hashlib.sha256()
        self._file: int | None = None
        self._mapped = mapped and path is not None
        if path is None:
            self._records = self._room()
            return
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        if self._mapped:
            # A hole: the disk gives room as records are written.
            os.ftruncate(self._file, max(1, capacity * self._size))
        self._records = self._map(self._file, capacity) if self._mapped else self._room()

    def _room(self) -> NDArray[Any]:
        # Untouched pages cost nothing, so all room is reserved at once and records never move.
        return np.empty((self.capacity, self.width), self._type)

    def _map(self, file: int, count: int) -> NDArray[Any]:
        if count == 0:
            return np.empty((0, self.width), self._type)
        pages = mmap.mmap(file, count * self._size, prot=mmap.PROT_READ)
        pages.madvise(mmap.MADV_RANDOM)
        return np.frombuffer(pages, self._type).reshape(count, self.width)

    @property
    def _size(self) -> int:
        """Bytes of a record."""
        return self.width * self._type.itemsize

    def __len__(self) -> int:
        """Records present."""
        return self._count

    @property
    def records(self) -> NDArray[Any]:
        """All records, in order; not to be written to."""
        return self._records[: self._count]

    def size(self) -> int:
        """Bytes of the records present."""
        return self._count * self._size

    def append(self, records: NDArray[Any]) -> None:
        """Add records at the end."""
        end = self._count + len(records)
        if end > self.capacity:
            raise ValueError(f"A table of {self.capacity} records cannot take {end}.")
        content = np.ascontiguousarray(records, self._type)
        if self._file is not None:
            data = content.data.cast("B") if content.size else b""
            _write(self._file, data, self._count * self._size, self.path)
            self._hash.update(data)
        if not self._mapped:
            self._records[self._count : end] = content
        self._count = end

    def take(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """The records of these numbers."""
        return self._records.take(numbers, axis=0)

    def seal(self) -> None:
        """No more records will come: give back the room that was not used, bring all to the disk, forbid writing."""
        if self._file is None:
            return
        os.ftruncate(self._file, self.size())
        os.fsync(self._file)
        os.fchmod(self._file, 0o444)
        if self._mapped:
            self._records = self._map(self._file, self._count)
        os.close(self._file)
        self._file, self.capacity = None, self._count

    def open_file(self) -> int | None:
        """A descriptor of its own to bring what was appended to the disk with; None if it is there already."""
        return None if self._file is None else os.dup(self._file)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __del__(self) -> None:
        # Of tables that were forgotten before they were sealed, or left by a run that ended early.
        if getattr(self, "_file", None) is not None:
            self.close()

    def snapshot(self, root: Path) -> TableRecord:
        """What it holds now; its file lies under `root`."""
        assert self.path is not None
        name = self.path.relative_to(root).as_posix()
        return TableRecord(
            name, self.kind, self.width, self._count, self.capacity, self._file is None, self._hash.hexdigest()
        )

    @staticmethod
    def opened(record: TableRecord, root: Path, mapped: bool, trusted: bool = False) -> Table:
        """The table of a record: to read if it is sealed, to append to if not; what lies beyond its count is dropped.

        Damage is noticed, unless the caller trusts what it has just verified.
        """
        path = root / record.file
        made = Table.__new__(Table)
        made.width, made.capacity, made.path = record.width, record.capacity, path
        made.kind, made._type = record.kind, np.dtype(record.kind).newbyteorder("<")
        made._count, made._mapped = record.count, mapped
        file = os.open(path, (os.O_RDONLY if record.sealed else os.O_RDWR) | os.O_CLOEXEC | os.O_NOFOLLOW)
        made._file = file
        if os.fstat(file).st_size < made.size():
            made.close()
            raise DamageError(record, "is shorter than it was")
        if not record.sealed:
            os.ftruncate(file, made.capacity * made._size if mapped else made.size())
        made._records = made._map(file, made.capacity) if mapped else made._room()
        if trusted and mapped and record.sealed:
            made._hash = _Known(record.sha256)
        else:
            into = made._records.data.cast("B") if made.size() and not mapped else None
            made._hash = _digest(file, record, made._size, into)
        if record.sealed:
            made.close()
        return made


@dataclass(frozen=True)
class _Known:
    """The hash of records that nothing will be appended to."""

    digest: str

    def hexdigest(self) -> str:
        return self.digest


def verify(record: TableRecord, root: Path) -> None:
    """Notice damage to the records of a table."""
    file = os.open(root / record.file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        _digest(file, record, record.width * np.dtype(record.kind).itemsize)
    finally:
        os.close(file)


def copy(record: TableRecord, root: Path, file: str) -> TableRecord:
    """The records of a table in a new file, from which another process goes on; the old file stays as it is."""
    size = record.width * np.dtype(record.kind).itemsize
    old = os.open(root / record.file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    new = os.open(root / file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        at, length = 0, record.count * size
        while at < length:
            part = os.pread(old, min(_AT_ONCE, length - at), at)
            if not part:
                raise DamageError(record, "is shorter than it was")
            _write(new, part, at, root / file)
            at += len(part)
        os.fsync(new)
    finally:
        os.close(old)
        os.close(new)
    return replace(record, file=file)


def _digest(file: int, record: TableRecord, size: int, into: memoryview | None = None) -> Any:
    """The hash of a table's records, compared with what was noted; on the way they may be read into RAM."""
    found, at, length = hashlib.sha256(), 0, record.count * size
    while at < length:
        part = os.pread(file, min(_AT_ONCE, length - at), at)
        if not part:
            raise DamageError(record, "is shorter than it was")
        found.update(part)
        if into is not None:
            into[at : at + len(part)] = part
        at += len(part)
    if found.hexdigest() != record.sha256:
        raise DamageError(record, "is not what was written")
    return found


class DamageError(RunError):
    """Records are not those that were written."""

    def __init__(self, record: TableRecord, what: str):
        self.record = record
        super().__init__(f"{record.file} {what}: {record.count:,} records are lost")


def _write(file: int, data: bytes | memoryview, offset: int, path: Path | None) -> None:
    view, at = memoryview(data), 0
    try:
        while at < len(view):
            at += os.pwrite(file, view[at:], offset + at)
    except OSError as error:
        raise RunError(
            f"{path} cannot be written: {error.strerror}. The last checkpoint is whole: make room, then recall resume."
        ) from error
