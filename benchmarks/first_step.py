"""Environments that note when their first step was taken, for `performance.py`."""

from __future__ import annotations

import os
import time
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from recall_rl.tasks.protocol import PROTOCOLS
from recall_rl.tasks.sequences import sequence


class First(gymnasium.Env):
    """Nothing happens in it, quickly."""

    def __init__(self):
        self.observation_space = Box(-1, 1, (12,), np.float32)
        self.action_space = Box(-1, 1, (4,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(12, np.float32), {}

    def step(self, action):
        note = Path(os.environ["FIRST_STEP"])
        if not note.exists():
            note.write_text(str(time.time()))
        return np.zeros(12, np.float32), 0.0, False, False, {}


class FirstRobot(First):
    """A task of Meta-World, which takes its time to be made and reset."""

    def __init__(self):
        super().__init__()
        self.robot = sequence("window-close", PROTOCOLS["cw"]).tasks[0].make()

    def reset(self, *, seed=None, options=None):
        self.robot.reset(0)
        return super().reset(seed=seed)


gymnasium.register("First-v0", entry_point=First, max_episode_steps=100)
gymnasium.register("FirstRobot-v0", entry_point=FirstRobot, max_episode_steps=100)
