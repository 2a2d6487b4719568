"""How close to the bare engines: each pair alternated in one run, medians of the rounds.

    python benchmarks/throughput.py                          # about a quarter of an hour; nothing else should run
    python benchmarks/throughput.py --rounds 3 --seconds 1   # a look, in four minutes

(a) learner with memory sampling / the same update in a bare `lax.scan` on ready batches
(b) worker process with its policy / bare `env.step` with random actions (both with their resets)
(c) whole run on two cores, evaluation off / the slower of bare learner and bare environment
(d) updates a second with 20 and with 200 heads / with 2 heads, two of them in each batch
"""

from __future__ import annotations

import os

os.environ["NPROC"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import dataclasses
import json
import statistics
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from recall_rl.agent import sac
from recall_rl.agent.config import AgentConfig
from recall_rl.agent.export import actors
from recall_rl.agent.state import init_agent
from recall_rl.agent.update import Rules, make_update, update
from recall_rl.collect.row import Row
from recall_rl.collect.worker import Collect, ProcessWorker, Stretch
from recall_rl.memory.memory import Memory
from recall_rl.memory.sample import Batches, Group
from recall_rl.methods.draws import nothing
from recall_rl.methods.method import Method
from recall_rl.runs.fingerprint import fingerprint
from recall_rl.tasks.metaworld import with_own_code
from recall_rl.tasks.protocol import PROTOCOLS
from recall_rl.tasks.sequences import sequence
from recall_rl.tasks.task import Stage
from recall_rl.training.config import BUDGETS, TrainingConfig
from recall_rl.training.loop import Setup, learn
from recall_rl.training.team import MachineConfig, Team

CW, ROW, METHOD = PROTOCOLS["cw"], Row(12, 4), Method()
CHUNK = 50
NO_LESSONS = Group(np.empty((CHUNK, 0, 20), np.float32), np.empty((CHUNK, 0), np.int32))


def alternate(sides: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The median of each side's rates, the sides taking turns."""
    seen: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, measure in sides.items():
            seen[name].append(measure())
    return {name: statistics.median(rates) for name, rates in seen.items()}


def rate(count: int, work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return count / (time.perf_counter() - began)


def filled_memory(rows: int) -> Memory:
    memory = Memory(ROW, 1)
    memory.open(0, rows)
    memory.append(0, np.random.default_rng(0).standard_normal((rows, ROW.width), dtype=np.float32))
    return memory


class Bare:
    """The update in a bare scan, on batches that lie ready on the device."""

    def __init__(self, config: AgentConfig, chunks: int):
        self.chunks = chunks
        rows = np.random.default_rng(0).standard_normal((CHUNK, config.batch, ROW.width), dtype=np.float32)
        learn = Group(jnp.asarray(rows), jnp.zeros((CHUNK, config.batch), jnp.int32))
        self.ready = learn, nothing(CHUNK, ROW.width), NO_LESSONS
        self.state = init_agent(config, ROW, 0, 0)

        def scan(state, ready):
            def body(carry, batch):
                return update(Rules(METHOD, config, ROW), carry, sac.columns(*batch, ROW), jnp.array(0), jnp.array(1.0))

            return jax.lax.scan(body, state, ready)

        self.scan = jax.jit(scan, donate_argnums=0)
        self()

    def __call__(self) -> float:
        def work():
            for _ in range(self.chunks):
                self.state, _ = self.scan(self.state, self.ready)
                jax.block_until_ready(self.state.updates)

        return rate(self.chunks * CHUNK, work)


class Learner:
    """Our update, drawing its batches from memory as the loop does."""

    def __init__(self, config: AgentConfig, chunks: int):
        self.config, self.chunks = config, chunks
        self.memory, self.stage = filled_memory(100_000), Stage(new=(0,))
        self.update = make_update(METHOD, config, ROW)
        self.state, self.rng = init_agent(config, ROW, 1, 0), np.random.default_rng(0)
        self()

    def __call__(self) -> float:
        def work():
            for _ in range(self.chunks):
                batches = METHOD.draw.batches(self.memory, self.stage, self.config, CHUNK, 10**6, self.rng)
                jax.block_until_ready(self.state.updates)
                self.state, _ = self.update(self.state, batches)
            jax.block_until_ready(self.state.updates)

        return rate(self.chunks * CHUNK, work)


class BareEnvironment:
    """Meta-World's own env.step with random actions, reset every 200 steps."""

    def __init__(self, task: str, episodes: int):
        self.env = with_own_code(sequence(task, CW).tasks[0]).make().env
        self.episodes, self.number = episodes, 0

    def __call__(self) -> float:
        actions = np.random.default_rng(0).uniform(-1, 1, (200, 4)).astype(np.float32)

        def work():
            for _ in range(self.episodes):
                self.number += 1
                self.env.seed(self.number)
                self.env.reset()
                for action in actions:
                    self.env.step(action)

        return rate(self.episodes * 200, work)


class OurWorker:
    """A real worker process that is sent weights and sends rows, chunk by chunk."""

    def __init__(self, task: str, config: AgentConfig, episodes: int):
        self.task, self.episodes = sequence(task, CW).tasks[0], episodes
        self.actor = actors(init_agent(config, ROW, 1, 0), METHOD, config, [0])[0]
        # A new process inherits the core that both sides of this pair are measured on.
        self.worker = ProcessWorker(patience=60)
        self()

    def __call__(self) -> float:
        def work():
            for _ in range(self.episodes * 200 // CHUNK):
                self.worker.send(Collect((Stretch(self.task, 0, 0, 0, 1, CHUNK, self.actor),)))
                self.worker.receive()

        return rate(self.episodes * 200, work)


class WholeRun:
    """The loop with its worker, after its first update, without evaluation."""

    def __init__(self, task: str, config: AgentConfig, chunks: int):
        training = TrainingConfig(steps=10**6, start_steps=200, update_after=200, evaluate_every=10**6)
        self.chunks, self.team = chunks, Team(dataclasses.replace(MachineConfig(), evaluation_workers=1))
        setup = Setup(sequence(task, CW), METHOD, CW, config, training, 0, ROW)
        self.progress = learn(setup, self.team)
        for _ in range(20):
            next(self.progress)

    def __call__(self) -> float:
        jax.block_until_ready(next(self.progress).agent.updates)

        def work():
            for _ in range(self.chunks):
                last = next(self.progress)
            jax.block_until_ready(last.agent.updates)

        return rate(self.chunks * CHUNK, work)

    def close(self) -> None:
        self.team.__exit__()


class Heads:
    """Our update with this many heads, two of which each batch holds rows of."""

    def __init__(self, config: AgentConfig, heads: int, chunks: int):
        rows = np.random.default_rng(0).standard_normal((CHUNK, config.batch, ROW.width), dtype=np.float32)
        slot = np.broadcast_to((np.arange(config.batch) % 2).astype(np.int32), (CHUNK, config.batch))
        heads_used = np.array([0, heads - 1], np.int32)
        self.batches = Batches(Group(rows, slot), nothing(CHUNK, ROW.width), NO_LESSONS, heads_used)
        self.update, self.state, self.chunks = (
            make_update(METHOD, config, ROW),
            init_agent(config, ROW, heads, 0),
            chunks,
        )
        self()

    def __call__(self) -> float:
        def work():
            for _ in range(self.chunks):
                self.state, _ = self.update(self.state, self.batches)
                jax.block_until_ready(self.state.updates)

        return rate(self.chunks * CHUNK, work)


def measure(size: str, tasks: list[str], rounds: int, seconds: float) -> list[dict]:
    config = BUDGETS[size].agent
    chunks = max(1, round(seconds * (800 if size == "laptop" else 100) / CHUNK))
    episodes = max(1, round(seconds * 4))
    rows = []

    def note(what: str, ours: str, bare: str, found: dict[str, float], against: float | None = None) -> None:
        reference = found[bare] if against is None else against
        rows.append(
            {"what": what, "size": size, "ours": found[ours], "bare": reference, "ratio": found[ours] / reference}
        )
        print(
            f"| {what} | {size} | {found[ours]:,.0f} | {reference:,.0f} | {found[ours] / reference:.2f} |", flush=True
        )

    found = alternate({"ours": Learner(config, chunks), "bare": Bare(config, chunks)}, rounds)
    note("(a) learner with memory / bare scan, updates/s", "ours", "bare", found)
    cores = os.sched_getaffinity(0)
    for task in tasks:
        os.sched_setaffinity(0, {min(cores)})
        worker = OurWorker(task, config, episodes)
        found = alternate({"ours": worker, "bare": BareEnvironment(task, episodes)}, rounds)
        worker.worker.close()
        os.sched_setaffinity(0, cores)
        note(f"(b) worker with policy / bare env.step, {task}, steps/s", "ours", "bare", found)
    for task in tasks:
        whole = WholeRun(task, config, chunks)
        sides = {"ours": whole, "learner": Bare(config, chunks), "environment": BareEnvironment(task, episodes)}
        found = alternate(sides, rounds)
        whole.close()
        slower = min(("learner", "environment"), key=lambda side: found[side])
        note(f"(c) whole run / bare {slower}, {task}, steps/s", "ours", slower, found)
    found = alternate({str(n): Heads(config, n, chunks) for n in (2, 20, 200)}, rounds)
    note("(d) 20 heads / 2 heads, updates/s", "20", "2", found)
    note("(d) 200 heads / 2 heads, updates/s", "200", "2", found)
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="how often the sides of a pair take turns")
    parser.add_argument("--seconds", type=float, default=2.5, help="about how long one turn is")
    parser.add_argument("--sizes", nargs="+", choices=["laptop", "paper"], default=["laptop", "paper"])
    parser.add_argument("--tasks", nargs="+", default=["handle-press-side", "push"])
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    machine = fingerprint(1)
    print(f"{machine['cpu']}, {os.cpu_count()} cores; JAX {machine['jax']}, one thread; {arguments.rounds} rounds\n")
    print("| measure | networks | ours | bare | ratio |\n|---|---|---|---|---|")
    table = [
        row for size in arguments.sizes for row in measure(size, arguments.tasks, arguments.rounds, arguments.seconds)
    ]
    if arguments.json:
        with open(arguments.json, "w") as out:
            json.dump({"machine": machine, "rounds": arguments.rounds, "rows": table}, out, indent=2)
