"""The ten Continual World tasks on Meta-World 3, under the `cw` and `mw3` protocols.

Of Meta-World's own classes nothing is rewritten except one index: the v1 reward of stick-pull reads the
second object at its place in the 12-number layout of 2021 (6:9), which now is 11:14.
"""

from __future__ import annotations

import copy
import importlib
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from recall_rl.errors import UsageError, unknown
from recall_rl.tasks.environment import Action, Observation, Picture, Step
from recall_rl.tasks.protocol import Protocol
from recall_rl.tasks.task import Task

CW10 = (
    "hammer",
    "push-wall",
    "faucet-close",
    "push-back",
    "stick-pull",
    "handle-press-side",
    "push",
    "shelf-place",
    "window-close",
    "peg-unplug-side",
)
"""The ten tasks in the order of the paper's CW10 sequence."""

CW12 = np.r_[0:3, 4:7, 11:14, 36:39]
"""Hand, first object, second object and goal within Meta-World's 39 numbers."""

PICTURE = 320
"""Height and width of a rendered picture."""


def metaworld_task(name: str, protocol: Protocol) -> Task:
    """One of the ten tasks, posed as the protocol says."""
    if protocol.reward == "own" or protocol.observation == "own":
        raise UsageError(
            f"The Meta-World task {name!r} needs a protocol that fixes its reward and observation: "
            "--protocol cw or --protocol mw3."
        )
    options = {
        "name": name,
        "reward": protocol.reward,
        "observation": protocol.observation,
        "horizon": protocol.horizon or 200,
    }
    return Task(name, "recall_rl.tasks.metaworld:MetaWorld", options)


def with_own_code(task: Task) -> Task:
    """The same task; if it is one of Meta-World's, stepped by Meta-World's own code alone: the same bits, later."""
    own = task.factory == "recall_rl.tasks.metaworld:MetaWorld"
    return replace(task, options={**task.options, "fast": False}) if own else task


class _OldLayout:
    """An observation whose 6:9 is the second object, where the v1 stick-pull reward looks for it."""

    def __init__(self, observation: Any):
        self._observation = observation

    def __getitem__(self, key: slice) -> Any:
        return self._observation[11:14] if key == slice(6, 9) else self._observation[key]


def _load(name: str, reward: str, fast: bool) -> Any:
    """Meta-World's own environment, set to draw a new start and goal from its seed at every reset."""
    try:
        from metaworld.env_dict import (  # pyright: ignore[reportMissingTypeStubs]
            ALL_V3_ENVIRONMENTS,  # pyright: ignore[reportUnknownVariableType]
        )
    except ImportError as error:
        raise UsageError(
            f"The task {name!r} needs Meta-World, which is not installed: pip install 'recall-rl[metaworld]'."
        ) from error
    known: Any = ALL_V3_ENVIRONMENTS
    if f"{name}-v3" not in known:
        names = [key.removesuffix("-v3") for key in known]
        raise unknown("Meta-World task", name, names, f"There are: {', '.join(sorted(names))}.")
    original: Any = known[f"{name}-v3"]
    if fast:
        from recall_rl.tasks.fast_metaworld import hastened

        original = hastened(original)

    class Corrected(original):
        def compute_reward(self, action: Any, obs: Any) -> Any:
            return super().compute_reward(action, _OldLayout(obs))

    kind = Corrected if (name, reward) == ("stick-pull", "v1") else original
    env = kind(reward_function_version=reward)
    env._set_task_called = True
    env._freeze_rand_vec = False
    env.seeded_rand_vec = True
    env._partially_observable = False
    # Cached while the goal was still hidden; step() clips observations to it.
    del env.sawyer_observation_space
    return env


class MetaWorld:
    """One Meta-World task: horizon of the protocol, goal visible, never ends on success."""

    def __init__(self, name: str, reward: str, observation: Literal["cw12", "mw39"], horizon: int, fast: bool = True):
        self.env = _load(name, reward, fast)
        self.horizon = horizon
        if horizon > self.env.max_path_length:
            raise UsageError(
                f"Meta-World episodes end at {self.env.max_path_length} steps; horizon {horizon} is longer."
            )
        self._columns = CW12 if observation == "cw12" else None
        self.observation_size = len(CW12) if observation == "cw12" else 39
        self.action_size = 4
        self._t = 0
        self._renderer: Any = None

    def _observe(self, full: Any) -> Observation:
        return (full if self._columns is None else full[self._columns]).astype(np.float32)

    def reset(self, seed: int) -> Observation:
        """Begin the episode of this seed; it does not depend on what was played before."""
        self.env.seed(seed)
        full, _ = self.env.reset()
        self._t = 0
        return self._observe(full)

    def step(self, action: Action) -> Step:
        """Take one action."""
        full, reward, _, _, info = self.env.step(action)
        self._t += 1
        return Step(self._observe(full), float(reward), False, self._t >= self.horizon, info["success"] > 0)

    def render(self) -> Picture:
        """The table, the arm and the task's objects, seen from the robot's right."""
        mujoco: Any = importlib.import_module("mujoco")
        model = self.env.model
        if self._renderer is None:
            self._renderer = mujoco.Renderer(model, PICTURE, PICTURE)
            # Without a graphics card these two take three quarters of the time, and show no more of the task.
            for costly in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
                self._renderer.scene.flags[costly] = 0
        # A reset may move joints and leave the bodies where they were until the first step. They are brought up to date
        # in a copy, so that the simulation knows nothing of it; the goal's mark is put where step() puts it.
        shown = copy.copy(self.env.data)
        mujoco.mj_kinematics(model, shown)
        for mark, place in self.env._target_site_config:
            shown.site(mark).xpos = place[:3]
        # Meta-World's own cameras are no help: some are upside down, and from others the arm hides what it does.
        camera = mujoco.MjvCamera()
        camera.lookat[:] = 0.02, 0.64, 0.16
        camera.distance, camera.azimuth, camera.elevation = 1.45, 135, -28
        self._renderer.update_scene(shown, camera)
        return self._renderer.render()

    def close(self) -> None:
        """Free the simulator."""
        if self._renderer is not None:
            self._renderer.close()
        self.env.close()
