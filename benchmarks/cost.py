"""What each method costs beside fine-tuning: updates a second while the second task is learnt, and bytes kept a task.

    python benchmarks/cost.py [--budget laptop] [--rounds 5] [--out results/cost.json]

Rows are random numbers of the sizes of Meta-World, drawn from memory as in training; method and fine-tuning take turns
on one thread, and the median of the rounds' ratios is given. Needs no simulator.
"""

from __future__ import annotations

import os

os.environ.setdefault("NPROC", "1")

import argparse
import json
import statistics
import time
from pathlib import Path

import jax
import numpy as np

from recall_rl.agent.update import make_update
from recall_rl.collect.row import Row
from recall_rl.memory.memory import Memory
from recall_rl.methods.catalogue import CATALOGUE
from recall_rl.methods.find import method as find
from recall_rl.methods.method import Ended, new_agent
from recall_rl.tasks.task import one_by_one
from recall_rl.training.config import budget

ROW = Row(12, 4)


def size(tree) -> int:
    return sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves(tree))


class Second:
    """A method in the middle of its second task."""

    def __init__(self, name: str, budget_name: str):
        chosen, self.method = budget(budget_name), find(name)
        self.config, self.training = self.method.agent(chosen.agent), self.method.training(chosen.training)
        rng, rows = np.random.default_rng(0), self.training.steps
        self.memory, method = Memory(ROW, 2), self.method
        state = new_agent(method, self.config, ROW, 2, 0)
        stages = method.curriculum(one_by_one("", (None, None))).stages
        first, self.stage = stages[0], stages[-1]
        for position in first.new:
            self._fill(position, rows, rng)
        if self.stage is not first:
            params = state.shared.params, state.heads.params
            state = method.anchor.consolidate(state, Ended(self.memory, first, self.config, lambda p: params, rng))
            for phase in method.settle:
                state = phase.begin(state, first, self.config)
            method.draw.forget(self.memory, self.stage, rng)
            self.kept = self.memory.size() + size((state.anchor, state.mask))
            self._fill(1, rows, rng)
        else:
            self.kept = 0
        self.state, self.rng = jax.tree.map(jax.numpy.copy, state), rng
        self.update = make_update(method, self.config, ROW)
        self.run(1)

    def _fill(self, position: int, rows: int, rng) -> None:
        self.memory.open(position, rows)
        n = self.training.chunk
        for _ in range(rows // n):
            # As a lane gathers them: each row begins with the observation that the one before ended with.
            block = rng.standard_normal((n, ROW.width), dtype=np.float32)
            block[1:, ROW.observation], block[:, ROW.terminated] = block[:-1, ROW.next_observation], 0
            self.memory.append(position, block)

    def run(self, chunks: int) -> float:
        """Updates a second, drawing the batches included."""
        began, n = time.perf_counter(), self.training.updates
        for _ in range(chunks):
            batches = self.method.draw.batches(self.memory, self.stage, self.config, n, 10**6, self.rng)
            self.state, _ = self.update(self.state, batches)
        jax.block_until_ready(self.state.updates)
        return chunks * n / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", default="laptop")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--chunks", type=int, default=8, help="chunks of 50 updates a round")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    plain, found = Second("fine-tuning", options.budget), {}
    print("| method | updates/s | ratio to fine-tuning | bytes kept of an old task |\n|---|---|---|---|")
    for name in CATALOGUE:
        one = Second(name, options.budget)
        pairs = [(one.run(options.chunks), plain.run(options.chunks)) for _ in range(options.rounds)]
        ratio, speed = statistics.median(a / b for a, b in pairs), statistics.median(a for a, _ in pairs)
        found[name] = {"updates_per_second": round(speed, 1), "ratio": round(ratio, 3), "bytes": one.kept}
        print(f"| {name} | {speed:,.0f} | {ratio:.2f} | {one.kept:,} |", flush=True)
    if options.out:
        content = {"budget": options.budget, "rounds": options.rounds, "methods": found}
        options.out.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
