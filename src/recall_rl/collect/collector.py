"""Chunks of experience, gathered by workers while the learner learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_rl.collect.play import Episode, OpenEpisode
from recall_rl.collect.policy import Actor
from recall_rl.collect.row import Row
from recall_rl.collect.worker import Collect, Collected, Stretch, Worker, answer, ask
from recall_rl.tasks.task import Task

Place = tuple[int, int]
"""Position in the sequence, and lane."""


class Chunk(NamedTuple):
    """Rows of one task in the order (lane, step), and the episodes that ended among them."""

    position: int
    rows: NDArray[np.float32]
    ended: list[Episode]


class _Open:
    """The open episode of a lane, as far as it was gathered."""

    def __init__(self, start: OpenEpisode):
        self._number, self._parts, self._last = start.number, [start.actions], start.observation

    def see(self, got: Collected, row: Row) -> None:
        """Take in what a stretch added."""
        if got.t <= len(got.rows):
            self._parts = []
        self._number = got.number
        recent = got.rows[len(got.rows) - min(got.t, len(got.rows)) :]
        self._parts.append(np.array(recent[:, row.action]))
        self._last = np.array(got.rows[-1, row.next_observation])

    def now(self) -> OpenEpisode:
        """How far it is."""
        return OpenEpisode(self._number, np.concatenate(self._parts), self._last)


class Collector:
    """Lanes of training episodes, carried by workers whose number changes nothing.

    A worker that dies is replaced: its lanes are brought to where they were, and gather the chunk once more.
    """

    def __init__(self, workers: Sequence[Worker], run_seed: int, lanes: int, row: Row):
        self._workers = workers
        self._run_seed = run_seed
        self._lanes = lanes
        self._row = row
        self._asked: list[list[Stretch]] = []
        self._open: dict[Place, _Open] = {}
        self.given_up = 0
        """Open episodes given up because an environment did not come to the same state again."""

    def begin(
        self,
        work: Sequence[tuple[int, Task, int, Actor | None]],
        go_on: Mapping[Place, OpenEpisode] | None = None,
    ) -> None:
        """Start a chunk: for each (position, task, steps, actor), its steps spread evenly over the lanes.

        `go_on` says where the lanes of new workers are, if they are not at their beginning.
        """
        places = [(position, lane) for position, *_ in work for lane in range(self._lanes)]
        self._open = {p: self._open.get(p) or self._new(p) for p in places}
        if go_on:
            self._open = {p: _Open(go_on[p]) for p in places}
        self._asked = [[] for _ in self._workers]
        for position, task, steps, actor in work:
            for lane in range(self._lanes):
                start = go_on[position, lane] if go_on else None
                self._asked[lane % len(self._workers)].append(
                    Stretch(task, self._run_seed, position, lane, self._lanes, steps // self._lanes, actor, start)
                )
        for k, stretches in enumerate(self._asked):
            if stretches:
                ask(self._workers[k], Collect(tuple(stretches)), partial(self._again, k))

    def _new(self, place: Place) -> _Open:
        row = self._row
        nothing = np.empty((0, row.action_size), np.float32), np.zeros(row.observation_size, np.float32)
        return _Open(OpenEpisode(place[1], *nothing))

    def _again(self, k: int) -> Collect:
        """What a worker was asked, for a new process in its place."""
        return Collect(tuple(s._replace(go_on=self._open[s.position, s.lane].now()) for s in self._asked[k]))

    def finish(self) -> list[Chunk]:
        """Wait for the chunk that was begun."""
        got: dict[Place, Collected] = {}
        for k, stretches in enumerate(self._asked):
            if stretches:
                answers = answer(self._workers[k], partial(self._again, k))
                got.update(zip([(s.position, s.lane) for s in stretches], answers, strict=True))
        for place, collected in got.items():
            self._open[place].see(collected, self._row)
            self.given_up += not collected.faithful
        positions = sorted({position for position, _ in got})
        ordered = {p: [got[p, lane] for lane in range(self._lanes)] for p in positions}
        return [
            Chunk(p, np.concatenate([c.rows for c in lanes]), [e for c in lanes for e in c.ended])
            for p, lanes in ordered.items()
        ]

    def lanes(self) -> dict[Place, OpenEpisode]:
        """How far each lane was before the chunk that is under way."""
        return {place: episode.now() for place, episode in self._open.items()}
