"""Which rows make a batch: the `draw` part of methods."""

from __future__ import annotations

import numpy as np

from recall_rl.agent.config import AgentConfig
from recall_rl.memory.memory import Lesson, Memory
from recall_rl.memory.sample import Batches, Group, across, newest, slots
from recall_rl.methods.method import Draw
from recall_rl.tasks.task import Stage


def _fresh(
    memory: Memory, stage: Stage, config: AgentConfig, updates: int, replay_size: int, rng: np.random.Generator
) -> Group:
    """Uniform rows of the stage's new tasks, in equal shares."""
    shares = np.array_split(np.arange(config.batch), len(stage.new))
    parts = [
        newest(memory, position, updates, len(share), replay_size, rng)
        for position, share in zip(stage.new, shares, strict=True)
    ]
    slot = np.concatenate([np.full(len(share), i, np.int32) for i, share in enumerate(shares)])
    rows = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    return Group(rows, np.broadcast_to(slot, (updates, config.batch)))


def _lessons(memory: Memory, offset: int, updates: int, batch: int, rng: np.random.Generator) -> Group:
    """States of all lessons, each with what the old policy did in it."""
    row = memory.row
    width = row.observation_size + 2 * row.action_size

    def take(lesson: Lesson, numbers: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [lesson.states.take(numbers)[:, : row.observation_size], lesson.outputs.take(numbers)], axis=1
        )

    if not memory.lessons:
        return Group(np.empty((updates, 0, width), np.float32), np.empty((updates, 0), np.int32))
    rows, owner = across(memory.lessons, take, width, updates, batch, rng)
    return Group(rows, owner + np.int32(offset))


def this_task() -> Draw:
    """Rows of the current task only; the old ones are forgotten. Lessons, if there are any, are drawn beside them."""

    def batches(
        memory: Memory, stage: Stage, config: AgentConfig, updates: int, replay_size: int, rng: np.random.Generator
    ) -> Batches:
        learn = _fresh(memory, stage, config, updates, replay_size, rng)
        distil = _lessons(memory, len(stage.new), updates, config.batch, rng)
        used = [*stage.new, *memory.lessons]
        return Batches(learn, distil, slots(used, len(used) if not memory.lessons else memory.tasks, memory.tasks))

    return Draw(batches, keeps=lambda stage, memory: set())


def half_past() -> Draw:
    """As many rows of all old tasks together as of the new one: the paper's 50-50 mix."""

    def batches(
        memory: Memory, stage: Stage, config: AgentConfig, updates: int, replay_size: int, rng: np.random.Generator
    ) -> Batches:
        fresh = _fresh(memory, stage, config, updates, replay_size, rng)
        old = {p: s for p, s in memory.segments.items() if p not in stage.new}
        distil = _lessons(memory, len(stage.new), updates, config.batch, rng)
        if not old:
            return Batches(fresh, distil, slots(stage.new, len(stage.new), memory.tasks))
        rows, owner = across(old, lambda s, n: s.take(n), memory.row.width, updates, config.batch, rng)
        learn = Group(
            np.concatenate([fresh.rows, rows], axis=1),
            np.concatenate([fresh.slot, owner + np.int32(len(stage.new))], axis=1),
        )
        return Batches(learn, distil, slots([*stage.new, *old], memory.tasks, memory.tasks))

    return Draw(batches, keeps=lambda stage, memory: set(memory.segments))
