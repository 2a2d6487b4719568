"""An environment that notes when its first step was taken, for `performance.py`."""

from __future__ import annotations

import os
import time
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium.spaces import Box


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


gymnasium.register("First-v0", entry_point=First, max_episode_steps=100)
