"""Any Gymnasium environment with box observations and actions as a task."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from recall_rl.errors import UsageError
from recall_rl.tasks.environment import Action, Observation, Picture, Step
from recall_rl.tasks.task import Task

PREFIX = "gym:"
OWN_FACTORY = "recall_rl.tasks.own:make_own"
"""Where environments of own tasks come from."""


def gymnasium_task(identity: str, horizon: int | None = None, **options: Any) -> Task:
    """The Gymnasium environment `identity` (as in `gymnasium.make`) as a task named `gym:identity`."""
    return Task(
        PREFIX + identity,
        "recall_rl.tasks.gymnasium:Gymnasium",
        {"identity": identity, "horizon": horizon, **options},
    )


def with_pictures(task: Task) -> Task:
    """The same task, made so that it can be rendered; Gymnasium wants to know before an environment is made."""
    if task.name.startswith(PREFIX):
        return replace(task, options={**task.options, "render_mode": "rgb_array"})
    if task.factory == OWN_FACTORY:
        return replace(task, options={**task.options, "pictures": True})
    return task


def _box(space: Any, what: str, identity: str) -> Any:
    from gymnasium.spaces import Box

    if not isinstance(space, Box):
        raise UsageError(
            f"The {what} space of {identity} is {space}; recall-rl learns on Box spaces only. "
            "Wrap the environment so that it has one."
        )
    return space


def gymnasium_env(identity: str, **options: Any) -> Any:
    """What `gymnasium.make` makes of this name."""
    import gymnasium

    try:
        return gymnasium.make(identity, **options)
    except (gymnasium.error.Error, ModuleNotFoundError) as error:
        raise UsageError(f"Gymnasium cannot make {identity!r}: {error}") from error


class Gymnasium:
    """A Gymnasium environment with actions scaled from [-1, 1] to its bounds and observations flattened."""

    def __init__(self, identity: Any, horizon: int | None = None, **options: Any):
        """`identity` is the name by which Gymnasium makes an environment with these options, or one already made."""
        env = gymnasium_env(identity, **options) if isinstance(identity, str) else identity
        if not isinstance(identity, str):
            identity = type(env.unwrapped).__name__
        observations = _box(env.observation_space, "observation", identity)
        actions = _box(env.action_space, "action", identity)
        if not (np.isfinite(actions.low).all() and np.isfinite(actions.high).all()):
            raise UsageError(
                f"The action space of {identity} has infinite bounds, so [-1, 1] cannot be scaled to it. "
                "Wrap the environment with gymnasium.wrappers.RescaleAction or set finite bounds."
            )
        self.env = env
        self.name = PREFIX + identity
        self.horizon = horizon
        self.observation_size = int(np.prod(observations.shape))
        self.action_size = int(np.prod(actions.shape))
        self._shape, self._dtype = actions.shape, actions.dtype
        self._low, self._high = actions.low, actions.high
        self._middle = (actions.high.astype(np.float64) + actions.low) / 2
        self._half = (actions.high.astype(np.float64) - actions.low) / 2
        self._t = 0

    def _observe(self, observation: Any) -> Observation:
        found = np.asarray(observation)
        if found.dtype.kind not in "fiub":
            raise TypeError(f"observations must be real numbers, not {found.dtype}")
        # A copy, because some environments hand out the array that they go on writing to.
        return found.astype(np.float32).reshape(-1)

    def reset(self, seed: int) -> Observation:
        """Begin the episode of this seed."""
        observation, _ = self.env.reset(seed=seed)
        self._t = 0
        return self._observe(observation)

    def step(self, action: Action) -> Step:
        """Take one action in [-1, 1]; `info["success"]`, where there is one, says whether the goal is reached."""
        scaled = self._middle + self._half * action.reshape(self._shape)
        # Rounding may leave the box by one unit in the last place, which some environments refuse.
        sent = np.clip(scaled.astype(self._dtype), self._low, self._high)
        observation, reward, terminated, truncated, info = self.env.step(sent)
        self._t += 1
        late = self.horizon is not None and self._t >= self.horizon
        return Step(
            self._observe(observation),
            float(reward),
            bool(terminated),
            bool(truncated) or late,
            bool(info.get("success", False)),
        )

    def render(self) -> Picture:
        """The environment's own picture; it must have been made with `render_mode="rgb_array"`."""
        picture = self.env.render() if self.env.render_mode == "rgb_array" else None
        if not isinstance(picture, np.ndarray) or picture.ndim != 3 or picture.shape[2] != 3:
            raise UsageError(f"The task {self.name!r} cannot be rendered: it draws no pictures (rgb_array).")
        return picture.astype(np.uint8)

    def close(self) -> None:
        """Close the environment."""
        self.env.close()
