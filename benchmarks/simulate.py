"""The paper's whole campaign on 10, 100 and 1,000 nodes that are taken away every two hours, with a virtual clock.

    python benchmarks/simulate.py [--nodes 10 100 1000] [--times 1] [--seed 0] [--out results/simulation.json]

Real: the planner, what is left to do and can begin (`campaigns/standing.py`), the order, the attempts, and what is done
about lost runs and heads (`campaigns/queue.py`). Made up: time, nodes, storage, and how long a run takes. A run saves
every five minutes and loses what came after; a node is lost with all its runs; with the head all runs are lost, and a
new head looks at every run's folder before it starts any. Numbers that are no options stand in `Costs`.
"""

from __future__ import annotations

import argparse
import dataclasses
import heapq
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from recall_rl.campaigns import queue as queues
from recall_rl.campaigns.campaign import Campaign
from recall_rl.campaigns.estimate import costs, run_size
from recall_rl.campaigns.jobs import Job, jobs
from recall_rl.campaigns.look import SIDE_BY_SIDE
from recall_rl.campaigns.plan import PLANS
from recall_rl.campaigns.queue import Attempt, Queue
from recall_rl.campaigns.standing import Standing, stand
from recall_rl.runs.glance import Glance
from recall_rl.runs.status import Status


@dataclass(frozen=True)
class Costs:
    """What things cost; counted in the code, or measured by the other benchmarks."""

    save_seconds: float = 300.0  # Between two checkpoints (`machine.checkpoint_seconds`).
    start_seconds: float = 25.0  # For a process to import, make its environments and compile.
    replace_seconds: float = 600.0  # Mean time until a lost node is replaced.
    head_seconds: float = 600.0  # Until a lost head is started anew.
    look_operations: int = 7  # To see where a run is: its folder, start, lease and the end of its journal.
    take_operations: int = 12  # Of the head, for each run that it starts.
    start_operations: int = 80  # Of a run's process: claim, checkpoint, journal, tables, and a checkpoint of its own.
    save_operations: int = 40  # A checkpoint, with what it removes.
    beat_seconds: float = 5.0  # Between two signs of life, one operation each.
    line_steps: int = 1000  # Between two lines of a journal, two operations each.
    client_bytes: float = 200e6
    """A second that one process reads from the storage, when it verifies rows before it goes on."""
    storage_operations: float = 20_000.0  # A second that the storage can do.
    storage_bytes: float = 5e9
    """A second that the storage can read and write."""


COSTS = Costs()


def whole_paper(times: int = 1, plans: Sequence[str] = ()) -> list[Job]:
    """Every plan at the paper's budget, with so many times its seeds."""
    found: list[Job] = []
    for name in plans or PLANS:
        plan, seeds = PLANS[name], tuple(range(times * len(PLANS[name].seeds)))
        found += [_below(name, job) for job in jobs(dataclasses.replace(plan, budget="paper", seeds=seeds))]
    return found


def _below(plan: str, job: Job) -> Job:
    kind, _, rest = (job.parent or "").partition("/")
    return dataclasses.replace(job, name=f"{plan}/{job.name}", parent=f"{kind}/{plan}/{rest}" if rest else None)


def seconds(job: Job, speed: float) -> float:
    """What a run takes on one core: its first task at full speed, later ones by the cost of its method."""
    steps, ratio = job.config.training.steps, costs().get(job.config.method, 1.0)
    first = steps if job.before == 0 else 0
    return first / speed + (job.steps - first) / (speed * ratio)


class Disk(Campaign):
    """A campaign whose folders are a table: how many seconds of each run's work are saved."""

    def __init__(self, found: list[Job], speed: float):
        self.jobs, self.by_place = found, {job.place: job for job in found}
        self.work = {job.place: seconds(job, speed) for job in found}
        self.saved: dict[str, float] = {}
        self.failed: dict[str, list[str]] = {}

    def folder(self, job: Job) -> Path:
        return Path("/nowhere", job.place)

    def note_failure(self, job: Job, reason: str) -> None:
        self.failed.setdefault(job.place, []).append(reason)

    def step(self, place: str) -> int:
        job, share = self.by_place[place], self.saved.get(place, 0.0) / self.work[place]
        return round((job.before * job.config.training.steps + share * job.steps) if place in self.saved else 0)

    def glance(self, place: str) -> Glance:
        if place not in self.saved:
            return Glance("new")
        ended = self.saved[place] >= self.work[place]
        return Glance("finished" if ended else "stopped", self.step(place))

    def standings(self) -> list[Standing]:
        looks = {job.place: self.glance(job.place) for job in self.jobs}
        return stand(self.jobs, looks, self.failed, (), lambda job: True)


