"""Tiny environments whose best return is known, with reward scales from 1 to 10^5.

They need no simulator, so tests and the quick start run anywhere in seconds.
"""

from __future__ import annotations

import re

import numpy as np

from recall_rl.tasks.environment import Action, Observation, Picture, Step
from recall_rl.tasks.task import Task

REACH = re.compile(r"reach-(0|90|180|270)(?:@([0-9.eE+-]+))?")
"""Names of reach tasks: the turn of the controls in degrees and, after `@`, the reward scale."""

PROBE_SEQUENCES = {
    "probe": "reach-0,reach-180",
    "probe-scales": "reach-0@1,reach-90@1e3,reach-180@1e5",
}
"""Sequences of probes that have a name on the command line."""


def probe_task(name: str) -> Task | None:
    """The probe of this name, or None if it is not a probe's name."""
    match = REACH.fullmatch(name)
    if match is None:
        return None
    turn, scale = match.groups()
    return Task(name, "recall_rl.tasks.probes:Reach", {"turn": int(turn), "scale": float(scale or 1)})


PICTURE = 240
"""Height and width of a rendered picture."""
_PAPER, _INK, _GOAL = (np.array(colour, np.float64) for colour in ((244, 243, 238), (38, 62, 120), (96, 178, 104)))


class Reach:
    """A point in a square moves to a goal; its controls are turned by a multiple of 90 degrees.

    Observation: position and goal (4 numbers in [-1, 1]). Reward: scale x (1 - mean distance per axis).
    Success: within 0.1 of the goal on both axes for three steps in a row.
    """

    HORIZON = 20
    SPEED = 0.2
    observation_size = 4
    action_size = 2

    def __init__(self, turn: int = 0, scale: float = 1.0):
        quarter = (turn // 90) % 4
        self._turn = np.linalg.matrix_power(np.array([[0, -1], [1, 0]]), quarter).astype(np.float64)
        self.scale = scale
        self._position = np.zeros(2)
        self._goal = np.zeros(2)
        self._t = self._near = 0

    def _observe(self) -> Observation:
        return np.concatenate([self._position, self._goal]).astype(np.float32)

    def reset(self, seed: int) -> Observation:
        """Draw a position and a goal."""
        rng = np.random.default_rng(seed)
        self._position, self._goal = rng.uniform(-1, 1, size=(2, 2))
        self._t = self._near = 0
        return self._observe()

    def step(self, action: Action) -> Step:
        """Move by at most SPEED on each axis."""
        move = self._turn @ np.clip(action, -1, 1)
        self._position = np.clip(self._position + self.SPEED * move, -1, 1)
        self._t += 1
        distance = np.abs(self._position - self._goal)
        self._near = self._near + 1 if distance.max() < 0.1 else 0
        reward = self.scale * (1 - distance.mean())
        return Step(self._observe(), float(reward), False, self._t >= self.HORIZON, self._near >= 3)

    def render(self) -> Picture:
        """The square with the point as a disc and, as a lighter square, where it counts as near the goal."""
        across = np.linspace(-1.15, 1.15, PICTURE)
        x, y = across[None, :], -across[:, None]
        goal = np.maximum(np.abs(x - self._goal[0]), np.abs(y - self._goal[1])) < 0.1
        # The disc's edge fades over about a pixel.
        disc = np.clip((0.06 - np.hypot(x - self._position[0], y - self._position[1])) * PICTURE / 2, 0, 1)[..., None]
        wall = np.maximum(np.abs(x), np.abs(y)) > 1.1
        ground = np.where(wall[..., None], _INK, np.where(goal[..., None], _GOAL, _PAPER))
        return (ground + disc * (_INK - ground)).astype(np.uint8)

    def best_return(self) -> float:
        """The return of the best policy from the present start of an episode."""
        distance = np.abs(self._position - self._goal)
        left = np.maximum(distance - self.SPEED * np.arange(1, self.HORIZON + 1)[:, None], 0)
        return float(self.scale * (1 - left.mean(axis=1)).sum())

    def close(self) -> None:
        """Nothing is held."""


class Constant:
    """Every step pays `reward`; episodes of `length` steps end by termination or by truncation.

    Its values are known: reward / (1 - gamma) if it is only truncated, reward if it terminates after one step.
    With a clock the second number of the observation tells how much of the episode is over.
    """

    observation_size = 2
    action_size = 1

    def __init__(self, reward: float = 1.0, length: int = 1, terminates: bool = True, clock: bool = False):
        self.reward, self.length, self.terminates, self.clock = reward, length, terminates, clock
        self._t = 0

    def _observe(self) -> Observation:
        return np.array([1.0, self._t / self.length if self.clock else 0.0], dtype=np.float32)

    def reset(self, seed: int) -> Observation:
        """Begin again."""
        self._t = 0
        return self._observe()

    def step(self, action: Action) -> Step:
        """Let one step pass."""
        self._t += 1
        over = self._t >= self.length
        return Step(self._observe(), self.reward, over and self.terminates, over and not self.terminates, False)

    def render(self) -> Picture:
        """A bar that is as long as the part of the episode that is over."""
        over = np.linspace(0, 1, PICTURE) < self._t / self.length
        bar = (np.abs(np.linspace(-1, 1, PICTURE)) < 0.1)[:, None] & over[None, :]
        return np.where(bar[..., None], _INK, _PAPER).astype(np.uint8)

    def close(self) -> None:
        """Nothing is held."""
