"""What can be set about training, and the budgets that set it together with the networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.errors import unknown


@dataclass(frozen=True)
class TrainingConfig:
    """How long and in what rhythm each task is trained; the defaults are the paper's."""

    steps: int = 1_000_000
    """Environment steps per task."""
    start_steps: int = 10_000
    """First steps of each task, which act uniformly at random."""
    explore_again: bool = True
    """Whether tasks after the first start with random steps too, or act with their policy at once."""
    update_after: int = 1_000
    """Steps of a task to gather before its first update."""
    chunk: int = 50
    """Steps gathered between two changes of the acting weights; as many updates follow."""
    updates_per_step: float = 1.0
    """Gradient steps per environment step."""
    anneal: float = 1.0
    """Share of the learning rate that is left at the end of each task, to which it falls linearly; 1: constant."""
    evaluate_every: int = 20_000
    """Steps between evaluations of all tasks met so far."""
    lanes: int = 1
    """Training episodes played side by side; part of the result, unlike the number of workers."""
    lag: int = 1
    """1: a chunk is gathered while the last one is learnt from; 0: first gather, then learn, as the paper."""
    replay_size: int = 1_000_000
    """Most recent rows of the current task that batches are drawn from."""
    returning: Literal["new head", "old head"] = "new head"
    """How a task begins that was met before: as any new one, or from a copy of the head it had when last met."""
    memory_bytes: int | None = None
    """Most bytes of remembered rows. Before a task begins, those of earlier tasks are thinned, each task to an equal
    share, by a random rank of each row; None: all rows are kept."""
    revisit: bool = False
    """Whether old environments are visited again while a new task is learnt, as in the paper's study of online replay:
    each old task gathers as many steps as the new one, and its old rows are dropped. Not a continual setting."""

    @property
    def updates(self) -> int:
        """Updates in one chunk."""
        return round(self.chunk * self.updates_per_step)


@dataclass(frozen=True)
class Budget:
    """A size of run: steps, networks and evaluation cadence under one name."""

    sentence: str
    agent: AgentConfig
    training: TrainingConfig


_SMALL = NetworkConfig(width=64, trunk=2)
_MIDDLE = NetworkConfig(width=128, trunk=2)

# `laptop` is frozen: results are published with it, so a change of it gets a new name.
BUDGETS: dict[str, Budget] = {
    "smoke": Budget(
        "Seconds a task: enough for a probe task, and to see that everything runs.",
        AgentConfig(actor=_SMALL, critic=_SMALL, batch=64, initial_log_alpha=-1.0),
        TrainingConfig(steps=6_000, start_steps=500, update_after=500, evaluate_every=1_000),
    ),
    "laptop": Budget(
        "A few minutes a task on one core: 100,000 steps, networks of 2 x 128.",
        AgentConfig(actor=_MIDDLE, critic=_MIDDLE),
        TrainingConfig(steps=100_000, start_steps=5_000, anneal=0.1, evaluate_every=5_000),
    ),
    "paper": Budget(
        "The paper's: 1,000,000 steps a task, networks of 4 x 256, evaluation every 20,000 steps.",
        AgentConfig(),
        TrainingConfig(),
    ),
}


def budget(name: str) -> Budget:
    """The budget of this name."""
    if name not in BUDGETS:
        raise unknown("budget", name, BUDGETS, "`recall list budgets` shows them all.")
    return BUDGETS[name]