class VirtualQueue(Queue):
    """The real one, over a table instead of folders."""

    def _seen(self, job: Job) -> Status:
        found = self.campaign.glance(job.place)  # pyright: ignore
        return Status(job.place, found.state, step=found.step)


@dataclass
class Running:
    """An attempt on a core."""

    attempt: Attempt
    node: int
    begin: float
    """When its process has read what it goes on from, and works."""
    saved: float
    """Seconds of work that were saved before."""
    number: int


@dataclass(frozen=True)
class Outcome:
    """What came out."""

    nodes: int
    times: int
    runs: int
    hours: float
    ideal_hours: float  # Without any loss or wait: the work over all cores, or the longest chain of runs.
    core_hours: float
    attempts: int
    nodes_lost: int
    heads_lost: int
    lost_hours: float  # Core-hours of work done twice.
    start_hours: float  # Core-hours of processes that started and read.
    operations: float  # File operations a second, mean.
    peak: float  # The same in the busiest minute.
    gigabytes: float  # Read and written a second, mean, in GB.
    head_share: float  # Share of the time in which the head was busy.
    bottleneck: str


class World:
    """Nodes, storage, a head, and a clock that jumps from event to event."""

    def __init__(self, found: list[Job], options: argparse.Namespace, nodes: int):
        self.options, self.nodes = options, nodes
        self.random = random.Random(options.seed * 1_000_003 + nodes)
        self.disk = Disk(found, options.speed)
        self.bytes = {job.place: run_size(job) for job in found}
        self.now, self.counter, self.events = 0.0, 0, []
        self.free = [options.cores] * nodes
        self.up = [True] * nodes
        self.room = set(range(nodes))
        self.on: list[dict[str, Running]] = [{} for _ in range(nodes)]
        self.head_free, self.head_busy = 0.0, 0.0
        self.lost = self.starting = self.moved = 0.0
        self.attempts = self.nodes_lost = self.heads_lost = 0
        self.bursts: list[tuple[float, float]] = []
        self.steady: list[tuple[float, float, float]] = []

    def at(self, when: float, kind: str, what: object = None) -> None:
        self.counter += 1
        heapq.heappush(self.events, (when, self.counter, kind, what))

    def monotonic(self) -> float:  # The clock that the queue sees.
        return self.now

    def run(self) -> None:
        queues.time = self  # pyright: ignore
        try:
            self._head()
            for node in range(self.nodes):
                self._live(node)
            if self.options.head_hours:
                self.at(self.random.expovariate(1 / (3600 * self.options.head_hours)), "head lost")
            self._fill()
            while not self.queue.over:
                self.now, _, kind, what = heapq.heappop(self.events)
                getattr(self, f"_{kind.replace(' ', '_')}")(what)
                self._fill()
        finally:
            queues.time = time

    def _live(self, node: int) -> None:
        if self.options.life_hours:
            self.at(self.now + self.random.expovariate(1 / (3600 * self.options.life_hours)), "node lost", node)

    def _head(self, what: object = None) -> None:
        """A new head looks at every run, some side by side, and knows what is left."""
        operations = len(self.disk.jobs) * COSTS.look_operations
        self._busy_head(operations / SIDE_BY_SIDE)
        self.bursts.append((self.now, operations))
        self.queue = VirtualQueue(self.disk, lambda line: None)

    def _busy_head(self, operations: float) -> None:
        took = operations * self.options.latency + 0.002
        self.head_free = max(self.now, self.head_free) + took
        self.head_busy += took

    def _fill(self) -> None:
        """Start runs on free cores; the head does it one after another."""
        while self.room and self.queue.ready:
            node = next(iter(self.room))
            attempt = self.queue.take()
            assert attempt is not None
            place = attempt.job.place
            attempt = dataclasses.replace(attempt, step=self.disk.step(place))
            self._busy_head(COSTS.take_operations)
            self.free[node] -= 1
            if not self.free[node]:
                self.room.discard(node)
            read = self._read(attempt.job)
            start = COSTS.start_seconds + COSTS.start_operations * self.options.latency + read / COSTS.client_bytes
            self.moved += read
            self.starting += start
            self.attempts += 1
            begin, saved = self.head_free + start, self.disk.saved.get(place, 0.0)
            self.disk.saved.setdefault(place, 0.0)
            one = Running(attempt, node, begin, saved, self.attempts)
            self.on[node][place] = one
            self.bursts.append((self.head_free, COSTS.start_operations + COSTS.take_operations))
            work = self.disk.work[place] - saved
            pauses = work / COSTS.save_seconds * COSTS.save_operations * self.options.latency * 0.1
            self.at(begin + work + pauses, "ended", (node, place, self.attempts))

    def _read(self, job: Job) -> float:
        """Bytes of rows that are verified before a run goes on: what it has gathered, and what it began from."""
        share = self.disk.saved.get(job.place, 0.0) / self.disk.work[job.place]
        own, parent = self.bytes[job.place], self.bytes.get(job.parent or "")
        return share * own.rows + (parent.rows if parent else 0) + own.state

    def _ended(self, what: tuple[int, str, int]) -> None:
        node, place, number = what
        one = self.on[node].get(place)
        if one is None or one.number != number:
            return
        self._account(one)
        self.disk.saved[place] = self.disk.work[place]
        self._leave(one)
        self.queue.report(one.attempt, 0, "")

    def _leave(self, one: Running) -> None:
        del self.on[one.node][one.attempt.job.place]
        self.free[one.node] += 1
        if self.up[one.node]:
            self.room.add(one.node)

    def _account(self, one: Running) -> None:  # Operations and bytes of an attempt while it worked.
        if self.now <= one.begin:
            return
        rate = self.options.speed / COSTS.line_steps * 2 + 1 / COSTS.beat_seconds
        rate += COSTS.save_operations / COSTS.save_seconds
        self.steady.append((one.begin, self.now, rate))
        state = self.bytes[one.attempt.job.place].state
        self.moved += (self.now - one.begin) / COSTS.save_seconds * state

    def _cut(self, one: Running) -> None:  # A run loses what it did since it last saved.
        done = max(0.0, self.now - one.begin)
        kept = done // COSTS.save_seconds * COSTS.save_seconds
        self.lost += done - kept
        self._account(one)
        place = one.attempt.job.place
        self.disk.saved[place] = min(one.saved + kept, self.disk.work[place] - 1.0)
        self._leave(one)

    def _node_lost(self, node: int) -> None:
        self.nodes_lost += 1
        self.up[node] = False
        for one in list(self.on[node].values()):
            self._cut(one)
            self.queue.lose(one.attempt, "its node was lost", machine=True)
        self.room.discard(node)
        self.at(self.now + self.random.expovariate(1 / COSTS.replace_seconds), "node back", node)

    def _node_back(self, node: int) -> None:
        self.up[node] = True
        self.room.add(node)
        self._live(node)

    def _head_lost(self, what: object) -> None:
        self.heads_lost += 1
        for one in [one for node in self.on for one in node.values()]:
            self._cut(one)
        self.head_free = self.now + COSTS.head_seconds
        self._head()
        self.at(self.now + self.random.expovariate(1 / (3600 * self.options.head_hours)), "head lost")

    def outcome(self) -> Outcome:
        hours = self.now / 3600
        work, chain = sum(self.disk.work.values()) / 3600, longest(self.disk) / 3600
        cores = self.nodes * self.options.cores
        total = sum(n for _, n in self.bursts) + sum((b - a) * r for a, b, r in self.steady)
        loads = {
            "cores": (work + self.lost / 3600 + self.starting / 3600) / cores / hours,
            "the longest chain of runs": chain / hours,
            "the head": self.head_busy / self.now,
            "file operations": total / self.now / COSTS.storage_operations,
            "bytes moved": self.moved / self.now / COSTS.storage_bytes,
        }
        return Outcome(
            nodes=self.nodes,
            times=self.options.times,
            runs=len(self.disk.jobs),
            hours=hours,
            ideal_hours=max(work / cores, chain),
            core_hours=work,
            attempts=self.attempts,
            nodes_lost=self.nodes_lost,
            heads_lost=self.heads_lost,
            lost_hours=self.lost / 3600,
            start_hours=self.starting / 3600,
            operations=total / self.now,
            peak=self._peak(),
            gigabytes=self.moved / self.now / 1e9,
            head_share=self.head_busy / self.now,
            bottleneck=max(loads, key=lambda name: loads[name]),
        )

    def _peak(self) -> float:
        """Operations a second in the busiest minute; the head's own are spread over the time that they take."""
        minutes = np.zeros(int(self.now // 60) + 2)
        change = np.zeros(len(minutes) + 1)
        for begin, end, rate in self.steady:
            change[int(begin // 60)] += rate * 60
            change[min(int(end // 60) + 1, len(change) - 1)] -= rate * 60
        for when, count in self.bursts:
            took = max(1, int(count * self.options.latency / SIDE_BY_SIDE // 60)) if count > 1000 else 1
            first = min(int(when // 60), len(minutes) - 1)
            minutes[first : first + took] += count / took
        return float((minutes + np.cumsum(change)[:-1]).max() / 60)


def longest(disk: Disk) -> float:
    """Seconds of the longest chain of runs that extend one another."""
    ends: dict[str, float] = {}
    for job in disk.jobs:
        ends[job.place] = disk.work[job.place] + (ends[job.parent] if job.parent else 0.0)
    return max(ends.values())


def simulate(options: argparse.Namespace, found: list[Job]) -> Iterator[Outcome]:
    for nodes in options.nodes:
        world = World(found, options, nodes)
        world.run()
        left = [s.job.place for s in world.disk.standings() if s.state != "done"]
        assert not left, f"not done: {left[:5]}"
        yield world.outcome()


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--nodes", type=int, nargs="+", default=[10, 100, 1000])
    made.add_argument("--cores", type=int, default=8, help="runs a node carries side by side")
    made.add_argument("--speed", type=float, default=80.0, help="steps a second of fine-tuning on one core")
    made.add_argument("--life-hours", type=float, default=2.0, help="mean life of a node; 0: for ever")
    made.add_argument("--head-hours", type=float, default=48.0, help="mean life of the head; 0: for ever")
    made.add_argument("--latency", type=float, default=0.005, help="seconds of a file operation on the storage")
    made.add_argument("--plans", nargs="+", choices=list(PLANS), default=[], help="default: all of the paper")
    made.add_argument("--times", type=int, default=1, help="as many times the paper's seeds")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--out", type=Path, default=None)
    return made


def main(arguments: Sequence[str] | None = None) -> list[Outcome]:
    options = parser().parse_args(arguments)
    found = whole_paper(options.times, options.plans)
    print(
        "| nodes | runs | hours | without losses | core-hours | done twice | starting | attempts | operations/s (peak) "
        "| GB/s | head busy | first bottleneck |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    )
    outcomes: list[Outcome] = []
    for o in simulate(options, found):
        outcomes.append(o)
        print(
            f"| {o.nodes:,} | {o.runs:,} | {o.hours:,.0f} | {o.ideal_hours:,.0f} | {o.core_hours:,.0f} "
            f"| {o.lost_hours / o.core_hours:.1%} | {o.start_hours / o.core_hours:.1%} | {o.attempts:,} "
            f"| {o.operations:,.0f} ({o.peak:,.0f}) | {o.gigabytes:.2f} | {o.head_share:.1%} | {o.bottleneck} |",
            flush=True,
        )
    if options.out:
        options.out.write_text(json.dumps([asdict(o) for o in outcomes], indent=1) + "\n")
    return outcomes


if __name__ == "__main__":
    main()
