"""Random rows for a chunk of updates, as one array ready for the learner."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_rl.memory.memory import Memory

_DRAWS = 7
"""Keeps this randomness apart from that of episodes, whose purposes are smaller numbers."""


class Batches(NamedTuple):
    """The batches of one chunk: K updates of B rows over at most S heads."""

    rows: NDArray[np.float32]
    """(K, B, width)"""
    slot: NDArray[np.int32]
    """(K, B): which of the chunk's heads each row belongs to."""
    heads: NDArray[np.int32]
    """(S,): the distinct heads of this chunk; the rows' slots point into it."""


def generator(run_seed: int, position: int, chunk: int) -> np.random.Generator:
    """The randomness of one chunk's batches, a function of its place in the run."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([run_seed, _DRAWS, position, chunk])))


def uniform(
    memory: Memory, position: int, updates: int, batch: int, last: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """(K, B, width) rows drawn uniformly, with replacement, from the `last` rows of a position."""
    segment = memory.segments[position]
    end = len(segment)
    numbers = rng.integers(max(0, end - last), end, size=updates * batch)
    out = np.empty((updates * batch, memory.row.width), np.float32)
    segment.take(numbers, out)
    return out.reshape(updates, batch, -1)
