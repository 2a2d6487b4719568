"""A learner that draws from many remembered rows: held in RAM, mapped from a warm disk, and in a small memory cgroup.

    python benchmarks/memory.py                        # 20 million rows of 39 numbers: 3.6 GB on disk, some minutes
    python benchmarks/memory.py --rows 1000000

Each figure is that of a process of its own; RAM and disk take turns. The cgroup needs root and a cgroup file system.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("NPROC", "1")

ROW_SIZES = (39, 4)
UPDATES = 50
LIMIT = 2 << 30


def build(folder: Path, rows: int) -> None:
    """Rows of episodes of 200 steps, gathered in chunks, in the files of a store."""
    import numpy as np

    from recall_rl.collect.row import Row
    from recall_rl.memory.memory import Memory
    from recall_rl.memory.record import record
    from recall_rl.memory.store import Store

    row, rng = Row(*ROW_SIZES), np.random.default_rng(0)
    (folder / "memory").mkdir()
    memory = Memory(row, 2, Store(folder, folder / "memory", mapped=True))
    memory.open(0, rows)
    block = rng.standard_normal((50, row.width), dtype=np.float32)
    block[1:, row.observation] = block[:-1, row.next_observation]
    block[:, row.terminated] = 0
    for _ in range(rows // 50):
        memory.append(0, block)
    memory.seal()
    (folder / "record.json").write_text(json.dumps(dataclasses.asdict(record(memory))))


def learn(folder: Path, where: str, seconds: float) -> None:
    """Draw batches and learn from them, as the loop does; print the speed and the memory used."""
    import jax
    import msgspec
    import numpy as np

    from recall_rl.agent.update import make_update
    from recall_rl.collect.row import Row
    from recall_rl.memory.record import MemoryRecord, restore
    from recall_rl.memory.store import Store
    from recall_rl.methods.find import method
    from recall_rl.methods.method import new_agent
    from recall_rl.tasks.task import Stage
    from recall_rl.training.config import budget

    row = Row(*ROW_SIZES)
    found = msgspec.convert(json.loads((folder / "record.json").read_text()), MemoryRecord, strict=False)
    memory = restore(found, row, 2, Store(folder, folder / "memory", mapped=where == "disk"))
    chosen = method("fine-tuning")
    config = chosen.agent(budget("laptop").agent)
    state, update, rng = (
        new_agent(chosen, config, row, 2, 0),
        make_update(chosen, config, row),
        np.random.default_rng(0),
    )

    def chunk():
        nonlocal state
        batches = chosen.draw.batches(memory, Stage(new=(0,)), config, UPDATES, len(memory.segments[0]), rng)
        jax.block_until_ready(state.updates)
        state, _ = update(state, batches)

    for _ in range(3):
        chunk()
    jax.block_until_ready(state.updates)
    if where == "disk" and not os.environ.get("COLD"):
        for table in memory.tables():  # Warm: every page has been read once.
            for start in range(0, len(table), 1 << 20):
                table.records[start : start + (1 << 20), 0].sum()
    count, began = 0, time.monotonic()
    while time.monotonic() - began < seconds:
        chunk()
        count += UPDATES
    jax.block_until_ready(state.updates)
    speed = count / (time.monotonic() - began)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    used = {k: round(int(status[k].split()[0]) / 1024) for k in ("RssAnon", "RssFile")}
    print(json.dumps({"updates_per_second": round(speed, 1), **used}))


def measured(folder: Path, where: str, seconds: float, group: Path | None = None) -> dict:
    """The figures of one process, within a cgroup if one is given."""
    join = f"echo $$ > {group}/cgroup.procs && " if group else ""
    words = f"exec {sys.executable} {__file__} --learn {where} --folder {folder} --seconds {seconds}"
    env = {**os.environ, **({"COLD": "1"} if group else {})}
    out = subprocess.run(["sh", "-c", join + words], check=True, capture_output=True, text=True, env=env).stdout
    return json.loads(out.splitlines()[-1])


def forget(folder: Path) -> None:
    """Let the kernel drop what it holds of the files, or their pages would count for the processes before."""
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def small_group() -> Path | None:
    """A cgroup of 2 GB, of either version; None if none can be made."""
    for parent, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = Path(parent) / f"recall-{os.getpid()}"
        try:
            group.mkdir()
            (group / limit).write_text(str(LIMIT))
            return group
        except OSError:
            if group.is_dir():
                group.rmdir()
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--folder", type=Path, help="where files are made (default: a temporary folder)")
    parser.add_argument("--learn", choices=("ram", "disk"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.learn:
        return learn(options.folder, options.learn, options.seconds)
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        folder = Path(made)
        build(folder, options.rows)
        size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
        each = size / options.rows
        print(f"{options.rows:,} rows of {ROW_SIZES[0]} numbers, {size / 1e9:.2f} GB, {each:.1f} bytes a row")
        found = [
            (measured(folder, "ram", options.seconds), measured(folder, "disk", options.seconds))
            for _ in range(options.rounds)
        ]
        ram, disk = ([pair[k] for pair in found] for k in (0, 1))
        ratio = statistics.median(d["updates_per_second"] / r["updates_per_second"] for r, d in found)
        for name, rows in (("ram", ram), ("disk", disk)):
            speed = statistics.median(r["updates_per_second"] for r in rows)
            print(f"{name}: {speed:.0f} updates/s, anonymous {rows[-1]['RssAnon']} MB, mapped {rows[-1]['RssFile']} MB")
        print(f"disk / ram, median of {options.rounds}: {ratio:.2f}")
        group = small_group()
        if group is None:
            print("in 2 GB: not measured, no cgroup can be made here")
            return
        forget(folder)
        try:
            small = measured(folder, "disk", options.seconds, group)
        finally:
            group.rmdir()
        print(
            f"in 2 GB: {small['updates_per_second']:.0f} updates/s, anonymous {small['RssAnon']} MB, mapped "
            f"{small['RssFile']} MB"
        )


if __name__ == "__main__":
    main()
