"""What campaigns cost besides their runs, and what they gain.

    python benchmarks/campaigns.py                 # some minutes; nothing else should run
    python benchmarks/campaigns.py --part ray      # one part: ray, slots, cache or sharing

ray    milliseconds a run that does nothing takes on a Ray cluster, and memory of driver and head before and after
slots  real Meta-World runs, two side by side on a core each, against one after the other on one core
cache  seconds of a very short run with and without programs that were compiled before
sharing  the nine pairs of three real tasks with and without shared beginnings: steps saved, seconds, and whether
       every journal and every weight is the same
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from clusters import Machines
from small_campaign import results

from recall_rl.campaigns import ray_driver
from recall_rl.campaigns.campaign import Campaign
from recall_rl.campaigns.jobs import jobs, size
from recall_rl.campaigns.plan import Member, Plan, find_plan
from recall_rl.campaigns.process import RunProcess
from recall_rl.campaigns.ray import RayOptions


def nothing(folder: str, place: str, take_over: bool, gpus: float) -> tuple[int, str]:
    """A run that is over at once."""
    return 0, ""


def megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return round(next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024, 1)


def measure_ray(folder: Path, runs: int) -> dict[str, Any]:
    import ray

    ray_driver._tell = lambda line: None
    machines = Machines(2)
    try:
        ray.init(address=machines.address, logging_level=logging.ERROR, log_to_driver=False)
        head = int(machines.head)

        def go(name: str, count: int) -> float:
            plan = Plan(name, (Member("fine-tuning"),), ("reach-0",), tuple(range(count)), "smoke")
            driver = ray_driver.Driver(ray, Campaign.create(folder / name, plan), RayOptions(), nothing)
            began = time.perf_counter()
            driver.go()
            return 1000 * (time.perf_counter() - began) / count

        go("warm", 200)
        before = {"driver": megabytes(os.getpid()), "head": megabytes(head)}
        each = go("many", runs)
        after = {"driver": megabytes(os.getpid()), "head": megabytes(head)}
        return {"runs": runs, "milliseconds": round(each, 2), "before": before, "after": after}
    finally:
        ray.shutdown()
        machines.stop()


def local(folder: Path, name: str, slots: int, steps: int) -> float:
    """Seconds of two real runs with this many slots, their programs compiled before."""
    path = folder / f"{name}.toml"
    path.write_text(
        'methods = ["recall"]\nsequences = ["handle-press-side"]\nseeds = [0, 1]\nbudget = "laptop"\n'
        f'[settings]\n"training.steps" = {steps}\n"training.evaluate_every" = {steps}\n"training.start_steps" = 500\n'
    )
    words = [sys.executable, "-m", "recall_rl", "campaign", "run", str(path), "--out", str(folder / name)]
    began = time.perf_counter()
    subprocess.run([*words, "--slots", str(slots)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def measure_slots(folder: Path, steps: int) -> dict[str, Any]:
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder / "compiled")
    local(folder, "warm", 2, 1000)
    one, two = local(folder, "one", 1, steps), local(folder, "two", 2, steps)
    return {"steps": steps, "one slot": round(one, 1), "two slots": round(two, 1), "ratio": round(one / two, 2)}


def measure_cache(folder: Path) -> dict[str, Any]:
    os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)
    settings: dict[str, Any] = {"training.steps": 300, "training.start_steps": 100, "training.update_after": 100}
    plan = Plan("short", (Member("recall"),), ("reach-0",), (0, 1), "laptop", settings=settings)
    campaign = Campaign.create(folder / "short", plan)
    found = {}
    for name, job in zip(("without", "with"), campaign.jobs, strict=True):
        began = time.perf_counter()
        assert RunProcess(campaign.path, job.place).wait() == 0
        found[name] = round(time.perf_counter() - began, 1)
    return found


PAIRS = """
methods = ["perfect-memory", "recall"]
sequences = [{sequences}]
seeds = [0]
budget = "laptop"
[settings]
"training.steps" = 1000
"training.evaluate_every" = 500
"training.start_steps" = 200
"training.update_after" = 200
"protocol.episodes" = 2
"""


def measure_sharing(folder: Path) -> dict[str, Any]:
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder / "compiled")
    tasks = ("handle-press-side", "faucet-close", "window-close")
    path = folder / "pairs.toml"
    path.write_text(PAIRS.format(sequences=", ".join(f'"{a},{b}"' for a in tasks for b in tasks)))
    found: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    for name, more in (("shared", ()), ("apart", ("--no-sharing",))):
        words = [sys.executable, "-m", "recall_rl", "campaign", "run", str(path), "--out", str(folder / name), *more]
        began = time.perf_counter()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        seconds[name] = round(time.perf_counter() - began, 1)
        found[name] = results(folder / name)
    same = sum(found["shared"].get(run) == result for run, result in found["apart"].items())
    saved = size(jobs(find_plan(str(path)))).saved
    return {"runs": len(found["apart"]), "identical": same, "steps saved": round(saved, 3), "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=("ray", "slots", "cache", "sharing"))
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="recall-campaigns-"))
    parts: dict[str, Callable[[Path], dict[str, Any]]] = {
        "cache": measure_cache,
        "slots": lambda folder: measure_slots(folder, given.steps),
        "ray": lambda folder: measure_ray(folder, given.runs),
        "sharing": measure_sharing,
    }
    report: dict[str, Any] = {}
    for name, part in parts.items():
        if given.part in (None, name):
            (folder / name).mkdir()
            report[name] = part(folder / name)
            print(name, report[name], file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(report, indent=1))
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
