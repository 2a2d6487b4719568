"""What a checkpoint says besides its arrays: where the run is, what belongs to it, and the digests of all files."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

import msgspec

from recall_rl.collect.play import Episode
from recall_rl.collect.row import Row
from recall_rl.errors import RunError
from recall_rl.memory.record import MemoryRecord
from recall_rl.runs.files import FileRecord, parse_json
from recall_rl.training.mark import Mark

FORMAT = 2
"""Version of run folders; 1 had no checkpoints."""
MANIFEST = "manifest.json"
_SEGMENT = re.compile(r"g\d{4,9}/memory/[0-9]{3,9}-[0-9]{4,9}\.(rows|ends|tails|kept|states|policy)")


@dataclass(frozen=True)
class LaneRecord:
    """The open episode of a lane; its actions are in the state file."""

    position: int
    lane: int
    number: int


@dataclass(frozen=True)
class EvaluationRecord:
    """The evaluation under way; what acts in it is in the state file."""

    step: int
    positions: list[int]


@dataclass(frozen=True)
class About:
    """What a checkpoint says of the run, beside its state."""

    identity: str
    config: FileRecord
    row: Row
    reproducible: bool
    """Whether every environment repeats itself under a seed."""
    fingerprint: dict[str, str | int | None]
    given_up: int = 0
    """Open episodes given up, because an environment did not come to the same state again."""
    finished: bool = False
    weights: FileRecord | None = None
    """Of a finished run."""


@dataclass(frozen=True)
class Manifest:
    """Everything of a checkpoint but its arrays."""

    format: int
    about: About
    number: int
    mark: Mark
    step: int
    memory: MemoryRecord
    journal: FileRecord
    state: FileRecord
    acting: dict[int, bool]
    """Of each position in the chunk under way: whether a policy acts in it, or chance."""
    lanes: list[LaneRecord]
    evaluating: EvaluationRecord | None
    ended: list[Episode]

    def encode(self) -> bytes:
        """The file's content, with a digest of its own."""
        content = msgspec.to_builtins(self, str_keys=True)
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
        digest = hashlib.sha256(text.encode()).hexdigest()
        return f'{{"sha256":"{digest}","manifest":{text}}}\n'.encode()


def decode_manifest(content: bytes) -> Manifest:
    """The manifest of a file that may be damaged or meant to harm."""
    found = parse_json(content, MANIFEST)
    inner = found.get("manifest") if isinstance(found, dict) else None  # pyright: ignore
    version = inner.get("format") if isinstance(inner, dict) else None  # pyright: ignore
    if isinstance(version, int) and version > FORMAT:
        raise RunError(f"it was written by a newer recall-rl (format {version}, not {FORMAT}); update recall-rl.")
    try:
        manifest = msgspec.convert(inner, Manifest, strict=False)
    except msgspec.ValidationError as error:
        raise RunError(f"{MANIFEST} has a wrong field: {error}.") from error
    if manifest.encode() != content:
        raise RunError(f"{MANIFEST} is not what was written.")
    names = [table.file for table in manifest.memory.tables()]
    odd = next((name for name in names if not _SEGMENT.fullmatch(name)), None)
    if odd is not None:
        raise RunError(f"{MANIFEST} names a file that no run writes: {odd[:80]!r}.")
    return manifest


def to_plain(value: dict[str, object]) -> dict[str, str | int | None]:
    """A fingerprint as it stands in a manifest."""
    return {k: v if isinstance(v, int | str) or v is None else str(v) for k, v in value.items()}
