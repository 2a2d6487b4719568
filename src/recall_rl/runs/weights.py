"""The agent's parameters as named arrays in a safetensors file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from recall_rl.agent.networks import Layers
from recall_rl.agent.state import AgentState, Params


def _named(layers: Layers, prefix: str, heads: int | None) -> Iterator[tuple[str, NDArray[np.float32]]]:
    for i, layer in enumerate(layers):
        arrays: dict[str, Any] = {"w": layer.w, "b": layer.b}
        if layer.norm is not None:
            arrays |= {"scale": layer.norm.scale, "offset": layer.norm.offset}
        for name, array in arrays.items():
            yield f"{prefix}.{i}.{name}", np.ascontiguousarray(np.asarray(array)[:heads])


def named_weights(agent: AgentState) -> dict[str, NDArray[np.float32]]:
    """Every parameter by name; in heads the first axis is the task's position (scratch left out)."""
    log_alpha = agent.heads.params.log_alpha
    assert log_alpha is not None
    heads = len(log_alpha) - 1
    found: dict[str, NDArray[np.float32]] = {"log_alpha": np.asarray(log_alpha)[:heads].copy()}

    def add(params: Params, place: str, count: int | None) -> None:
        found.update(_named(params.actor, f"actor.{place}", count))
        for k, critic in enumerate(params.critics):
            found.update(_named(critic, f"critic{k + 1}.{place}", count))

    add(agent.shared.params, "trunk", None)
    add(agent.heads.params, "head", heads)
    return found


def encode_weights(agent: AgentState, metadata: dict[str, str]) -> bytes:
    """The content of the file."""
    return save(named_weights(agent), metadata)
