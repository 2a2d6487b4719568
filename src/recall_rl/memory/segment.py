"""Append-only transitions of one task, about half the bytes of the rows they are read as.

The next observation of a row is the observation of the row after it, so it is stored only where that is not so: where
an episode ended, and where an append ended. Such a row has a tail: its number, whether the task terminated, and the
next observation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recall_rl.collect.row import Row
from recall_rl.memory.store import Store
from recall_rl.memory.table import Table

Rows = NDArray[np.float32]
Numbers = NDArray[np.int64]


class Segment:
    """Rows of one task in the order they were gathered; a snapshot of it is a few counts."""

    def __init__(
        self, row: Row, records: Table, ends: Table, tails: Table, kept: Table | None = None, gathered: int = 0
    ):
        self.row = row
        self.records = records
        """Observation, action and reward of each row."""
        self.ends = ends
        """Numbers of the rows that have a tail, rising."""
        self.tails = tails
        """Terminated and next observation of those rows."""
        self.kept = kept
        """Of a thinned segment: the number each row had when it was gathered."""
        self._gathered = gathered

    @staticmethod
    def new(row: Row, capacity: int, store: Store, name: str) -> Segment:
        """An empty one."""
        return Segment(
            row,
            store.table(f"{name}.rows", row.reward + 1, capacity),
            store.table(f"{name}.ends", 1, capacity, "int64"),
            store.table(f"{name}.tails", 1 + row.observation_size, capacity),
        )

    def __len__(self) -> int:
        """Rows present."""
        return len(self.records)

    @property
    def tables(self) -> dict[str, Table]:
        """All it consists of, by name."""
        named = {"records": self.records, "ends": self.ends, "tails": self.tails}
        return named if self.kept is None else {**named, "kept": self.kept}

    @property
    def capacity(self) -> int:
        """Rows there is room for."""
        return self.records.capacity

    @property
    def numbers(self) -> Numbers:
        """The number each row had when it was gathered."""
        return np.arange(len(self)) if self.kept is None else self.kept.records[:, 0]

    @property
    def gathered(self) -> int:
        """Rows that were ever gathered into it, whether still present or not."""
        return max(self._gathered, len(self))

    @property
    def largest_row(self) -> int:
        """Bytes of a row that has a tail, in a thinned segment."""
        return 4 * (self.records.width + self.tails.width) + 2 * 8

    def size(self) -> int:
        """Bytes of all that is present."""
        return sum(table.size() for table in self.tables.values())

    def thinned(self, numbers: Numbers, store: Store, name: str) -> Segment:
        """A segment of these rows alone, each with the number it had when it was gathered."""
        made = Segment.new(self.row, len(numbers), store, name)
        for start in range(0, len(numbers), _AT_ONCE):
            made.append(self.take(numbers[start : start + _AT_ONCE]))
        made.kept = store.table(f"{name}.kept", 1, len(numbers), "int64")
        made.kept.append(self.numbers[numbers][:, None])
        made._gathered = self.gathered
        return made

    def append(self, rows: Rows) -> None:
        """Add rows at the end."""
        if not len(rows):
            return
        row, first = self.row, len(self)
        after, following = rows[:-1, row.next_observation], rows[1:, row.observation]
        # By bits: -0.0 is not 0.0 here.
        same = (after.view(np.uint32) == following.view(np.uint32)).all(axis=1)
        ends = np.flatnonzero(np.append(~same | (rows[:-1, row.terminated] != 0), True))
        self.tails.append(rows[ends, row.terminated :])
        self.ends.append(ends[:, None] + first)
        self.records.append(rows[:, : row.reward + 1])

    def take(self, numbers: Numbers) -> Rows:
        """The rows of these numbers."""
        row = self.row
        out = np.empty((len(numbers), row.width), np.float32)
        out[:, : row.reward + 1] = self.records.take(numbers)
        out[:, row.terminated] = 0.0
        # The last row has a tail, so what its successor would hold is not looked at.
        out[:, row.next_observation] = self.records.take(np.minimum(numbers + 1, len(self) - 1))[:, row.observation]
        ends = self.ends.records[:, 0]
        place = np.minimum(np.searchsorted(ends, numbers), len(ends) - 1)
        ending = np.flatnonzero(ends.take(place) == numbers)
        out[ending, row.terminated :] = self.tails.take(place[ending])
        return out

    def states(self, numbers: Numbers) -> Rows:
        """The observations of these rows."""
        return self.records.take(numbers)[:, self.row.observation]


def row_bytes(row: Row, chunk: int) -> int:
    """About the most that a transition takes, of episodes no shorter than a chunk and gathered by few lanes."""
    return 4 * (row.reward + 1) + 2 * (8 + 4 * (1 + row.observation_size)) // chunk


_AT_ONCE = 65_536
"""Rows that are copied at a time."""
