"""One gradient step, and a compiled scan over a chunk of them.

A chunk touches at most S heads. They are gathered once, updated K times and put back, so an update costs
the same whether there are two heads or two hundred; a head that a batch has no row of stays as it is,
weights, moments and step count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from recall_rl.agent import sac
from recall_rl.agent.config import AgentConfig
from recall_rl.agent.state import AgentState, Params, Part, optimiser
from recall_rl.collect.row import Row
from recall_rl.memory.sample import Batches
from recall_rl.methods.method import Adapt, Method

Metrics = dict[str, Float[Array, ""]]
Update = Callable[[AgentState, Batches], tuple[AgentState, Metrics]]


def make_update(method: Method, config: AgentConfig, row: Row, compiled: bool = True) -> Update:
    """The function that learns from one chunk's batches; the state given to it is used up."""

    def chunk(state: AgentState, batches: Batches) -> tuple[AgentState, Metrics]:
        heads = jax.tree.map(lambda x: x[batches.heads], state.heads)

        def body(carry: AgentState, batch: Any) -> tuple[AgentState, Metrics]:
            return update(method, config, row, carry, sac.columns(batch[0], batch[1], row))

        start = eqx.tree_at(lambda s: s.heads, state, heads)
        end, metrics = jax.lax.scan(body, start, (batches.learn, batches.distil))
        back = jax.tree.map(lambda every, some: every.at[batches.heads].set(some), state.heads, end.heads)
        return eqx.tree_at(lambda s: s.heads, end, back), jax.tree.map(jnp.mean, metrics)

    return jax.jit(chunk, donate_argnums=0) if compiled else chunk


def update(
    method: Method, config: AgentConfig, row: Row, state: AgentState, groups: sac.Groups
) -> tuple[AgentState, Metrics]:
    """One step on the joint loss: gradient, clipping, optimiser, mask, Polyak average, target statistics."""
    batch = groups.learn
    noise = jax.random.normal(jax.random.fold_in(state.key, state.updates), (2, len(batch.r), row.action_size))
    y = _targets(method, config, state, batch, noise[0])
    state = eqx.tree_at(lambda s: s.heads, state, _adapted(method.targets.before, state.heads, y, batch.slot))
    y_norm = method.targets.normalise(state.heads.statistics, y, batch.slot)

    def loss(params: tuple[Params, Params]) -> tuple[Float[Array, ""], Metrics]:
        return _loss(method, config, row, state, params, groups, y_norm, noise[1])

    before = (state.shared.params, state.heads.params)
    grads, metrics = jax.grad(loss, has_aux=True)(before)
    shared, heads = _step(method, config, state, _clip(grads, config.clip))
    heads = _only_present(heads, state.heads, groups)
    heads = _adapted(method.targets.after, heads, y, batch.slot)
    after = eqx.tree_at(lambda s: (s.shared, s.heads, s.updates), state, (shared, heads, state.updates + 1))
    return after, {**metrics, "target": jnp.mean(y), "target_deviation": jnp.std(y)}


def _adapted(adapt: Adapt, heads: Part, y: Float[Array, " rows"], slot: Any) -> Part:
    """The heads with the statistics of their targets, and the last layers of their critics, brought up to date."""
    statistics, critics, targets = adapt(heads.statistics, heads.params.critics, heads.targets, y, slot)
    params = Params(heads.params.actor, critics, heads.params.log_alpha)
    return Part(params, targets, heads.optimiser, statistics)


def _targets(
    method: Method, config: AgentConfig, state: AgentState, batch: sac.Transitions, noise: Float[Array, "rows action"]
) -> Float[Array, " rows"]:
    """The target y of each row, in the reward's units, from the target critics and the present policy."""
    shared, heads = method.mask.view(state.mask, state.shared.params, state.heads.params)
    pi = sac.policy(config, shared, heads, batch.s_next, batch.slot)
    a_next, log_pi = sac.sample(pi, noise)
    q_next = jnp.minimum(
        *(
            sac.value(config, trunk, head, batch.s_next, a_next, batch.slot)
            for trunk, head in zip(state.shared.targets, state.heads.targets, strict=True)
        )
    )
    q_next = method.targets.unnormalise(state.heads.statistics, q_next, batch.slot)
    assert heads.log_alpha is not None
    alpha = jnp.exp(heads.log_alpha)[batch.slot] * method.targets.entropy_unit(state.heads.statistics, batch.slot)
    return sac.soft_target(batch.r, batch.terminated, config.gamma, q_next, alpha, log_pi)


