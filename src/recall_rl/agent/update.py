"""One gradient step, and a compiled scan over a chunk of them.

A chunk touches at most S heads. They are gathered once, updated K times and put back, so an update costs
the same whether there are two heads or two hundred; a head that a batch has no row of stays as it is,
weights, moments and step count.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from recall_rl.agent import sac
from recall_rl.agent.config import AgentConfig
from recall_rl.agent.state import AgentState, Params, Part, inner, optimiser
from recall_rl.collect.row import Row
from recall_rl.memory.sample import Batches, Group
from recall_rl.methods.method import Method, Moment

Metrics = dict[str, Float[Array, ""]]
Both = tuple[Params, Params]
"""Parameters, or gradients, of the trunks and of the heads."""


class Update(Protocol):
    """Learns from the batches of one chunk: the state after them, and the means of what was measured."""

    def __call__(self, state: AgentState, batches: Batches, anchored: bool = True) -> tuple[AgentState, Metrics]:
        """The state given is used up; `anchored` says whether a stage has ended (see `Rules`)."""
        ...


class Rules(NamedTuple):
    """What stays the same over a run."""

    method: Method
    config: AgentConfig
    row: Row
    anchored: bool = True
    """Whether a stage has ended. Until then the anchor's loss is left out of the program: a term that is zero in value
    would still change how the compiler rounds."""


class Chance(NamedTuple):
    """The randomness of one update, a function of the run's key and the update's number."""

    key: PRNGKeyArray
    """For the weights that the mask may draw."""
    learn: Float[Array, "2 rows action"]
    """Standard normal numbers for actions: in the next states, and in the states."""
    reference: Float[Array, "2 reference_rows action"]
    """The same for the reference group."""


def chances(state: AgentState, batches: Batches, row: Row) -> Chance:
    """The randomness of each update of a chunk, drawn at once: within the scan, many small draws cost far more."""

    def draw(number: Int[Array, ""]) -> Chance:
        key = jax.random.fold_in(state.key, number)

        def normal(key: PRNGKeyArray, group: Group) -> Float[Array, "2 rows action"]:
            return jax.random.normal(key, (2, group.rows.shape[1], row.action_size))

        return Chance(key, normal(key, batches.learn), normal(jax.random.fold_in(key, 3), batches.reference))

    return jax.vmap(draw)(state.updates + jnp.arange(len(batches.learn.rows)))


@lru_cache(maxsize=4)
def make_update(method: Method, config: AgentConfig, row: Row, compiled: bool = True) -> Update:
    """The function that learns from one chunk's batches; the state given to it is used up.

    The last few are kept, so that a process that trains the same way again does not compile again.
    """

    def chunk(state: AgentState, batches: Batches, anchored: bool = True) -> tuple[AgentState, Metrics]:
        rules = Rules(method, config, row, anchored)
        heads = jax.tree.map(lambda x: x[batches.heads], state.heads)

        def body(carry: AgentState, batch: Any) -> tuple[AgentState, Metrics]:
            groups = sac.columns(batch[0], batch[1], batch[2], row)
            return update(rules, carry, groups, batch[3], jnp.asarray(batches.heads[0]), jnp.asarray(batches.rate))

        start = eqx.tree_at(lambda s: s.heads, state, heads)
        drawn = chances(state, batches, row)
        end, metrics = jax.lax.scan(body, start, (batches.learn, batches.reference, batches.distil, drawn))
        back = jax.tree.map(lambda every, some: every.at[batches.heads].set(some), state.heads, end.heads)
        return eqx.tree_at(lambda s: s.heads, end, back), jax.tree.map(jnp.mean, metrics)

    return jax.jit(chunk, donate_argnums=0, static_argnums=2) if compiled else chunk


def update(
    rules: Rules,
    state: AgentState,
    groups: sac.Groups,
    chance: Chance,
    position: Int[Array, ""],
    rate: Float[Array, ""],
) -> tuple[AgentState, Metrics]:
    """One step on the joint loss: gradients, their combination, clipping, optimiser, mask, Polyak average.

    The statistics of the targets are brought up to date at the moment that the method's `targets` part names.
    """
    method, config, batch = rules.method, rules.config, groups.learn
    y = _targets(rules, state, batch, position, chance.key, chance.learn[0])
    statistics, y = method.targets.bound(state.heads.statistics, y, batch.r, batch.slot, config.gamma)
    state = eqx.tree_at(lambda s: s.heads.statistics, state, statistics, is_leaf=lambda x: x is None)

    def adapt(heads: Part, moment: Moment) -> Part:
        return _adapted(rules, heads, y, batch.slot) if method.targets.moment == moment else heads

    state = eqx.tree_at(lambda s: s.heads, state, adapt(state.heads, "before the gradient"))
    grads, metrics = _gradient(rules, state, groups, position, y, chance)
    reference = _reference_gradient(rules, state, groups, position, chance)
    grads = _clip(method.mask.combine(state.mask, position, grads, reference), config.clip)
    state = eqx.tree_at(lambda s: s.heads, state, adapt(state.heads, "before the step"))
    shared, heads = _step(rules, state, position, grads, rate)
    heads = adapt(_only_present(heads, state.heads, groups), "after the step")
    after = eqx.tree_at(lambda s: (s.shared, s.heads, s.updates), state, (shared, heads, state.updates + 1))
    return after, {**metrics, "target": jnp.mean(y), "target_deviation": jnp.std(y)}


def _adapted(rules: Rules, heads: Part, y: Float[Array, " rows"], slot: Int[Array, " rows"]) -> Part:
    """The heads with the statistics of their targets, and the last layers of their critics, brought up to date."""
    statistics, critics, targets = rules.method.targets.adapt(
        heads.statistics, heads.params.critics, heads.targets, y, slot
    )
    return Part(eqx.tree_at(lambda p: p.critics, heads.params, critics), targets, heads.optimiser, statistics)


def _targets(
    rules: Rules,
    state: AgentState,
    batch: sac.Transitions,
    position: Int[Array, ""],
    key: PRNGKeyArray,
    noise: Float[Array, "rows action"],
) -> Float[Array, " rows"]:
    """The target y of each row, in the reward's units, from the target critics and the present policy."""
    method, config = rules.method, rules.config
    seen = method.mask.view(state.mask, position, state.shared.params, state.heads.params, jax.random.fold_in(key, 1))
    pi = sac.policy(config, *seen, batch.s_next, batch.slot, batch.shares)
    a_next, log_pi = sac.sample(pi, noise)
    first, second = (
        sac.value(config, trunk, head, batch.s_next, a_next, batch.slot, batch.shares)
        for trunk, head in zip(state.shared.targets, state.heads.targets, strict=True)
    )
    q_next = method.targets.judge(first, second, batch.slot, max(len(batch.shares.rows), 1))
    q_next = method.targets.unnormalise(state.heads.statistics, q_next, batch.slot)
    log_alpha = state.heads.params.log_alpha
    assert log_alpha is not None
    alpha = jnp.exp(log_alpha)[batch.slot] * method.targets.entropy_unit(state.heads.statistics, batch.slot)
    return sac.soft_target(batch.r, batch.terminated, config.gamma, q_next, alpha, log_pi)


