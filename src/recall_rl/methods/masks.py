"""Which weights may change, and which act for a task: the `mask` parts of PackNet and A-GEM."""

from __future__ import annotations

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from recall_rl.agent.config import AgentConfig
from recall_rl.agent.networks import Layer, Layers
from recall_rl.agent.state import AgentState, Params, inner, reset_optimiser
from recall_rl.methods.method import Both, Mask, Position, open_mask
from recall_rl.tasks.task import Stage


class Owners(eqx.Module):
    """Who owns the weight matrices of the actor's trunk."""

    owner: tuple[Int[Array, "inputs outputs"], ...]
    """The position that owns each weight; weights not yet given away belong to the task being learnt."""
    settled: Bool[Array, ""]
    """Whether a task was settled: biases and normalisation belong to the first one and are fixed from then on."""
    capacity: Int[Array, ""]
    """Tasks among which the weights are shared out."""


def ownership(capacity: int | None = None) -> Mask:
    """PackNet: a task changes only weights it owns and acts with these and those of earlier tasks.

    The weights are shared out among `capacity` tasks, or as many as the sequence has.
    """

    def init(agent: AgentState) -> Owners:
        log_alpha = agent.heads.params.log_alpha
        assert log_alpha is not None
        owner = tuple(jnp.zeros(layer.w.shape, jnp.int32) for layer in agent.shared.params.actor)
        return Owners(owner, jnp.zeros((), bool), jnp.asarray(capacity or len(log_alpha) - 1, jnp.int32))

    def view(kept: Owners, position: Position, shared: Params, heads: Params, key: object) -> Both:
        def seen(owner: Int[Array, "i o"], layer: Layer) -> Layer:
            return Layer(jnp.where(owner <= position, layer.w, 0.0), layer.b, layer.norm)

        actor = tuple(seen(owner, layer) for owner, layer in zip(kept.owner, shared.actor, strict=True))
        return replace(shared, actor=actor), heads

    def own(kept: Owners, position: Position, shared: Params, heads: Params) -> Both:
        """Zeros for everything of the actor's trunk that this position may not change."""
        free = ~kept.settled

        def masked(owner: Int[Array, "i o"], layer: Layer) -> Layer:
            b, norm = jax.tree.map(lambda x: jnp.where(free, x, 0.0), (layer.b, layer.norm))
            return Layer(jnp.where(owner == position, layer.w, 0.0), b, norm)

        actor = tuple(masked(owner, layer) for owner, layer in zip(kept.owner, shared.actor, strict=True))
        return replace(shared, actor=actor), heads

    def combine(kept: Owners, position: Position, grads: Both, reference: Both | None) -> Both:
        return own(kept, position, *grads)

    return replace(open_mask(), init=init, view=view, combine=combine, restrict=own)


def weights_left(agent: AgentState, stage: Stage) -> int:
    """Among how many tasks, this one included, the weights it owns are still to be shared out."""
    return int(agent.mask.capacity) - max(stage.new)


def prune(agent: AgentState, stage: Stage, config: AgentConfig) -> AgentState:
    """Keep the largest of the weights a task owns, its fair share; hand on the rest, as zeros; start Adam anew."""
    position, kept, left = max(stage.new), agent.mask, weights_left(agent, stage)
    if left <= 1:
        return agent
    trunk: list[Layer] = []
    owners: list[Int[Array, "i o"]] = []
    for owner, layer in zip(kept.owner, agent.shared.params.actor, strict=True):
        mine, w = np.asarray(owner) == position, np.asarray(layer.w)
        order = np.argsort(-np.abs(w[mine]), kind="stable")
        keeps = np.zeros(len(order), bool)
        keeps[order[: round(len(order) / left)]] = True
        released = np.zeros_like(mine)
        released[mine] = ~keeps
        owners.append(jnp.asarray(np.where(released, position + 1, np.asarray(owner)), jnp.int32))
        trunk.append(Layer(jnp.asarray(np.where(released, np.float32(0), w)), layer.b, layer.norm))
    actor: Layers = tuple(trunk)
    agent = eqx.tree_at(lambda a: a.shared.params.actor, agent, actor)
    agent = eqx.tree_at(lambda a: a.mask, agent, Owners(tuple(owners), jnp.ones((), bool), kept.capacity))
    return reset_optimiser(agent, config)


def projection() -> Mask:
    """A-GEM: where the gradient would make the reference group worse, its part along the reference's is taken out.

    One dot product over actor and critics, trunks and heads; temperatures are left alone.
    """

    def combine(kept: None, position: Position, grads: Both, reference: Both | None) -> Both:
        if reference is None:
            return grads

        def compared(params: Params) -> tuple[object, ...]:
            return params.actor, params.critics, params.extra

        (new, new_heads), (old, old_heads) = map(compared, grads), map(compared, reference)
        dot, length = inner((new, old), (new_heads, old_heads)), inner((old, old), (old_heads, old_heads))
        along = jnp.where(dot < 0, dot / (length + 1e-12), 0.0)

        def projected(p: Params, r: Params) -> Params:
            actor, critics, extra = jax.tree.map(
                lambda g, h: g - along * h, (p.actor, p.critics, p.extra), (r.actor, r.critics, r.extra)
            )
            return Params(actor, critics, p.log_alpha, extra)

        return projected(grads[0], reference[0]), projected(grads[1], reference[1])

    return replace(open_mask(), combine=combine)
