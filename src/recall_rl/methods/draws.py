"""Which rows make a batch: the `draw` part of methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recall_rl.agent.config import AgentConfig
from recall_rl.errors import UsageError
from recall_rl.memory.memory import Memory
from recall_rl.memory.reservoir import ranks
from recall_rl.memory.sample import UNKNOWN, Batches, Group, Shares, Source, across, newest, slots
from recall_rl.memory.segment import Segment
from recall_rl.methods.method import Draw
from recall_rl.tasks.task import Stage


def fresh(
    memory: Memory, stage: Stage, config: AgentConfig, updates: int, replay_size: int, rng: np.random.Generator
) -> Group:
    """Uniform rows of the stage's new tasks, in equal shares."""
    shares = [len(share) for share in np.array_split(np.arange(config.batch), len(stage.new))]
    parts = [
        newest(memory, position, updates, share, replay_size, rng)
        for position, share in zip(stage.new, shares, strict=True)
    ]
    slot = np.repeat(np.arange(len(shares), dtype=np.int32), shares)
    rows = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    return Group(rows, np.broadcast_to(slot, (updates, config.batch)), shares=Shares(tuple(shares)))


def nothing(updates: int, width: int) -> Group:
    """A group without rows."""
    return Group(np.empty((updates, 0, width), np.float32), np.empty((updates, 0), np.int32))


def lessons(
    memory: Memory,
    stage: Stage,
    updates: int,
    batch: int,
    rng: np.random.Generator,
    old: Sequence[int] | None = None,
) -> Group:
    """States of all lessons, or of those of these old tasks, each with what the old policy did in it."""
    row = memory.row
    width = row.observation_size + 2 * row.action_size
    sources = {p: lesson for p, lesson in memory.lessons.items() if old is None or p in old}
    if not sources:
        return nothing(updates, width)
    rows, owner = across(sources, width, updates, batch, rng)
    return Group(rows, _slots_of(sources, _order(memory, stage, old))[owner], shares=_old_alone(stage))


def segments(
    sources: Mapping[int, Source],
    memory: Memory,
    stage: Stage,
    updates: int,
    batch: int,
    rng: np.random.Generator,
    old: Sequence[int] | None = None,
) -> Group:
    """Uniform rows of several positions together; `old` names the old tasks of this chunk, if not all."""
    rows, owner = across(sources, memory.row.width, updates, batch, rng)
    shares = UNKNOWN if any(p in sources for p in stage.new) else _old_alone(stage)
    return Group(rows, _slots_of(sources, _order(memory, stage, old))[owner], shares=shares)


def _old_alone(stage: Stage) -> Shares:
    """No row of the new tasks."""
    return Shares((0,) * len(stage.new))


def old_segments(memory: Memory, stage: Stage) -> dict[int, Segment]:
    """What memory holds of tasks before this stage."""
    return {p: s for p, s in memory.segments.items() if p not in stage.new}


def _order(memory: Memory, stage: Stage, old: Sequence[int] | None) -> list[int]:
    """Positions in the order of their slots: the stage's new tasks, then old ones: these, or all that are kept."""
    kept = sorted({*memory.lessons, *memory.segments} - set(stage.new)) if old is None else old
    return [*stage.new, *kept]


def _slots_of(positions: Iterable[int], order: Sequence[int]) -> NDArray[np.int32]:
    return np.array([order.index(p) for p in positions], np.int32)


def batches_of(
    memory: Memory,
    stage: Stage,
    learn: Group,
    distil: Group,
    reference: Group | None = None,
    old: Sequence[int] | None = None,
    most: int | None = None,
) -> Batches:
    """A chunk's batches: one slot a new task and, once anything old is kept, one for every other task, or for so many.

    Their number does not change while a run goes on, so that it compiles two programs at most.
    """
    order, new = _order(memory, stage, old), len(stage.new)
    others = memory.tasks - new
    room = (others if most is None else min(most, others)) if len(order) > new else 0
    empty = nothing(len(learn.rows), memory.row.width)
    return Batches(learn, reference or empty, distil, slots(order, new + room, memory.tasks))


def this_task() -> Draw:
    """Rows of the current task only; the old ones are forgotten. Lessons, if there are any, are drawn beside them."""

    def batches(
        memory: Memory, stage: Stage, config: AgentConfig, updates: int, replay_size: int, rng: np.random.Generator
    ) -> Batches:
        learn = fresh(memory, stage, config, updates, replay_size, rng)
        distil = lessons(memory, stage, updates, config.batch, rng)
        return batches_of(memory, stage, learn, distil)

    return Draw(batches, forget=lambda memory, stage, rng: memory.keep(()))