def _gradient(
    rules: Rules,
    state: AgentState,
    groups: sac.Groups,
    position: Int[Array, ""],
    y: Float[Array, " rows"],
    chance: Chance,
) -> tuple[Both, Metrics]:
    """The gradient of the joint loss (equation 9) on the group to learn from."""
    y_norm = rules.method.targets.normalise(state.heads.statistics, y, groups.learn.slot)

    def loss(params: Both) -> tuple[Float[Array, ""], Metrics]:
        seen = rules.method.mask.view(state.mask, position, *params, jax.random.fold_in(chance.key, 2))
        learning, metrics = _loss(rules, seen, groups.learn, y_norm, chance.learn[1])
        if not rules.anchored:
            return learning, {**metrics, "anchor_loss": jnp.zeros(())}
        anchor = rules.method.anchor.loss(state.anchor, rules.config, params, seen, groups)
        return learning + anchor, {**metrics, "anchor_loss": anchor}

    return jax.grad(loss, has_aux=True)((state.shared.params, state.heads.params))


def _reference_gradient(
    rules: Rules, state: AgentState, groups: sac.Groups, position: Int[Array, ""], chance: Chance
) -> Both | None:
    """The gradient of the same losses, without the anchor, on the reference group; None if it has no rows."""
    batch = groups.reference
    if len(batch.r) == 0:
        return None
    key = jax.random.fold_in(chance.key, 3)
    y = _targets(rules, state, batch, position, key, chance.reference[0])
    _, y = rules.method.targets.bound(state.heads.statistics, y, batch.r, batch.slot, rules.config.gamma)
    y_norm = rules.method.targets.normalise(state.heads.statistics, y, batch.slot)

    def loss(params: Both) -> Float[Array, ""]:
        seen = rules.method.mask.view(state.mask, position, *params, jax.random.fold_in(key, 2))
        return _loss(rules, seen, batch, y_norm, chance.reference[1])[0]

    return jax.grad(loss)((state.shared.params, state.heads.params))


