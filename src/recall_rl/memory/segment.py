"""Append-only rows of one task."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Segment:
    """Rows of one task in the order they were gathered; a snapshot of it is a row count."""

    def __init__(self, width: int, capacity: int):
        # Untouched pages cost nothing, so the whole stage is reserved at once and rows never move.
        self._rows = np.empty((capacity, width), np.float32)
        self._count = 0

    def __len__(self) -> int:
        """Rows present."""
        return self._count

    def append(self, rows: NDArray[np.float32]) -> None:
        """Add rows at the end."""
        end = self._count + len(rows)
        if end > len(self._rows):
            raise ValueError(f"A segment of {len(self._rows)} rows cannot take {end}.")
        self._rows[self._count : end] = rows
        self._count = end

    def take(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """The rows of these numbers."""
        return self._rows.take(numbers, axis=0)

    def read(self, start: int, end: int) -> NDArray[np.float32]:
        """The rows from `start` to before `end`, in order; not to be written to."""
        return self._rows[start : min(end, self._count)]
