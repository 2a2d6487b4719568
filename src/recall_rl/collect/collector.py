"""Chunks of experience, gathered by workers while the learner learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_rl.collect.play import Episode
from recall_rl.collect.policy import Actor
from recall_rl.collect.worker import Collect, Collected, Stretch, Worker
from recall_rl.tasks.task import Task


class Chunk(NamedTuple):
    """Rows of one task in the order (lane, step), and the episodes that ended among them."""

    position: int
    rows: NDArray[np.float32]
    ended: list[Episode]


class Collector:
    """Lanes of training episodes, carried by workers whose number changes nothing."""

    def __init__(self, workers: Sequence[Worker], run_seed: int, lanes: int):
        self._workers = workers
        self._run_seed = run_seed
        self._lanes = lanes
        self._asked: list[list[Stretch]] = []

    def begin(self, work: Sequence[tuple[int, Task, int, Actor | None]]) -> None:
        """Start a chunk: for each (position, task, steps, actor), its steps spread evenly over the lanes."""
        self._asked = [[] for _ in self._workers]
        for position, task, steps, actor in work:
            for lane in range(self._lanes):
                self._asked[lane % len(self._workers)].append(
                    Stretch(task, self._run_seed, position, lane, self._lanes, steps // self._lanes, actor)
                )
        for worker, stretches in zip(self._workers, self._asked, strict=True):
            if stretches:
                worker.send(Collect(tuple(stretches)))

    def finish(self) -> list[Chunk]:
        """Wait for the chunk that was begun."""
        got: dict[tuple[int, int], Collected] = {}
        for worker, stretches in zip(self._workers, self._asked, strict=True):
            if stretches:
                keys = [(stretch.position, stretch.lane) for stretch in stretches]
                got.update(zip(keys, worker.receive(), strict=True))
        positions = sorted({position for position, _ in got})
        ordered = {p: [got[p, lane] for lane in range(self._lanes)] for p in positions}
        return [
            Chunk(p, np.concatenate([rows for rows, _ in lanes]), [e for _, ended in lanes for e in ended])
            for p, lanes in ordered.items()
        ]
