"""AgentState: one pytree that holds everything there is to save about the agent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from recall_rl.agent.config import AgentConfig
from recall_rl.agent.networks import Layers, init_network
from recall_rl.collect.row import Row


class Params(eqx.Module):
    """What gradients reach; of the trunks (no temperature) or of the heads (a first axis counts heads)."""

    actor: Layers
    critics: tuple[Layers, Layers]
    log_alpha: Float[Array, " heads"] | None = None
    extra: Any = None
    """What the method's `mask` part adds to be learnt; its gradient is clipped with the actor's."""


class Part(eqx.Module):
    """Parameters with all that accompanies them, of the trunks or of the heads."""

    params: Params
    targets: tuple[Layers, Layers]
    """The slowly following copies of both critics."""
    optimiser: Any
    """Adam's moments and counts; per head in the heads, so that an absent head does not age."""
    statistics: Any = None
    """Per head: what the method's `targets` part keeps."""


class AgentState(eqx.Module):
    """Everything there is to save about the agent."""

    shared: Part
    heads: Part
    """One more head than tasks: the last is scratch, where unused slots of a chunk point."""
    anchor: Any
    """What the method's `anchor` part keeps."""
    mask: Any
    """What the method's `mask` part keeps."""
    updates: Int[Array, ""]
    """Updates made so far; with the key it gives each update its randomness."""
    key: PRNGKeyArray


def optimiser(config: AgentConfig) -> optax.GradientTransformation:
    """Adam; the heads use it under vmap."""
    return optax.adam(config.learning_rate, eps=config.adam_epsilon)


@partial(jax.jit, static_argnums=0)
def _init_optimisers(config: AgentConfig, shared: Params, heads: Params) -> tuple[Any, Any]:
    adam = optimiser(config)
    return adam.init(shared), jax.vmap(adam.init)(heads)  # pyright: ignore[reportArgumentType]


def inner(shared: tuple[Any, Any], heads: tuple[Any, Any]) -> Float[Array, ""]:
    """The inner product of two gradients, given those of the trunks and those of the heads.

    Heads are summed one by one, so that slots without rows do not change its last bits.
    """
    total = sum((jnp.vdot(x, y) for x, y in _pairs(*shared)), start=jnp.zeros(()))
    each = (jnp.sum((x * y).reshape(len(x), -1), axis=1) for x, y in _pairs(*heads))
    return total + sum((jnp.sum(e) for e in each), start=jnp.zeros(()))


def _pairs(one: Any, other: Any) -> list[tuple[Array, Array]]:
    return list(zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True))


Extend = Callable[[Params, Params], tuple[Params, Params]]
"""(trunks, heads) -> the same with what a method adds to be learnt."""


def init_agent(
    config: AgentConfig, row: Row, tasks: int, seed: int, statistics: Any = None, extend: Extend | None = None
) -> AgentState:
    """A new agent for this many tasks; task i's head does not depend on their number."""
    inputs, actions, heads = row.observation_size, row.action_size, tasks + 1
    actor = init_network(config.actor, inputs, 2 * actions, heads, (seed, 0))
    critics = [init_network(config.critic, inputs + actions, 1, heads, (seed, k)) for k in (1, 2)]
    shared = Params(actor[0], (critics[0][0], critics[1][0]))
    own = Params(actor[1], (critics[0][1], critics[1][1]), jnp.full(heads, config.initial_log_alpha))
    if extend is not None:
        shared, own = extend(shared, own)
    shared_adam, own_adam = _init_optimisers(config, shared, own)
    every = jax.tree.map(lambda x: jnp.broadcast_to(x, (heads, *jnp.shape(x))), statistics)
    # Copies, because the state is donated and two leaves must not be one buffer.
    targets, own_targets, every = jax.tree.map(jnp.copy, (shared.critics, own.critics, every))
    return AgentState(
        shared=Part(shared, targets, shared_adam),
        heads=Part(own, own_targets, own_adam, every),
        anchor=None,
        mask=None,
        updates=jnp.zeros((), jnp.int32),
        key=jax.random.key(seed),
    )


def reset_optimiser(state: AgentState, config: AgentConfig) -> AgentState:
    """The same agent with fresh optimiser moments and, unless the config keeps them, step counts."""
    shared, heads = _init_optimisers(config, state.shared.params, state.heads.params)
    if not config.reset_count:
        shared = (shared[0]._replace(count=jnp.copy(state.shared.optimiser[0].count)), *shared[1:])
        heads = (heads[0]._replace(count=jnp.copy(state.heads.optimiser[0].count)), *heads[1:])
    return eqx.tree_at(lambda s: (s.shared.optimiser, s.heads.optimiser), state, (shared, heads))


def grown(old: AgentState, new: AgentState) -> AgentState:
    """An agent with the heads of `old` followed by those of `new`, which has more, and everything else of `old`."""
    count = jax.tree.leaves(old.heads)[0].shape[0] - 1  # The last one is scratch.
    heads = jax.tree.map(lambda more, few: more.at[:count].set(few[:count]), new.heads, old.heads)
    return eqx.tree_at(lambda a: a.heads, old, heads)


def copy_whole_head(agent: AgentState, source: int, target: int) -> AgentState:
    """The agent in which one head is another's twin: weights, targets, statistics and temperature."""
    heads = agent.heads
    parts = (heads.params, heads.targets, heads.statistics)
    twin = jax.tree.map(lambda x: x.at[target].set(x[source]), parts)
    return eqx.tree_at(
        lambda a: (a.heads.params, a.heads.targets, a.heads.statistics), agent, twin, is_leaf=lambda x: x is None
    )
