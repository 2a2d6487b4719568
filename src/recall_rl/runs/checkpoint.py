"""Checkpoints: arrays in a safetensors file, the rest and all digests in a manifest, committed by one rename."""

from __future__ import annotations

import os
import re
import shutil
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recall_rl.errors import RunError
from recall_rl.memory.record import verify_all
from recall_rl.runs.files import FileRecord, check_beginning, read_bounded, sync_folder, write_new
from recall_rl.runs.generation import Generation, generations
from recall_rl.runs.manifest import FORMAT, MANIFEST, About, EvaluationRecord, LaneRecord, Manifest, decode_manifest

if TYPE_CHECKING:
    from recall_rl.training.snapshot import Snapshot

STATE = "state.safetensors"
KEPT = 2
"""Checkpoints that are kept; the older is there in case the newer is damaged."""
_LARGEST_MANIFEST = 64 << 20
_NAME = re.compile(r"checkpoint-(\d{6,9})")


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint."""

    generation: Generation
    path: Path
    manifest: Manifest

    def state(self) -> bytes:
        """The arrays, as they stand in the file."""
        return read_bounded(self.path / STATE, self.manifest.state.length)


def _numbers(generation: Generation) -> list[int]:
    found = (_NAME.fullmatch(entry.name) for entry in os.scandir(generation.path))
    return sorted((int(match[1]) for match in found if match), reverse=True)


def _folder(generation: Generation, number: int) -> Path:
    return generation.path / f"checkpoint-{number:06d}"


def _candidates(run: Path) -> list[tuple[Generation, int]]:
    """Checkpoints of the current generation and, before them, those of the ones it goes on from; newest first."""
    found: list[tuple[Generation, int]] = []
    begun = {g.number: g for g in generations(run) if g.start() is not None}
    number, most = max(begun, default=None), None
    while number is not None and number in begun:
        generation = begun[number]
        found += [(generation, n) for n in _numbers(generation) if most is None or n <= most]
        start = generation.start()
        # What a generation wrote after another went on from it does not count.
        before, most = (start.generation, start.checkpoint) if start else (None, None)
        number = before if before is not None and before < number else None
    return found


@dataclass(frozen=True)
class Search:
    """The newest checkpoint that is whole, and what was wrong with newer ones."""

    checkpoint: Checkpoint | None
    problems: list[str]


def latest(run: Path, verify_memory: bool = True) -> Search:
    """The newest checkpoint of a run that is whole; a run whose checkpoints are all damaged is refused."""
    problems: list[str] = []
    for generation, number in _candidates(run):
        path = _folder(generation, number)
        try:
            return Search(_verified(run, generation, path, verify_memory), problems)
        except (RunError, OSError) as error:
            said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            problems.append(f"{path.relative_to(run)}: {said.rstrip('.')}")
    if problems:
        raise RunError(
            f"No checkpoint of {run} is whole: {'; '.join(problems)}. Restore these files from a copy of the run, or "
            f"train anew with: recall train --config {run}/config.json --out NEW"
        )
    return Search(None, [])


def ends_finished(run: Path) -> bool:
    """Whether the newest checkpoint of a run says that it is finished, so that others can go on from it."""
    try:
        generation, number = _candidates(run)[0]
        content = read_bounded(_folder(generation, number) / MANIFEST, _LARGEST_MANIFEST)
        return decode_manifest(content).about.finished
    except (IndexError, OSError, RunError):
        return False


def _verified(run: Path, generation: Generation, path: Path, verify_memory: bool) -> Checkpoint:
    manifest = decode_manifest(read_bounded(path / MANIFEST, _LARGEST_MANIFEST))
    check_beginning(path / STATE, manifest.state)
    if (path / STATE).stat().st_size != manifest.state.length:
        raise RunError(f"{STATE} is longer than it was.")
    check_beginning(run / "config.json", manifest.about.config)
    check_beginning(generation.path / "journal.jsonl", manifest.journal)
    if manifest.about.weights is not None:
        check_beginning(generation.path / "weights.safetensors", manifest.about.weights)
    if verify_memory:
        verify_all(manifest.memory, run)
    return Checkpoint(generation, path, manifest)


class Checkpointer:
    """Writes checkpoints beside learning, one at a time; a failure is raised at the next call."""

    def __init__(self, run: Path, generation: Generation, number: int = 0):
        self._run, self._generation, self._number = run, generation, number
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._job: Future[None] | None = None

    def busy(self) -> bool:
        """Whether one is being written."""
        return self._job is not None and not self._job.done()

    def save(self, snapshot: Snapshot, about: About, journal: FileRecord, files: list[int], wait: bool = False) -> None:
        """Begin to write a checkpoint; `files` are brought to the disk before it and closed."""
        self.wait()
        self._number += 1
        # Files made after this moment are not rubbish, though this checkpoint does not name them.
        present = list(self._generation.memory.iterdir())
        self._job = self._thread.submit(self._write, snapshot, about, journal, files, self._number, present)
        if wait:
            self.wait()

    def wait(self) -> None:
        """Wait until what was begun is on the disk."""
        if self._job is None:
            return
        try:
            self._job.result()
        except OSError as error:
            raise RunError(
                f"A checkpoint could not be written: {error.strerror}. The run ends here; its last checkpoint is "
                f"whole: make room, then recall resume {self._run}"
            ) from error
        finally:
            self._job = None

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()

    def _write(
        self, snapshot: Snapshot, about: About, journal: FileRecord, files: list[int], number: int, present: list[Path]
    ) -> None:
        from recall_rl.runs.state import encode

        try:
            for file in files:
                os.fsync(file)
        finally:
            for file in files:
                os.close(file)
        sync_folder(self._generation.memory)
        path = _folder(self._generation, number)
        aside = path.with_name(path.name + ".partial")
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        manifest = Manifest(
            format=FORMAT,
            about=about,
            number=number,
            mark=snapshot.mark,
            step=snapshot.step,
            memory=snapshot.memory,
            journal=journal,
            state=write_new(aside / STATE, encode(snapshot)),
            acting={p: actor is not None for p, actor in snapshot.acting.items()},
            lanes=[LaneRecord(p, lane, e.number) for (p, lane), e in snapshot.lanes.items()],
            evaluating=snapshot.evaluating
            and EvaluationRecord(snapshot.evaluating[0], [p for p, _ in snapshot.evaluating[1]]),
            ended=list(snapshot.ended),
        )
        write_new(aside / MANIFEST, manifest.encode())
        sync_folder(aside)
        aside.rename(path)
        sync_folder(self._generation.path)
        self._tidy(number, {Path(t.file) for t in snapshot.memory.tables()}, present)

    def _tidy(self, number: int, named: set[Path], present: list[Path]) -> None:
        """Remove what neither this checkpoint nor the one before it needs."""
        kept = [n for n in _numbers(self._generation) if n <= number][:KEPT]
        if len(kept) < KEPT:
            return  # An earlier generation may still be needed.
        before = decode_manifest(read_bounded(_folder(self._generation, kept[1]) / MANIFEST, _LARGEST_MANIFEST))
        named |= {Path(t.file) for t in before.memory.tables()}
        for old in _numbers(self._generation):
            if old not in kept and old < number:
                shutil.rmtree(_folder(self._generation, old), ignore_errors=True)
        rubbish = [file for file in present if file.relative_to(self._run) not in named]
        for generation in generations(self._run):
            if generation.number < self._generation.number:
                rubbish += _unneeded(generation, self._run, named)
        for file in rubbish:
            file.unlink(missing_ok=True)


def _unneeded(generation: Generation, run: Path, named: set[Path]) -> list[Path]:
    """Files of an earlier generation that are not needed; its folder goes with the last of them."""
    held = list(generation.memory.iterdir()) if generation.memory.is_dir() else []
    if not any(file.relative_to(run) in named for file in held):
        shutil.rmtree(generation.path, ignore_errors=True)
        return []
    for entry in generation.path.iterdir():
        if entry.is_dir() and entry != generation.memory:
            shutil.rmtree(entry, ignore_errors=True)
        elif entry.is_file():
            entry.unlink(missing_ok=True)
    return [file for file in held if file.relative_to(run) not in named]