def _loss(
    rules: Rules, seen: Both, batch: sac.Transitions, y: Float[Array, " rows"], noise: Float[Array, "rows action"]
) -> tuple[Float[Array, ""], Metrics]:
    """Critics, actor and temperatures: stop-gradients keep the terms from reaching each other's parameters."""
    config, (shared, heads) = rules.config, seen
    still = jax.lax.stop_gradient

    def values(shared: Params, heads: Params, a: Float[Array, "rows action"]) -> tuple[Array, Array]:
        first, second = (
            sac.value(config, shared.critics[k], heads.critics[k], batch.s, a, batch.slot, batch.shares) for k in (0, 1)
        )
        return first, second

    pi = sac.policy(config, shared, heads, batch.s, batch.slot, batch.shares)
    a_pi, log_pi = sac.sample(pi, noise)
    q_pi = jnp.minimum(*values(still(shared), still(heads), a_pi))
    q = values(shared, heads, batch.a)
    assert heads.log_alpha is not None
    log_alpha = heads.log_alpha[batch.slot]
    critic = sac.critic_loss(q, y, batch.weight)
    actor = sac.actor_loss(still(jnp.exp(log_alpha)), log_pi, q_pi, batch.weight)
    moving = _new_rows(batch.slot) if config.temperature_rows == "new" else batch.weight
    entropy = sac.target_entropy(config, rules.row.action_size)
    temperature = sac.temperature_loss(log_alpha, still(log_pi), entropy, moving)
    metrics = {
        "critic_loss": critic,
        "actor_loss": actor,
        "alpha": jnp.mean(jnp.exp(log_alpha)),
        "entropy": -jnp.mean(log_pi),
        "q": jnp.mean(q[0]),
    }
    return critic + actor + temperature, metrics


def _new_rows(slot: Int[Array, " rows"]) -> Float[Array, " rows"]:
    """Weights that make a mean over all rows one over those of the new task, whose slot is 0."""
    new = (slot == 0).astype(jnp.float32)
    return new / jnp.mean(new)


def _clip(grads: Both, limit: float | None) -> Both:
    """Clip by global norm, separately for actor, both critics together, and temperature."""
    if limit is None:
        return grads

    def clip(shared: Any, heads: Any) -> Any:
        norm = jnp.sqrt(inner((shared, shared), (heads, heads)))
        scale = jnp.minimum(1.0, limit / (norm + 1e-12))
        return jax.tree.map(lambda g: g * scale, (shared, heads))

    shared, heads = grads
    actors = clip((shared.actor, shared.extra), (heads.actor, heads.extra))
    critics = clip(shared.critics, heads.critics)
    _, log_alpha = clip((), heads.log_alpha)
    return (
        Params(actors[0][0], critics[0], None, actors[0][1]),
        Params(actors[1][0], critics[1], log_alpha, actors[1][1]),
    )


def _step(
    rules: Rules, state: AgentState, position: Int[Array, ""], grads: Both, rate: Float[Array, ""]
) -> tuple[Part, Part]:
    """Adam with a share of its rate, the mask on its updates, and the Polyak average of the targets."""
    adam = optimiser(rules.config)
    shared_updates, shared_adam = adam.update(grads[0], state.shared.optimiser)  # pyright: ignore
    head_updates, head_adam = jax.vmap(lambda g, s: adam.update(g, s))(grads[1], state.heads.optimiser)
    restrict: Any = rules.method.mask.restrict
    updates: Any = restrict(state.mask, position, shared_updates, head_updates)

    def part(old: Part, updates: Any, moments: Any) -> Part:
        params: Params = jax.tree.map(lambda p, u: p + rate * u, old.params, updates)
        follow = jax.tree.map(lambda t, p: t + rules.config.tau * (p - t), old.targets, params.critics)
        return Part(params, follow, moments, old.statistics)

    return part(state.shared, updates[0], shared_adam), part(state.heads, updates[1], head_adam)


def _all_present(slots: int, batch: sac.Transitions) -> bool:
    """Whether it is known beforehand that each slot has rows to learn from."""
    known, rest = batch.shares.rows, len(batch.r) - sum(batch.shares.rows)
    return all(known) and (len(known) == slots or (len(known) == slots - 1 and rest > 0))


def _only_present(new: Part, old: Part, groups: sac.Groups) -> Part:
    """New values where the batch has rows of a head, old ones elsewhere; lessons are rows for the actor alone."""
    slots = jax.tree.leaves(old)[0].shape[0]
    if _all_present(slots, groups.learn):
        return new

    def present(*slot: Any) -> Bool[Array, " slots"]:
        return (jnp.concatenate(slot)[:, None] == jnp.arange(slots)[None]).any(axis=0)

    learnt = present(groups.learn.slot, groups.reference.slot)
    acted = present(groups.learn.slot, groups.reference.slot, groups.distil.slot)

    def pick(here: Bool[Array, " slots"], new: Any, old: Any) -> Any:
        return jax.tree.map(lambda n, o: jnp.where(here.reshape(-1, *[1] * (n.ndim - 1)), n, o), new, old)

    def pick_params(new: Any, old: Any) -> Any:
        if not isinstance(new, Params):
            return pick(acted, new, old)
        return Params(
            pick(acted, new.actor, old.actor),
            pick(learnt, new.critics, old.critics),
            pick(learnt, new.log_alpha, old.log_alpha),
            pick(acted, new.extra, old.extra),
        )

    return Part(
        pick_params(new.params, old.params),
        pick(learnt, new.targets, old.targets),
        jax.tree.map(pick_params, new.optimiser, old.optimiser, is_leaf=lambda x: isinstance(x, Params)),
        new.statistics,
    )
