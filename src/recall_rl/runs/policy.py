"""The policy of a run as one small file: everything to act with, nothing to learn with, readable by itself.

A safetensors file. Layers that all tasks share are stored once (`shared.LAYER.…`), the others by position
(`head.POSITION.LAYER.…`); its metadata say how the tasks are posed and carry a digest of all of it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save

from recall_rl.collect.policy import Activation, Actor, Array, Dense, act
from recall_rl.errors import RunError, UsageError, unknown
from recall_rl.runs.directory import RunDirectory
from recall_rl.runs.files import parse_json, read_bounded
from recall_rl.runs.hub import HUB, fetched
from recall_rl.runs.published import PREFIX, policy_path
from recall_rl.runs.trust import refuse_named_code
from recall_rl.tasks.own import OwnTask
from recall_rl.tasks.protocol import Protocol

POLICIES = "policies"
_NAME = re.compile(r"after-(\d{1,6})\.safetensors")
_LARGEST = 1 << 30
_KINDS = ("w", "b", "scale", "offset")


@dataclass(frozen=True)
class About:
    """What a policy was made by, and how its tasks are posed."""

    method: str
    """The method with those of its options that are not at their defaults."""
    seed: int
    """That of the run."""
    step: int
    """Steps of the run behind it."""
    stage: int
    """Stages of the run behind it."""
    budget: str
    protocol: Protocol
    tasks: tuple[str, ...]
    """Tasks met so far, by position."""
    activation: Activation
    results_version: int
    own: dict[str, OwnTask] = field(default_factory=dict[str, OwnTask])
    """The tasks of one's own among them, so that the file stands by itself."""


@dataclass(frozen=True)
class Policy:
    """What acts on each of the tasks met so far."""

    about: About
    actors: tuple[Actor, ...]
    """By position."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks it knows, by position."""
        return self.about.tasks

    def act(self, observation: Any, task: str | int, sample: np.random.Generator | None = None) -> Array:
        """The action in [-1, 1] for one observation of a task, given by name (the last so called) or by position.

        It is the most likely one, or drawn from the policy by the generator `sample`. NumPy is all that is needed.
        """
        actor = self.actors[_position(self.tasks, task)]
        seen, size = np.asarray(observation, np.float32), actor.layers[0].w.shape[0]
        if seen.shape != (size,):
            raise UsageError(f"An observation of this policy has the shape ({size},), not {seen.shape}.")
        count = actor.layers[-1].w.shape[1] // 2
        return act(actor, seen, None if sample is None else sample.standard_normal(count, np.float32))


def _position(tasks: Sequence[str], task: str | int) -> int:
    if isinstance(task, str):
        if task not in tasks:
            raise unknown("task", task, tasks, f"This policy knows: {', '.join(tasks)}.")
        return len(tasks) - 1 - tasks[::-1].index(task)
    if not 0 <= task < len(tasks):
        raise UsageError(f"This policy knows the tasks 0 to {len(tasks) - 1}, not {task}.")
    return task


def file_name(stage: int) -> str:
    """The name of the policy after so many stages, in a generation's folder of policies."""
    return f"after-{stage}.safetensors"


def _named(layer: Dense) -> list[tuple[str, Array]]:
    return [(kind, array) for kind, array in zip(_KINDS, layer, strict=True) if array is not None]


def _equal(layers: Sequence[Dense]) -> bool:
    first = _named(layers[0])
    return all(
        len(first) == len(_named(other))
        and all(np.array_equal(a, b) for (_, a), (_, b) in zip(first, _named(other), strict=True))
        for other in layers[1:]
    )


