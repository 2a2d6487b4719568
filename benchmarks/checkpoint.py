"""What a checkpoint costs: in a run under way, the time that learning waits for one, and the whole time of writing it.

    python benchmarks/checkpoint.py                     # three tasks at the laptop budget, shortened
    python benchmarks/checkpoint.py --budget paper
    python benchmarks/checkpoint.py --budget paper --tasks 200 --times 5

Writing happens beside learning, in a thread of its own; even if it took the learner's core all the time, a checkpoint
would cost no more than the whole.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from recall_rl.collect.row import Row
from recall_rl.runs.checkpoint import Checkpointer
from recall_rl.runs.config import resolve
from recall_rl.runs.directory import RunDirectory
from recall_rl.runs.files import FileRecord, file_record
from recall_rl.runs.generation import Generation
from recall_rl.runs.manifest import About, to_plain
from recall_rl.runs.train import run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", default="laptop")
    parser.add_argument("--tasks", type=int, default=3)
    parser.add_argument("--times", type=int, default=20)
    options = parser.parse_args()
    small = {"training.steps": 2000, "training.start_steps": 500, "training.update_after": 500}
    settings = [f"{name}={value}" for name, value in {**small, "training.evaluate_every": 1000}.items()]
    sequence = ",".join(f"reach-{90 * (k % 4)}" for k in range(options.tasks))
    config = resolve(
        method="recall", sequence=sequence, budget_name=options.budget, protocol_name="own", settings=settings
    )
    waits, wholes = [], []
    with tempfile.TemporaryDirectory() as made:
        directory = RunDirectory.create(Path(made) / "run", config)
        for progress in run(config, directory):
            if progress.step < 5000:
                continue
            generation = Generation(Path(made) / "g0001")
            generation.memory.mkdir(parents=True)
            saver = Checkpointer(Path(made), generation)
            for _ in range(options.times):
                began = time.perf_counter()
                snapshot = progress.snapshot()
                files = [f for f in (table.open_file() for table in progress.tables()) if f is not None]
                about = About(
                    config.identity(), file_record(directory.path / "config.json"), Row(4, 2), True, to_plain({})
                )
                saver.save(snapshot, about, FileRecord(0, ""), files)
                waits.append(time.perf_counter() - began)
                saver.wait()
                wholes.append(time.perf_counter() - began)
            size = sum(f.stat().st_size for f in max(generation.path.glob("checkpoint-*")).iterdir())
            saver.close()
            break
    wait, whole = statistics.median(waits), statistics.median(wholes)
    print(
        f"{options.budget}, {options.tasks} tasks, {size / 1e6:.1f} MB: "
        f"learning waits {1000 * wait:.1f} ms, the whole takes {1000 * whole:.0f} ms"
    )
    print(f"at one every five minutes: {100 * wait / 300:.4f}% of the time; {100 * whole / 300:.3f}% without overlap")


if __name__ == "__main__":
    main()
