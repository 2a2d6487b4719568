"""Which rows make a batch: the `draw` part of methods."""

from __future__ import annotations

import numpy as np

from recall_rl.agent.config import AgentConfig
from recall_rl.memory.memory import Memory
from recall_rl.memory.sample import Batches, uniform
from recall_rl.tasks.task import Stage


def this_task(
    memory: Memory, stage: Stage, config: AgentConfig, updates: int, replay_size: int, rng: np.random.Generator
) -> Batches:
    """Uniform rows of the stage's new tasks, in equal shares."""
    shares = np.array_split(np.arange(config.batch), len(stage.new))
    parts = [
        uniform(memory, position, updates, len(share), replay_size, rng)
        for position, share in zip(stage.new, shares, strict=True)
    ]
    slot = np.concatenate([np.full(len(share), i, np.int32) for i, share in enumerate(shares)])
    return Batches(
        rows=parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1),
        slot=np.broadcast_to(slot, (updates, config.batch)),
        heads=np.array(stage.new, np.int32),
    )
