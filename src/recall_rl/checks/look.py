"""A look at an environment from within a worker: it is played as training plays it, and what it does is noted."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from recall_rl.collect.episode import Address, Purpose
from recall_rl.collect.play import Beat, BrokenEnvironmentError, Player
from recall_rl.tasks.environment import Environment
from recall_rl.tasks.gymnasium import Gymnasium
from recall_rl.tasks.shaped import Shaped

if TYPE_CHECKING:
    from recall_rl.collect.worker import Look

_EXTREME = 50
"""Steps with all actions at one end."""


@dataclass
class Raw:
    """What a Gymnasium environment itself gave, before it became numbers of a row."""

    declared: str = ""
    """Type of the numbers that the observation space promises."""
    types: set[str] = field(default_factory=set[str])
    """Types of the numbers that came."""
    outside: int = 0
    """Observations that are not in their space."""
    flags: int = 0
    """Steps that said something of success."""
    odd_flag: str | None = None
    """A success flag that is neither true nor false."""
    seconds: float = 0.0
    """Time in `step`."""
    steps: int = 0
    """How many they were."""


@dataclass
class Seen:
    """What was seen of an environment."""

    observation_size: int
    action_size: int
    limit: int | None
    """Steps after which an episode is cut short, if that is known."""
    raw: Raw | None
    """None for environments that are not Gymnasium's."""
    prints: list[list[str]] = field(default_factory=list[list[str]])
    """Of each time the first episode was played: a digest of every step."""
    starts: set[bytes] = field(default_factory=set[bytes])
    """First observations of different seeds."""
    lengths: list[int] = field(default_factory=list[int])
    """Steps of episodes that ended."""
    terminated: int = 0
    """How many of them ended because the task did."""
    successes: list[bool] = field(default_factory=list[bool])
    """Whether each of them succeeded."""
    longest: int = 0
    """Steps of the longest episode, ended or not."""
    rewards: list[float] = field(default_factory=list[float])
    largest: float = 0.0
    """The largest number in an observation."""
    steps: int = 0
    seconds: float = 0.0
    """Time in all these steps."""
    broken: str | None = None
    """Why the environment could not be played on."""


class _Recorder:
    """A Gymnasium environment whose own answers are noted."""

    def __init__(self, env: Any, raw: Raw):
        self.env, self.raw, self.render_mode = env, raw, env.render_mode
        raw.declared = str(env.observation_space.dtype)

    def _note(self, observation: Any) -> None:
        found = np.asarray(observation)
        self.raw.types.add(str(found.dtype))
        space = self.env.observation_space
        if found.shape == space.shape and found.dtype.kind in "fiub":
            self.raw.outside += not bool(((found >= space.low) & (found <= space.high)).all())

    def reset(self, seed: int) -> Any:
        observation, info = self.env.reset(seed=seed)
        self._note(observation)
        return observation, info

    def step(self, action: Any) -> Any:
        begun = time.perf_counter()
        found = self.env.step(action)
        self.raw.seconds += time.perf_counter() - begun
        self.raw.steps += 1
        self._note(found[0])
        if "success" in found[4]:
            self.raw.flags += 1
            if not _truth(found[4]["success"]):
                self.raw.odd_flag = self.raw.odd_flag or repr(found[4]["success"])[:60]
        return found

    def close(self) -> None:
        self.env.close()


def _truth(flag: Any) -> bool:
    """Whether a flag is true or false, or a number that says so."""
    if isinstance(flag, np.ndarray) and flag.size != 1:
        return False
    return isinstance(flag, bool | int | float | np.generic | np.ndarray) and float(flag) in (0.0, 1.0)


def look(player: Player, ask: Look, beat: Beat) -> Seen:
    """Play an environment for so many steps, or so long; without steps, its first episode only."""
    seen = _open(player.environment, player)
    try:
        if not ask.steps:
            seen.prints = [_first(player, ask.compared, math.inf, beat)]
            return seen
        first = _first(player, ask.compared, ask.seconds / 4, beat)
        seen.prints = [first, _first(player, len(first) - 1, math.inf, beat)]
        for end in (1.0, -1.0):
            _extreme(player, end, ask.seconds / 8, beat)
        _play_on(player, seen, ask.steps, ask.seconds, beat)
    except BrokenEnvironmentError as error:
        seen.broken = str(error)
    return seen


