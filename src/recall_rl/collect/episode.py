"""An episode's address, and the randomness that follows from it alone."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from recall_rl.tasks.environment import Action


class Purpose(IntEnum):
    """What an episode is played for; episodes of different purposes never share randomness."""

    TRAIN = 0
    EVALUATE = 1
    TRIAL = 2
    GATE = 3


class Address(NamedTuple):
    """Which episode of a run this is; with the weights in force it determines every number of it."""

    run_seed: int
    purpose: Purpose
    moment: int
    """For an evaluation or trial, the run's step at which it is held; 0 in training."""
    position: int
    """Place of the task in the sequence, so a task met twice draws new episodes."""
    number: int

    def describe(self) -> str:
        """The address in words, for error messages."""
        return f"{self.purpose.name.lower()} episode {self.number} (position {self.position}, seed {self.run_seed})"


_ENVIRONMENT, _NOISE = 0, 1
_BLOCK = 256


class Dice:
    """The random numbers of one episode: the environment's seed and the noise of each step."""

    def __init__(self, address: Address, action_size: int):
        entropy = [int(part) for part in address]
        state = np.random.SeedSequence([*entropy, _ENVIRONMENT]).generate_state(1)[0]
        # 31 bits: some simulators take no larger seed.
        self.environment_seed = int(state) >> 1
        self._rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([*entropy, _NOISE])))
        self._size = action_size
        self._block = np.empty((0, action_size), np.float32)
        self._next = 0

    def noise(self) -> Action:
        """Standard normal numbers for the next step."""
        if self._next == len(self._block):
            self._block = self._rng.standard_normal((_BLOCK, self._size), dtype=np.float32)
            self._next = 0
        self._next += 1
        return self._block[self._next - 1]


def uniform(noise: Action) -> Action:
    """A uniform action in [-1, 1] from the same normal numbers, so a step uses one draw whatever acts."""
    return np.array([math.erf(z / math.sqrt(2.0)) for z in noise.tolist()], dtype=np.float32)
