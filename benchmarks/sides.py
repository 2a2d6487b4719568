"""What `performance.py` compares: each side is made once and, when called, works for a while and returns its rate."""

from __future__ import annotations

import os

os.environ["NPROC"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import dataclasses
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from recall_rl.agent import sac
from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.agent.update import Rules, chances, make_update, update
from recall_rl.collect.row import Row
from recall_rl.memory.memory import Memory
from recall_rl.methods.find import method as find
from recall_rl.methods.method import Ended, new_agent
from recall_rl.tasks.protocol import PROTOCOLS
from recall_rl.tasks.sequences import sequence
from recall_rl.tasks.task import Stage
from recall_rl.training.config import BUDGETS, TrainingConfig
from recall_rl.training.loop import Setup, learn
from recall_rl.training.team import MachineConfig, Team

CW, ROW, CHUNK = PROTOCOLS["cw"], Row(12, 4), 50


def rate(count: int, work: Callable[[], None], clock: Callable[[], float] = time.perf_counter) -> float:
    began = clock()
    work()
    return count / (clock() - began)


def fill(memory: Memory, position: int, rows: int) -> None:
    """Random rows of a position, as a lane gathers them: each begins where the one before ended."""
    rng = np.random.default_rng(position)
    memory.open(position, rows)
    for _ in range(0, rows, 10_000):
        block = rng.standard_normal((min(rows, 10_000), ROW.width), dtype=np.float32)
        block[1:, ROW.observation], block[:, ROW.terminated] = block[:-1, ROW.next_observation], 0
        memory.append(position, block)


class Learner:
    """A method learning its last task of some, drawing batches from memory as the loop does; CPU time, one thread."""

    def __init__(
        self,
        name: str,
        size: str,
        chunks: int,
        tasks: int = 1,
        rows: int = 50_000,
        begin: bool = True,
        **options: object,
    ):
        self.method, self.chunks = find(name, options), chunks
        self.config = self.method.agent(BUDGETS[size].agent)
        self.memory, self.rng = Memory(ROW, tasks), np.random.default_rng(0)
        state = new_agent(self.method, self.config, ROW, tasks, 0)
        for position in range(tasks):
            fill(self.memory, position, rows)
            self.stage = Stage(new=(position,))
            if position + 1 < tasks:
                params = state.shared.params, state.heads.params
                ended = Ended(self.memory, self.stage, self.config, lambda p, params=params: params, self.rng)
                state = self.method.anchor.consolidate(state, ended)
                self.method.draw.forget(self.memory, Stage(new=(position + 1,)), self.rng)
        self.state, self.update = state, make_update(self.method, self.config, ROW)
        self.anchored = tasks > 1
        if begin:
            self.work(1)

    def batches(self):
        return self.method.draw.batches(self.memory, self.stage, self.config, CHUNK, 10**6, self.rng)

    def work(self, chunks: int) -> None:
        for _ in range(chunks):
            batches = self.batches()
            jax.block_until_ready(self.state.updates)
            self.state, _ = self.update(self.state, batches, self.anchored)
        jax.block_until_ready(self.state.updates)

    def __call__(self) -> float:
        return rate(self.chunks * CHUNK, lambda: self.work(self.chunks), time.process_time)


class Bare:
    """The same update in a bare scan, with the heads it needs and no others, on batches that lie on the device."""

    def __init__(self, like: Learner):
        self.chunks, self.ready = like.chunks, jax.tree.map(jnp.asarray, like.batches())
        self.state = new_agent(like.method, like.config, ROW, len(self.ready.heads) - 1, 0)
        rules = Rules(like.method, like.config, ROW, like.anchored)

        def scan(state, ready):
            def body(carry, batch):
                return update(rules, carry, sac.columns(*batch[:3], ROW), batch[3], jnp.array(0), jnp.array(1.0))

            return jax.lax.scan(body, state, (*ready[:3], chances(state, ready, ROW)))

        self.scan = jax.jit(scan, donate_argnums=0)
        # Twice: the first state is of types a little weaker than those that come back, which compiles once more.
        self.work(2)

    def work(self, chunks: int) -> None:
        for _ in range(chunks):
            self.state, _ = self.scan(self.state, self.ready)
            jax.block_until_ready(self.state.updates)

    def __call__(self) -> float:
        return rate(self.chunks * CHUNK, lambda: self.work(self.chunks), time.process_time)


class Products:
    """Matrix products of the size of a hidden layer, one after another: float operations a second."""

    def __init__(self, rows: int, width: int, products: int = 2000):
        self.flops = 2 * rows * width * width * products
        self.x, self.w = jnp.ones((rows, width)), jnp.eye(width)

        def chain(x, w):
            return jax.lax.scan(lambda x, _: (x @ w, None), x, length=products)[0]

        self.chain = jax.jit(chain)
        self()

    def __call__(self) -> float:
        def work():
            jax.block_until_ready(self.chain(self.x, self.w))

        return rate(self.flops, work, time.process_time)


def update_flops(config: AgentConfig, rows: int, lessons: int) -> int:
    """Float operations of the products that one update needs, each row going through its own head alone."""

    def network(shape: NetworkConfig, inputs: int, outputs: int) -> tuple[int, int]:
        sizes = [inputs, *[shape.width] * (shape.trunk + shape.head), outputs]
        each = [2 * a * b for a, b in pairwise(sizes)]
        return sum(each), each[0]

    actor, first = network(config.actor, ROW.observation_size, 2 * ROW.action_size)
    critic, critic_first = network(config.critic, ROW.observation_size + ROW.action_size, 1)
    # Actor: next states; states, forward and back. Critics: targets; values, forward and back; the policy's actions,
    # forward and back to the actions.
    learnt = rows * (4 * actor - first + 2 * (6 * critic - critic_first))
    return learnt + lessons * (3 * actor - first)


class BareEnvironment:
    """The task's own environment with random actions, reset every 200 steps."""

    def __init__(self, task: str, episodes: int):
        self.env = sequence(task, CW).tasks[0].make()
        self.episodes, self.number = episodes, 0

    def __call__(self) -> float:
        actions = np.random.default_rng(0).uniform(-1, 1, (200, 4)).astype(np.float32)

        def work():
            for _ in range(self.episodes):
                self.number += 1
                self.env.reset(self.number)
                for action in actions:
                    self.env.step(action)

        return rate(self.episodes * 200, work)


class WholeRun:
    """The loop with its worker on the last of some tasks, after its first updates, without evaluation."""

    def __init__(self, tasks: str, name: str, config: AgentConfig, chunks: int, rounds: int):
        met, method = sequence(tasks, CW), find(name)
        steps = (chunks * (rounds + 1) + 20) * CHUNK
        training = TrainingConfig(steps=steps, start_steps=200, update_after=200, evaluate_every=steps)
        self.chunks, self.team = chunks, Team(dataclasses.replace(MachineConfig(), evaluation_workers=1))
        protocol = dataclasses.replace(CW, episodes=1)
        setup = Setup(met, method, protocol, method.agent(config), training, 0, ROW)
        self.progress = learn(setup, self.team)
        for _ in range((len(met) - 1) * (steps // CHUNK) + 12):
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


class TenTasks:
    """All of cw10 in small: one evaluation episode a task for 2,000 steps, as the paper's ten for 20,000.

    Sides that share a team find its environments made. Nothing succeeds in so few steps, so no episode ends early.
    """

    STEPS = 2_000

    def __init__(self, team: Team, recipe: Literal["full", "flat"], episodes: int = 1):
        protocol = dataclasses.replace(CW, recipe=recipe, episodes=episodes)
        training = TrainingConfig(steps=self.STEPS, start_steps=200, update_after=200, evaluate_every=self.STEPS)
        agent, self.team = BUDGETS["laptop"].agent, team
        self.setup = Setup(sequence("cw10", protocol), find("fine-tuning"), protocol, agent, training, 0, ROW)

    def __call__(self) -> float:
        def work():
            for _ in learn(self.setup, self.team):
                pass

        return rate(self.STEPS * len(self.setup.sequence), work)
