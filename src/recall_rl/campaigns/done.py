"""Results that exist already: a config with a complete journal counts as done, wherever it lies, without a checkpoint.

Which of them a campaign counts stands in its folder, so that its status agrees with what was run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from recall_rl.analysis.read import places
from recall_rl.campaigns.jobs import Job
from recall_rl.campaigns.standing import to_do
from recall_rl.errors import RunError, UsageError
from recall_rl.runs.config import file_identity
from recall_rl.runs.directory import RunDirectory
from recall_rl.runs.files import parse_json, read_bounded, replace_file
from recall_rl.runs.glance import Glance, last_lines
from recall_rl.runs.journal import JOURNAL

DONE = "done.json"
_LONGEST_LINE = 1 << 20
_LARGEST = 64 << 20


def published_identities(paths: Iterable[Path]) -> dict[str, str]:
    """Where each complete result below these paths lies, by the identity of its config."""
    found: dict[str, str] = {}
    for given in paths:
        if not given.exists():
            raise UsageError(f"There is nothing at {given}.")
        for _, config, journal in places(given):
            try:
                identity = _complete(config, _journal_file(journal))
            except (RunError, UsageError, OSError):
                continue  # Of another kind, or damaged: it is run, which is safe.
            if identity is not None:
                found.setdefault(identity, str(config))
    return found


def _journal_file(journal: Path | RunDirectory) -> Path:
    if isinstance(journal, Path):
        return journal
    return journal.path / JOURNAL if journal.earlier_format() else journal.generation().path / JOURNAL


def _complete(config: Path, journal: Path) -> str | None:
    """The identity of a result whose journal was begun by this very config and has its last line."""
    with open(journal, "rb") as file:
        first = parse_json(file.readline(_LONGEST_LINE), JOURNAL)
    last = parse_json((last_lines(journal, _LONGEST_LINE)[0] or [b"null"])[-1], JOURNAL)
    identity = file_identity(config)
    begun = isinstance(first, dict) and first.get("identity") == identity  # pyright: ignore
    ended = isinstance(last, dict) and last.get("event") == "end"  # pyright: ignore
    return identity if begun and ended else None


def count_as_done(folder: Path, jobs: Iterable[Job], paths: Iterable[Path]) -> dict[str, str]:
    """Take note, in the campaign's folder, of its runs that are published at these paths; returns all noted so far."""
    here, noted = _published(jobs, paths), read_done(folder)
    if here.keys() - noted.keys():
        noted = {**noted, **here}
        replace_file(folder / DONE, json.dumps(noted, indent=1).encode() + b"\n")
    return noted


@dataclass(frozen=True)
class Left:
    """What has to be run of a campaign beside what is published."""

    jobs: list[Job]
    again: int = 0
    """Of them, results that are published and learnt again: others begin from them, and no checkpoint is published."""


def left(jobs: Sequence[Job], paths: Iterable[Path]) -> Left:
    """What has to be run of a campaign that has not begun, if what is published at these paths counts."""
    published = _published(jobs, paths)
    undone = to_do(jobs, {job.place: Glance("new") for job in jobs}, published, lambda _: False)
    return Left([job for job in jobs if job.place in undone], len(undone & published.keys()))


def _published(jobs: Iterable[Job], paths: Iterable[Path]) -> dict[str, str]:
    """Where the result of each wanted run lies that is published at these paths."""
    found = published_identities(paths)
    return {job.place: found[i] for job in jobs if job.wanted and (i := job.config.identity()) in found}


def recount(folder: Path, jobs: Iterable[Job]) -> None:
    """Take note that a campaign's plan has changed: of the results noted so far, those count that it still asks for."""
    noted = read_done(folder)
    if not noted:
        return
    wanted = {job.place: job.config.identity() for job in jobs if job.wanted}
    kept = {place: where for place, where in noted.items() if place in wanted and _is(Path(where), wanted[place])}
    replace_file(folder / DONE, json.dumps(kept, indent=1).encode() + b"\n")


def _is(config: Path, identity: str) -> bool:
    try:
        return file_identity(config) == identity
    except (RunError, UsageError):
        return False


def read_done(folder: Path) -> dict[str, str]:
    """Runs of the campaign that count as done, and where their results lie."""
    try:
        content = parse_json(read_bounded(folder / DONE, _LARGEST), DONE)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RunError(f"{folder / DONE} cannot be read: {error.strerror}.") from error
    if not isinstance(content, dict):
        raise RunError(f"{folder / DONE} is not what was written.")
    return {str(place): str(where) for place, where in content.items()}  # pyright: ignore[reportUnknownVariableType]
