"""The arrays of a snapshot in one safetensors file, each under a name that says what it is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load

from recall_rl.agent.state import AgentState
from recall_rl.collect.play import OpenEpisode
from recall_rl.collect.policy import Activation, Actor, Dense
from recall_rl.errors import RunError
from recall_rl.runs.manifest import Manifest
from recall_rl.training.snapshot import Snapshot

Arrays = dict[str, NDArray[Any]]


def encode(snapshot: Snapshot) -> Iterator[bytes | memoryview]:
    """The content of the file in parts: beside the snapshot's own arrays nothing of their size is made."""
    arrays = dict(agent_arrays(snapshot.agent))
    for position, actor in snapshot.acting.items():
        arrays |= _actor_arrays(actor, f"acting.{position}")
    for k, (_, actor) in enumerate(snapshot.evaluating[1] if snapshot.evaluating else ()):
        arrays |= _actor_arrays(actor, f"evaluating.{k}")
    for (position, lane), episode in snapshot.lanes.items():
        arrays[f"lane.{position}.{lane}.actions"] = np.ascontiguousarray(episode.actions)
        arrays[f"lane.{position}.{lane}.observation"] = np.ascontiguousarray(episode.observation)
    for name, values in snapshot.metrics.items():
        arrays[f"metrics.{name}"] = values
    return _safetensors(arrays)


_TYPES = {"float32": "F32", "float64": "F64", "int32": "I32", "int64": "I64", "uint32": "U32", "bool": "BOOL"}


def _safetensors(arrays: Arrays) -> Iterator[bytes | memoryview]:
    """The format of safetensors: the header's length, the header, and the arrays one after another."""
    # Larger elements first, so that every array lies at a multiple of its element's size.
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header: dict[str, Any] = {}
    end = 0
    for name in names:
        array, begin, end = arrays[name], end, end + arrays[name].nbytes
        header[name] = {"dtype": _TYPES[array.dtype.name], "shape": array.shape, "data_offsets": (begin, end)}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in names:
        yield np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data


def decode(content: bytes, manifest: Manifest, new: AgentState, activation: Activation) -> Snapshot:
    """The snapshot of a checkpoint; `new` is an agent of the same shape."""
    try:
        arrays = load(content)
    except SafetensorError as error:
        raise RunError(f"The state of a checkpoint cannot be read: {error}.") from error
    metrics = {n.removeprefix("metrics."): a for n, a in arrays.items() if n.startswith("metrics.")}
    evaluating = manifest.evaluating
    try:
        return Snapshot(
            mark=manifest.mark,
            step=manifest.step,
            agent=restored(new, arrays),
            memory=manifest.memory,
            acting={
                p: _actor(arrays, f"acting.{p}", activation) if acts else None for p, acts in manifest.acting.items()
            },
            lanes={
                (e.position, e.lane): OpenEpisode(
                    e.number,
                    arrays[f"lane.{e.position}.{e.lane}.actions"],
                    arrays[f"lane.{e.position}.{e.lane}.observation"],
                )
                for e in manifest.lanes
            },
            evaluating=evaluating
            and (
                evaluating.step,
                [(p, _actor(arrays, f"evaluating.{k}", activation)) for k, p in enumerate(evaluating.positions)],
            ),
            ended=manifest.ended,
            metrics=metrics,
        )
    except KeyError as error:
        raise RunError(f"The state of a checkpoint lacks {error}.") from error


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def agent_arrays(agent: AgentState) -> Iterator[tuple[str, NDArray[Any]]]:
    """Every array of an agent under its path in the tree, without a copy where the device is the CPU."""
    for place, leaf in jax.tree_util.tree_flatten_with_path(agent)[0]:
        array = np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)
        yield f"agent{jax.tree_util.keystr(place)}", array


def restored(new: AgentState, arrays: Mapping[str, NDArray[Any]]) -> AgentState:
    """The agent of these arrays, in the shape of a new one of the same method, config and number of tasks."""
    leaves, tree = jax.tree_util.tree_flatten_with_path(new)
    names = [f"agent{jax.tree_util.keystr(place)}" for place, _ in leaves]
    odd = set(names) ^ {name for name in arrays if name.startswith("agent")}
    if odd:
        raise RunError(f"The agent is of another method or config: {min(odd)} is in one of the two only.")

    def leaf(name: str, wanted: Any) -> Any:
        found, like = arrays[name], jax.random.key_data(wanted) if _is_key(wanted) else wanted
        if (found.shape, found.dtype) != (jnp.shape(like), jnp.asarray(like).dtype):
            raise RunError(f"The agent is of another config: {name} is {found.shape}, not {jnp.shape(like)}.")
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            raise RunError(f"The agent holds numbers that are not finite: {name}.")
        return jax.random.wrap_key_data(jnp.asarray(found)) if _is_key(wanted) else jnp.asarray(found)

    return jax.tree.unflatten(tree, [leaf(name, wanted) for name, (_, wanted) in zip(names, leaves, strict=True)])


def _actor_arrays(actor: Actor | None, prefix: str) -> Arrays:
    found: Arrays = {}
    for i, layer in enumerate(actor.layers if actor else ()):
        for name, array in layer._asdict().items():
            if array is not None:
                found[f"{prefix}.{i}.{name}"] = np.ascontiguousarray(array)
    return found


def _actor(arrays: Mapping[str, NDArray[Any]], prefix: str, activation: Activation) -> Actor:
    layers: list[Dense] = []
    while f"{prefix}.{len(layers)}.w" in arrays:
        place = f"{prefix}.{len(layers)}"
        extra = (arrays.get(f"{place}.{name}") for name in ("scale", "offset"))
        layers.append(Dense(arrays[f"{place}.w"], arrays[f"{place}.b"], *extra))
    if not layers:
        raise RunError(f"The state of a checkpoint lacks {prefix}.")
    return Actor(tuple(layers), activation)
