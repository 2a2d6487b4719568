"""The one interface through which experience is gathered, whatever simulator stands behind it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Observation = NDArray[np.float32]
Action = NDArray[np.float32]
Picture = NDArray[np.uint8]


class Step(NamedTuple):
    """What one action led to."""

    observation: Observation
    """The observation after the action; at an episode's end, its final one."""
    reward: float
    terminated: bool
    """The task itself ended: nothing is to be expected after this step, so no bootstrapping."""
    truncated: bool
    """The episode was cut short by time: the value of the final observation still counts."""
    success: bool
    """The goal is reached at this step; an episode succeeds if any of its steps does."""


class Environment(Protocol):
    """A task's world with actions in [-1, 1] and episodes that are a function of a seed."""

    observation_size: int
    action_size: int

    def reset(self, seed: int) -> Observation:
        """Begin the episode of this seed, whatever was played before."""
        ...

    def step(self, action: Action) -> Step:
        """Take one action."""
        ...

    def render(self) -> Picture:
        """The present state as a picture (height, width, 3); neither the world nor its randomness is changed."""
        ...

    def close(self) -> None:
        """Give back what the environment holds."""
        ...
