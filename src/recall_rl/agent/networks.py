"""Networks as plain layers: a trunk shared by all tasks and heads that are an index of an array axis."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from recall_rl.agent.config import NetworkConfig
from recall_rl.collect.policy import LEAK, NORM_EPSILON, Activation


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
    # One product for each slot, then each row keeps its own: on CPUs separate products beat a batched one.
    every = jnp.stack([x @ w for w in layer.w])
    return jnp.take_along_axis(every, slot[None, :, None], axis=0)[0] + layer.b[slot]


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


def forward(
    trunk: Layers,
    heads: Layers,
    activation: Activation,
    x: Float[Array, "rows inputs"],
    slot: Int[Array, " rows"],
) -> Float[Array, "rows outputs"]:
    """The outputs of each row's own head; `slot` says which of the given heads that is."""
    h = x
    for layer in (*trunk, *heads[:-1]):
        h = _affine(layer, h, slot)
        h = _activate(h, activation) if layer.norm is None else _normalise(layer.norm, h, slot)
    return _affine(heads[-1], h, slot)
