"""The five questions a method answers, and the neutral answer to each.

The loop and the update call every part always, so no method is ever named there. A part is a record of
pure functions; what it keeps is a subtree of AgentState, so it is saved with everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from recall_rl.agent.config import AgentConfig
from recall_rl.agent.networks import Layers
from recall_rl.agent.sac import Groups
from recall_rl.agent.state import AgentState, Params
from recall_rl.memory.memory import Memory
from recall_rl.memory.sample import Batches
from recall_rl.tasks.task import Sequence, Stage

Rows = Float[Array, " rows"]
Slots = Int[Array, " rows"]
Critics = tuple[Layers, Layers]


Adapt = Callable[[Any, Critics, Critics, Rows, Slots], tuple[Any, Critics, Critics]]
"""(statistics, critics' heads, target critics' heads, y, slot) -> the first three, brought up to date."""


def unadapted(
    statistics: Any, critics: Critics, targets: Critics, y: Rows, slot: Slots
) -> tuple[Any, Critics, Critics]:
    """Leave everything as it is."""
    return statistics, critics, targets


@dataclass(frozen=True)
class Draw:
    """Which rows make a batch, and what memory keeps."""

    batches: Callable[[Memory, Stage, AgentConfig, int, int, np.random.Generator], Batches]
    """(memory, stage, config, updates, replay_size, rng) -> the batches of one chunk."""
    keeps: Callable[[Stage, Memory], set[int]]
    """(stage about to begin, memory) -> positions whose rows are still wanted."""


@dataclass(frozen=True)
class Targets:
    """How value targets are scaled, per head."""

    init: Callable[[], Any]
    """The statistics of one head."""
    normalise: Callable[[Any, Rows, Slots], Rows]
    """Targets in the reward's units -> targets as the network sees them."""
    unnormalise: Callable[[Any, Rows, Slots], Rows]
    """The network's outputs -> values in the reward's units."""
    entropy_unit: Callable[[Any, Slots], Rows]
    """What one unit of entropy counts in a target, in the reward's units."""
    before: Adapt
    """Brings statistics and last layers up to date with the targets of an update, before its gradient is taken."""
    after: Adapt
    """The same after its step; a method uses one of the two."""


@dataclass(frozen=True)
class Anchor:
    """Which loss holds old behaviour in place."""

    init: Callable[[AgentState], Any]
    """What the anchor keeps."""
    loss: Callable[[Any, AgentConfig, Params, Params, Groups], Float[Array, ""]]
    """(kept, config, trunks, heads, groups of rows) -> what is added to the loss."""
    consolidate: Callable[[AgentState, Memory, Stage, AgentConfig, np.random.Generator], AgentState]
    """Take note of a stage that has just ended."""


@dataclass(frozen=True)
class Mask:
    """Which weights may change, and which ones act for a task."""

    init: Callable[[AgentState], Any]
    """What the mask keeps."""
    view: Callable[[Any, Params, Params], tuple[Params, Params]]
    """(kept, trunks, heads) -> the weights that a forward pass uses."""
    restrict: Callable[[Any, Params, Params], tuple[Params, Params]]
    """(kept, updates of trunks, updates of heads) after the optimiser -> the updates that are applied."""


@dataclass(frozen=True)
class Start:
    """How a new task begins."""

    candidates: Callable[[AgentState, Stage], tuple[int, ...]]
    """Heads to be tried on the new task before training."""
    begin: Callable[[AgentState, Stage, Mapping[int, float]], AgentState]
    """(agent, stage, return of each candidate) -> the agent that starts the stage."""


def _this_task() -> Draw:
    from recall_rl.methods.draws import this_task

    return this_task()


def raw() -> Targets:
    """Targets stay in the reward's units."""
    return Targets(
        init=lambda: None,
        normalise=lambda statistics, y, slot: y,
        unnormalise=lambda statistics, q, slot: q,
        entropy_unit=lambda statistics, slot: jnp.ones(len(slot)),
        before=unadapted,
        after=unadapted,
    )


def no_anchor() -> Anchor:
    """Nothing holds old behaviour in place."""
    return Anchor(
        init=lambda agent: None,
        loss=lambda kept, config, shared, heads, groups: jnp.zeros(()),
        consolidate=lambda agent, memory, stage, config, rng: agent,
    )


def open_mask() -> Mask:
    """Every weight may change and acts for every task."""
    return Mask(
        init=lambda agent: None,
        view=lambda kept, shared, heads: (shared, heads),
        restrict=lambda kept, shared, heads: (shared, heads),
    )


def fresh_head() -> Start:
    """A new task starts with its own new head, without trials."""
    return Start(candidates=lambda agent, stage: (), begin=lambda agent, stage, returns: agent)


@dataclass(frozen=True)
class Method:
    """Five answers, overrides of the agent's config, and the order in which tasks are met."""

    draw: Draw = field(default_factory=_this_task)
    targets: Targets = field(default_factory=raw)
    anchor: Anchor = field(default_factory=no_anchor)
    mask: Mask = field(default_factory=open_mask)
    start: Start = field(default_factory=fresh_head)
    agent: Callable[[AgentConfig], AgentConfig] = field(default=lambda config: config)
    """What the method changes of the budget's agent."""
    curriculum: Callable[[Sequence], Sequence] = field(default=lambda sequence: sequence)
    """In which stages the tasks are met."""
