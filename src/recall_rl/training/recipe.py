"""Which tasks an evaluation plays: all that were met, or the new ones and two of the old in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from recall_rl.tasks.protocol import Protocol
from recall_rl.tasks.task import Stage
from recall_rl.training.config import TrainingConfig

IN_TURN = 2
"""Old tasks that a flat evaluation plays beside the new ones."""


class Moment(NamedTuple):
    """What an evaluation at some step is about."""

    met: tuple[int, ...]
    """Positions met so far, in the order they were met."""
    new: tuple[int, ...]
    """Those that are being learnt."""
    played: tuple[int, ...]
    """Those that are evaluated."""


@dataclass(frozen=True)
class Recipe:
    """The evaluations of a run; which tasks one plays follows from its step alone, so nothing is to be remembered."""

    name: Literal["full", "flat"]
    stages: Sequence[Stage]
    steps: int
    """Steps per task."""
    every: int
    """Steps of a task between two evaluations."""

    def at(self, step: int) -> Moment:
        """The evaluation after this many steps of the run."""
        index = before = 0
        while step > before + self.steps * len(self.stages[index].new):
            before += self.steps * len(self.stages[index].new)
            index += 1
        new = self.stages[index].new
        met = tuple(p for stage in self.stages[: index + 1] for p in stage.new)
        last = index + 1 == len(self.stages) and step == before + self.steps * len(new)
        old = [p for p in met if p not in new]
        if self.name == "full" or last or len(old) <= IN_TURN:
            return Moment(met, new, met)
        inside = (step - before) // len(new)
        turn = IN_TURN * (index * -(-self.steps // self.every) + -(-inside // self.every))
        chosen = {old[(turn + k) % len(old)] for k in range(IN_TURN)}
        return Moment(met, new, tuple(p for p in met if p in new or p in chosen))

    def average(self, step: int, success: Mapping[int, float], tasks: int) -> float:
        """P(t): mean success over all tasks, those not met counting 0.

        Old tasks that were not played count as the mean of those that were.
        """
        met, new, played = self.at(step)
        if len(played) == len(met):
            return sum(success.values()) / tasks
        old = [success[p] for p in played if p not in new]
        return (sum(success[p] for p in new) + (len(met) - len(new)) * sum(old) / len(old)) / tasks


def recipe(protocol: Protocol, training: TrainingConfig, stages: Sequence[Stage]) -> Recipe:
    """The evaluations of a run with these stages."""
    return Recipe(protocol.recipe, stages, training.steps, training.evaluate_every)
