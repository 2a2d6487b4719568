"""A campaign on a Ray cluster whose workers, machines and head are killed all the time, against one left in peace.

    python benchmarks/faults_ray.py                        # 100 runs; three one-CPU machines on this one
    python benchmarks/faults_ray.py --runs 30 --every 5    # a shorter look

Prints how many runs ended, whether any was done twice, whether all bytes are those of the campaign left in peace, the
time of both, and the seconds until the cluster was at work again after each kind of fault.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from clusters import Machines, kill_worker, workers
from processes import SMALL
from small_campaign import results

PLAN = """
methods = ["recall", "fine-tuning"]
sequences = ["reach-0,reach-90", "reach-0,reach-180"]
budget = "smoke"
"""
WEIGHTS = {"worker": 8, "machine": 3, "head": 1}


def write_plan(path: Path, runs: int) -> Path:
    seeds = list(range(max(1, runs // 4)))
    settings = "".join(f'"{k}" = {v}\n' for k, v in {**SMALL, "training.steps": 600}.items())
    path.write_text(f"{PLAN}seeds = {seeds}\n[settings]\n{settings}")
    return path


def start(plan: Path, out: Path, address: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "recall_rl", "campaign", "run", str(plan), "--out", str(out)]
    with open(out.with_suffix(".log"), "w") as log:
        return subprocess.Popen([*words, "--engine", "ray", "--address", address], stdout=log, stderr=log, text=True)


class Faults:
    """Kills parts of a cluster, and measures how long the campaign takes to be at work again."""

    def __init__(self, machines: Machines, out: Path, seed: int):
        self.machines, self.out, self.random = machines, out, random.Random(seed)
        self.recovered: dict[str, list[float]] = defaultdict(list)

    def one(self, process: subprocess.Popen[str]) -> None:
        kind = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        before, began = set(workers(self.out).values()), time.monotonic()
        kills: dict[str, Callable[[], object]] = {
            "worker": lambda: kill_worker(self.out, 2),
            "machine": self.machines.lose_machine,
            "head": self._head,
        }
        try:
            kills[kind]()
        except AssertionError:
            return  # Nobody was at work just now.
        while process.poll() is None and not set(workers(self.out).values()) - before:
            time.sleep(0.1)
        if process.poll() is None:
            self.recovered[kind].append(time.monotonic() - began)

    def _head(self) -> None:
        self.machines.lose_head()
        self.machines.replace()


def campaign(plan: Path, out: Path, every: float | None, seed: int) -> tuple[float, dict[str, list[float]]]:
    """Seconds of a campaign, and those of each recovery."""
    machines = Machines(3)
    try:
        began = time.monotonic()
        process = start(plan, out, machines.address)
        faults = Faults(machines, out, seed)
        while process.poll() is None:
            if every is None:
                time.sleep(0.2)
                continue
            time.sleep(faults.random.expovariate(1 / every))
            if process.poll() is None:
                faults.one(process)
        return time.monotonic() - began, faults.recovered
    finally:
        machines.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--every", type=float, default=6.0, help="mean seconds between faults")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    folder = given.out or Path(tempfile.mkdtemp(prefix="recall-faults-"))
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(JAX_COMPILATION_CACHE_DIR=str(folder / "compiled"))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [sys.path[0], os.environ.get("PYTHONPATH")]))
    plan = write_plan(folder / "plan.toml", given.runs)
    peace, _ = campaign(plan, folder / "peace", None, given.seed)
    hurt, recovered = campaign(plan, folder / "faults", given.every, given.seed)
    wanted, found = results(folder / "peace"), results(folder / "faults")
    told = Counter(line for line in (folder / "faults.log").read_text().splitlines() if line.startswith("done"))
    report = {
        "runs": len(wanted),
        "complete": sum(journal[-1]["event"] == "end" for journal, _ in found.values()),
        "twice": sum(count > 1 for count in told.values()),
        "identical": sum(found.get(name) == result for name, result in wanted.items()),
        "seconds": {"peace": round(peace, 1), "faults": round(hurt, 1), "ratio": round(hurt / peace, 2)},
        "faults": {kind: len(times) for kind, times in recovered.items()},
        "recovery": {kind: round(statistics.median(times), 1) for kind, times in recovered.items()},
        "longest": {kind: round(max(times), 1) for kind, times in recovered.items()},
    }
    print(json.dumps(report, indent=1))
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
