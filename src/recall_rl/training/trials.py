"""Trial episodes of candidate heads on a new task: not stored, not part of any evaluation figure."""

from __future__ import annotations

from collections.abc import Sequence

from recall_rl.collect.episode import Address, Purpose
from recall_rl.collect.policy import Actor
from recall_rl.collect.worker import Job, Play, Worker, answer, ask
from recall_rl.tasks.task import Task


def play_trials(
    worker: Worker,
    task: Task,
    position: int,
    candidates: Sequence[tuple[int, Actor]],
    episodes: int,
    run_seed: int,
    step: int,
) -> dict[int, float]:
    """Mean return of each candidate head on the task, all on the same episodes."""
    returns: dict[int, float] = {}
    for head, actor in candidates:
        jobs = tuple(
            Job(task, Address(run_seed, Purpose.TRIAL, step, position, number), actor) for number in range(episodes)
        )
        play = Play(jobs, stochastic=True, stop_at_success=False)
        ask(worker, play)
        returns[head] = sum(e.total for e in answer(worker, play)) / episodes
    return returns
