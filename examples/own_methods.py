"""One outside method for each part; run any of them with `recall train --method own_methods:NAME` in this folder."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from recall_rl.memory.sample import Group
from recall_rl.methods.draws import batches_of, fresh, half_past, lessons, old_segments, segments
from recall_rl.methods.method import Anchor, Method, Start, fresh_head, open_mask, raw


# start-draw
def quarter_past() -> Method:
    """A quarter of each batch, not half, is of old tasks."""

    def batches(memory, stage, config, updates, replay_size, rng):
        old = old_segments(memory, stage)
        if not old:
            return half_past().batches(memory, stage, config, updates, replay_size, rng)
        many = config.batch // 4
        new = fresh(memory, stage, replace(config, batch=config.batch - many), updates, replay_size, rng)
        past = segments(old, memory, stage, updates, many, rng)
        learn = Group(np.concatenate([new.rows, past.rows], axis=1), np.concatenate([new.slot, past.slot], axis=1))
        return batches_of(memory, stage, learn, lessons(memory, stage, updates, config.batch, rng))

    return Method(draw=replace(half_past(), batches=batches))


# start-targets
def logarithmic() -> Method:
    """Values are learnt as sign(y) log(1 + |y|): large rewards count less."""

    def squash(statistics, y, slot):
        return jnp.sign(y) * jnp.log1p(jnp.abs(y))

    def stretch(statistics, q, slot):
        return jnp.sign(q) * jnp.expm1(jnp.minimum(jnp.abs(q), 20.0))

    return Method(targets=replace(raw(), normalise=squash, unnormalise=stretch))


# start-anchor
def small_changes(c: float = 1.0) -> Method:
    """After the first task, the actor's trunk stays near where the last one left it, by absolute differences."""

    def copy_of(agent):
        return jax.tree.map(jnp.copy, agent.shared.params.actor)

    def init(agent):
        return jnp.zeros(()), copy_of(agent)

    def loss(kept, config, params, seen, groups):
        begun, old = kept
        apart = jax.tree.map(lambda w, o: jnp.sum(jnp.abs(w - o)), params[0].actor, old)
        return c * begun * sum(jax.tree.leaves(apart))

    def consolidate(agent, ended):
        return eqx.tree_at(lambda a: a.anchor, agent, (jnp.ones(()), copy_of(agent)))

    return Method(anchor=Anchor(init, loss, consolidate))


# start-mask
def frozen_trunk() -> Method:
    """After the first task only heads learn."""

    def restrict(kept, position, shared, heads):
        first = jnp.asarray(position) == 0
        return jax.tree.map(lambda u: jnp.where(first, u, 0.0), shared), heads

    return Method(mask=replace(open_mask(), restrict=restrict))


# start-start
def last_head() -> Method:
    """A new task's actor starts from the head of the task before it, untried."""

    def begin(agent, stage, returns):
        new = stage.new[0]
        if new == 0:
            return agent
        actor = jax.tree.map(lambda x: x.at[new].set(x[new - 1]), agent.heads.params.actor)
        return eqx.tree_at(lambda a: a.heads.params.actor, agent, actor)

    return Method(start=Start(fresh_head().candidates, begin))


# end
