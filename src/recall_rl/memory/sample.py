"""Random rows for a chunk of updates, as arrays ready for the learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from recall_rl.memory.memory import Memory

_DRAWS = 7
"""Keeps this randomness apart from that of episodes, whose purposes are smaller numbers."""

Rows = NDArray[np.float32]


class Source(Protocol):
    """Rows that can be counted and taken by number."""

    def __len__(self) -> int: ...

    def take(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """The rows of these numbers."""
        ...


@dataclass(frozen=True)
class Shares:
    """What is known of a group's slots ahead of any draw, so that no row goes through heads it cannot belong to."""

    rows: tuple[int, ...] = ()
    """The group begins with this many rows of slot 0, this many of slot 1, and so on; all others are of later slots."""


UNKNOWN = Shares()
"""Any row may belong to any slot."""


class Group(NamedTuple):
    """Rows of one kind for K updates."""

    rows: Rows
    """(K, B, width)"""
    slot: NDArray[np.int32]
    """(K, B): which of the chunk's heads each row belongs to."""
    weight: Rows | None = None
    """(K, B): how much each row counts in a mean over rows; None: all alike."""
    shares: Shares = UNKNOWN
    """Which rows surely belong to which slots; by default nothing is known."""


class Batches(NamedTuple):
    """The batches of one chunk: K updates over at most S heads."""

    learn: Group
    """Transitions to learn from."""
    reference: Group
    """Transitions whose gradient the method's mask compares with that of `learn`; may be empty."""
    distil: Group
    """States with what the old policy did in them; may be empty."""
    heads: NDArray[np.int32]
    """(S,): the distinct heads of this chunk, into which slots point; the first is that of the (first) new task, and
    unused places hold the scratch head."""
    rate: np.float32 = np.float32(1.0)
    """Share of the learning rate with which this chunk is learnt."""


def generator(run_seed: int, position: int, chunk: int) -> np.random.Generator:
    """The randomness of one chunk's batches, a function of its place in the run."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([run_seed, _DRAWS, position, chunk])))


def newest(memory: Memory, position: int, updates: int, batch: int, last: int, rng: np.random.Generator) -> Rows:
    """(K, B, width) rows drawn uniformly, with replacement, from the `last` rows of a position."""
    segment = memory.segments[position]
    end = len(segment)
    numbers = rng.integers(max(0, end - last), end, size=updates * batch)
    return segment.take(numbers).reshape(updates, batch, -1)


def across(
    sources: Mapping[int, Source],
    width: int,
    updates: int,
    batch: int,
    rng: np.random.Generator,
) -> tuple[Rows, NDArray[np.int32]]:
    """(K, B, width) rows drawn uniformly from all rows of several sources, and the index of each one's source."""
    ends = np.cumsum([len(source) for source in sources.values()])
    numbers = rng.integers(0, ends[-1], size=updates * batch)
    owner = np.searchsorted(ends, numbers, side="right").astype(np.int32)
    out = np.empty((updates * batch, width), np.float32)
    for k, source in enumerate(sources.values()):
        mine = owner == k
        out[mine] = source.take(numbers[mine] - (ends[k] - len(source)))
    return out.reshape(updates, batch, width), owner.reshape(updates, batch)


def slots(positions: Sequence[int], count: int, scratch: int) -> NDArray[np.int32]:
    """`count` slots that hold these heads; those left over hold the scratch head."""
    return np.array([*positions, *[scratch] * (count - len(positions))], np.int32)
