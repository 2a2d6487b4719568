"""Methods that break what a method promises, each in one way; but for that they are fine-tuning."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from recall_rl.methods.method import Anchor, Method, Start, fresh_head, no_anchor

_calls = itertools.count(1)


def _begins(change):
    """A method that changes the first layer of the actor's heads as a task begins."""

    def begin(agent, stage, returns):
        heads = jax.tree.map(lambda x: change(agent, x), agent.heads.params.actor)
        return eqx.tree_at(lambda a: a.heads.params.actor, agent, heads)

    return Method(start=Start(fresh_head().candidates, begin))


def raises() -> Method:
    def change(agent, x):
        raise KeyError("the head is missing")

    return _begins(change)


def not_finite() -> Method:
    return _begins(lambda agent, x: x * jnp.nan)


def unseeded() -> Method:
    return _begins(lambda agent, x: x + np.float32(1e-3 * next(_calls)))


def looks_ahead() -> Method:
    return _begins(lambda agent, x: x * np.float32(1 + 0.1 * x.shape[0]))


def rounds() -> Method:
    """Not broken: what it makes of the number of heads is the size of rounding."""
    return _begins(lambda agent, x: x * np.float32(1 + 1e-7 * x.shape[0]))


def unsaved() -> Method:
    """Its state is of another shape once a task has ended."""

    def consolidate(agent, ended):
        return eqx.tree_at(lambda a: a.anchor, agent, jnp.ones(3))

    return Method(anchor=Anchor(lambda agent: jnp.zeros(2), no_anchor().loss, consolidate))
