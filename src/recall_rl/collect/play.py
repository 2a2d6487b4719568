"""Playing episodes: lanes that gather training rows chunk by chunk, and whole episodes for evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_rl.collect.episode import Address, Dice, Purpose, uniform
from recall_rl.collect.policy import Actor, act
from recall_rl.collect.row import Row
from recall_rl.errors import RunError
from recall_rl.tasks.environment import Action, Environment, Observation, Step

Beat = Callable[[], None]
"""Called after every step, so that a watcher can tell a slow environment from a hanging one."""


class Episode(NamedTuple):
    """How one finished episode went."""

    position: int
    number: int
    total: float
    """Sum of rewards."""
    success: bool
    length: int


class OpenEpisode(NamedTuple):
    """How far a lane is: enough to bring a new environment to the same state."""

    number: int
    """Number of the episode being played."""
    actions: NDArray[np.float32]
    """Those taken in it so far, one a row."""
    observation: NDArray[np.float32]
    """What was seen last; of no meaning before the first action."""


class BrokenEnvironmentError(RunError):
    """An environment broke its contract; the sentence names the task, episode and step."""


class Player:
    """One environment and the episode being played on it."""

    def __init__(self, task: str, environment: Environment):
        self.task = task
        self.environment = environment
        self.row = Row(environment.observation_size, environment.action_size)
        self.address = Address(0, Purpose.TRAIN, 0, 0, 0)
        self.t = 0
        self.total = 0.0
        self.success = False

    def _fault(self, what: str) -> RunError:
        where = f"at step {self.t} of {self.address.describe()}"
        if not np.isfinite(self.action).all():
            return RunError(f"Learning diverged: the policy's action for task {self.task!r} is not finite {where}.")
        return BrokenEnvironmentError(f"Task {self.task!r} {what} {where}.")

    def _check(self, observation: Observation, reward: float) -> None:
        if observation.shape != (self.row.observation_size,):
            raise self._fault(
                f"gave an observation of shape {observation.shape} instead of ({self.row.observation_size},)"
            )
        # One sum sees every NaN and infinity.
        if not math.isfinite(float(observation.sum()) + reward):
            what = "observation" if not np.isfinite(observation).all() else "reward"
            raise self._fault(f"gave a non-finite {what}")

    def begin(self, address: Address) -> None:
        """Reset to the episode of this address."""
        self.address, self.t, self.total, self.success = address, 0, 0.0, False
        self.dice = Dice(address, self.row.action_size)
        self.action = np.zeros(self.row.action_size, np.float32)
        try:
            self.observation = self.environment.reset(self.dice.environment_seed)
        except Exception as error:
            raise self._fault(f"raised {error!r} in reset") from error
        self._check(self.observation, 0.0)

    def step(self, actor: Actor | None, stochastic: bool = True) -> tuple[Observation, Observation, Step]:
        """One step by the actor, or by uniform actions without one: (observation, action, outcome)."""
        before, noise = self.observation, self.dice.noise()
        action = uniform(noise) if actor is None else act(actor, before, noise if stochastic else None)
        return before, action, self._do(action)

    def repeat(self, action: Action) -> Step:
        """One step by an action taken before; the randomness moves on as it did then."""
        self.dice.noise()
        return self._do(action)

    def _do(self, action: Action) -> Step:
        self.action = action
        try:
            outcome = self.environment.step(action)
        except Exception as error:
            raise self._fault(f"raised {error!r}") from error
        self._check(outcome.observation, outcome.reward)
        self.t += 1
        self.total += outcome.reward
        self.success = self.success or outcome.success
        self.observation = outcome.observation
        return outcome

    def result(self) -> Episode:
        """The finished episode in numbers."""
        return Episode(self.address.position, self.address.number, self.total, self.success, self.t)


class Lane:
    """An endless row of training episodes: lane l of L plays every L-th, from number l on."""

    def __init__(self, player: Player, run_seed: int, position: int, lane: int, lanes: int):
        self.player = player
        self.lanes = lanes
        player.begin(Address(run_seed, Purpose.TRAIN, 0, position, lane))

    def go_on(self, open_episode: OpenEpisode, beat: Beat) -> bool:
        """Repeat an open episode; if the environment does not come to the same state, begin the one after it."""
        player = self.player
        player.begin(player.address._replace(number=open_episode.number))
        for action in open_episode.actions:
            outcome = player.repeat(action)
            beat()
            if outcome.terminated or outcome.truncated:
                break
        t, seen = len(open_episode.actions), player.observation
        if player.t == t and (t == 0 or seen.tobytes() == open_episode.observation.tobytes()):
            return True
        player.begin(player.address._replace(number=open_episode.number + self.lanes))
        return False

    def collect(self, steps: int, actor: Actor | None, beat: Beat) -> tuple[NDArray[np.float32], list[Episode]]:
        """The next `steps` transitions as rows, and the episodes that ended among them."""
        player, row = self.player, self.player.row
        rows = np.empty((steps, row.width), np.float32)
        ended: list[Episode] = []
        for k in range(steps):
            observation, action, outcome = player.step(actor)
            out = rows[k]
            out[row.observation] = observation
            out[row.action] = action
            out[row.reward] = outcome.reward
            out[row.terminated] = outcome.terminated
            out[row.next_observation] = outcome.observation
            if outcome.terminated or outcome.truncated:
                ended.append(player.result())
                player.begin(player.address._replace(number=player.address.number + self.lanes))
            beat()
        return rows, ended


def play(
    player: Player, address: Address, actor: Actor | None, stochastic: bool, stop_at_success: bool, beat: Beat
) -> Episode:
    """One whole episode that nobody learns from."""
    player.begin(address)
    while True:
        _, _, outcome = player.step(actor, stochastic)
        beat()
        if outcome.terminated or outcome.truncated or (stop_at_success and player.success):
            return player.result()
