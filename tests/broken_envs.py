"""Gymnasium environments that break in the ways users' environments break."""

import os
import signal
import time
import warnings
from typing import ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete


class Sound(gym.Env):
    """A well-behaved environment: counts steps, ends as told."""

    observation_space = Box(-np.inf, np.inf, (3,), np.float64)
    action_space = Box(np.array([-2.0, 0.0]), np.array([4.0, 10.0]), dtype=np.float64)

    def __init__(self, break_at=12, **kwargs):
        self.break_at = break_at

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        self.start = self.np_random.uniform()
        return self.observe(), {}

    def observe(self):
        return np.array([self.start, self.t, 0.0])

    def step(self, action):
        self.t += 1
        self.last_action = action
        if self.t == self.break_at:
            return self.broken()
        return self.observe(), 1.0, False, False, {}

    def broken(self):
        return self.observe(), 1.0, True, False, {}


class NanReward(Sound):
    def broken(self):
        return self.observe(), float("nan"), False, False, {}


class InfObservation(Sound):
    def broken(self):
        return np.array([np.inf, 0.0, 0.0]), 0.0, False, False, {}


class WrongShape(Sound):
    def broken(self):
        return np.zeros(5), 0.0, False, False, {}


class Raises(Sound):
    def broken(self):
        raise ValueError("the gripper is on fire")


class Hangs(Sound):
    def broken(self):
        time.sleep(3600)


class Dies(Sound):
    def broken(self):
        os.kill(os.getpid(), signal.SIGSEGV)


class CannotBeMade(Sound):
    def __init__(self):
        raise RuntimeError("no licence for the simulator")


class DiscreteActions(Sound):
    action_space = Discrete(3)


class Unbounded(Sound):
    action_space = Box(-np.inf, np.inf, (2,))


class Unseeded(Sound):
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.start = np.random.default_rng().uniform()
        return self.observe(), {}


class Breaks(Sound):
    """Breaks in the middle of a run, in the way that an environment variable says, at one step of its life."""

    lived = 0

    def step(self, action):
        self.lived += 1
        how, _, when = os.environ.get("BREAKS", "never@-1").partition("@")
        observation, reward, terminated, truncated, info = super().step(action)
        reward = -float(np.square(action - 1).sum())
        if self.lived != int(when):
            return observation, reward, terminated, truncated, info
        match how:
            case "raises":
                raise ValueError("the gripper is on fire")
            case "hangs":
                time.sleep(3600)
            case "crashes":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "nan":
                reward = float("nan")
            case "inf":
                observation = observation + np.inf
            case "text":
                observation = np.array(["0.5", "1", "0"])
            case "complex":
                observation = observation + 1j
            case "shape":
                observation = observation[:2]
        return observation, reward, terminated, truncated, info


class Slow(Sound):
    """Longer for one chunk than the patience of the test, but never for one step."""

    def step(self, action):
        time.sleep(0.2)
        return super().step(action)


class Sluggish(Sound):
    """Below any useful speed."""

    def step(self, action):
        time.sleep(0.05)
        return super().step(action)


class WrongType(Sound):
    def observe(self):
        return np.array(["0.5", "1", "0"])


class Promises(Sound):
    """Promises float32 and gives float64, which is no harm."""

    observation_space = Box(-1, 1, (3,), np.float32)


class ByProcess(Sound):
    """Repeats itself within a process, and not in another."""

    def observe(self):
        return np.array([self.start, self.t, os.getpid() % 10_000])


class Remembers(Sound):
    """Something is kept from one episode to the next."""

    played = 0

    def reset(self, seed=None, options=None):
        self.played += 1
        return super().reset(seed=seed)

    def broken(self):
        return self.observe(), float(self.played), True, False, {}


class AtOnce(Sound):
    def step(self, action):
        return self.observe(), 1.0, True, False, {}


class OddFlag(Sound):
    """Python takes this text for true."""

    def step(self, action):
        *rest, _ = super().step(action)
        return *rest, {"success": "False"}


class AlwaysDone(Sound):
    def step(self, action):
        *rest, _ = super().step(action)
        return *rest, {"success": True}


class Ends(Sound):
    """Well-behaved, with a success that chance reaches now and then, and rewards."""

    def step(self, action):
        observation, reward, terminated, truncated, _ = super().step(action)
        return observation, reward, terminated, truncated, {"success": bool(terminated and self.start > 0.7)}


class Endless(Sound):
    """Has no time limit, and nothing ends it."""

    def __init__(self):
        super().__init__(break_at=-1)


class Pictured(Sound):
    """Draws a grey square, if it was made to draw."""

    metadata: ClassVar = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(self, render_mode=None):
        super().__init__()
        self.render_mode = render_mode

    def render(self):
        return np.full((8, 8, 3), 128, np.uint8)


class NoEnvironment:
    """Not an environment at all."""


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for kind in list(globals().values()):
        if isinstance(kind, type) and issubclass(kind, gym.Env) and kind is not gym.Env:
            limit = None if kind is Endless else 40
            gym.register(f"{kind.__name__}-v0", entry_point=kind, max_episode_steps=limit, disable_env_checker=True)
