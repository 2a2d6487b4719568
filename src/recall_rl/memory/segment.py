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

    def take(self, numbers: NDArray[np.int64], out: NDArray[np.float32]) -> None:
        """Copy the rows of these numbers into `out`."""
        # mode="clip" lets NumPy write straight into `out`; the numbers are in range by construction.
        np.take(self._rows, numbers, axis=0, out=out, mode="clip")
