"""What a report of many runs costs: seconds, memory and the size of the page.

    python benchmarks/report.py                 # 1,000 made-up runs of 10 tasks with 50 evaluations each
    python benchmarks/report.py --runs 100 --per-task 5

The runs are made up (a curve that rises and is partly forgotten, with noise); reading, measures, bootstrap, figures and
page are the real ones, in a process of their own whose peak memory is measured.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from recall_rl.runs.config import resolve
from recall_rl.tasks.metaworld import CW10

METHODS = ("recall", "fine-tuning", "ewc", "packnet", "clonex", "perfect-memory", "l2", "mas", "a-gem", "vcl")


def make_up(folder: Path, runs: int, per_task: int) -> int:
    """Write runs as published journals; returns their bytes."""
    rng, size = np.random.default_rng(0), 0
    rotated = [",".join((*CW10[k:], *CW10[:k])) for k in range(10)]
    for n in range(runs):
        method, sequence, seed = METHODS[n % 10], rotated[n // 10 % 10], n // 100
        config = resolve(method=method, sequence=sequence, budget_name="laptop", protocol_name="cw", seed=seed)
        each = config.training.steps
        lines = [{"event": "run", "identity": f"{n:016x}", "reproducible": True}]
        kept = rng.uniform(0.2, 1.0)
        for k in range(10 * per_task):
            step, scores = (k + 1) * each // per_task, []
            for p in range(k // per_task + 1):
                age = k - p * per_task
                level = min(1.0, age / per_task) * (1.0 if age < per_task else kept)
                success = float(np.clip(level + rng.normal(0, 0.1), 0, 1).round(1))
                score = {"position": p, "task": CW10[p], "success": success, "total": success * 1e5, "length": 200.0}
                scores.append(score)
            learning = {
                "actor_loss": -float(k),
                "critic_loss": 1.0 / (k + 1),
                "alpha": 1.0 / (k + 1),
                "q": 1.0,
                "target": 5.0,
            }
            lines.append({"event": "training", "stage": k // per_task, "step": step, "learning": learning})
            lines.append({"event": "evaluation", "step": step, "scores": scores, "average": 0.0})
        lines.append({"event": "end", "step": 10 * each})
        (folder / f"{n:04d}.json").write_text(config.to_json())
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{n:04d}.jsonl").write_text(text)
        size += len(text)
    return size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--per-task", type=int, default=50, help="evaluations in each task's training")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        runs, out = Path(name) / "runs", Path(name) / "report"
        runs.mkdir()
        size = make_up(runs, options.runs, options.per_task)
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-m", "recall_rl", "report", str(runs), "--out", str(out)], check=True)
        seconds = time.perf_counter() - begun
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        page = (out / "index.html").stat().st_size
        figures = len(list((out / "figures").glob("*.png")))
    print(
        f"{options.runs:,} runs of 10 tasks, {10 * options.per_task} evaluations each ({size / 1e6:.0f} MB of journals)"
    )
    print(f"{seconds:.1f} s ({used.ru_utime + used.ru_stime:.1f} s of CPU), {used.ru_maxrss / 1e6:.2f} GB at its peak")
    print(f"page {page / 1e6:.2f} MB, {figures} figures")


if __name__ == "__main__":
    main()
