"""Evaluation of the tasks met so far, on a snapshot, beside training."""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass

from recall_rl.collect.episode import Address, Purpose
from recall_rl.collect.play import Episode
from recall_rl.collect.policy import Actor
from recall_rl.collect.worker import Job, Play, Worker, answer, ask
from recall_rl.tasks.protocol import Protocol
from recall_rl.tasks.task import Sequence
from recall_rl.training.recipe import Recipe


@dataclass(frozen=True)
class TaskScore:
    """How the policy did on one task."""

    position: int
    task: str
    success: float
    """Share of episodes that succeeded at any step."""
    total: float
    """Mean return."""
    length: float
    """Mean number of steps."""


@dataclass(frozen=True)
class Evaluation:
    """How the policy did, after `step` steps of the run, on the tasks that its recipe plays."""

    step: int
    scores: tuple[TaskScore, ...]
    average: float
    """P(t) of the paper: mean success over all tasks of the sequence, those not yet met counting 0. Old tasks that were
    not played count as the mean of those that were."""


def _score(position: int, task: str, episodes: list[Episode]) -> TaskScore:
    n = len(episodes)
    return TaskScore(
        position,
        task,
        sum(e.success for e in episodes) / n,
        sum(e.total for e in episodes) / n,
        sum(e.length for e in episodes) / n,
    )


class Evaluator:
    """At most one evaluation at a time, spread over workers whose number changes nothing."""

    def __init__(
        self,
        workers: Many[Worker],
        sequence: Sequence,
        protocol: Protocol,
        run_seed: int,
        recipe: Recipe | None = None,
    ):
        self._recipe = recipe
        self._workers, self._sequence, self._protocol, self._run_seed = workers, sequence, protocol, run_seed
        self.under_way: tuple[int, Many[tuple[int, Actor]]] | None = None
        """The step of the evaluation that was begun and not yet finished, and what acts in it."""
        self._asked: list[tuple[Worker, Play]] = []

    def begin(self, step: int, actors: Many[tuple[int, Actor]]) -> None:
        """Start evaluating each (position, actor) as of this step."""
        jobs = [
            Job(
                self._sequence.tasks[position],
                Address(self._run_seed, Purpose.EVALUATE, step, position, number),
                actor,
            )
            for position, actor in actors
            for number in range(self._protocol.episodes)
        ]
        self.under_way, self._asked, n = (step, actors), [], len(self._workers)
        for k, worker in enumerate(self._workers):
            # Neighbouring jobs play the same task, so a worker makes few environments.
            share = tuple(jobs[len(jobs) * k // n : len(jobs) * (k + 1) // n])
            if share:
                self._asked.append((worker, Play(share, self._protocol.stochastic, self._protocol.stop_at_success)))
        for worker, play in self._asked:
            ask(worker, play)

    def finish(self) -> Evaluation:
        """Wait for the evaluation that was begun."""
        assert self.under_way is not None
        episodes: list[Episode] = [e for worker, play in self._asked for e in answer(worker, play)]
        by_position: dict[int, list[Episode]] = {}
        for episode in sorted(episodes, key=lambda e: (e.position, e.number)):
            by_position.setdefault(episode.position, []).append(episode)
        scores = tuple(_score(p, self._sequence.tasks[p].name, played) for p, played in by_position.items())
        (step, _), self.under_way = self.under_way, None
        success, tasks = {score.position: score.success for score in scores}, len(self._sequence)
        average = self._recipe.average(step, success, tasks) if self._recipe else sum(success.values()) / tasks
        return Evaluation(step, scores, average)