def half_past(old_loss: Literal["mean", "times old tasks"] = "mean", old_tasks: int | None = None) -> Draw:
    """As many rows of all old tasks together as of the new one: the paper's 50-50 mix.

    `old_loss` says how the rows count: all alike, or, as in the authors' code, the mean over the old rows is
    multiplied by the number of old tasks and added to the mean over the new ones. With `old_tasks`, a chunk has rows
    and lessons of that many old tasks at most, drawn anew for each chunk, so that an update does not cost more the more
    tasks there are.
    """
    if old_tasks is not None and old_tasks < 1:
        raise UsageError(f"old_tasks is {old_tasks}; a chunk needs rows of at least one old task.")

    def batches(
        memory: Memory, stage: Stage, config: AgentConfig, updates: int, replay_size: int, rng: np.random.Generator
    ) -> Batches:
        all_old = old_segments(memory, stage)
        some = _some(sorted(all_old), old_tasks, rng)
        learn = fresh(memory, stage, config, updates, replay_size, rng)
        distil = lessons(memory, stage, updates, config.batch, rng, some)
        old = {p: all_old[p] for p in all_old if some is None or p in some}
        if old:
            past = segments(old, memory, stage, updates, config.batch, rng, some)
            rows = np.concatenate([learn.rows, past.rows], axis=1)
            slot = np.concatenate([learn.slot, past.slot], axis=1)
            # A mean over 2 B rows: a weight of 2 makes the sum of two means of B rows each.
            each = np.repeat([2.0, 2.0 * len(all_old)], config.batch).astype(np.float32)
            weight = None if old_loss == "mean" else np.broadcast_to(each, slot.shape)
            learn = Group(rows, slot, weight, learn.shares)
        return batches_of(memory, stage, learn, distil, old=some, most=old_tasks)

    return Draw(batches, forget=lambda memory, stage, rng: None)


def _some(old: Sequence[int], most: int | None, rng: np.random.Generator) -> list[int] | None:
    """At most so many of the old tasks, at random; None: all of them."""
    if most is None or len(old) <= most:
        return None
    return sorted(int(p) for p in rng.choice(old, most, replace=False))


def everything() -> Draw:
    """Uniform rows of all that was ever gathered."""

    def batches(
        memory: Memory, stage: Stage, config: AgentConfig, updates: int, replay_size: int, rng: np.random.Generator
    ) -> Batches:
        if old_segments(memory, stage):
            learn = segments(memory.segments, memory, stage, updates, config.batch, rng)
        else:
            learn = fresh(memory, stage, config, updates, replay_size, rng)
        distil = lessons(memory, stage, updates, config.batch, rng)
        return batches_of(memory, stage, learn, distil)

    return Draw(batches, forget=lambda memory, stage, rng: None)


def reservoir(rows: int | None = None) -> Draw:
    """Uniform rows of a memory of bounded size, of which every row ever gathered is a part with the same chance.

    The size is `rows`, or as many as one task gathers. Rows let go of are freed when the next stage begins.
    """

    def share(memory: Memory, stage: Stage, replay_size: int) -> float:
        one = max(memory.segments[p].capacity for p in stage.new)
        seen = sum(s.gathered for s in memory.segments.values())
        return min(rows or one, replay_size) / max(seen, 1)

    def kept(position: int, segment: Segment, limit: float) -> NDArray[np.int64]:
        return np.flatnonzero(ranks(position, segment.numbers) < limit)

    def batches(
        memory: Memory, stage: Stage, config: AgentConfig, updates: int, replay_size: int, rng: np.random.Generator
    ) -> Batches:
        limit = share(memory, stage, replay_size)
        if limit >= 1.0 and len(memory.segments) == len(stage.new):
            learn = fresh(memory, stage, config, updates, replay_size, rng)
        else:
            sources = {p: _Some(s, kept(p, s, limit)) for p, s in memory.segments.items()}
            learn = segments(sources, memory, stage, updates, config.batch, rng)
        distil = lessons(memory, stage, updates, config.batch, rng)
        return batches_of(memory, stage, learn, distil)

    def forget(memory: Memory, stage: Stage, rng: np.random.Generator) -> None:
        if not memory.segments:
            return
        seen = sum(s.gathered for s in memory.segments.values())
        one = max(s.gathered for s in memory.segments.values())
        for position, segment in memory.segments.items():
            memory.thin(position, kept(position, segment, (rows or one) / max(seen, 1)))

    return Draw(batches, forget)


class _Some:
    """Some rows of a segment."""

    def __init__(self, segment: Segment, numbers: NDArray[np.int64]):
        self._segment, self._numbers = segment, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def take(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        return self._segment.take(self._numbers[numbers])


def with_reference(rows: int = 10_000) -> Draw:
    """Rows of the current task to learn from and, to refer to, as many of `rows` kept of each old task."""

    def batches(
        memory: Memory, stage: Stage, config: AgentConfig, updates: int, replay_size: int, rng: np.random.Generator
    ) -> Batches:
        learn = fresh(memory, stage, config, updates, replay_size, rng)
        old = old_segments(memory, stage)
        reference = segments(old, memory, stage, updates, config.batch, rng) if old else None
        distil = lessons(memory, stage, updates, config.batch, rng)
        return batches_of(memory, stage, learn, distil, reference)

    def forget(memory: Memory, stage: Stage, rng: np.random.Generator) -> None:
        for position, segment in memory.segments.items():
            if len(segment) > rows:
                memory.thin(position, np.sort(rng.choice(len(segment), rows, replace=False)))

    return Draw(batches, forget)
