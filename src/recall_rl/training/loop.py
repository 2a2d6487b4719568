"""Algorithm 1 of the paper: the only place that knows the whole way data takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np

from recall_rl.agent.config import AgentConfig
from recall_rl.agent.export import actors
from recall_rl.agent.networks import Layers
from recall_rl.agent.state import AgentState, Params, copy_whole_head, reset_optimiser
from recall_rl.agent.update import Metrics, make_update
from recall_rl.collect.collector import Collector, Place
from recall_rl.collect.play import Episode, OpenEpisode
from recall_rl.collect.policy import Actor
from recall_rl.collect.row import Row
from recall_rl.errors import UsageError
from recall_rl.memory.memory import Memory
from recall_rl.memory.record import record, restore
from recall_rl.memory.sample import Batches, generator
from recall_rl.memory.segment import row_bytes
from recall_rl.memory.store import Store
from recall_rl.memory.table import Table
from recall_rl.methods.method import Ended, Method, new_agent
from recall_rl.tasks.protocol import Protocol
from recall_rl.tasks.task import Sequence, Stage
from recall_rl.training.config import TrainingConfig
from recall_rl.training.evaluate import Evaluation, Evaluator
from recall_rl.training.mark import Mark
from recall_rl.training.recipe import recipe
from recall_rl.training.snapshot import Snapshot
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
    new: tuple[int, ...]
    """Positions that are learnt in this stage."""
    stage_ended: bool
    """Whether this was the last chunk of the stage."""
    finished: bool
    """Whether nothing is left to do."""
    step: int
    """Environment steps of the run so far."""
    steps: int
    """Environment steps of the whole run."""
    agent: AgentState
    snapshot: Callable[[], Snapshot] = field(compare=False)
    """Everything to go on from here, asked for before the next chunk."""
    tables: Callable[[], Iterable[Table]] = field(compare=False)
    """The tables of memory, to be brought to the disk."""
    policy: Callable[[], list[tuple[int, Actor]]] = field(compare=False)
    """What acts at each position met so far, asked for before the next chunk."""
    report: Report | None = None
    evaluation: Evaluation | None = None
    """Of an earlier step: an evaluation runs beside training and enters at a fixed later chunk."""
    given_up: int = 0
    """Open episodes given up so far, because an environment did not come to the same state again."""


_FORGETTING = 2**31
"""In place of a chunk's number: the randomness with which memory forgets before a stage."""


def _stages(setup: Setup) -> tuple[Stage, ...]:
    """The stages of the run: the method's, with old tasks visited again if the config says so."""
    stages = setup.method.curriculum(setup.sequence).stages
    if not setup.training.revisit:
        return stages
    met = [tuple(p for stage in stages[:i] for p in stage.new) for i in range(len(stages))]
    return tuple(replace(stage, revisited=old) for stage, old in zip(stages, met, strict=True))


def learn(
    setup: Setup, team: Team, store: Store | None = None, going_on: Snapshot | None = None, compiled: bool = True
) -> Iterator[Progress]:
    """Learn the tasks one stage after another, from the beginning or from a snapshot; yields after every chunk."""
    run = _Run(setup, team, store or Store(), compiled)
    mark = run.restore(going_on) if going_on else Mark()
    for index in range(mark.stage, len(run.stages)):
        stage, chunks = run.stages[index], run.chunks()
        if mark.chunk == 0:
            run.begin(stage, first=index == 0)
        for c in range(mark.chunk, chunks):
            run.gather(stage)
            run.improve(stage, c, more=c + 1 < chunks)
            if c + 1 < chunks:
                mark = Mark(index, c + 1)
                yield run.progress(mark, evaluate=(c + 1) % run.cadence == 0)
        for settled in run.settle(stage, mark if mark.chunk == chunks else Mark(index, chunks)):
            yield run.progress(settled)
        mark = Mark(index + 1)
        yield run.progress(mark, evaluate=True)
    yield run.end(mark)


@dataclass
class _Since:
    """What is gathered for the next report."""

    ended: list[Episode] = field(default_factory=list[Episode])
    metrics: list[Metrics] = field(default_factory=list[Metrics])


