"""One transition as a row of 32-bit floats: what collecting writes, memory keeps and learning reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """Where each part of a transition stands: observation, action, reward, terminated, next observation."""

    observation_size: int
    action_size: int

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return 2 * self.observation_size + self.action_size + 2

    @property
    def observation(self) -> slice:
        """s_t."""
        return slice(0, self.observation_size)

    @property
    def action(self) -> slice:
        """a_t, in [-1, 1]."""
        return slice(self.observation_size, self.reward)

    @property
    def reward(self) -> int:
        """r(s_t, a_t)."""
        return self.observation_size + self.action_size

    @property
    def terminated(self) -> int:
        """1 where the task itself ended, so that nothing follows; truncation does not count."""
        return self.reward + 1

    @property
    def next_observation(self) -> slice:
        """s_{t+1}, at an episode's end its final observation."""
        return slice(self.terminated + 1, self.width)
