"""A probe whose every step takes as long as that of a slow simulator."""

from __future__ import annotations

import time

from recall_rl.tasks.environment import Action, Step
from recall_rl.tasks.probes import Reach


class Slow(Reach):
    """The reach probe, waiting before each step."""

    def __init__(self, seconds: float = 0.02):
        super().__init__()
        self.seconds = seconds

    def step(self, action: Action) -> Step:
        """Wait, then move."""
        time.sleep(self.seconds)
        return super().step(action)
