"""What environments and evaluations cost, and what workers gain; each function measures one thing.

    python benchmarks/environment.py                  # all of it, about five minutes; prints JSON
    python benchmarks/environment.py --only step      # our step of Meta-World against its own
    python benchmarks/environment.py --only evaluation --only workers

Sides take turns; the figures are medians. Steps are measured in CPU time on one core, so that neighbours matter little.
"""

from __future__ import annotations

import os

os.environ["NPROC"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import dataclasses
import json
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from recall_rl.collect.collector import Collector
from recall_rl.collect.row import Row
from recall_rl.collect.worker import ProcessWorker
from recall_rl.tasks.metaworld import CW10, MetaWorld, metaworld_task, with_own_code
from recall_rl.tasks.protocol import PROTOCOLS
from recall_rl.tasks.sequences import sequence
from recall_rl.tasks.task import Task
from recall_rl.training.config import BUDGETS, TrainingConfig
from recall_rl.training.recipe import recipe

AIMED = ("push", "stick-pull", "shelf-place")
"""Tasks of which Meta-World's own Python takes most of a step."""


def row(name: str, ours: float, bare: float, aim: float | None, networks: str = "any") -> dict[str, Any]:
    """One line of the table."""
    return {"name": name, "networks": networks, "ours": ours, "bare": bare, "ratio": ours / bare, "aim": aim}


class Episodes:
    """Whole episodes of random actions: steps a second of CPU time, resets included or not."""

    def __init__(self, task: Task, resets: bool):
        made = task.make()
        assert isinstance(made, MetaWorld)
        self.env, self.resets, self.number = made, resets, 0
        self.actions = np.random.default_rng(0).uniform(-1, 1, (made.horizon, 4)).astype(np.float32)

    def __call__(self) -> float:
        """One episode."""
        self.number += 1
        began = time.process_time()
        self.env.reset(self.number)
        if not self.resets:
            began = time.process_time()
        for action in self.actions:
            self.env.step(action)
        return len(self.actions) / (time.process_time() - began)


def alternate(sides: list[Callable[[], float]], rounds: int) -> list[float]:
    """The median of each side, the sides taking turns."""
    seen = [[side() for side in sides] for _ in range(rounds)]
    return [statistics.median(values) for values in zip(*seen, strict=True)]


def step(task: str = "push", protocol: str = "cw", rounds: int = 7, resets: bool = False) -> dict[str, Any]:
    """Our step against Meta-World's own, on one core."""
    posed, cores = metaworld_task(task, PROTOCOLS[protocol]), os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours, bare = alternate([Episodes(posed, resets), Episodes(with_own_code(posed), resets)], rounds)
    finally:
        os.sched_setaffinity(0, cores)
    what = "episodes with their resets" if resets else "env.step"
    aim = 2.5 if task in AIMED and protocol == "cw" and not resets else None
    return row(f"{what}, {task} under {protocol}: ours / Meta-World's own, steps/s", ours, bare, aim)


def task_evaluation(task: str = "push", episodes: int = 10) -> float:
    """Seconds of CPU time of evaluating one task with an untrained policy of `laptop` networks."""
    from recall_rl.agent.export import actors
    from recall_rl.agent.state import init_agent
    from recall_rl.collect.episode import Address, Purpose
    from recall_rl.collect.play import Player, play
    from recall_rl.methods.method import Method

    agent = BUDGETS["laptop"].agent
    actor = actors(init_agent(agent, Row(12, 4), 1, 0), Method(), agent, [0])[0]
    player = Player(task, metaworld_task(task, PROTOCOLS["cw"]).make())
    began = time.process_time()
    for number in range(episodes):
        play(player, Address(0, Purpose.EVALUATE, 0, 0, number), actor, True, False, lambda: None)
    return time.process_time() - began


def training_step(task: str = "push", chunks: int = 20) -> float:
    """Seconds of CPU time that the learner, the slower half of a run, takes for one step; evaluation is off."""
    import jax

    from recall_rl.methods.method import Method
    from recall_rl.training.loop import Setup, learn
    from recall_rl.training.team import MachineConfig, Team

    cw = PROTOCOLS["cw"]
    training = TrainingConfig(steps=10**6, start_steps=200, update_after=200, evaluate_every=10**6)
    with Team(MachineConfig()) as team:
        setup = Setup(sequence(task, cw), Method(), cw, BUDGETS["laptop"].agent, training, 0, Row(12, 4))
        progress = learn(setup, team)
        for _ in range(10):
            jax.block_until_ready(next(progress).agent.updates)
        began = time.process_time()
        for _ in range(chunks):
            jax.block_until_ready(next(progress).agent.updates)
        return (time.process_time() - began) / (chunks * training.chunk)


def plays(name: str, tasks: int, training: TrainingConfig) -> int:
    """Tasks that the evaluations of a run of this many tasks play, all together."""
    posed = dataclasses.replace(PROTOCOLS["cw"], recipe=name)
    stages = sequence(",".join(CW10[k % len(CW10)] for k in range(tasks)), posed).stages
    evaluations = recipe(posed, training, stages)
    every = training.evaluate_every
    return sum(len(evaluations.at(step).played) for step in range(every, tasks * training.steps + 1, every))


def evaluation(tasks: int, budget: str, costs: tuple[float, float]) -> dict[str, Any]:
    """The evaluation worker's time as a share of the learner's, flat against full, with a budget's cadence."""
    (played, trained), training = costs, BUDGETS[budget].training
    flat, full = (
        plays(name, tasks, training) * played / (tasks * training.steps * trained) for name in ("flat", "full")
    )
    every = f"every {training.evaluate_every:,} steps"
    return row(
        f"evaluation's time / training's, {tasks} tasks, {every}: recipe flat / full", flat, full, None, "laptop"
    )


def workers(many: int = 8, seconds: float = 0.02, chunks: int = 6, rounds: int = 3) -> dict[str, Any]:
    """Rows a second of many workers against one, on a simulator that takes 20 ms a step; the rows must be the same."""
    task, steps = Task("slow", "slow_environment:Slow", {"seconds": seconds}), 10 * many

    def gather(count: int) -> tuple[float, bytes]:
        team = [ProcessWorker(60.0) for _ in range(count)]
        try:
            collector = Collector(team, 0, many, Row(4, 2))
            rows: list[bytes] = []
            for chunk in range(chunks + 1):
                if chunk == 1:  # The first one starts processes and makes environments.
                    began = time.perf_counter()
                collector.begin([(0, task, steps, None)])
                rows += [c.rows.tobytes() for c in collector.finish()]
            return chunks * steps / (time.perf_counter() - began), b"".join(rows)
        finally:
            for worker in team:
                worker.close()

    found = [[gather(count) for count in (many, 1)] for _ in range(rounds)]
    assert len({rows for turn in found for _, rows in turn}) == 1, "the number of workers changed a row"
    ours, bare = (statistics.median(rate for rate, _ in side) for side in zip(*found, strict=True))
    return row(f"{many} workers / 1, a simulator of {1000 * seconds:g} ms a step, steps/s", ours, bare, 6.0)


def measure(only: list[str], rounds: int) -> list[dict[str, Any]]:
    """All that was asked for."""
    found: list[dict[str, Any]] = []
    if "step" in only:
        for protocol in ("cw", "mw3"):
            for task in CW10:
                found += [step(task, protocol, rounds), step(task, protocol, rounds, resets=True)]
    if "evaluation" in only:
        costs = task_evaluation(), training_step()
        found += [evaluation(tasks, budget, costs) for tasks in (10, 20, 200) for budget in ("paper", "laptop")]
    if "workers" in only:
        found.append(workers())
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=["step", "evaluation", "workers"], help="one of the parts")
    parser.add_argument("--rounds", type=int, default=7, help="how often the sides of a pair take turns")
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.only or ["step", "evaluation", "workers"], arguments.rounds), indent=2))