def _open(environment: Environment, player: Player) -> Seen:
    inner = environment.inner if isinstance(environment, Shaped) else environment
    limits = [getattr(environment, "horizon", None), getattr(inner, "horizon", None)]
    raw = None
    if isinstance(inner, Gymnasium):
        raw = Raw()
        limits.append(_time_limit(inner.env))
        inner.env = _Recorder(inner.env, raw)
    known = [limit for limit in limits if isinstance(limit, int)]
    return Seen(player.row.observation_size, player.row.action_size, min(known, default=None), raw)


def _time_limit(env: Any) -> int | None:
    """The smallest limit of an environment and its wrappers."""
    found: list[int] = []
    while env is not None:
        limit = getattr(env, "_max_episode_steps", None)
        found += [limit] if isinstance(limit, int) else []
        env = getattr(env, "env", None)
    return min(found, default=None)


def _begin(player: Player, number: int) -> None:
    player.begin(Address(0, Purpose.TRIAL, 0, 0, number))


def _first(player: Player, steps: int, seconds: float, beat: Beat) -> list[str]:
    """The first episode, with the same seed and actions each time, as digests of what was seen."""
    begun = time.perf_counter()
    _begin(player, 0)
    found = [_digest(player.observation.tobytes())]
    while len(found) <= steps and time.perf_counter() - begun < seconds:
        _, _, outcome = player.step(None)
        parts = outcome.observation.tobytes(), np.float64(outcome.reward).tobytes()
        found.append(_digest(*parts, bytes([outcome.terminated, outcome.truncated])))
        beat()
        if outcome.terminated or outcome.truncated:
            break
    return found


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def _extreme(player: Player, end: float, seconds: float, beat: Beat) -> None:
    """A policy that has learnt something acts at the ends of its range, where chance hardly comes."""
    begun = time.perf_counter()
    _begin(player, 1)
    while player.t < _EXTREME and time.perf_counter() - begun < seconds:
        outcome = player.repeat(np.full(player.row.action_size, end, np.float32))
        beat()
        if outcome.terminated or outcome.truncated:
            break


def _play_on(player: Player, seen: Seen, steps: int, seconds: float, beat: Beat) -> None:
    begun, number = time.perf_counter(), 1
    _begin(player, number)
    seen.starts.add(player.observation.tobytes())
    while seen.steps < steps and time.perf_counter() - begun < seconds:
        _, _, outcome = player.step(None)
        seen.steps += 1
        seen.rewards.append(outcome.reward)
        seen.largest = max(seen.largest, float(np.abs(outcome.observation).max(initial=0.0)))
        seen.longest = max(seen.longest, player.t)
        beat()
        if outcome.terminated or outcome.truncated:
            seen.lengths.append(player.t)
            seen.terminated += outcome.terminated
            seen.successes.append(player.success)
            number += 1
            _begin(player, number)
            seen.starts.add(player.observation.tobytes())
    seen.seconds = time.perf_counter() - begun


def first_difference(one: Sequence[str], two: Sequence[str]) -> int | None:
    """The first step at which two plays of an episode differ; None if they are the same."""
    for step, (a, b) in enumerate(zip(one, two, strict=False)):
        if a != b:
            return step
    return None if len(one) == len(two) else min(len(one), len(two))


def size(rewards: Sequence[float]) -> float:
    """The mean size of rewards."""
    return math.fsum(abs(r) for r in rewards) / len(rewards) if rewards else 0.0


Ending = Literal["ends", "limited", "endless"]


def ending(seen: Seen) -> Ending:
    """Whether episodes were seen to end, are known to, or neither."""
    if seen.lengths:
        return "ends"
    return "limited" if seen.limit is not None else "endless"
