"""All that is remembered: one segment a position of the sequence, and what old policies did in their states."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recall_rl.collect.row import Row
from recall_rl.memory.segment import Segment


@dataclass(frozen=True)
class Lesson:
    """What a task's policy did, at the end of its training, in states of its own: (s, pi_old(. | s))."""

    states: Segment
    """Rows whose first numbers are the states."""
    outputs: Segment
    """Mean and log deviation of the policy, with the same row numbers."""

    def __len__(self) -> int:
        """States there are."""
        return len(self.outputs)


class Memory:
    """The segments of a run, by position in the sequence."""

    def __init__(self, row: Row, tasks: int):
        self.row = row
        self.tasks = tasks
        """Positions of the sequence; as a head, this number is the scratch head."""
        self.segments: dict[int, Segment] = {}
        self.lessons: dict[int, Lesson] = {}

    def open(self, position: int, capacity: int) -> None:
        """Begin the segment of a position that is about to be trained."""
        self.segments[position] = Segment(self.row.width, capacity)

    def append(self, position: int, rows: NDArray[np.float32]) -> None:
        """Remember rows of the task at this position."""
        self.segments[position].append(rows)

    def keep(self, positions: Iterable[int]) -> None:
        """Forget the rows of every position but these; lessons stay."""
        wanted = set(positions)
        self.segments = {p: s for p, s in self.segments.items() if p in wanted}

    def thin(self, position: int, numbers: NDArray[np.int64]) -> None:
        """Keep only these rows of a position, in a new segment of their size."""
        self.segments[position] = self.segments[position].thinned(numbers)

    def size(self) -> int:
        """Bytes of all rows and lessons present; states that a lesson shares with a segment count once."""
        segments = {id(s): s for s in self.segments.values()}
        for lesson in self.lessons.values():
            segments |= {id(s): s for s in (lesson.states, lesson.outputs)}
        return sum(segment.size() for segment in segments.values())
