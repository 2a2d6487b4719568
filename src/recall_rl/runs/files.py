"""Writing files so that they are whole or absent, and reading files that may be damaged or meant to harm."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall_rl.errors import RunError

_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class FileRecord:
    """The length of a file, or of its beginning, and the digest of that."""

    length: int
    sha256: str


def file_record(path: Path) -> FileRecord:
    """That of a whole file."""
    content = path.read_bytes()
    return FileRecord(len(content), hashlib.sha256(content).hexdigest())


def sync_folder(path: Path) -> None:
    """Bring the names in a folder to the disk."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_new(path: Path, content: bytes | Iterable[bytes | memoryview]) -> FileRecord:
    """Write a file, given whole or in parts, and bring it to the disk."""
    length, digest = 0, hashlib.sha256()
    with open(path, "xb") as file:
        for part in (content,) if isinstance(content, bytes) else content:
            file.write(part)
            digest.update(part)
            length += len(part)
        file.flush()
        os.fsync(file.fileno())
    return FileRecord(length, digest.hexdigest())


def replace_file(path: Path, content: bytes) -> None:
    """Put a whole file in place at once: aside, to the disk, then under its name."""
    aside = path.with_name(path.name + ".partial")
    aside.unlink(missing_ok=True)
    write_new(aside, content)
    aside.replace(path)
    sync_folder(path.parent)


def read_bounded(path: Path, most: int) -> bytes:
    """The content of a file that is no link and not larger than expected."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with open(file, "rb") as opened:
        if os.fstat(file).st_size > most:
            raise RunError(f"{path.name} is larger than {most:,} bytes, more than such a file can need.")
        return opened.read(most + 1)


def check_beginning(path: Path, record: FileRecord) -> None:
    """Notice damage to the first bytes of a file."""
    found, left = hashlib.sha256(), record.length
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW), "rb") as file:
        while left:
            part = file.read(min(_AT_ONCE, left))
            if not part:
                raise RunError(f"{path.name} is shorter than it was.")
            found.update(part)
            left -= len(part)
    if found.hexdigest() != record.sha256:
        raise RunError(f"{path.name} is not what was written.")


def parse_json(content: bytes, name: str) -> Any:
    """The content of a JSON file; depth is bounded by the parser."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RunError(f"{name} is not valid JSON: {str(error)[:100]}.") from error
