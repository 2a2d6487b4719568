"""Growing: a finished run continues, in a folder of its own, with tasks that were unknown when it began.

The new folder holds the very run that would have learnt all tasks in one go: the same config, journal and checkpoint.
Remembered rows are linked, not copied, so both folders have them and either can be removed.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import os
from pathlib import Path
from typing import Any

from recall_rl.errors import RunError, UsageError
from recall_rl.memory.record import MemoryRecord, renamed
from recall_rl.runs.checkpoint import Checkpoint, Checkpointer, latest
from recall_rl.runs.clean import cleaned
from recall_rl.runs.config import Config, resolve
from recall_rl.runs.directory import CONFIG, RunDirectory
from recall_rl.runs.files import file_record
from recall_rl.runs.generation import MEMORY, Generation, Start, claim
from recall_rl.runs.journal import JOURNAL, TIMES, Journal
from recall_rl.runs.policy import copy_policies
from recall_rl.tasks.sequences import sequence as find_sequence
from recall_rl.tasks.sequences import task_names


def begin_extension(
    run: Path,
    sequence: str,
    out: Path,
    to_old_head: bool = False,
    trust_code: bool = False,
    settings: tuple[str, ...] = (),
    take_over: bool = False,
) -> tuple[Config, RunDirectory]:
    """Make the folder of the longer run, ready to go on; returns its config too."""
    parent = RunDirectory.existing(run)
    config = parent.config(trust_code, settings)
    if cleaned(run):
        raise UsageError(
            f"{run} cannot be extended: its rows and checkpoints were removed. Train it anew with: recall train "
            f"--config {run / CONFIG} --out NEW"
        )
    checkpoint = latest(run).checkpoint
    if checkpoint is None or not checkpoint.manifest.about.finished:
        raise UsageError(f"{run} is not finished: recall resume {run}")
    longer = _longer(config, sequence, to_old_head)
    if RunDirectory(out).begun():
        return longer, RunDirectory.create(out, longer)  # Refused unless it is this very extension.
    _agree(config, longer)
    directory = RunDirectory.create(out, longer)
    generation = claim(out, take_over)
    try:
        _fill(checkpoint, parent, config, longer, directory, generation)
    finally:
        generation.release()
    return longer, directory


def _longer(config: Config, added: str, to_old_head: bool) -> Config:
    names, training = task_names(config.sequence), config.training
    if to_old_head and training.returning != "old head":
        if len(set(names)) < len(names):
            raise UsageError("In this run tasks have returned to new heads; those that return later cannot differ.")
        training = dataclasses.replace(training, returning="old head")
    longer = dataclasses.replace(config, sequence=",".join((*names, *task_names(added))), training=training)
    return resolve(file=json.loads(longer.to_json()))


def _agree(config: Config, longer: Config) -> None:
    """Refuse methods whose earlier tasks would have been learnt otherwise, had more been known."""
    from recall_rl.methods.find import method

    chosen = method(config.method, config.options)
    if chosen.looks_ahead:
        raise UsageError(f"A run of {config.method} cannot be extended: {chosen.looks_ahead}.")
    old, new = (chosen.curriculum(find_sequence(c.sequence, c.protocol)).stages for c in (config, longer))
    if new[: len(old)] != old:
        raise UsageError(f"A run of {config.method} cannot be extended: its stages depend on later tasks.")


def _fill(
    checkpoint: Checkpoint,
    parent: RunDirectory,
    config: Config,
    longer: Config,
    directory: RunDirectory,
    generation: Generation,
) -> None:
    from recall_rl.agent.state import grown
    from recall_rl.methods.find import method
    from recall_rl.methods.method import new_agent
    from recall_rl.runs.state import decode

    manifest, row = checkpoint.manifest, checkpoint.manifest.about.row
    chosen = method(config.method, config.options)
    tasks = find_sequence(longer.sequence, longer.protocol)
    fewer = len(task_names(config.sequence))
    small, large = (new_agent(chosen, config.agent, row, n, config.seed) for n in (fewer, len(tasks)))
    snapshot = decode(checkpoint.state(), manifest, small, config.agent.actor.activation)
    memory = _linked(manifest.memory, parent.path, directory.path, generation)
    snapshot = dataclasses.replace(snapshot, agent=grown(snapshot.agent, large), memory=memory)
    reproducible = manifest.about.reproducible and _describe(longer, fewer, manifest.about.row)
    _copy_journal(checkpoint.generation.path, generation.path, longer, reproducible)
    copy_policies(checkpoint.generation.path, generation.path, manifest.mark.stage)
    journal = Journal(generation.path)
    journal.note_time("extended", step=manifest.step, parent=config.identity())
    about = dataclasses.replace(
        manifest.about,
        identity=longer.identity(),
        config=file_record(directory.path / CONFIG),
        reproducible=reproducible,
        finished=False,
        weights=None,
    )
    checkpoints = Checkpointer(directory.path, generation)
    checkpoints.save(snapshot, about, journal.record(), journal.open_files(), wait=True)
    checkpoints.close()
    journal.close()
    generation.begin(Start(None, None))
    directory.link(generation)


def _describe(longer: Config, fewer: int, row: Any) -> bool:
    """Look at the tasks that are new: whether they fit, and whether they repeat themselves under a seed."""
    from recall_rl.collect.worker import ProcessWorker
    from recall_rl.tasks.task import one_by_one
    from recall_rl.training.describe import describe

    tasks = find_sequence(longer.sequence, longer.protocol).tasks
    worker = ProcessWorker(longer.machine.patience)
    try:
        found = describe(worker, one_by_one("", tasks[fewer:]))
    finally:
        worker.close()
    if found.row != row:
        raise UsageError(
            f"The new tasks have {found.row.observation_size} numbers of observation and {found.row.action_size} of "
            f"action; those of the run have {row.observation_size} and {row.action_size}."
        )
    return found.reproducible


def _linked(memory: MemoryRecord, old: Path, new: Path, generation: Generation) -> MemoryRecord:
    """The records of memory under the names that their files have in the new folder."""
    names: dict[str, str] = {}
    for table in memory.tables():
        if not table.sealed:
            raise RunError(f"{table.file} of a finished run is not sealed.")
        names[table.file] = f"{generation.path.name}/{MEMORY}/{Path(table.file).name}"
        target = new / names[table.file]
        try:
            if not target.exists():
                os.link(old / table.file, target, follow_symlinks=False)
        except OSError as error:
            if error.errno == errno.EXDEV:
                raise UsageError(f"{new} must be on the same disk as {old}: rows are linked, not copied.") from error
            raise RunError(f"{target} cannot be linked: {error.strerror}.") from error
    return renamed(memory, names)


def _copy_journal(old: Path, new: Path, longer: Config, reproducible: bool) -> None:
    """The journal as the longer run would have written it: averages are over all its tasks."""
    names = task_names(longer.sequence)
    kept: list[bytes] = []
    times = (old / TIMES).read_bytes().splitlines(keepends=True)
    for line in (old / JOURNAL).read_bytes().splitlines():
        entry = json.loads(line)
        if entry["event"] == "end":
            continue
        if entry["event"] == "run":
            entry |= {"identity": longer.identity(), "tasks": list(names), "reproducible": reproducible}
        elif entry["event"] == "evaluation":
            entry["average"] = sum(score["success"] for score in entry["scores"]) / len(names)
        kept.append(json.dumps(entry).encode() + b"\n")
    (new / JOURNAL).write_bytes(b"".join(kept))
    (new / TIMES).write_bytes(b"".join(line for line in times if b'"event": "end"' not in line))


def extend(
    run: str | Path,
    sequence: str,
    out: str | Path,
    *,
    to_old_head: bool = False,
    trust_code: bool = False,
    debug: bool = False,
) -> RunDirectory:
    """Continue a finished run with more tasks, as `recall extend` does, and return the new run's folder."""
    from recall_rl.runs.train import finished
    from recall_rl.runs.train import run as go_on

    config, directory = begin_extension(Path(run), sequence, Path(out), to_old_head, trust_code)
    if not finished(directory):
        for _ in go_on(config, directory, debug):
            pass
    return directory
