"""Tasks, stages and sequences as plain data that any process can rebuild its environments from."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from recall_rl.tasks.environment import Environment


@dataclass(frozen=True)
class Task:
    """One thing to learn: a name, and where to get its environment."""

    name: str
    factory: str
    """`package.module:function`; called with the options, it returns an Environment."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def make(self) -> Environment:
        """Make a new environment of this task in the present process."""
        module, _, function = self.factory.partition(":")
        build = cast("Callable[..., Environment]", getattr(importlib.import_module(module), function))
        return build(**self.options)


@dataclass(frozen=True)
class Stage:
    """The tasks that are active together, by their positions in the sequence."""

    new: tuple[int, ...]
    """Positions of the tasks first met here; they share the stage's steps equally."""
    revisited: tuple[int, ...] = ()
    """Positions of earlier tasks whose environments are visited again meanwhile."""


@dataclass(frozen=True)
class Sequence:
    """Tasks in the order they are met; position i owns head i, even where a task returns."""

    name: str
    tasks: tuple[Task, ...]
    stages: tuple[Stage, ...]

    def __len__(self) -> int:
        """The number of positions."""
        return len(self.tasks)


def one_by_one(name: str, tasks: tuple[Task, ...]) -> Sequence:
    """The usual sequence: each task is a stage of its own."""
    return Sequence(name, tasks, tuple(Stage(new=(i,)) for i in range(len(tasks))))
