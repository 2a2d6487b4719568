"""What a campaign needs, worked out before it starts: hours, room on the disk and memory; all of it is about."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.campaigns.jobs import Job
from recall_rl.campaigns.measure import Measured
from recall_rl.collect.row import Row
from recall_rl.errors import UsageError
from recall_rl.memory.segment import row_bytes
from recall_rl.runs.config import Config
from recall_rl.runs.published import root
from recall_rl.tasks.metaworld import CW10
from recall_rl.tasks.probes import probe_task

_PROCESSES = 1_500_000_000
"""Bytes of RAM of a learner with its two workers, where nothing was measured."""
_LINE = 600
"""Bytes of a line of the journal; there is one every thousand steps, and its time."""


@dataclass(frozen=True)
class Need:
    """What the runs of a campaign need."""

    hours: float | None
    """Core-hours: with as many slots as cores that are free, hours are fewer by their number."""
    disk: int
    """Bytes on the disk at the worst moment, where finished runs are cleaned."""
    disk_kept: int
    """Bytes on the disk in the end, if rows and checkpoints are kept."""
    disk_results: int
    """Bytes of configs, journals, weights and policies."""
    memory: int
    """Bytes of RAM of the largest run."""


@dataclass(frozen=True)
class RunSize:
    """Bytes of one run."""

    rows: int
    """Of its own tasks; those of the run it extends are linked."""
    state: int
    results: int
    memory: int


def need(jobs: Sequence[Job], slots: int, measured: Measured | None = None) -> Need:
    """What these runs need, with so many side by side."""
    begun_from = {job.parent for job in jobs}
    sizes = [run_size(job, measured) for job in jobs]
    results = sum(s.results for s in sizes)
    # Beginnings may all be there at once; of runs that nobody begins from, as many as there are slots.
    waiting = sum(s.rows + 2 * s.state for job, s in zip(jobs, sizes, strict=True) if job.place in begun_from)
    passing = sorted(s.rows + 3 * s.state for job, s in zip(jobs, sizes, strict=True) if job.place not in begun_from)
    return Need(
        hours(jobs, measured),
        results + waiting + sum(passing[-slots:]),
        results + sum(s.rows + 2 * s.state for s in sizes),
        results,
        max((s.memory for s in sizes), default=0),
    )


def hours(jobs: Sequence[Job], measured: Measured | None) -> float | None:
    """Core-hours: the first method was measured, the others are put beside it by what `benchmarks/cost.py` found."""
    if measured is None or measured.first is None or not jobs:
        return None
    known = costs()
    first, later = measured.first, measured.later or measured.first
    base = known.get(jobs[0].config.method, 1.0)
    seconds = 0.0
    for job in jobs:
        each, tasks = job.config.training.steps, len(job.tasks)
        ratio = base / known.get(job.config.method, base)
        fresh = each if job.before == 0 else 0
        # The first task costs every method about the same: nothing old is replayed yet.
        seconds += fresh * first + (tasks * each - job.before * each - fresh) * max(first, later * ratio)
        seconds += measured.gather * _evaluated(job)
    return seconds / 3600


def _evaluated(job: Job) -> float:
    """Steps that evaluations play, of all tasks met so far each time."""
    training, protocol = job.config.training, job.config.protocol
    episodes = sum(range(job.before + 1, len(job.tasks) + 1)) * training.steps / training.evaluate_every
    return episodes * protocol.episodes * (protocol.horizon or 200)


@functools.cache
def costs() -> Mapping[str, float]:
    """Updates a second of each method in its second task, beside fine-tuning's."""
    try:
        found = json.loads((root() / "cost.json").read_text())["methods"]
        return {name: float(entry["ratio"]) for name, entry in found.items()}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def run_size(job: Job, measured: Measured | None = None) -> RunSize:
    """What one run needs."""
    config, tasks = job.config, len(job.tasks)
    row = Row(measured.observation_size, measured.action_size) if measured else guess_row(config)
    each = row_bytes(row, config.training.chunk) + 8 * row.action_size  # What an old policy did, besides.
    share, steps = _share_kept(config), config.training.steps
    # The last checkpoint but one may still name the rows of the task before.
    own = steps * min(tasks - job.before, 2) + round(share * steps * max(0, tasks - job.before - 2))
    held = steps + round(share * steps * (tasks - 1))
    limit = config.training.memory_bytes
    rows, ram = own * each, held * each
    if limit is not None:
        rows, ram = min(rows, limit + 2 * steps * each), min(ram, limit + steps * each)
    weights = agent_bytes(config.agent, row, tasks)
    policies = 4 * _weights(config.agent.actor, row.observation_size, 2 * row.action_size, tasks) * tasks
    results = weights + policies + 2 * _LINE * tasks * steps // 1000
    base = measured.memory if measured else _PROCESSES
    return RunSize(rows, 4 * weights, results, base + 8 * weights + (ram if config.machine.memory == "ram" else 0))


def guess_row(config: Config) -> Row:
    """The sizes of the first task, without making its environment."""
    name = config.sequence.split(",")[0]
    if name in CW10:
        return Row(39 if config.protocol.observation == "mw39" else 12, 4)
    return Row(4, 2) if probe_task(name) else Row(64, 16)


def agent_bytes(config: AgentConfig, row: Row, heads: int) -> int:
    """Bytes of the weights of an actor and two critics; targets and moments of the optimiser are three times more."""
    actor = _weights(config.actor, row.observation_size, 2 * row.action_size, heads)
    critic = _weights(config.critic, row.observation_size + row.action_size, 1, heads)
    return 4 * (actor + 2 * critic)


def _weights(config: NetworkConfig, inputs: int, outputs: int, heads: int) -> int:
    sizes = [inputs, *[config.width] * (config.trunk + config.head), outputs]
    layers = [a * b + b for a, b in pairwise(sizes)]
    return sum(layers[: config.trunk]) + (heads + 1) * sum(layers[config.trunk :])


def _share_kept(config: Config) -> float:
    """The share of an old task's rows that the method keeps."""
    return _share(config.method, tuple(sorted(config.options.items())))


@functools.cache
def _share(name: str, options: tuple[tuple[str, bool | int | float | str | None], ...]) -> float:
    """Asked of the method itself, with a few rows of made-up tasks."""
    import numpy as np

    from recall_rl.memory.memory import Memory
    from recall_rl.methods.find import method
    from recall_rl.tasks.task import Stage

    row, rows = Row(1, 1), 20_000
    memory = Memory(row, 2)
    memory.open(0, rows)
    memory.append(0, np.zeros((rows, row.width), np.float32))
    method(name, dict(options)).draw.forget(memory, Stage((1,)), np.random.default_rng(0))
    return len(memory.segments[0]) / rows if 0 in memory.segments else 0.0


def refuse_without_room(folder: Path, jobs: Sequence[Job], slots: int, keep: bool) -> None:
    """Refuse to begin what the disk has no room for."""
    found = need(jobs, slots)
    wanted, free = found.disk_kept if keep else found.disk, shutil.disk_usage(folder).free
    if wanted > free:
        raise UsageError(
            f"The campaign needs about {shown(wanted)} on the disk of {folder}, which has {shown(free)} left: make "
            f"room, choose another --out, or {'leave out --keep' if keep else 'use fewer --slots'}."
        )


def shown(size: float) -> str:
    """Bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit in ("B", "kB") else f"{size:,.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"
