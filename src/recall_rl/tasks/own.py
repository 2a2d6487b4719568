"""Tasks of one's own: any Gymnasium environment with box spaces, with what a sequence needs to know of it."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from recall_rl.errors import UsageError, unknown
from recall_rl.loading import load
from recall_rl.tasks.environment import Environment
from recall_rl.tasks.gymnasium import OWN_FACTORY, Gymnasium, gymnasium_env
from recall_rl.tasks.shaped import Shaped
from recall_rl.tasks.task import Task

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


@dataclass(frozen=True)
class OwnTask:
    """A task of one's own, as in `recall_rl.train(tasks=[OwnTask("HalfCheetah-v5")])`."""

    env: str
    """A name of `gymnasium.make`, or `package.module:function` of your own that returns a Gymnasium environment."""
    name: str = ""
    """A short name for journals and reports; if none is given, the last part of `env`."""
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the environment is made with."""
    reward_scale: float = 1.0
    """Rewards are multiplied by it; returns are reported in this unit."""
    horizon: int | None = None
    """Steps after which an episode is cut short; none: the environment's own limit."""
    success_return: float | None = None
    """An episode succeeds if its return, before scaling, reaches this; none: as `info["success"]` says."""
    observation_size: int | None = None
    """Numbers of the observation, filled up with zeros; none: as many as the environment has."""
    action_size: int | None = None
    """Numbers of the action, of which the environment gets the first; none: as many as the environment has."""

    def __post_init__(self) -> None:
        """Fill in the name, and refuse what cannot work."""
        if not self.name:
            object.__setattr__(self, "name", re.split(r"[:/]", self.env)[-1])
        about = f"The task {self.name!r}"
        rules = [
            (bool(self.env), f"{about} needs an env."),
            (
                _NAME.fullmatch(self.name) is not None,
                f"{self.name!r} is no name for a task: take letters, digits and . _ + -, at most 64.",
            ),
            (
                self.reward_scale > 0 and math.isfinite(self.reward_scale),
                f"{about} has reward_scale {self.reward_scale}; it must be positive.",
            ),
            (
                self.success_return is None or math.isfinite(self.success_return),
                f"{about} has a success_return that is not a finite number.",
            ),
        ]
        for what in ("horizon", "observation_size", "action_size"):
            value = getattr(self, what)
            rules.append((value is None or value > 0, f"{about} has {what} {value}; it must be positive."))
        for holds, sentence in rules:
            if not holds:
                raise UsageError(sentence)


def own_task(given: OwnTask, horizon: int | None = None) -> Task:
    """An own task as what workers make it from; `horizon` holds where it has none of its own."""
    options = dataclasses.asdict(given)
    options["horizon"] = given.horizon or horizon
    return Task(options.pop("name"), OWN_FACTORY, options)


def make_own(env: str, kwargs: Mapping[str, Any], horizon: int | None, pictures: bool = False, **shape: Any) -> Shaped:
    """The environment of an own task."""
    return Shaped(_made(env, dict(kwargs), horizon, pictures), env, horizon, **shape)


def _made(env: str, kwargs: dict[str, Any], horizon: int | None, pictures: bool) -> Environment:
    if not env.partition(":")[2].isidentifier():  # As in module:Env-v0, which Gymnasium imports itself.
        options = {**kwargs, **({"render_mode": "rgb_array"} if pictures else {})}
        try:
            return Gymnasium(gymnasium_env(env, **options, **({"max_episode_steps": horizon} if horizon else {})))
        except TypeError as error:
            raise UsageError(f"{env!r} cannot be made with {', '.join(kwargs) or 'no kwargs'}: {error}.") from error
    function = load(env, "environment", "that makes an environment")
    if pictures and _takes(function, "render_mode"):
        kwargs["render_mode"] = "rgb_array"
    made = function(**kwargs)
    if isinstance(getattr(made, "observation_size", None), int):
        return cast("Environment", made)
    from gymnasium import Env

    if not isinstance(made, Env):
        raise UsageError(f"{env!r} must return a Gymnasium environment; it returned {type(made).__name__}.")
    return Gymnasium(made)


def _takes(function: Any, name: str) -> bool:
    parameters = inspect.signature(function).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def parse_tasks(table: Any, where: str) -> dict[str, OwnTask]:
    """The own tasks of a table whose keys are their names: that of a tasks file, a plan or a run's config."""
    if not isinstance(table, Mapping):
        raise UsageError(f"The tasks of {where} must be tables, as in [tasks.run] and env = 'HalfCheetah-v5'.")
    found: dict[str, OwnTask] = {}
    known = [f.name for f in dataclasses.fields(OwnTask)]
    for name, content in cast("Mapping[str, Any]", table).items():
        if not isinstance(content, Mapping):
            raise UsageError(f"The task {name!r} of {where} must be a table, as in [tasks.{name}].")
        content = cast("Mapping[str, Any]", content)
        odd = next((key for key in content if key not in known), None)
        if odd is not None:
            raise unknown(f"field of the task {name!r}", odd, known, f"There are: {', '.join(known)}.")
        if _deep(content):
            raise UsageError(f"The task {name!r} of {where} is nested deeper than {_DEEPEST} levels.")
        try:
            found[name] = msgspec.convert({"name": name, **content}, OwnTask, strict=False)
        except msgspec.ValidationError as error:
            told = str(error).replace("$.", "")
            raise UsageError(f"The task {name!r} of {where} has a wrong field: {told}.") from error
        if found[name].name != name:
            raise UsageError(f"The task {name!r} of {where} calls itself {found[name].name!r}.")
    return found


_DEEPEST = 16


def _deep(content: Any) -> bool:
    """Whether tables and lists stand in each other beyond all use."""
    level: list[Any] = [content]
    for _ in range(_DEEPEST):
        inner = [x for x in level if isinstance(x, Mapping | list)]
        level = [y for x in inner for y in (x.values() if isinstance(x, Mapping) else x)]
    return any(isinstance(x, Mapping | list) for x in level)


def by_name(tasks: Iterable[OwnTask]) -> dict[str, OwnTask]:
    """Own tasks by their names; two of one name must be the same task."""
    found: dict[str, OwnTask] = {}
    for task in tasks:
        if found.setdefault(task.name, task) != task:
            raise UsageError(f"Two tasks are called {task.name!r}: give one of them another name.")
    return found


def joined(old: Mapping[str, OwnTask], new: Mapping[str, OwnTask]) -> dict[str, OwnTask]:
    """Both, where no name stands for two tasks."""
    return by_name([*old.values(), *new.values()])
