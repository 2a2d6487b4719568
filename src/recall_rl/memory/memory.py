"""All that is remembered: one segment a position of the sequence, and what old policies did in their states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_rl.collect.row import Row
from recall_rl.memory.reservoir import ranks
from recall_rl.memory.segment import Numbers, Rows, Segment
from recall_rl.memory.store import Store
from recall_rl.memory.table import Table


@dataclass(frozen=True)
class Lesson:
    """What a task's policy did, at the end of its training, in states of its own: (s, pi_old(. | s))."""

    states: Segment | Table
    """The states: those of a segment's rows, or records of their own."""
    outputs: Table
    """Mean and log deviation of the policy, with the same numbers."""

    def __len__(self) -> int:
        """States there are."""
        return len(self.outputs)

    def take(self, numbers: Numbers) -> Rows:
        """States of these numbers, each with what the policy did in it."""
        return np.concatenate([states_of(self.states, numbers), self.outputs.take(numbers)], axis=1)


def states_of(states: Segment | Table, numbers: Numbers) -> Rows:
    """The states of these numbers."""
    return states.states(numbers) if isinstance(states, Segment) else states.take(numbers)


class Memory:
    """The segments of a run, by position in the sequence."""

    def __init__(self, row: Row, tasks: int, store: Store | None = None):
        self.row = row
        self.tasks = tasks
        """Positions of the sequence; as a head, this number is the scratch head."""
        self.store = store or Store()
        self.segments: dict[int, Segment] = {}
        self.lessons: dict[int, Lesson] = {}

    def open(self, position: int, capacity: int) -> None:
        """Begin the segment of a position that is about to be trained."""
        self.segments[position] = Segment.new(self.row, capacity, self.store, self.store.name(position))

    def append(self, position: int, rows: NDArray[np.float32]) -> None:
        """Remember rows of the task at this position."""
        self.segments[position].append(rows)

    def teach(self, position: int, states: Segment | Rows, capacity: int) -> Lesson:
        """Begin the lesson of a position: the states of a segment, or these, to be joined by this many outputs."""
        name = self.store.name(position)
        if isinstance(states, Segment):
            asked: Segment | Table = states
        else:
            asked = self.store.table(f"{name}.states", states.shape[1], len(states))
            asked.append(states)
        outputs = self.store.table(f"{name}.policy", 2 * self.row.action_size, capacity)
        self.lessons[position] = Lesson(asked, outputs)
        return self.lessons[position]

    def keep(self, positions: Iterable[int]) -> None:
        """Forget the rows of every position but these; lessons stay."""
        wanted = set(positions)
        self.segments = {p: s for p, s in self.segments.items() if p in wanted}

    def thin(self, position: int, numbers: NDArray[np.int64]) -> None:
        """Keep only these rows of a position, in a new segment of their size."""
        self.segments[position] = self.segments[position].thinned(numbers, self.store, self.store.name(position))

    def fit(self, size: int, run_seed: int) -> None:
        """Thin every position to an equal share of `size` bytes; rows with the smallest random rank stay.

        What a policy did in rows is thinned with them; lessons with states of their own are few and stay.
        """
        held = {p: lesson.states for p, lesson in self.lessons.items() if isinstance(lesson.states, Segment)}
        held |= self.segments
        for position, rows in held.items():
            lesson = self.lessons.get(position)
            outputs = lesson.outputs if lesson and lesson.states is rows else None
            share = size // len(held)
            if rows.size() + (outputs.size() if outputs is not None else 0) <= share:
                continue
            each = rows.largest_row + (4 * outputs.width if outputs is not None else 0)
            order = np.argsort(ranks(position, rows.numbers, run_seed), kind="stable")
            numbers = np.sort(order[: max(1, share // each)])
            thin = rows.thinned(numbers, self.store, self.store.name(position))
            if position in self.segments:
                self.segments[position] = thin
            if outputs is not None:
                self.teach(position, thin, len(numbers)).outputs.append(outputs.take(numbers))

    def seal(self) -> None:
        """No position that is held now gets more rows."""
        for table in self.tables():
            table.seal()

    def tables(self) -> Iterator[Table]:
        """Every table there is, each once; a lesson may share a segment's."""
        seen: dict[int, Table] = {}
        sources: list[Any] = [*self.segments.values()]
        for lesson in self.lessons.values():
            sources += [lesson.states, lesson.outputs]
        for source in sources:
            for table in source.tables.values() if isinstance(source, Segment) else (source,):
                seen[id(table)] = table
        yield from seen.values()

    def size(self) -> int:
        """Bytes of all rows and lessons present; states that a lesson shares with a segment count once."""
        return sum(table.size() for table in self.tables())
