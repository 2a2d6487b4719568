"""How a new task begins: the `start` part of methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from recall_rl.agent.networks import Layer, Layers
from recall_rl.agent.state import AgentState
from recall_rl.methods.method import Start
from recall_rl.tasks.task import Stage


@dataclass(frozen=True)
class Inherited:
    """What a new head takes over from the best old one, besides the actor's weights."""

    critic: bool = True
    """The critics' weights."""
    statistics: bool = True
    """The statistics of the targets."""
    temperature: bool = True
    """The temperature."""
    targets_follow: bool = True
    """Whether the target critics are those of the old head; otherwise they start equal to the new head's critics."""


@partial(jax.jit, static_argnames="inherited")
def copy_head(agent: AgentState, source: int, target: int, inherited: Inherited) -> AgentState:
    """The agent in which one head is a copy of another's actor and of what else is inherited."""

    def copied(part: AgentState) -> list[object]:
        heads = part.heads
        parts: list[object] = [heads.params.actor]
        if inherited.critic:
            parts += [heads.params.critics, heads.targets]
        if inherited.statistics:
            parts.append(heads.statistics)
        if inherited.temperature:
            parts.append(heads.params.log_alpha)
        return parts

    new = [jax.tree.map(lambda x: x.at[target].set(x[source]), part) for part in copied(agent)]
    agent = eqx.tree_at(copied, agent, new, is_leaf=lambda x: x is None)
    if inherited.critic and not inherited.targets_follow:
        synced = jax.tree.map(lambda t, p: t.at[target].set(p[target]), agent.heads.targets, agent.heads.params.critics)
        agent = eqx.tree_at(lambda a: a.heads.targets, agent, synced)
    return agent


def _one(agent: AgentState, head: int) -> Layers:
    return jax.tree.map(lambda x: x[head], agent.heads.params.actor)


def best_return(inherited: Inherited | None = None) -> Start:
    """A new head starts as a copy of the old head that earns the most on the new task.

    Every old head is tried alone, on the same few episodes, which enter neither memory nor an evaluation.
    """
    taken = inherited or Inherited()

    def candidates(agent: AgentState, stage: Stage) -> Mapping[int, Layers]:
        return {head: _one(agent, head) for head in range(min(stage.new))}

    def begin(agent: AgentState, stage: Stage, returns: Mapping[int, float]) -> AgentState:
        if not returns:
            return agent
        best = max(returns, key=lambda head: returns[head])
        for position in stage.new:
            agent = copy_head(agent, best, position, taken)
        return agent

    return Start(candidates, begin)


def best_return_as_released(summed: bool = True, strided: bool = True) -> Start:
    """Best-return heads as in the authors' code, with its two mistakes, each of which can be turned off.

    `summed`: candidate k acts with the sum of the outputs of heads 0 to k, since the code that switches heads on never
    switches one off. `strided`: columns of the actor's output layer are copied as if each head's stood together,
    while they stand action by action, so parts of several trained heads are overwritten.
    """

    def candidates(agent: AgentState, stage: Stage) -> Mapping[int, Layers]:
        heads = {head: _one(agent, head) for head in range(min(stage.new))}
        return {k: _summed(agent, k) for k in heads} if summed else heads

    def begin(agent: AgentState, stage: Stage, returns: Mapping[int, float]) -> AgentState:
        if not returns:
            return agent
        best = max(returns, key=lambda head: returns[head])
        taken = Inherited(critic=True, statistics=False, temperature=False, targets_follow=False)
        for position in stage.new:
            copied = copy_head(agent, best, position, taken)
            if strided:
                last = _copied_with_the_wrong_stride(agent.heads.params.actor[-1], best, position)
                copied = eqx.tree_at(lambda a: a.heads.params.actor, copied, (*agent.heads.params.actor[:-1], last))
            # The code sets all weights of the target critics, of every head, to those of the critics.
            agent = eqx.tree_at(
                lambda a: (a.shared.targets, a.heads.targets),
                copied,
                jax.tree.map(jnp.copy, (copied.shared.params.critics, copied.heads.params.critics)),
            )
        return agent

    return Start(candidates, begin)


def _summed(agent: AgentState, k: int) -> Layers:
    """The actor's linear output of heads 0 to k together."""
    *hidden, last = agent.heads.params.actor
    one: Any = jax.tree.map(lambda x: x[k], tuple(hidden))
    return (*one, jax.tree.map(lambda x: jnp.sum(x[: k + 1], axis=0), last))


def _copied_with_the_wrong_stride(last: Layer, source: int, target: int) -> Layer:
    """Columns A*source.. copied onto A*target.. in a matrix whose column a*N + h is action a of head h."""

    def copied(x: Float[Array, "*any"]) -> Float[Array, "*any"]:
        # (N + 1 heads, ..., 2A) -> the N heads' (..., N*A) of means and of log deviations, and back.
        n, actions = x.shape[0] - 1, x.shape[-1] // 2
        halves = jnp.split(x[:-1], 2, axis=-1)

        def half(y: Float[Array, "*any"]) -> Float[Array, "*any"]:
            flat = jnp.moveaxis(y, 0, -1)
            flat = flat.reshape(*flat.shape[:-2], actions * n)
            columns = flat[..., actions * source : actions * (source + 1)]
            flat = flat.at[..., actions * target : actions * (target + 1)].set(columns)
            return jnp.moveaxis(flat.reshape(*flat.shape[:-1], actions, n), -1, 0)

        return jnp.concatenate([jnp.concatenate([half(y) for y in halves], axis=-1), x[-1:]], axis=0)

    return Layer(copied(last.w), copied(last.b), last.norm)
