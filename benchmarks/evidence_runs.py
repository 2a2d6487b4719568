"""The published runs of the evidence, found by their plans, and the numbers that are taken from each.

A campaign is its plan (results/plans/NAME.toml); its runs are found by their configs, in whichever folder below results
they were published. "The end" is the mean of the last three evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from recall_rl.analysis import metrics
from recall_rl.analysis.read import Result, read
from recall_rl.analysis.summary import measure, references
from recall_rl.campaigns.jobs import jobs
from recall_rl.campaigns.plan import Plan, find_plan

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results"
FOLDERS = (
    "tuning",
    "references",
    "primary",
    "ablation",
    "pairs",
    "cw10",
    "cw3",
    "readings",
    "memory",
    "rewards",
    "steady",
)
"""Where the runs of the evidence are published."""
WINDOW = 3
Values = Mapping[tuple[str, int], float]
"""A number for each sequence and seed."""
Measure = Callable[[Result], float | None]
"""What is read off a run, where it has it."""


@dataclass(frozen=True)
class Campaign:
    """A plan and those of its runs that are published."""

    plan: Plan
    asked: int
    runs: list[Result]

    @property
    def complete(self) -> bool:
        """Whether all its runs are published."""
        return len(self.runs) == self.asked

    def methods(self) -> list[str]:
        """Those with a run, in the plan's order."""
        return list(dict.fromkeys(base(run) for run in self.runs))

    def values(self, method: str, of: Measure) -> dict[tuple[str, int], float]:
        """A number of each run of a method, where there is one."""
        mine = (run for run in self.runs if base(run) == method)
        return {(run.sequence, run.seed): value for run in mine if (value := of(run)) is not None}

    def whole(self) -> Campaign:
        """The methods that have all their runs."""
        count = {method: sum(base(run) == method for run in self.runs) for method in self.methods()}
        each = self.asked // len(self.plan.methods)
        return replace(self, runs=[run for run in self.runs if count[base(run)] == each])

    def split(self) -> list[Campaign]:
        """The runs of each sequence by themselves, in a plan whose methods all have the same sequences."""
        sequences = dict.fromkeys(run.sequence for run in self.runs)
        asked = self.asked // len(self.plan.sequences)
        return [
            replace(self, asked=asked, runs=[run for run in self.runs if run.sequence == sequence])
            for sequence in sequences
        ]


def base(run: Result) -> str:
    """The method without what was changed about it: a campaign after the search has each once."""
    return run.method.split(" ")[0].split("(")[0]


@cache
def published() -> dict[str, Result]:
    """Every finished run of the evidence, by the hash of its config."""
    found: dict[str, Result] = {}
    for folder in FOLDERS:
        if (RESULTS / folder).exists():
            found |= {run.identity: run for run in read([RESULTS / folder]).results if run.finished}
    return found


def campaign(name: str) -> Campaign:
    """The campaign of a plan's name."""
    file = RESULTS / "plans" / f"{name}.toml"
    plan = find_plan(str(file) if file.exists() else name)
    wanted = [job.config.identity() for job in jobs(plan) if job.wanted]
    return Campaign(plan, len(wanted), [published()[i] for i in wanted if i in published()])


@cache
def alone():
    """Areas of every task from scratch, for forward transfer."""
    return references(campaign("references").runs)


def named(metric: str) -> Measure:
    return lambda run: measure(run, alone(), WINDOW).get(metric)


AVERAGE = named("average_performance")


def end(position: int) -> Callable[[Result], float]:
    """Success on one task at the end of the run."""
    return lambda run: float(metrics.at_end(run.success, WINDOW)[position])


def own_end(task: int) -> Callable[[Result], float]:
    """How well a task was learnt."""
    return lambda run: float(metrics.at_own_end(run.success, WINDOW)[task])


def later_ends(run: Result) -> float:
    """How well all tasks after the first were learnt."""
    return float(metrics.at_own_end(run.success, WINDOW)[1:].mean())


def lost_on_the_way(run: Result) -> float:
    """What old tasks lack while later ones are learnt: success at their own end less its mean over all that follow."""
    own, spans = metrics.at_own_end(run.success, WINDOW), metrics.spans(run.success)[:-1]
    return float(np.mean([own[i] - run.success[span.stop :, i].mean() for i, span in enumerate(spans)]))


def known_alone() -> dict[str, float]:
    """Success of every task alone, at the end."""
    ends: dict[str, list[float]] = {}
    for run in campaign("references").runs:
        ends.setdefault(run.tasks[0], []).append(metrics.final_performance(run.success, WINDOW))
    return {task: float(np.mean(values)) for task, values in ends.items()}


def the_same(one: Result, other: Result) -> bool:
    """Whether two runs did the same to the last bit, as far as their evaluations tell."""
    return np.array_equal(one.total, other.total, equal_nan=True)
