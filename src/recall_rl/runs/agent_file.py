"""A whole AgentState in a safetensors file: every array under its path in the tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from recall_rl.agent.state import AgentState
from recall_rl.errors import RunError


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def save_agent(agent: AgentState, path: Path) -> None:
    """Write all there is of an agent aside, then put the whole file in place at once."""
    leaves = jax.tree_util.tree_flatten_with_path(agent)[0]
    arrays = {
        jax.tree_util.keystr(place): np.array(jax.random.key_data(leaf) if _is_key(leaf) else leaf, order="C")
        for place, leaf in leaves
    }
    aside = path.with_suffix(".partial")
    aside.write_bytes(save(arrays))
    aside.replace(path)


def load_agent(new: AgentState, path: Path) -> AgentState:
    """The agent of a file, in the shape of a new one of the same method, config and number of tasks."""
    try:
        arrays = load_file(path)
    except (OSError, SafetensorError) as error:
        raise RunError(f"The agent file {path} cannot be read: {error}.") from error
    leaves, tree = jax.tree_util.tree_flatten_with_path(new)
    names = [jax.tree_util.keystr(place) for place, _ in leaves]
    if set(names) != set(arrays):
        odd = sorted(set(names) ^ set(arrays))[0]
        raise RunError(f"{path} is of another method or config: {odd} is in one of the two only.")

    def restored(name: str, leaf: Any) -> Any:
        found = jnp.asarray(arrays[name])
        wanted = jax.random.key_data(leaf) if _is_key(leaf) else leaf
        if (found.shape, found.dtype) != (jnp.shape(wanted), jnp.asarray(wanted).dtype):
            raise RunError(f"{path} is of another config: {name} is {found.shape}, not {jnp.shape(wanted)}.")
        return jax.random.wrap_key_data(found) if _is_key(leaf) else found

    return jax.tree.unflatten(tree, [restored(n, leaf) for n, (_, leaf) in zip(names, leaves, strict=True)])
