"""The five questions a method answers, and the neutral answer to each.

The loop and the update call every part always, so no method is ever named there. A part is a record of
pure functions; what it keeps is a subtree of AgentState, so it is saved with everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from recall_rl.agent.config import AgentConfig
from recall_rl.agent.networks import Layers
from recall_rl.agent.sac import Groups
from recall_rl.agent.state import AgentState, Extend, Params, init_agent
from recall_rl.collect.row import Row
from recall_rl.memory.memory import Memory
from recall_rl.memory.sample import Batches
from recall_rl.tasks.task import Sequence, Stage
from recall_rl.training.config import TrainingConfig

Rows = Float[Array, " rows"]
Slots = Int[Array, " rows"]
Critics = tuple[Layers, Layers]
Both = tuple[Params, Params]
"""Of the trunks and of the heads."""
Position = Int[Array, ""] | int

Moment = Literal["before the gradient", "before the step", "after the step"]
"""When an update brings the statistics of targets up to date."""


@dataclass(frozen=True)
class Draw:
    """Which rows make a batch, and what memory keeps."""

    batches: Callable[[Memory, Stage, AgentConfig, int, int, np.random.Generator], Batches]
    """(memory, stage, config, updates, replay_size, rng) -> the batches of one chunk."""
    forget: Callable[[Memory, Stage, np.random.Generator], None]
    """Let go of rows of earlier tasks that are no longer wanted, before this stage begins."""


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
    adapt: Callable[[Any, Critics, Critics, Rows, Slots], tuple[Any, Critics, Critics]]
    """(statistics, critics' heads, target critics' heads, y, slot) -> the first three, brought up to date."""
    moment: Moment
    """When `adapt` is called."""
    judge: Callable[[Rows, Rows, Slots, int], Rows] = field(
        default=lambda first, second, slot, new: jnp.minimum(first, second)
    )
    """(what both target critics say, slot, number of new tasks, which have the first slots) -> what is believed."""
    bound: Callable[[Any, Rows, Rows, Slots, float], tuple[Any, Rows]] = field(
        default=lambda statistics, y, r, slot, gamma: (statistics, y)
    )
    """(statistics, targets, rewards, slot, gamma) -> the first two, with no target that the task's rewards rule out."""


@dataclass(frozen=True)
class Ended:
    """What is at hand when a stage has ended."""

    memory: Memory
    stage: Stage
    config: AgentConfig
    view: Callable[[int], Both]
    """The weights that act for a position."""
    rng: np.random.Generator


@dataclass(frozen=True)
class Anchor:
    """Which loss holds old behaviour in place."""

    init: Callable[[AgentState], Any]
    """What the anchor keeps."""
    loss: Callable[[Any, AgentConfig, Both, Both, Groups], Float[Array, ""]]
    """(kept, config, parameters as learnt, as the mask shows them, groups of rows) -> what is added to the loss, once
    a stage has ended."""
    consolidate: Callable[[AgentState, Ended], AgentState]
    """Take note of a stage that has just ended."""


@dataclass(frozen=True)
class Mask:
    """Which weights may change, and which ones act for a task."""

    extend: Extend
    """(trunks, heads) -> the same with what is to be learnt besides, in `extra`."""
    init: Callable[[AgentState], Any]
    """What the mask keeps."""
    view: Callable[[Any, Position, Params, Params, PRNGKeyArray | None], Both]
    """(kept, position, trunks, heads, key) -> the weights that a forward pass for this position uses; without a key,
    those that act."""
    combine: Callable[[Any, Position, Both, Both | None], Both]
    """(kept, position, gradients, gradients on the reference group) -> the gradients that are clipped and used."""
    restrict: Callable[[Any, Position, Params, Params], Both]
    """(kept, position, updates of trunks, updates of heads) after the optimiser -> the updates that are applied."""


@dataclass(frozen=True)
class Start:
    """How a new task begins."""

    candidates: Callable[[AgentState, Stage], Mapping[int, Layers]]
    """Heads of the actor to be tried on the new task before training, by number."""
    begin: Callable[[AgentState, Stage, Mapping[int, float]], AgentState]
    """(agent, stage, return of each candidate) -> the agent that starts the stage."""


@dataclass(frozen=True)
class Phase:
    """Something done to the agent when a stage has ended, followed by updates on what memory holds."""

    begin: Callable[[AgentState, Stage, AgentConfig], AgentState]
    updates: Callable[[AgentState, Stage, TrainingConfig], int] = field(default=lambda agent, stage, training: 0)
    """How many updates follow (asked before `begin`), without new experience."""


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
        adapt=lambda statistics, critics, targets, y, slot: (statistics, critics, targets),
        moment="after the step",
    )


def no_anchor() -> Anchor:
    """Nothing holds old behaviour in place."""
    return Anchor(
        init=lambda agent: None,
        loss=lambda kept, config, params, seen, groups: jnp.zeros(()),
        consolidate=lambda agent, ended: agent,
    )


def open_mask() -> Mask:
    """Every weight may change and acts for every task."""
    return Mask(
        extend=lambda shared, heads: (shared, heads),
        init=lambda agent: None,
        view=lambda kept, position, shared, heads, key: (shared, heads),
        combine=lambda kept, position, grads, reference: grads,
        restrict=lambda kept, position, shared, heads: (shared, heads),
    )


def fresh_head() -> Start:
    """A new task starts with its own new head, without trials."""
    return Start(candidates=lambda agent, stage: {}, begin=lambda agent, stage, returns: agent)


@dataclass(frozen=True)
class Method:
    """Five answers, what is done when a stage ends, overrides of the budget, and the order in which tasks are met."""

    draw: Draw = field(default_factory=_this_task)
    targets: Targets = field(default_factory=raw)
    anchor: Anchor = field(default_factory=no_anchor)
    mask: Mask = field(default_factory=open_mask)
    start: Start = field(default_factory=fresh_head)
    settle: tuple[Phase, ...] = ()
    """What is done when a stage ends, after the anchor took note of it."""
    agent: Callable[[AgentConfig], AgentConfig] = field(default=lambda config: config)
    """What the method changes of the budget's agent."""
    training: Callable[[TrainingConfig], TrainingConfig] = field(default=lambda config: config)
    """What the method changes of the budget's training."""
    curriculum: Callable[[Sequence], Sequence] = field(default=lambda sequence: sequence)
    """In which stages the tasks are met."""
    looks_ahead: str | None = None
    """If what is learnt of a task depends on how many follow: why. Such a run cannot be extended."""
    most_tasks: int | None = None
    """Tasks there is room for; None: any number."""


def new_agent(method: Method, config: AgentConfig, row: Row, tasks: int, seed: int) -> AgentState:
    """An agent that has learnt nothing, with what the method's parts keep."""
    agent = init_agent(config, row, tasks, seed, method.targets.init(), method.mask.extend)
    return replace(agent, anchor=method.anchor.init(agent), mask=method.mask.init(agent))
