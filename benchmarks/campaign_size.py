"""A campaign of ten thousand runs on a made-up folder: planning it, looking at it, and finding what is left to do.

    python benchmarks/campaign_size.py [--runs 10000] [--done 5000] [--out results/campaign-size.json]

Runs are not run: their folders are written as finished, half-way and new runs leave them, with journals of the length
that a laptop-sized pair has. Times are of the processor and of the clock, of one process, after all imports.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

from recall_rl.campaigns.campaign import Campaign
from recall_rl.campaigns.jobs import jobs
from recall_rl.campaigns.plan import Member, Plan
from recall_rl.campaigns.summary import summary

LEARNING = dict.fromkeys(("actor_loss", "alpha", "critic_loss", "entropy", "q", "target", "target_deviation"), 0.123456)


def plan_of(runs: int) -> Plan:
    """Ten weights of distillation on the hundred pairs, with as many seeds as it takes."""
    members = tuple(Member("recall", {"options.lam": float(lam)}) for lam in range(1, 11))
    pairs = tuple(f"pair-{i}-{j}" for i in range(10) for j in range(10))
    return Plan("large", members, pairs, tuple(range(-(-runs // 1000))), "laptop")


def journal(steps: int, ended: bool) -> bytes:
    lines: list[dict[str, object]] = [{"event": "run", "identity": "made-up", "reproducible": True}]
    scores = [{"position": p, "task": "push", "success": 0.1, "total": 467.63, "length": 200.0} for p in range(2)]
    for step in range(1000, steps + 1, 1000):
        lines.append({"event": "training", "stage": 0, "step": step, "episodes": 5, "learning": LEARNING})
        if step % 5000 == 0:
            lines.append({"event": "evaluation", "step": step, "scores": scores, "average": 0.1})
    if ended:
        lines.append({"event": "end", "step": steps})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def fill(campaign: Campaign, done: int) -> None:
    """So many runs done, beginnings first, and a hundred half-way."""
    whole, half = journal(200_000, ended=True), journal(100_000, ended=False)
    for k, job in enumerate(campaign.jobs[: done + 100]):
        folder = campaign.folder(job) / "g0001"
        folder.mkdir(parents=True)
        (folder.parent / "config.json").write_text(job.config.to_json())
        (folder / "start.json").write_text('{"generation": null, "checkpoint": null}')
        (folder / "lease.json").write_text('{"pid": 1, "host": "made-up", "began": 0.0}')
        os.utime(folder / "lease.json", (0, 0))
        (folder / "journal.jsonl").write_bytes(whole if k < done else half)


def timed(work):
    clock, processor = time.perf_counter(), time.process_time()
    found = work()
    return found, {
        "seconds": round(time.perf_counter() - clock, 2),
        "processor_seconds": round(time.process_time() - processor, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--done", type=int, default=5_000)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    plan, figures = plan_of(options.runs), {}
    jobs(plan_of(1))  # Imports what methods need.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "campaign"
        campaign, figures["plan"] = timed(lambda: Campaign.create(path, plan))
        fill(campaign, options.done)
        found, figures["what is left"] = timed(campaign.standings)
        told, figures["status"] = timed(lambda: summary(Campaign.existing(path).standings()))
    counts = f"{told.done:,} done, {told.running:,} running, {told.ready:,} ready, {told.waiting:,} waiting"
    print(f"{len(found):,} runs, shared beginnings included: {counts}\n")
    print("| what | seconds | of the processor |\n|---|---|---|")
    for name, figure in figures.items():
        print(f"| {name} | {figure['seconds']} | {figure['processor_seconds']} |")
    if options.out:
        options.out.write_text(json.dumps({"runs": len(found), "done": options.done, **figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
