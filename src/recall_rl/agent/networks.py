"""Networks as plain layers: a trunk shared by all tasks and heads that are an index of an array axis."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from recall_rl.agent.config import NetworkConfig
from recall_rl.collect.policy import LEAK, NORM_EPSILON, Activation
from recall_rl.memory.sample import UNKNOWN, Shares

jax.tree_util.register_static(Shares)


class Norm(eqx.Module):
    """Layer normalisation, followed by tanh."""

    scale: Float[Array, "*heads width"]
    offset: Float[Array, "*heads width"]


class Layer(eqx.Module):
    """x w + b; in a head, the first axis of every array counts heads."""

    w: Float[Array, "*heads inputs outputs"]
    b: Float[Array, "*heads outputs"]
    norm: Norm | None = None


Layers = tuple[Layer, ...]


def _init_layer(rng: np.random.Generator, inputs: int, outputs: int, normed: bool) -> Layer:
    """Glorot-uniform weights and zero biases."""
    limit = (6.0 / (inputs + outputs)) ** 0.5
    w = rng.uniform(-limit, limit, size=(inputs, outputs)).astype(np.float32)
    zeros, ones = np.zeros(outputs, np.float32), np.ones(outputs, np.float32)
    return Layer(w, zeros, Norm(ones, zeros) if normed else None)  # pyright: ignore[reportArgumentType]


def init_network(
    config: NetworkConfig, inputs: int, outputs: int, heads: int, seed: tuple[int, ...]
) -> tuple[Layers, Layers]:
    """A new (trunk, heads); head i depends on the seed and i alone, not on how many heads there are.

    NumPy draws the numbers: no compilation, and the same weights on every kind of device.
    """
    sizes = [inputs, *[config.width] * (config.trunk + config.head), outputs]

    def layers(rng: np.random.Generator, first: int, last: int) -> Layers:
        return tuple(
            _init_layer(rng, sizes[i], sizes[i + 1], config.first_norm and i == 0 and len(sizes) > 2)
            for i in range(first, last)
        )

    trunk = layers(np.random.default_rng([*seed, 0]), 0, config.trunk)
    each = [layers(np.random.default_rng([*seed, 1, i]), config.trunk, len(sizes) - 1) for i in range(heads)]
    return jax.tree.map(jnp.asarray, trunk), jax.tree.map(lambda *head: jnp.asarray(np.stack(head)), *each)


def _affine(layer: Layer, x: Float[Array, "rows inputs"], slot: Int[Array, " rows"]) -> Float[Array, "rows outputs"]:
    if layer.w.ndim == 2:
        return x @ layer.w + layer.b[None]
    if layer.w.shape[0] == 1:
        return x @ layer.w[0] + layer.b
    return _own_product(layer.w, x, slot) + layer.b[slot]


_APART = 16
"""Heads up to which each has a product of its own; more would make programs that take minutes to compile."""


def _own_product(
    w: Float[Array, "heads inputs outputs"], x: Float[Array, "rows inputs"], slot: Int[Array, " rows"]
) -> Float[Array, "rows outputs"]:
    """Each row times the matrix of its slot: products with all of them, of which each row keeps its own."""
    heads, inputs, outputs = w.shape
    if heads > _APART:
        every = (x @ jnp.moveaxis(w, 0, 1).reshape(inputs, heads * outputs)).reshape(-1, heads, outputs)
        return jnp.take_along_axis(every, slot[:, None, None], axis=1)[:, 0]
    # On CPUs separate products beat a batched one.
    each = [x @ one[0] for one in _parts(w, (1,) * heads)]
    own = each[0]
    for k, other in enumerate(each[1:], start=1):
        own = jnp.where(slot[:, None] == k, other, own)
    return own


def _parts(x: Float[Array, "heads ..."], sizes: tuple[int, ...]) -> Sequence[Array]:
    """The array in parts along its first axis; their gradients are joined, where those of slices are added up."""
    return jax.lax.split(x, sizes)


def _normalise(norm: Norm, h: Float[Array, "rows width"], slot: Int[Array, " rows"]) -> Float[Array, "rows width"]:
    h = h - h.mean(axis=-1, keepdims=True)
    h = h * jax.lax.rsqrt(jnp.mean(h * h, axis=-1, keepdims=True) + NORM_EPSILON)
    shared = norm.scale.ndim == 1
    scale, offset = (norm.scale[None], norm.offset[None]) if shared else (norm.scale[slot], norm.offset[slot])
    return jnp.tanh(h * scale + offset)


def _activate(h: Float[Array, "rows width"], activation: Activation) -> Float[Array, "rows width"]:
    if activation == "relu":
        return jax.nn.relu(h)
    return jnp.tanh(h) if activation == "tanh" else jax.nn.leaky_relu(h, LEAK)


def _through(
    layers: Layers, activation: Activation, h: Float[Array, "rows inputs"], slot: Int[Array, " rows"]
) -> Float[Array, "rows width"]:
    """What hidden layers make of h."""
    for layer in layers:
        h = _affine(layer, h, slot)
        h = _activate(h, activation) if layer.norm is None else _normalise(layer.norm, h, slot)
    return h


def forward(
    trunk: Layers,
    heads: Layers,
    activation: Activation,
    x: Float[Array, "rows inputs"],
    slot: Int[Array, " rows"],
    shares: Shares = UNKNOWN,
) -> Float[Array, "rows outputs"]:
    """The outputs of each row's own head; `slot` says which of the given that is, `shares` what is known of it."""
    h = _through(trunk, activation, x, slot)
    # Blocks of rows, each with the heads it may belong to: one for each share, and the later slots for the rest.
    rows = (*shares.rows, len(x) - sum(shares.rows))
    sizes = (*(1 for _ in shares.rows), len(heads[-1].b) - len(shares.rows))
    leaves, tree = jax.tree.flatten(heads)
    each = zip(*(_parts(leaf, sizes) for leaf in leaves), strict=True)
    out: list[Array] = []
    for first, (count, some) in enumerate(zip(rows, each, strict=True)):
        mine = slice(sum(rows[:first]), sum(rows[: first + 1]))
        if count:
            own: Layers = jax.tree.unflatten(tree, some)
            hidden = _through(own[:-1], activation, h[mine], slot[mine] - first)
            out.append(_affine(own[-1], hidden, slot[mine] - first))
    return out[0] if len(out) == 1 else jnp.concatenate(out)