def _loss(
    method: Method,
    config: AgentConfig,
    row: Row,
    state: AgentState,
    params: tuple[Params, Params],
    groups: sac.Groups,
    y: Float[Array, " rows"],
    noise: Float[Array, "rows action"],
) -> tuple[Float[Array, ""], Metrics]:
    """The joint loss (equation 9): stop-gradients keep its terms from reaching each other's parameters."""
    batch = groups.learn
    shared, heads = method.mask.view(state.mask, *params)
    still = jax.lax.stop_gradient

    def values(shared: Params, heads: Params, a: Float[Array, "rows action"]) -> tuple[Array, Array]:
        first, second = (sac.value(config, shared.critics[k], heads.critics[k], batch.s, a, batch.slot) for k in (0, 1))
        return first, second

    pi = sac.policy(config, shared, heads, batch.s, batch.slot)
    a_pi, log_pi = sac.sample(pi, noise)
    q_pi = jnp.minimum(*values(still(shared), still(heads), a_pi))
    q = values(shared, heads, batch.a)
    assert heads.log_alpha is not None
    log_alpha = heads.log_alpha[batch.slot]
    critic = sac.critic_loss(q, y)
    actor = sac.actor_loss(still(jnp.exp(log_alpha)), log_pi, q_pi)
    temperature = sac.temperature_loss(log_alpha, still(log_pi), sac.target_entropy(config, row.action_size))
    anchor = method.anchor.loss(state.anchor, config, shared, heads, groups)
    metrics = {
        "critic_loss": critic,
        "actor_loss": actor,
        "anchor_loss": anchor,
        "alpha": jnp.mean(jnp.exp(log_alpha)),
        "entropy": -jnp.mean(log_pi),
        "q": jnp.mean(q[0]),
    }
    return critic + actor + temperature + anchor, metrics


def _clip(grads: tuple[Params, Params], limit: float | None) -> tuple[Params, Params]:
    """Clip by global norm, separately for actor, both critics together, and temperature."""
    if limit is None:
        return grads

    def clip(*group: Any) -> Any:
        norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(group)))
        scale = jnp.minimum(1.0, limit / (norm + 1e-12))
        return jax.tree.map(lambda g: g * scale, group)

    shared, heads = grads
    actors = clip(shared.actor, heads.actor)
    critics = clip(shared.critics, heads.critics)
    (log_alpha,) = clip(heads.log_alpha)
    return Params(actors[0], critics[0]), Params(actors[1], critics[1], log_alpha)


def _step(method: Method, config: AgentConfig, state: AgentState, grads: tuple[Params, Params]) -> tuple[Part, Part]:
    """Adam, the mask on its updates, and the Polyak average of the targets."""
    adam = optimiser(config)
    shared_updates, shared_adam = adam.update(grads[0], state.shared.optimiser)  # pyright: ignore
    head_updates, head_adam = jax.vmap(lambda g, s: adam.update(g, s))(grads[1], state.heads.optimiser)
    updates: Any = method.mask.restrict(state.mask, shared_updates, head_updates)  # pyright: ignore

    def part(old: Part, updates: Any, moments: Any) -> Part:
        params: Params = jax.tree.map(jnp.add, old.params, updates)
        follow = jax.tree.map(lambda t, p: t + config.tau * (p - t), old.targets, params.critics)
        return Part(params, follow, moments, old.statistics)

    return part(state.shared, updates[0], shared_adam), part(state.heads, updates[1], head_adam)


def _only_present(new: Part, old: Part, groups: sac.Groups) -> Part:
    """New values where the batch has rows of a head, old ones elsewhere; lessons are rows for the actor alone."""
    slots = jax.tree.leaves(old)[0].shape[0]
    if slots == 1:
        return new

    def present(*slot: Any) -> Bool[Array, " slots"]:
        return (jnp.concatenate(slot)[:, None] == jnp.arange(slots)[None]).any(axis=0)

    learnt, acted = present(groups.learn.slot), present(groups.learn.slot, groups.distil.slot)

    def pick(here: Bool[Array, " slots"], new: Any, old: Any) -> Any:
        return jax.tree.map(lambda n, o: jnp.where(here.reshape(-1, *[1] * (n.ndim - 1)), n, o), new, old)

    def pick_params(new: Any, old: Any) -> Any:
        if not isinstance(new, Params):
            return pick(acted, new, old)
        actor, critics = pick(acted, new.actor, old.actor), pick(learnt, new.critics, old.critics)
        return Params(actor, critics, pick(learnt, new.log_alpha, old.log_alpha))

    return Part(
        pick_params(new.params, old.params),
        pick(learnt, new.targets, old.targets),
        jax.tree.map(pick_params, new.optimiser, old.optimiser, is_leaf=lambda x: isinstance(x, Params)),
        new.statistics,
    )
