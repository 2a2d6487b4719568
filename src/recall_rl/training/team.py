"""The processes that work for one learner, and how many there are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from recall_rl.collect.worker import InlineWorker, ProcessWorker, Worker


@dataclass(frozen=True)
class MachineConfig:
    """How the work is spread; nothing here changes a result."""

    workers: int = 1
    """Processes that gather training experience; more than `training.lanes` would idle."""
    evaluation_workers: int = 1
    """Processes that play evaluation episodes beside training."""
    threads: int = 1
    """Threads of the learner; for networks of this size one is fastest."""
    memory: Literal["ram", "disk"] = "ram"
    """Where batches are drawn from: rows held in RAM, or files that are mapped, of which RAM holds what fits."""
    checkpoint_seconds: float = 300.0
    """Time between checkpoints; one is written at the end of every task too."""
    writer: str | None = None
    """Where the journal goes too: tensorboard, or package.module:function that makes a `Writer`; none: nowhere."""
    fast_environments: bool = True
    """Whether Meta-World's tasks are stepped by our faster code, which gives the same bits, or by Meta-World's own."""
    patience: float = 60.0
    """Seconds without a finished environment step after which a worker counts as hanging."""


class Team:
    """The collecting and evaluating workers of a run; leaving the context ends them."""

    def __init__(self, config: MachineConfig, inline: bool = False, log: Path | None = None):
        def worker() -> Worker:
            return InlineWorker() if inline else ProcessWorker(config.patience, log)

        self.collecting = [worker() for _ in range(config.workers)]
        self.evaluating = [worker() for _ in range(config.evaluation_workers)]

    def __enter__(self) -> Team:
        """Use the team."""
        return self

    def __exit__(self, *reason: object) -> None:
        """End every worker."""
        for worker in (*self.collecting, *self.evaluating):
            worker.close()
