"""An environment as a sequence needs it: rewards scaled, episodes cut, success by return, sizes filled up."""

from __future__ import annotations

import numpy as np

from recall_rl.errors import UsageError
from recall_rl.tasks.environment import Action, Environment, Observation, Picture, Step


class Shaped:
    """An environment with a reward scale, a horizon, a return that counts as success, and declared sizes."""

    def __init__(
        self,
        inner: Environment,
        name: str,
        horizon: int | None = None,
        reward_scale: float = 1.0,
        success_return: float | None = None,
        observation_size: int | None = None,
        action_size: int | None = None,
    ):
        self.inner, self.horizon, self.scale, self.success_return = inner, horizon, reward_scale, success_return
        self.observation_size = _declared("observation", observation_size, inner.observation_size, name)
        self.action_size = _declared("action", action_size, inner.action_size, name)
        self._t, self._total = 0, 0.0

    def _fill(self, observation: Observation) -> Observation:
        # One of an unexpected shape goes on as it is, for the player to complain about.
        if observation.shape != (self.inner.observation_size,) or len(observation) == self.observation_size:
            return observation
        filled = np.zeros(self.observation_size, np.float32)
        filled[: len(observation)] = observation
        return filled

    def reset(self, seed: int) -> Observation:
        """Begin the episode of this seed."""
        self._t, self._total = 0, 0.0
        return self._fill(self.inner.reset(seed))

    def step(self, action: Action) -> Step:
        """Take one action, of which the environment gets as many numbers as it has."""
        found = self.inner.step(action[: self.inner.action_size])
        self._t += 1
        self._total += found.reward
        truncated = found.truncated or (self.horizon is not None and self._t >= self.horizon)
        success = found.success
        if self.success_return is not None:
            success = (found.terminated or truncated) and self._total >= self.success_return
        return Step(
            self._fill(found.observation), found.reward * self.scale, found.terminated, bool(truncated), success
        )

    def render(self) -> Picture:
        """The environment's own picture."""
        return self.inner.render()

    def close(self) -> None:
        """Close the environment."""
        self.inner.close()


def _declared(what: str, declared: int | None, found: int, name: str) -> int:
    if declared is not None and declared < found:
        raise UsageError(f"{name!r} has {found} numbers of {what}; {what}_size = {declared} is too small.")
    return declared or found
