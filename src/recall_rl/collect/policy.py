"""The actor's forward pass in NumPy, for processes that step environments and files that travel.

A jitted call costs milliseconds a step here; this costs tens of microseconds and needs no JAX.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_rl.tasks.environment import Action, Observation

Activation = Literal["relu", "leaky_relu", "tanh"]

LOG_STD_MIN, LOG_STD_MAX = -20.0, 2.0
"""Bounds of the policy's log deviation, as in Continual World."""
LEAK = 0.2
"""Slope of the leaky ReLU below zero, as in Continual World."""
NORM_EPSILON = 1e-5
"""Added to the variance in layer normalisation."""

Array = NDArray[np.float32]


class Dense(NamedTuple):
    """One layer's weights; `scale` and `offset` belong to a layer norm followed by tanh, if there is one."""

    w: Array
    b: Array
    scale: Array | None = None
    offset: Array | None = None


class Actor(NamedTuple):
    """The weights that act for one task: its trunk and head as one list of layers, the last one linear."""

    layers: tuple[Dense, ...]
    activation: Activation


_ZERO = np.float32(0.0)
_LOG_STD_MIN, _LOG_STD_MAX = np.float32(LOG_STD_MIN), np.float32(LOG_STD_MAX)


def _activate(h: Array, activation: Activation) -> Array:
    if activation == "relu":
        return np.maximum(h, _ZERO, out=h)
    if activation == "tanh":
        return np.tanh(h, out=h)
    return np.maximum(h, np.float32(LEAK) * h, out=h)


def _normalise(h: Array, scale: Array, offset: Array) -> Array:
    h -= np.float32(np.add.reduce(h) / h.size)
    h *= np.float32(1.0 / math.sqrt(float(h.dot(h)) / h.size + NORM_EPSILON))
    h *= scale
    h += offset
    return np.tanh(h, out=h)


def distribution(actor: Actor, observation: Observation) -> tuple[Array, Array]:
    """Mean and log deviation of the Gaussian before tanh."""
    h: Array = observation
    last = len(actor.layers) - 1
    for i, (w, b, scale, offset) in enumerate(actor.layers):
        h = h.dot(w)
        h += b
        if scale is not None and offset is not None:
            h = _normalise(h, scale, offset)
        elif i < last:
            h = _activate(h, actor.activation)
    half = h.size // 2
    return h[:half], np.minimum(np.maximum(h[half:], _LOG_STD_MIN), _LOG_STD_MAX)


def act(actor: Actor, observation: Observation, noise: Action | None) -> Action:
    """The action tanh(mean + deviation x noise); without noise, the policy's mode."""
    mean, u = distribution(actor, observation)
    if noise is None:
        return np.tanh(mean)
    np.exp(u, out=u)
    u *= noise
    u += mean
    return np.tanh(u, out=u)
