"""What checkpoints cost: the same run with one every second and with none but those at the ends of tasks, in turns.

python benchmarks/checkpoint.py                              # handle-press-side at the laptop budget, a few minutes
python benchmarks/checkpoint.py --budget paper --steps 3000
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


def trained(folder: Path, options: argparse.Namespace, seconds: float) -> tuple[float, int]:
    """Seconds from the first report to the end of a run, and checkpoints written."""
    words = ["train", "--sequence", options.task, "--method=recall", f"--budget={options.budget}", f"--out={folder}"]
    settings = {
        "training.steps": options.steps,
        "training.start_steps": 1000,
        "training.evaluate_every": options.steps // 4,
        "machine.checkpoint_seconds": seconds,
        "protocol.episodes": 1,
    }
    given = [f"--set={name}={value}" for name, value in settings.items()]
    subprocess.run([sys.executable, "-m", "recall_rl", *words, *given], check=True, stdout=subprocess.DEVNULL)
    times = [json.loads(line) for line in (folder / "times.jsonl").read_text().splitlines()]
    reports = [t["time"] for t in times if t["event"] == "training"]
    number = max(int(path.name.split("-")[1]) for path in folder.glob("g*/checkpoint-*"))
    return reports[-1] - reports[0], number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", default="laptop")
    parser.add_argument("--task", default="handle-press-side")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    costs = []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as made:
            often, count = trained(Path(made) / "often", options, 1.0)
            seldom, few = trained(Path(made) / "seldom", options, 1e9)
        costs.append((often - seldom) / (count - few))
        print(f"{often:.1f} s with {count} checkpoints, {seldom:.1f} s with {few}: {1000 * costs[-1]:.0f} ms each")
    each = statistics.median(costs)
    print(f"median {1000 * each:.0f} ms a checkpoint: {100 * each / 300:.3f}% of a run with one every five minutes")


if __name__ == "__main__":
    main()
