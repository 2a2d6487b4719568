"""How fast runs are on this machine, side by side as in a campaign: their first chunks, each in its own process.

python -m recall_rl.campaigns.measure SECONDS, with a config on its standard input, prints what it found as JSON.
"""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import msgspec

from recall_rl.campaigns.pin import take_cores
from recall_rl.runs.config import Config, resolve
from recall_rl.tasks.sequences import task_names

_RANDOM, _LEARNT = 4, 8
"""Chunks of each task without and with updates."""
_SIDE_BY_SIDE = 8
"""Runs that are measured at once, at most: a large machine is not filled for a question."""
_START_SECONDS = 60.0
"""For the process to start, to make environments and to compile a first update."""


@dataclass(frozen=True)
class Measured:
    """What a short run says; seconds are of one core that does everything."""

    observation_size: int
    action_size: int
    gather: float
    """Seconds to gather a step, without learning."""
    first: float | None
    """Seconds a step takes in the first task, learning included; None if time ran out."""
    later: float | None
    """The same in the second task."""
    memory: int
    """Bytes of RAM that learner and workers took, which hold hardly any rows yet."""
    alone: bool = True
    """Whether there was a core that no run of a campaign had; if not, seconds are too many."""


def measure(config: Config, slots: int = 1, seconds: float = 20.0) -> Measured | None:
    """Measure this config for about so long, once a slot; None if it cannot be run, or not in time.

    Cores share caches and the way to memory, so runs side by side may be slower than one beside idle cores.
    """
    copies = min(slots, _SIDE_BY_SIDE)
    with ThreadPoolExecutor(copies) as pool:
        found = [each for each in pool.map(lambda _: _measure_one(config, seconds), range(copies)) if each]
    if len(found) < copies:
        return None
    return dataclasses.replace(
        found[0],
        gather=statistics.mean(each.gather for each in found),
        first=_mean([each.first for each in found]),
        later=_mean([each.later for each in found]),
        memory=max(each.memory for each in found),
        alone=all(each.alone for each in found),
    )


def _measure_one(config: Config, seconds: float) -> Measured | None:
    threads = dict.fromkeys(("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "recall_rl.campaigns.measure", str(seconds)],
            input=config.to_json(),
            capture_output=True,
            text=True,
            env={**os.environ, **threads},
            timeout=seconds + _START_SECONDS,
        )
        return msgspec.json.decode(done.stdout.splitlines()[-1], type=Measured)
    except (subprocess.TimeoutExpired, IndexError, msgspec.DecodeError):
        return None


def _mean(found: Sequence[float | None]) -> float | None:
    """The mean of those that got so far."""
    known = [each for each in found if each is not None]
    return statistics.mean(known) if known else None


def _short(config: Config) -> Config:
    """Two tasks of a few chunks, hardly evaluated."""
    training = config.training
    chunk, names = training.chunk, task_names(config.sequence)
    return dataclasses.replace(
        config,
        sequence=",".join(names[:2]),
        protocol=dataclasses.replace(config.protocol, episodes=1),
        training=dataclasses.replace(
            training,
            steps=(_RANDOM + _LEARNT) * chunk,
            start_steps=_RANDOM * chunk,
            update_after=_RANDOM * chunk,
            evaluate_every=10**6 * chunk,
        ),
    )


def _chunks(config: Config, seconds: float) -> tuple[tuple[int, int], list[list[float]]]:
    """The sizes of observation and action, and the seconds a step took in each chunk of each stage."""
    import jax

    from recall_rl.methods.find import method
    from recall_rl.tasks.sequences import sequence
    from recall_rl.training.describe import describe
    from recall_rl.training.loop import Setup, learn
    from recall_rl.training.team import Team

    tasks, chosen = sequence(config.sequence, config.protocol, config.tasks), method(config.method, config.options)
    end, took = time.monotonic() + seconds, [[] for _ in range(2)]
    with Team(config.machine) as team:
        row = describe(team.collecting[0], tasks).row
        setup = Setup(tasks, chosen, config.protocol, config.agent, config.training, config.seed, row)
        before, step = time.monotonic(), 0
        for progress in learn(setup, team):
            jax.block_until_ready(progress.agent.updates)
            now = time.monotonic()
            if progress.step > step and progress.stage < 2:
                took[progress.stage].append((now - before) / (progress.step - step))
            elif progress.step == step:
                break  # What settles a task takes as long as the method says.
            before, step = now, progress.step
            if now > end:
                break
    return (row.observation_size, row.action_size), took


def _middle(took: Sequence[float]) -> float | None:
    return statistics.median(took) if took else None


def main(arguments: list[str]) -> None:
    """What the process does."""
    taken = take_cores()
    if taken is not None:
        taken.keep()  # As campaigns run: learner and workers on one core, which no run of a campaign has.
    config = _short(resolve(file=json.load(sys.stdin)))
    sizes, took = _chunks(config, float(arguments[0]))
    workers = config.machine.workers + config.machine.evaluation_workers
    used, child = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    # The first chunk makes the environments, the first with updates compiles.
    found = Measured(
        *sizes,
        gather=_middle(took[0][1:_RANDOM]) or 0.0,
        first=_middle(took[0][_RANDOM + 2 :]),
        later=_middle(took[1][_RANDOM + 2 :]),
        memory=1024 * (used + workers * child),
        alone=taken is not None or not hasattr(os, "sched_setaffinity"),
    )
    print(json.dumps(asdict(found)), flush=True)


if __name__ == "__main__":
    from recall_rl.cli.main import leave

    main(sys.argv[1:])
    leave(0)
