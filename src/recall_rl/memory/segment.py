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
        self._kept: NDArray[np.int64] | None = None
        self._let_go = 0

    def __len__(self) -> int:
        """Rows present."""
        return self._count

    @property
    def capacity(self) -> int:
        """Rows there is room for."""
        return len(self._rows)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The number each row had when it was gathered."""
        return np.arange(self._count) if self._kept is None else self._kept

    @property
    def gathered(self) -> int:
        """Rows that were ever gathered into it, whether still present or not."""
        return self._count + self._let_go

    def size(self) -> int:
        """Bytes of the rows present."""
        return self._rows[: self._count].nbytes

    def thinned(self, numbers: NDArray[np.int64]) -> Segment:
        """A segment of these rows alone, each with the number it had when it was gathered."""
        made = Segment(self._rows.shape[1], len(numbers))
        made.append(self.take(numbers))
        made._kept = self.numbers[numbers]
        made._let_go = self.gathered - len(numbers)
        return made

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
