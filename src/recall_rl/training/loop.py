"""Algorithm 1 of the paper: the only place that knows the whole way data takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import jax
import numpy as np

from recall_rl.agent.config import AgentConfig
from recall_rl.agent.export import actors
from recall_rl.agent.state import AgentState, init_agent, reset_optimiser
from recall_rl.agent.update import Metrics, make_update
from recall_rl.collect.collector import Collector
from recall_rl.collect.play import Episode
from recall_rl.collect.policy import Actor
from recall_rl.collect.row import Row
from recall_rl.errors import UsageError
from recall_rl.memory.memory import Memory
from recall_rl.memory.sample import Batches, generator
from recall_rl.methods.method import Method
from recall_rl.tasks.protocol import Protocol
from recall_rl.tasks.task import Sequence, Stage
from recall_rl.training.config import TrainingConfig
from recall_rl.training.evaluate import Evaluation, Evaluator
from recall_rl.training.team import Team
from recall_rl.training.trials import play_trials


@dataclass(frozen=True)
class Setup:
    """What is learnt and how."""

    sequence: Sequence
    method: Method
    protocol: Protocol
    agent: AgentConfig
    training: TrainingConfig
    seed: int
    row: Row


@dataclass(frozen=True)
class Report:
    """What happened in training since the last report."""

    step: int
    """Steps of the run so far."""
    episodes: int
    """Training episodes that ended."""
    success: float | None
    """Share of them that succeeded; None if none ended."""
    total: float | None
    """Their mean return."""
    learning: dict[str, float]
    """Means of the losses and of what goes with them; empty before the first update."""


@dataclass(frozen=True)
class Progress:
    """Where the run is after a chunk, and what became known with it."""

    stage: int
    step: int
    """Environment steps of the run so far."""
    steps: int
    """Environment steps of the whole run."""
    agent: AgentState
    report: Report | None = None
    evaluation: Evaluation | None = None
    """Of an earlier step: an evaluation runs beside training and enters at a fixed later chunk."""


def learn(setup: Setup, team: Team, compiled: bool = True) -> Iterator[Progress]:
    """Learn the tasks one stage after another; yields after every chunk."""
    run = _Run(setup, team, compiled)
    for index, stage in enumerate(run.stages):
        run.begin(stage, first=index == 0)
        chunks = run.chunks(stage)
        for c in range(chunks):
            run.gather()
            run.improve(stage, c, more=c + 1 < chunks)
            report = evaluation = None
            if (c + 1) % run.cadence == 0 or c + 1 == chunks:
                evaluation = run.evaluate(index)
                report = run.report()
            yield Progress(index, run.done, run.steps, run.agent, report, evaluation)
        run.settle(stage)
    yield Progress(len(run.stages) - 1, run.done, run.steps, run.agent, evaluation=run.evaluator.finish())


@dataclass
class _Since:
    """What is gathered for the next report."""

    ended: list[Episode] = field(default_factory=list[Episode])
    metrics: list[Metrics] = field(default_factory=list[Metrics])


class _Run:
    """The agent, the memory and the workers of a run, and the few things the loop does with them."""

    def __init__(self, setup: Setup, team: Team, compiled: bool):
        self.setup, self.team = setup, team
        self.stages = setup.method.curriculum(setup.sequence).stages
        self.steps = setup.training.steps * len(setup.sequence)
        self.cadence = setup.training.evaluate_every // setup.training.chunk
        self.done = 0
        self.agent = init_agent(setup.agent, setup.row, len(setup.sequence), setup.seed, setup.method.targets.init())
        method = setup.method
        self.agent = replace(self.agent, anchor=method.anchor.init(self.agent), mask=method.mask.init(self.agent))
        self._update = make_update(setup.method, setup.agent, setup.row, compiled)
        self.memory = Memory(setup.row, len(setup.sequence))
        self.collector = Collector(team.collecting, setup.seed, setup.training.lanes)
        self.evaluator = Evaluator(team.evaluating, setup.sequence, setup.protocol, setup.seed)
        self._since = _Since()

    def chunks(self, stage: Stage) -> int:
        """Chunks in a stage; its new tasks have their steps each."""
        return self.setup.training.steps * len(stage.new) // self.setup.training.chunk

    def begin(self, stage: Stage, first: bool) -> None:
        """Start a stage: its heads, a fresh optimiser, what memory keeps, and its first chunk."""
        method, training = self.setup.method, self.setup.training
        if training.chunk % (len(stage.new) * training.lanes):
            raise UsageError(
                f"training.chunk ({training.chunk}) must be a multiple of the stage's {len(stage.new)} tasks "
                f"times training.lanes ({training.lanes})."
            )
        returns = self._trials(stage, method.start.candidates(self.agent, stage))
        self.agent = method.start.begin(self.agent, stage, returns)
        if self.setup.agent.reset_optimiser and not first:
            self.agent = reset_optimiser(self.agent, self.setup.agent)
        self.memory.keep(method.draw.keeps(stage, self.memory))
        for position in stage.new:
            self.memory.open(position, training.steps)
        self._send(stage, self._acting(stage, 0))

    def gather(self) -> None:
        """Wait for the chunk under way and remember it."""
        for chunk in self.collector.finish():
            self.memory.append(chunk.position, chunk.rows)
            self._since.ended += chunk.ended
        self.done += self.setup.training.chunk

    def improve(self, stage: Stage, c: int, more: bool) -> None:
        """Learn from chunk c; with lag 1 the next one is gathered meanwhile, by the weights before."""
        batches = self._batches(stage, c)
        # One chunk of updates under way at a time, or random starts would queue hundreds.
        jax.block_until_ready(self.agent.updates)
        lag = self.setup.training.lag
        acting = self._acting(stage, c + 1) if more and lag else None
        if batches is not None:
            self.agent, metrics = self._update(self.agent, batches)
            self._since.metrics.append(metrics)
        if more:
            self._send(stage, acting if lag else self._acting(stage, c + 1))

    def evaluate(self, index: int) -> Evaluation | None:
        """Start evaluating all tasks met so far; what the last evaluation found."""
        last = self.evaluator.finish() if self.evaluator.running() else None
        met = [p for stage in self.stages[: index + 1] for p in stage.new]
        self.evaluator.begin(self.done, list(zip(met, self._actors(met), strict=True)))
        return last

    def report(self) -> Report:
        """What happened in training since the last report."""
        ended, metrics = self._since.ended, self._since.metrics
        self._since = _Since()
        n = len(ended)
        names = metrics[0] if metrics else ()
        return Report(
            step=self.done,
            episodes=n,
            success=sum(e.success for e in ended) / n if n else None,
            total=sum(e.total for e in ended) / n if n else None,
            learning={name: float(np.mean([np.asarray(m[name]) for m in metrics])) for name in names},
        )

    def settle(self, stage: Stage) -> None:
        """End a stage: the anchor takes note of what was learnt."""
        setup, chunk = self.setup, self.chunks(stage)
        rng = generator(setup.seed, stage.new[0], chunk)
        self.agent = setup.method.anchor.consolidate(self.agent, self.memory, stage, setup.agent, rng)

    def _actors(self, heads: list[int] | tuple[int, ...]) -> list[Actor]:
        return actors(self.agent, self.setup.method, self.setup.agent, heads)

    def _acting(self, stage: Stage, c: int) -> list[Actor] | None:
        """The weights that act in chunk c as of now; None while the stage still starts at random."""
        training = self.setup.training
        random = c * training.chunk < training.start_steps * len(stage.new)
        return None if random else self._actors(stage.new)

    def _send(self, stage: Stage, acting: list[Actor] | None) -> None:
        share = self.setup.training.chunk // len(stage.new)
        tasks = self.setup.sequence.tasks
        self.collector.begin(
            [(p, tasks[p], share, None if acting is None else acting[k]) for k, p in enumerate(stage.new)]
        )

    def _batches(self, stage: Stage, c: int) -> Batches | None:
        setup, training = self.setup, self.setup.training
        if (c + 1) * training.chunk < training.update_after * len(stage.new):
            return None
        rng = generator(setup.seed, stage.new[0], c)
        return setup.method.draw.batches(self.memory, stage, setup.agent, training.updates, training.replay_size, rng)

    def _trials(self, stage: Stage, heads: tuple[int, ...]) -> dict[int, float]:
        if not heads:
            return {}
        position = stage.new[0]
        candidates = list(zip(heads, self._actors(heads), strict=True))
        task, episodes = self.setup.sequence.tasks[position], self.setup.protocol.episodes
        worker = self.team.collecting[0]
        return play_trials(worker, task, position, candidates, episodes, self.setup.seed, self.done)