def _digest(about: str, arrays: dict[str, Array]) -> str:
    found = hashlib.sha256(about.encode())
    for name in sorted(arrays):
        found.update(f"{name}{arrays[name].shape}".encode())
        found.update(np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()


def encode_policy(policy: Policy) -> bytes:
    """The content of the file."""
    arrays: dict[str, Array] = {}
    for i, layers in enumerate(zip(*(actor.layers for actor in policy.actors), strict=True)):
        places = [f"shared.{i}"] if _equal(layers) else [f"head.{p}.{i}" for p in range(len(layers))]
        for place, layer in zip(places, layers, strict=False):
            arrays |= {f"{place}.{kind}": array for kind, array in _named(layer)}
    content = msgspec.to_builtins(policy.about)
    if not policy.about.own:
        del content["own"]
    about = json.dumps(content, sort_keys=True)
    # One entry: the library writes several in no certain order, and the same policy must be the same bytes.
    return save(arrays, {"policy": f"{_digest(about, arrays)} {about}"})


def decode_policy(content: bytes, name: str) -> Policy:
    """The policy of a file that may be damaged or meant to harm."""
    try:
        arrays = load_arrays(content)
        header = parse_json(content[8 : 8 + int.from_bytes(content[:8], "little")], name)
        metadata: dict[str, Any] = header["__metadata__"]
        digest, _, text = metadata["policy"].partition(" ")
        about = msgspec.convert(parse_json(text.encode(), name), About)
    except (SafetensorError, KeyError, TypeError, msgspec.ValidationError) as error:
        raise RunError(f"{name} is not a policy of recall-rl, or was cut short.") from error
    if any(array.dtype != np.float32 or not np.isfinite(array).all() for array in arrays.values()):
        raise RunError(f"{name} holds weights that are not finite numbers.")
    if _digest(text, arrays) != digest:
        raise RunError(f"{name} is not what was written.")
    count = 1 + max(
        (int(key.split(".")[-2]) for key in arrays if re.fullmatch(r"[a-z0-9.]+\.\d{1,4}\.w", key)), default=-1
    )
    try:
        actors = tuple(
            Actor(tuple(_layer(arrays, p, i) for i in range(count)), about.activation) for p in range(len(about.tasks))
        )
    except KeyError as error:
        raise RunError(f"{name} lacks the weights {error}.") from error
    if not actors or not all(_fits(actor) for actor in actors):
        raise RunError(f"{name} holds layers that do not fit together.")
    return Policy(about, actors)


def _layer(arrays: dict[str, Array], position: int, i: int) -> Dense:
    place = f"shared.{i}" if f"shared.{i}.w" in arrays else f"head.{position}.{i}"
    scale, offset = arrays.get(f"{place}.scale"), arrays.get(f"{place}.offset")
    return Dense(arrays[f"{place}.w"], arrays[f"{place}.b"], scale, offset)


def _fits(actor: Actor) -> bool:
    width = None
    for w, b, scale, offset in actor.layers:
        if w.ndim != 2 or b.shape != w.shape[1:] or (width is not None and w.shape[0] != width):
            return False
        if any(extra is not None and extra.shape != b.shape for extra in (scale, offset)):
            return False
        width = w.shape[1]
    return width is not None and width % 2 == 0


def copy_policies(old: Path, new: Path, stages: int) -> None:
    """Take the policies of the first stages over from one generation to another."""
    (new / POLICIES).mkdir(exist_ok=True)
    for stage in range(1, stages + 1):
        if (old / POLICIES / file_name(stage)).is_file():
            shutil.copyfile(old / POLICIES / file_name(stage), new / POLICIES / file_name(stage), follow_symlinks=False)


def kept(run: Path) -> dict[int, Path]:
    """The policies of a run, by the number of stages behind each."""
    folder = RunDirectory(run).generation().path / POLICIES
    found = ((_NAME.fullmatch(path.name), path) for path in (folder.iterdir() if folder.is_dir() else ()))
    return {int(match[1]): path for match, path in sorted(found, key=lambda f: f[1].name) if match}


def read_policy(path: Path, after: int | None = None, trust_code: bool = False) -> Policy:
    """The policy of a file, or that of a run after its last stage or another; code it names must be trusted.

    `published:NAME` is one that comes with the package, `hf:OWNER/NAME` one from the Hugging Face Hub.
    """
    if str(path).startswith(HUB):
        path = fetched(str(path), _LARGEST)
    if str(path).startswith(PREFIX):
        path = policy_path(str(path).removeprefix(PREFIX))
    if path.is_dir():
        RunDirectory.existing(path)
        found = kept(path)
        if not found:
            raise UsageError(f"{path} holds no policy yet: one is kept when a task's training ends.")
        if after is not None and after not in found:
            raise UsageError(f"{path} holds policies after stages {', '.join(map(str, sorted(found)))}, not {after}.")
        path = found[max(found) if after is None else after]
    elif after is not None:
        raise UsageError("--after chooses among the policies of a run; a policy file holds one.")
    try:
        content = read_bounded(path, _LARGEST)
    except OSError as error:
        raise UsageError(f"The policy {path} cannot be read: {error.strerror}.") from error
    policy = decode_policy(content, path.name)
    if not trust_code:
        named = {name: dataclasses.asdict(task) for name, task in policy.about.own.items()}
        refuse_named_code({"sequence": ",".join(policy.about.tasks), "tasks": named}, str(path))
    return policy


def load(path: str | Path, after: int | None = None) -> Policy:
    """The policy of a run folder, a policy file, `published:NAME` or `hf:OWNER/NAME`, to act with; JAX is not needed.

    Loading and acting execute nothing of the file; its tasks are names here.
    """
    return read_policy(Path(path), after, trust_code=True)
