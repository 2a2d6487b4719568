"""Agents none of whose parameters is at its tidy initial value."""

import jax
import jax.numpy as jnp
import numpy as np


def shaken(agent, size):
    """Every float of the agent plus a normal number times `size`."""
    rng = np.random.default_rng(0)

    def shake(leaf):
        return leaf + jnp.asarray(size * rng.standard_normal(leaf.shape), jnp.float32)

    return jax.tree.map(lambda x: shake(x) if x.dtype == jnp.float32 else x, agent)