class _Run:
    """The agent, the memory and the workers of a run, and the few things the loop does with them."""

    def __init__(self, setup: Setup, team: Team, store: Store, compiled: bool):
        self.setup, self.team = setup, team
        self.stages = _stages(setup)
        self.steps = setup.training.steps * len(setup.sequence)
        self.cadence = setup.training.evaluate_every // setup.training.chunk
        self.done = 0
        method = setup.method
        self.agent = new_agent(method, setup.agent, setup.row, len(setup.sequence), setup.seed)
        self._update = make_update(setup.method, setup.agent, setup.row, compiled)
        self._anchored = False
        self.memory = Memory(setup.row, len(setup.sequence), store)
        self.collector = Collector(team.collecting, setup.seed, setup.training.lanes, setup.row)
        self.recipe = recipe(setup.protocol, setup.training, self.stages)
        self.evaluator = Evaluator(team.evaluating, setup.sequence, setup.protocol, setup.seed, self.recipe)
        self._since = _Since()
        self._sent: dict[int, Actor | None] = {}

    def restore(self, found: Snapshot) -> Mark:
        """Take up a run where a snapshot left it: the chunk and the evaluation that were under way begin again."""
        mark = found.mark
        self.agent, self.done, self._anchored = found.agent, found.step, mark.stage > 0 or mark.chunk == self.chunks()
        self.memory = restore(found.memory, self.setup.row, len(self.setup.sequence), self.memory.store)
        count = max((len(values) for values in found.metrics.values()), default=0)
        metrics = [{name: values[k] for name, values in found.metrics.items()} for k in range(count)]
        self._since = _Since(list(found.ended), metrics)
        if found.evaluating is not None:
            self.evaluator.begin(*found.evaluating)
        if found.acting:
            self._send(dict(found.acting), found.lanes)
        return mark

    def snapshot(self, mark: Mark) -> Snapshot:
        """Everything to go on from this mark."""
        metrics = self._since.metrics
        return Snapshot(
            mark=mark,
            step=self.done,
            agent=jax.tree.map(jnp.copy, self.agent),
            memory=record(self.memory),
            acting=self._sent if 0 < mark.chunk < self.chunks() else {},
            lanes=self.collector.lanes() if 0 < mark.chunk < self.chunks() else {},
            evaluating=self.evaluator.under_way,
            ended=list(self._since.ended),
            metrics={
                name: np.array([np.asarray(m[name]) for m in metrics]) for name in (metrics[0] if metrics else ())
            },
        )

    def progress(self, mark: Mark, evaluate: bool = False, finished: bool = False) -> Progress:
        """Where the run is at this mark; evaluating starts a new evaluation and tells what the last one found."""
        ended = mark.chunk == 0
        index = mark.stage - ended
        found = self.evaluate() if evaluate else None
        return Progress(
            index,
            self.stages[index].new,
            ended,
            finished,
            self.done,
            self.steps,
            self.agent,
            lambda: self.snapshot(mark),
            lambda: self.memory.tables(),
            lambda: self.policy(index),
            self.report() if evaluate else None,
            found,
            self.collector.given_up,
        )

    def end(self, mark: Mark) -> Progress:
        """The end of the run: what the last evaluation found, and nothing more to remember."""
        found = self.evaluator.finish() if self.evaluator.under_way else None
        self.memory.seal()
        return replace(self.progress(mark, finished=True), evaluation=found)

    def chunks(self) -> int:
        """Chunks in a stage; in each of them every task of the stage gathers its share."""
        return self.setup.training.steps // self.setup.training.chunk

    def begin(self, stage: Stage, first: bool) -> None:
        """Start a stage: its heads, a fresh optimiser, what memory keeps, and its first chunk."""
        method, training = self.setup.method, self.setup.training
        returns = self._trials(stage, method.start.candidates(self.agent, stage))
        self.agent = method.start.begin(self.agent, stage, returns)
        if training.returning == "old head":
            self._take_up_old_heads(stage)
        if self.setup.agent.reset_optimiser and not first:
            self.agent = reset_optimiser(self.agent, self.setup.agent)
        method.draw.forget(self.memory, stage, generator(self.setup.seed, stage.new[0], _FORGETTING))
        self._make_room(stage)
        self.memory.seal()
        for position in (*stage.new, *stage.revisited):
            self.memory.open(position, training.steps)
        self._send(self._acting(stage, 0))

    def _take_up_old_heads(self, stage: Stage) -> None:
        names = [task.name for task in self.setup.sequence.tasks]
        for position in stage.new:
            earlier = [p for p in range(min(stage.new)) if names[p] == names[position]]
            if earlier:
                self.agent = copy_whole_head(self.agent, earlier[-1], position)

    def _make_room(self, stage: Stage) -> None:
        """Thin what is held of earlier tasks, if all of a stage would not fit beside it."""
        training = self.setup.training
        if training.memory_bytes is not None:
            coming = (
                (len(stage.new) + len(stage.revisited)) * training.steps * row_bytes(self.setup.row, training.chunk)
            )
            if training.memory_bytes < coming:
                raise UsageError(
                    f"training.memory_bytes is {training.memory_bytes:,}, but one stage alone gathers {coming:,} bytes."
                )
            self.memory.fit(training.memory_bytes - coming, self.setup.seed)

    def gather(self, stage: Stage) -> None:
        """Wait for the chunk under way and remember it."""
        for chunk in self.collector.finish():
            self.memory.append(chunk.position, chunk.rows)
            if chunk.position in stage.new:
                self._since.ended += chunk.ended
        self.done += self.setup.training.chunk * len(stage.new)

    def improve(self, stage: Stage, c: int, more: bool) -> None:
        """Learn from chunk c; with lag 1 the next one is gathered meanwhile, by the weights before."""
        batches = self._batches(stage, c, progress=c / self.chunks())
        # One chunk of updates under way at a time, or random starts would queue hundreds.
        jax.block_until_ready(self.agent.updates)
        lag = self.setup.training.lag
        acting = self._acting(stage, c + 1) if more and lag else {}
        if batches is not None:
            self.agent, metrics = self._update(self.agent, batches, self._anchored)
            self._since.metrics.append(metrics)
        if more:
            self._send(acting if lag else self._acting(stage, c + 1))

    def evaluate(self) -> Evaluation | None:
        """Start evaluating the tasks that the recipe plays now; what the last evaluation found."""
        last = self.evaluator.finish() if self.evaluator.under_way else None
        positions = self.recipe.at(self.done).played
        self.evaluator.begin(self.done, list(zip(positions, self._actors(positions), strict=True)))
        return last

    def policy(self, index: int) -> list[tuple[int, Actor]]:
        """What acts at each position met by the end of a stage."""
        met = [p for stage in self.stages[: index + 1] for p in stage.new]
        return list(zip(met, self._actors(met), strict=True))

    def report(self) -> Report:
        """What happened in training since the last report."""
        ended, metrics = self._since.ended, self._since.metrics
        self._since = _Since()
        n = len(ended)
        names = sorted(metrics[0]) if metrics else ()
        return Report(
            step=self.done,
            episodes=n,
            success=sum(e.success for e in ended) / n if n else None,
            total=sum(e.total for e in ended) / n if n else None,
            learning={name: float(np.mean([np.asarray(m[name]) for m in metrics])) for name in names},
        )

    def settle(self, stage: Stage, mark: Mark) -> Iterator[Mark]:
        """End a stage: the anchor takes note of what was learnt, then the method's phases, chunk by chunk."""
        setup = self.setup
        if mark.phase_chunks == 0:
            rng = generator(setup.seed, stage.new[0], self.chunks())
            ended = Ended(self.memory, stage, setup.agent, self._view, rng)
            self.agent, self._anchored = setup.method.anchor.consolidate(self.agent, ended), True
        for number in range(mark.phase, len(setup.method.settle)):
            if mark.phase_chunks == 0:
                phase = setup.method.settle[number]
                chunks = phase.updates(self.agent, stage, setup.training) // setup.training.updates
                self.agent = phase.begin(self.agent, stage, setup.agent)
                mark = replace(mark, phase=number, phase_chunks=chunks, phase_done=0)
            while mark.phase_done < mark.phase_chunks:
                c = self.chunks() + mark.settled + 1
                batches = self._batches(stage, c, progress=mark.phase_done / mark.phase_chunks)
                if batches is not None:
                    self.agent, _ = self._update(self.agent, batches, self._anchored)
                mark = replace(mark, phase_done=mark.phase_done + 1, settled=mark.settled + 1)
                yield mark
            mark = replace(mark, phase_chunks=0)

    def _view(self, position: int) -> tuple[Params, Params]:
        """The weights that act for a position."""
        agent = self.agent
        return self.setup.method.mask.view(agent.mask, position, agent.shared.params, agent.heads.params, None)

    def _actors(self, positions: Iterable[int], tried: Mapping[int, Layers] | None = None) -> list[Actor]:
        return actors(self.agent, self.setup.method, self.setup.agent, list(positions), tried)

    def _acting(self, stage: Stage, c: int) -> dict[int, Actor | None]:
        """The weights that act in chunk c as of now; None while a new task still starts at random."""
        training = self.setup.training
        start = training.start_steps if training.explore_again or stage.new[0] == 0 else 0
        random = set(stage.new) if c * training.chunk < start else set[int]()
        positions = (*stage.new, *stage.revisited)
        known = [p for p in positions if p not in random]
        acting = dict(zip(known, self._actors(known), strict=True))
        return {p: acting.get(p) for p in positions}

    def _send(self, acting: dict[int, Actor | None], lanes: Mapping[Place, OpenEpisode] | None = None) -> None:
        share, tasks = self.setup.training.chunk, self.setup.sequence.tasks
        self._sent = acting
        self.collector.begin([(p, tasks[p], share, actor) for p, actor in acting.items()], lanes)

    def _batches(self, stage: Stage, c: int, progress: float) -> Batches | None:
        """The batches of chunk c, learnt with the learning rate of this progress (0 to 1) through the stage."""
        setup, training = self.setup, self.setup.training
        if (c + 1) * training.chunk < training.update_after:
            return None
        rng, updates = generator(setup.seed, stage.new[0], c), training.updates * len(stage.new)
        batches = setup.method.draw.batches(self.memory, stage, setup.agent, updates, training.replay_size, rng)
        return batches._replace(rate=np.float32(1.0 - (1.0 - training.anneal) * progress))

    def _trials(self, stage: Stage, heads: Mapping[int, Layers]) -> dict[int, float]:
        if not heads:
            return {}
        position = stage.new[0]
        candidates = list(zip(heads, self._actors(heads, heads), strict=True))
        task, episodes = self.setup.sequence.tasks[position], self.setup.protocol.episodes
        worker = self.team.collecting[0]
        return play_trials(worker, task, position, candidates, episodes, self.setup.seed, self.done)
