"""The actor as NumPy arrays: what workers act with and files carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import jax
import numpy as np

from recall_rl.agent.config import AgentConfig
from recall_rl.agent.networks import Layer, Layers
from recall_rl.agent.state import AgentState
from recall_rl.collect.policy import Actor, Dense
from recall_rl.methods.method import Method


@jax.jit
def _head(heads: Layers, position: int) -> Layers:
    return jax.tree.map(lambda x: x[position], heads)


def _dense(layer: Layer) -> Dense:
    # np.array copies: the state's own buffers are handed to the next update.
    norm = layer.norm
    extra = () if norm is None else (np.array(norm.scale), np.array(norm.offset))
    return Dense(np.array(layer.w), np.array(layer.b), *extra)


def actors(
    agent: AgentState,
    method: Method,
    config: AgentConfig,
    positions: Sequence[int],
    tried: Mapping[int, Layers] | None = None,
) -> list[Actor]:
    """The weights that act at each of these positions; waits for the updates that make them.

    `tried` puts other heads in place of a position's own.
    """
    # Where the mask shows all positions the same trunk, they share its arrays, also when they are sent to workers.
    trunks: list[tuple[Layers, tuple[Dense, ...]]] = []

    def trunk(layers: Layers) -> tuple[Dense, ...]:
        if not trunks or any(new is not old for new, old in zip(layers, trunks[-1][0], strict=True)):
            trunks.append((layers, tuple(_dense(layer) for layer in layers)))
        return trunks[-1][1]

    def actor(position: int) -> Actor:
        shared, heads = method.mask.view(agent.mask, position, agent.shared.params, agent.heads.params, None)
        head = _head(heads.actor, position) if tried is None else tried[position]
        return Actor((*trunk(shared.actor), *(_dense(layer) for layer in head)), config.actor.activation)

    return [actor(position) for position in positions]
