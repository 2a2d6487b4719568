"""All that is remembered: one segment a position of the sequence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recall_rl.collect.row import Row
from recall_rl.memory.segment import Segment


class Memory:
    """The segments of a run, by position in the sequence."""

    def __init__(self, row: Row):
        self.row = row
        self.segments: dict[int, Segment] = {}

    def open(self, position: int, capacity: int) -> None:
        """Begin the segment of a position that is about to be trained."""
        self.segments[position] = Segment(self.row.width, capacity)

    def append(self, position: int, rows: NDArray[np.float32]) -> None:
        """Remember rows of the task at this position."""
        self.segments[position].append(rows)

    def keep(self, positions: set[int]) -> None:
        """Forget every position but these."""
        self.segments = {p: s for p, s in self.segments.items() if p in positions}
