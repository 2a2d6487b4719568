"""Methods as a user would write them in a package of their own."""

from dataclasses import replace

import jax
import jax.numpy as jnp

from recall_rl.methods.method import Anchor, Method


def shy(c: float = 1e-2) -> Method:
    """The weights of the actor's heads that are present stay small, once a task has ended."""

    def loss(kept, config, params, seen, groups):
        size = sum(jnp.sum(x**2) for x in jax.tree.leaves(params[1].actor))
        return c * kept * size

    def consolidate(agent, ended):
        return replace(agent, anchor=jnp.ones(()))

    return Method(anchor=Anchor(init=lambda agent: jnp.zeros(()), loss=loss, consolidate=consolidate))


def nothing_like_it():
    """Not a method."""
    return 3


def needy(c: float):
    """An option without a default."""
    return Method()


constant = 3
