"""Everything from which a run goes on exactly: what a checkpoint holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recall_rl.agent.state import AgentState
from recall_rl.collect.collector import Place
from recall_rl.collect.play import Episode, OpenEpisode
from recall_rl.collect.policy import Actor
from recall_rl.memory.record import MemoryRecord
from recall_rl.training.mark import Mark


@dataclass(frozen=True)
class Snapshot:
    """The state of a run at a mark."""

    mark: Mark
    step: int
    agent: AgentState
    """A copy of its own."""
    memory: MemoryRecord
    acting: Mapping[int, Actor | None]
    """What acts in the chunk under way; empty between stages."""
    lanes: Mapping[Place, OpenEpisode]
    """Where each lane was before that chunk."""
    evaluating: tuple[int, Sequence[tuple[int, Actor]]] | None
    """The evaluation under way: its step, and what acts in it."""
    ended: Sequence[Episode]
    """Training episodes since the last report."""
    metrics: Mapping[str, NDArray[np.float32]]
    """What was measured in each chunk since the last report."""
