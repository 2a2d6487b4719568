"""Holding weights near what they were: the `anchor` parts that penalise the square of their change.

All three add c * sum_i F_i (w_i - w_i_old)^2 over the weights w of the actor's trunk. They differ in the importance
F_i, which is summed over the tasks seen; w_old are the weights at the end of the latest one. Critics are left free, as
in the paper (coefficient 0), and heads belong to one task each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from recall_rl.agent import sac
from recall_rl.agent.config import AgentConfig
from recall_rl.agent.networks import Layers
from recall_rl.agent.state import AgentState
from recall_rl.methods.method import Anchor, Both, Ended

_BATCHES, _ROWS, _AT_ONCE = 10, 256, 16

Jacobian = Float[Array, "action ..."]
Measure = Literal["fisher", "sensitivity"]


class Held(eqx.Module):
    """What a penalty keeps."""

    importance: Layers
    old: Layers


def _own_policy(
    config: AgentConfig, trunk: Layers, seen: Both, position: int, s: Float[Array, " observation"]
) -> sac.Gaussian:
    shared, every = seen
    heads = jax.tree.map(lambda x: x[position][None], every)
    moved = eqx.tree_at(lambda p: p.actor, shared, trunk)
    pi = sac.policy(config, moved, heads, s[None], jnp.zeros(1, jnp.int32))
    return sac.Gaussian(pi.mean[0], pi.log_std[0])


def fisher(config: AgentConfig, trunk: Layers, seen: Both, position: int, s: Float[Array, " observation"]) -> Layers:
    """The diagonal of the Fisher matrix of pi(. | s): sum over actions of ((dmu)^2 + 2 (dsigma)^2) / sigma^2."""

    def outputs(trunk: Layers) -> tuple[Float[Array, " action"], Float[Array, " action"]]:
        pi = _own_policy(config, trunk, seen, position, s)
        return pi.mean, jnp.exp(pi.log_std)

    sigma = outputs(trunk)[1]
    d_mean, d_sigma = jax.jacrev(outputs)(trunk)

    def information(dm: Jacobian, ds: Jacobian) -> Array:
        each = (dm**2 + 2 * ds**2) / (sigma**2 + 1e-6).reshape(-1, *[1] * (dm.ndim - 1))
        # From below, so that no weight is free: Continual World's choice.
        return jnp.maximum(jnp.sum(each, axis=0), 1e-5)

    return jax.tree.map(information, d_mean, d_sigma)


def sensitivity(
    config: AgentConfig, trunk: Layers, seen: Both, position: int, s: Float[Array, " observation"]
) -> Layers:
    """How much each weight moves the squared length of the policy's outputs (MAS)."""

    def length(trunk: Layers) -> Float[Array, ""]:
        pi = _own_policy(config, trunk, seen, position, s)
        return jnp.sum(pi.mean**2) + jnp.sum(pi.log_std**2)

    return jax.tree.map(jnp.abs, jax.grad(length)(trunk))


_MEASURES: dict[Measure, Callable[..., Layers]] = {"fisher": fisher, "sensitivity": sensitivity}


@partial(jax.jit, static_argnames=("measure", "config"))
def _mean_importance(
    measure: Measure, config: AgentConfig, seen: Both, position: int, s: Float[Array, "rows observation"]
) -> Layers:
    """The mean over states, a few at a time: all at once would hold rows x actions copies of the network."""
    trunk, each = seen[0].actor, _MEASURES[measure]

    def add(total: Layers, some: Float[Array, "few observation"]) -> tuple[Layers, None]:
        found = jax.vmap(lambda one: each(config, trunk, seen, position, one))(some)
        return jax.tree.map(lambda t, f: t + jnp.sum(f, axis=0), total, found), None

    total, _ = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, trunk), s.reshape(-1, _AT_ONCE, s.shape[-1]))
    return jax.tree.map(lambda t: t / len(s), total)


def _penalty(c: float, importance: Callable[[Ended, int], Layers]) -> Anchor:
    def init(agent: AgentState) -> Held:
        trunk = agent.shared.params.actor
        return Held(jax.tree.map(jnp.zeros_like, trunk), jax.tree.map(jnp.copy, trunk))

    def loss(kept: Held, config: AgentConfig, params: Both, seen: Both, groups: sac.Groups) -> Float[Array, ""]:
        each = jax.tree.map(lambda f, w, o: jnp.sum(f * (w - o) ** 2), kept.importance, params[0].actor, kept.old)
        return c * sum(jax.tree.leaves(each), start=jnp.zeros(()))

    def consolidate(agent: AgentState, ended: Ended) -> AgentState:
        total: Layers = agent.anchor.importance
        for position in ended.stage.new:
            total = jax.tree.map(jnp.add, total, importance(ended, position))
        held = Held(total, jax.tree.map(jnp.copy, agent.shared.params.actor))
        return eqx.tree_at(lambda a: a.anchor, agent, held)

    return Anchor(init, loss, consolidate)


def _measured(measure: Measure) -> Callable[[Ended, int], Layers]:
    def importance(ended: Ended, position: int) -> Layers:
        rows = ended.memory.segments[position]
        numbers = ended.rng.integers(0, len(rows), _BATCHES * _ROWS)
        s = rows.states(numbers)
        return _mean_importance(measure, ended.config, ended.view(position), position, np.ascontiguousarray(s))

    return importance


def near(c: float) -> Anchor:
    """L2: every weight matters alike, F = 1 a task."""
    return _penalty(c, lambda ended, position: jax.tree.map(jnp.ones_like, ended.view(position)[0].actor))


def fisher_penalty(c: float) -> Anchor:
    """EWC: F is the diagonal of the Fisher matrix of the policy, over 2,560 states of the task."""
    return _penalty(c, _measured("fisher"))


def sensitivity_penalty(c: float) -> Anchor:
    """MAS: F is how much a weight moves the squared length of the policy's outputs, over 2,560 states of the task."""
    return _penalty(c, _measured("sensitivity"))
