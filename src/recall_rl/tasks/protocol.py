"""Protocols: everything about how a task is posed and measured that changes a reported number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from recall_rl.errors import unknown


@dataclass(frozen=True)
class Protocol:
    """How tasks are posed and measured; stamped on every result."""

    name: str
    sentence: str
    """What it is, in one sentence."""
    reward: Literal["v1", "v2", "own"]
    """Meta-World's reward version, or the environment's own reward."""
    observation: Literal["cw12", "mw39", "own"]
    """The paper's 12 numbers, Meta-World 3's 39, or the environment's own."""
    horizon: int | None
    """Steps after which an episode is truncated; None leaves the environment's own limit."""
    episodes: int = 10
    """Episodes per task in one evaluation."""
    stochastic: bool = True
    """Whether evaluation samples actions, as Continual World's headline figure does."""
    stop_at_success: bool = False
    """Whether an evaluation episode ends at its first success: the same success rate, but returns up to there only."""
    recipe: Literal["full", "flat"] = "full"
    """Which tasks an evaluation plays: all that were met, or the new ones and two old ones in turn, and all at the end
    of the run, so that its cost does not grow with the number of tasks."""


PROTOCOLS: dict[str, Protocol] = {
    "cw": Protocol(
        name="cw",
        sentence="Continual World as in the paper: v1 rewards (stick-pull corrected), 12 numbers, horizon 200.",
        reward="v1",
        observation="cw12",
        horizon=200,
    ),
    "mw3": Protocol(
        name="mw3",
        sentence="Meta-World 3 today: v2 rewards between 0 and 10 a step, 39 numbers, horizon 200.",
        reward="v2",
        observation="mw39",
        horizon=200,
    ),
    "own": Protocol(
        name="own",
        sentence="The environment's own rewards, observations and time limit, for Gymnasium and probe tasks.",
        reward="own",
        observation="own",
        horizon=None,
    ),
}


def protocol(name: str) -> Protocol:
    """The protocol of this name."""
    if name not in PROTOCOLS:
        raise unknown("protocol", name, PROTOCOLS, "`recall list protocols` shows them all.")
    return PROTOCOLS[name]


def honest_name(given: Protocol) -> Protocol:
    """The same protocol, renamed `NAME+changed` if it is not what its name promises."""
    base = given.name.removesuffix("+changed")
    same = base in PROTOCOLS and replace(given, name=base) == PROTOCOLS[base]
    return replace(given, name=base if same or base not in PROTOCOLS else f"{base}+changed")
