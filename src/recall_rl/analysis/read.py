"""Runs as their results: configs and journals of finished, half-finished and published runs, read without trust."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np

from recall_rl.analysis.metrics import Rates, Steps
from recall_rl.analysis.setting import Setting, method_name, setting
from recall_rl.errors import RunError, UsageError
from recall_rl.runs.config import read_file
from recall_rl.runs.directory import CONFIG, RunDirectory
from recall_rl.tasks.sequences import sequence_name, task_names

_MOST_TASKS = 10_000


@dataclass(frozen=True)
class Training:
    """What was noted about learning, between evaluations."""

    at: Steps
    stage: Steps
    values: dict[str, Rates]
    """Losses and what goes with them, NaN where none was noted."""


@dataclass(frozen=True)
class Result:
    """One run as its results."""

    name: str
    """Where it was found, below the path that was given."""
    method: str
    """The method with what was changed about it."""
    sequence: str
    """The paper's name of the sequence, if it has one, else its tasks."""
    tasks: tuple[str, ...]
    seed: int
    setting: Setting
    identity: str
    """The hash of its config, or of what stands for it."""
    steps: int
    """Steps of the whole run."""
    finished: bool
    reproducible: bool
    at: Steps
    """Steps at which it was evaluated."""
    success: Rates
    """(evaluations, tasks), NaN where a task was not met yet."""
    total: Rates
    """Mean returns, likewise."""
    training: Training
    seconds: float | None
    """Time it took, if that is known."""


@dataclass(frozen=True)
class Problem:
    """A run that could not be read, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Found:
    """All runs below some paths."""

    results: list[Result]
    problems: list[Problem]


class _Score(msgspec.Struct):
    position: int
    success: float
    total: float


class _Line(msgspec.Struct):
    event: str
    step: int | None = None
    stage: int | None = None
    scores: list[_Score] | None = None
    learning: dict[str, float] | None = None
    reproducible: bool | None = None
    identity: str | None = None


_LINES = msgspec.json.Decoder(_Line)


def read(paths: Iterable[str | Path]) -> Found:
    """The results of every run below these paths, by name.

    One found twice counts once, and of two that agree in method, sequence, seed and setting the first: otherwise more
    runs would seem to stand behind a figure than do.
    """
    results: list[Result] = []
    problems: list[Problem] = []
    seen: dict[object, str] = {}
    for given in map(Path, paths):
        if not given.exists():
            raise UsageError(f"There is nothing at {given}.")
        for name, config, journal in places(given):
            try:
                result = _result(name, config, journal)
            except (RunError, UsageError, OSError) as error:
                problems.append(Problem(name, str(error)))
                continue
            role = (result.setting, result.sequence, result.method, result.seed)
            if result.identity in seen:
                problems.append(Problem(name, f"The same run as {seen[result.identity]}; counted once."))
            elif role in seen:
                problems.append(
                    Problem(
                        name, f"As {seen[role]} in method, sequence, seed and setting, but another run; not counted."
                    )
                )
            else:
                seen[result.identity] = seen[role] = name
                results.append(result)
    return Found(results, problems)


def places(given: Path) -> Iterator[tuple[str, Path, Path | RunDirectory]]:
    """(name, config file, journal) of every run: a run folder, or a published NAME.json beside NAME.jsonl."""
    if given.is_file():
        stem = given.with_suffix("")
        yield given.stem, stem.with_suffix(".json"), stem.with_suffix(".jsonl")
        return
    for folder, inner, files in os.walk(given):
        inner.sort()
        here = Path(folder)
        if CONFIG in files:
            inner.clear()
            yield _shown(here, given), here / CONFIG, RunDirectory(here)
            continue
        for file in sorted(files):
            if file.endswith(".jsonl") and file.removesuffix("l") in files:
                yield _shown(here / file.removesuffix(".jsonl"), given), here / file.removesuffix("l"), here / file


def _shown(path: Path, given: Path) -> str:
    return given.name if path == given else str(path.relative_to(given))


def _result(name: str, config_file: Path, journal: Path | RunDirectory) -> Result:
    config = read_file(config_file)
    try:
        tasks = task_names(str(config["sequence"]))
        steps = int(config["training"]["steps"]) * len(tasks)
        seed, method, where = int(config["seed"]), method_name(config), setting(config)
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(f"Its config lacks something, or has it of a wrong kind: {error!r}.") from error
    if len(tasks) > _MOST_TASKS:
        raise RunError(f"Its sequence has {len(tasks):,} tasks.")
    content = journal.journal_bytes() if isinstance(journal, RunDirectory) else journal.read_bytes()
    try:
        # A last line that was not finished is left out.
        lines = _LINES.decode_lines(content[: content.rfind(b"\n") + 1])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RunError(f"Its journal cannot be read: {error}.") from error
    if not lines:
        raise RunError("Its journal is empty.")
    at, success, total = _evaluations(lines, len(tasks))
    first = lines[0]
    return Result(
        name=name,
        method=method,
        sequence=sequence_name(tasks),
        tasks=tasks,
        seed=seed,
        setting=where,
        identity=first.identity or f"{name}:{config_file}",
        steps=steps,
        finished=lines[-1].event == "end",
        reproducible=bool(first.reproducible),
        at=at,
        success=success,
        total=total,
        training=_training(lines),
        seconds=_seconds(journal) if isinstance(journal, RunDirectory) else None,
    )


def _evaluations(lines: list[_Line], tasks: int) -> tuple[Steps, Rates, Rates]:
    found = [(line.step, line.scores) for line in lines if line.event == "evaluation"]
    success, total = (np.full((len(found), tasks), np.nan) for _ in range(2))
    for k, (step, scores) in enumerate(found):
        if step is None or not scores:
            raise RunError("Its journal has an evaluation without a step or scores.")
        for score in scores:
            if not (0 <= score.position < tasks and 0 <= score.success <= 1 and math.isfinite(score.total)):
                raise RunError(f"Its journal has an impossible score at step {step:,}.")
            success[k, score.position], total[k, score.position] = score.success, score.total
    at = np.array([step for step, _ in found], dtype=np.int64)
    if (np.diff(at) <= 0).any():
        raise RunError("The evaluations in its journal are not in order.")
    return at, success, total


def _training(lines: list[_Line]) -> Training:
    noted = [line for line in lines if line.event == "training" and line.step is not None and line.learning]
    names = sorted({name for line in noted for name in line.learning or ()})
    values = {name: np.array([(line.learning or {}).get(name, np.nan) for line in noted]) for name in names}
    at, stage = (np.array([getattr(line, f) or 0 for line in noted], dtype=np.int64) for f in ("step", "stage"))
    return Training(at, stage, values)


def _seconds(run: RunDirectory) -> float | None:
    """Time between the lines of times.jsonl, without the pauses before a run was resumed."""
    try:
        content = run.times_bytes()
        noted = [json.loads(line) for line in content.splitlines()]
        passed = [
            float(b["time"]) - float(a["time"]) for a, b in pairwise(noted) if b["event"] not in ("resumed", "extended")
        ]
    except (OSError, ValueError, KeyError, TypeError, RunError, UsageError):
        return None
    return sum(passed)
