"""Variational continual learning: a distribution over the actor's weights (a `mask`) that stays near the last one.

Each weight of the actor is a Gaussian whose mean is the ordinary parameter and whose log variance is learnt beside it.
Updates see sampled weights; the means act. From the second task on, the divergence of the trunk's distribution from
what it was at the end of the last task is added to the loss.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from recall_rl.agent import sac
from recall_rl.agent.config import AgentConfig
from recall_rl.agent.networks import Layer, Layers
from recall_rl.agent.state import AgentState, Params
from recall_rl.methods.method import Anchor, Both, Ended, Mask, Position, open_mask

Weights = tuple[tuple[Float[Array, "..."], Float[Array, "..."]], ...]
"""(w, b) of each layer, or what belongs to them."""


def _weights(layers: Layers) -> Weights:
    return tuple((layer.w, layer.b) for layer in layers)


def sampled_weights(initial: float = -6.0) -> Mask:
    """Weights of the actor are drawn for every forward pass of an update; normalisation is fixed after task one."""

    def extend(shared: Params, heads: Params) -> Both:
        def added(params: Params) -> Params:
            return replace(params, extra=jax.tree.map(lambda x: jnp.full_like(x, initial), _weights(params.actor)))

        return added(shared), added(heads)

    def view(kept: None, position: Position, shared: Params, heads: Params, key: PRNGKeyArray | None) -> Both:
        if key is None:
            return shared, heads

        def drawn(params: Params, key: PRNGKeyArray) -> Params:
            leaves, tree = jax.tree.flatten(_weights(params.actor))
            noise = [
                jnp.exp(0.5 * v) * jax.random.normal(jax.random.fold_in(key, i), v.shape)
                for i, v in enumerate(jax.tree.leaves(params.extra))
            ]
            sampled: Any = jax.tree.unflatten(tree, [m + n for m, n in zip(leaves, noise, strict=True)])
            layers = tuple(Layer(w, b, layer.norm) for (w, b), layer in zip(sampled, params.actor, strict=True))
            return replace(params, actor=layers)

        return drawn(shared, jax.random.fold_in(key, 0)), drawn(heads, jax.random.fold_in(key, 1))

    def restrict(kept: None, position: Position, shared: Params, heads: Params) -> Both:
        first = jnp.asarray(position) == 0

        def fixed(layer: Layer) -> Layer:
            return Layer(layer.w, layer.b, jax.tree.map(lambda x: jnp.where(first, x, 0.0), layer.norm))

        return replace(shared, actor=tuple(fixed(layer) for layer in shared.actor)), heads

    return replace(open_mask(), extend=extend, view=view, restrict=restrict)


class Prior(eqx.Module):
    """The distribution of the trunk's weights at the end of the last task."""

    mean: Weights
    log_variance: Weights


def divergence(
    mean: Float[Array, "*w"], log_variance: Float[Array, "*w"], old: Float[Array, "*w"], old_log: Float[Array, "*w"]
) -> Float[Array, ""]:
    """KL of one Gaussian of independent weights from another."""
    apart = jnp.exp(log_variance - old_log) + (mean - old) ** 2 * jnp.exp(-old_log)
    return 0.5 * jnp.sum(old_log - log_variance + apart - 1.0)


def stay_likely(c: float) -> Anchor:
    """Add c times the divergence of the trunk's weights from their distribution at the end of the last task."""

    def now(shared: Params) -> Prior:
        return Prior(*jax.tree.map(jnp.copy, (_weights(shared.actor), shared.extra)))

    def loss(kept: Prior, config: AgentConfig, params: Both, seen: Both, groups: sac.Groups) -> Float[Array, ""]:
        shared = params[0]
        each = jax.tree.map(divergence, _weights(shared.actor), shared.extra, kept.mean, kept.log_variance)
        return c * sum(jax.tree.leaves(each), start=jnp.zeros(()))

    def consolidate(agent: AgentState, ended: Ended) -> AgentState:
        return eqx.tree_at(lambda a: a.anchor, agent, now(agent.shared.params))

    return Anchor(lambda agent: now(agent.shared.params), loss, consolidate)
