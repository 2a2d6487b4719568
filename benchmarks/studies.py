"""Studies of docs/methods/results.md and docs/performance.md: commands of their runs, tables from their journals.

    python benchmarks/studies.py commands pair            # print the commands, one a line
    python benchmarks/studies.py commands pair | sh       # run those not yet finished, one after another
    python benchmarks/studies.py keep pair                # copy journals of finished runs to results/methods
    python benchmarks/studies.py table pair               # a table from results/methods

Runs lie in runs/studies. Each is independent of the others, so the lines may be shared out among cores or machines.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
from pathlib import Path

from recall_rl.methods.catalogue import CATALOGUE
from recall_rl.tasks.metaworld import CW10

RUNS, KEPT = Path("runs/studies"), Path("results/methods")
PAIR = "handle-press-side,window-close"
SHARED = "--set agent.critic.trunk=2 --set agent.critic.head=0"
"""One critic shape for every method: a trunk that all tasks share and linear heads."""
OWN = "--set agent.{0}.trunk=0 --set agent.{0}.head=2"

SEEDED = ("naive-replay", "recall")
"""Methods of the pair that are run with three seeds; the other continual ones with one."""
ONCE = [name for name in CATALOGUE if name not in (*SEEDED, "mtl", "mtl-popart")]


def runs(study: str) -> dict[str, str]:
    """The runs of a study by name, each with its options of `recall train`."""
    base = "--protocol cw --budget laptop"
    if study == "single":
        made = {f"{t}-{s}": f"--sequence {t} --method recall-tn --seed {s}" for t in CW10 for s in range(3)}
    elif study == "pair":
        seeded = {f"{m}-{s}": (m, s) for m in SEEDED for s in range(3)}
        seeded |= {f"{m}-0": (m, 0) for m in ONCE}
        made = {n: f"--sequence {PAIR} --method {m} --seed {s} {SHARED}" for n, (m, s) in seeded.items()}
    elif study == "sharing":
        shapes = {
            "shared-shared": SHARED,
            "own-shared": f"{OWN.format('actor')} {SHARED}",
            "shared-own": OWN.format("critic"),
            "own-own": f"{OWN.format('actor')} {OWN.format('critic')}",
        }
        made = {n: f"--sequence {PAIR} --method perfect-memory --seed 0 {shape}" for n, shape in shapes.items()}
    elif study == "triples":
        triples = {"cw3-7": "cw3-7", "learnable": "handle-press-side,faucet-close,window-close"}
        made = {
            f"{n}-{m}": f"--sequence {tasks} --method {m} --seed 0"
            for n, tasks in triples.items()
            for m in ("recall", "fine-tuning")
        }
    elif study == "paper":
        base = "--protocol cw --budget paper --set training.steps=300000"
        made = {
            f"window-close-{m}-0": f"--sequence window-close --method {m} --seed 0"
            for m in ("recall-tn", "fine-tuning")
        }
    else:
        assert study == "lag"
        base, task = "--protocol mw3 --budget laptop", "handle-press-side"
        made = {
            f"lag-{lag}-seed-{s}": f"--sequence {task} --method fine-tuning --seed {s} --set training.lag={lag}"
            for s in range(3)
            for lag in (0, 1)
        }
    return {f"{study}/{name}": f"{options} {base}" for name, options in made.items()}


def last(path: Path, count: int = 3) -> list[tuple[str, float, float]]:
    """Each task's name with its mean success over the last evaluations of its own stage, and of the run."""
    events = [json.loads(line) for line in path.read_text().splitlines()]
    found = [e for e in events if e["event"] == "evaluation"]
    met = [len(e["scores"]) for e in found]
    rows: list[tuple[str, float, float]] = []
    for k, score in enumerate(found[-1]["scores"]):
        own = [e["scores"][k]["success"] for e, n in zip(found, met, strict=True) if n == k + 1]
        every = [e["scores"][k]["success"] for e in found if len(e["scores"]) > k]
        rows.append((score["task"], statistics.mean(own[-count:]), statistics.mean(every[-count:])))
    return rows


def table(study: str) -> None:
    """A row a run; "a → b" is a task's success at the end of its own training and at the end of the run."""
    found = {name: last(KEPT / f"{name}.jsonl") for name in runs(study) if (KEPT / f"{name}.jsonl").exists()}
    width = max(len(rows) for rows in found.values())
    print("| run |" + "".join(f" task {k + 1} |" for k in range(width)) + "\n|---" * 1 + "|---" * width + "|")
    for name, rows in found.items():
        cells = [f"{task} {own:.2f} → {end:.2f}" for task, own, end in rows[:-1]] + [f"{rows[-1][0]} {rows[-1][2]:.2f}"]
        print(f"| {name.split('/')[1]} | {' | '.join(cells)} |")
    missing = [name.split("/")[1] for name in runs(study) if name not in found]
    if missing:
        print(f"\nNot run: {', '.join(missing)}.")


def single_table() -> None:
    """A row a task: success at the end for each seed, and whether it counts as learnable at this budget."""
    seeds = range(3)
    print("| task |" + "".join(f" seed {s} |" for s in seeds) + " mean |\n|---" + "|---" * (len(seeds) + 1) + "|")
    for task in CW10:
        paths = {s: KEPT / "single" / f"{task}-{s}.jsonl" for s in seeds}
        ends = {s: last(path)[0][2] for s, path in paths.items() if path.exists()}
        cells = [f"{ends[s]:.2f}" if s in ends else "–" for s in seeds]
        mean = f"{statistics.mean(ends.values()):.2f}" if ends else "–"
        print(f"| {task} | {' | '.join(cells)} | {mean} |")


def keep(study: str) -> None:
    for name in runs(study):
        folder = RUNS / name
        if (folder / "weights.safetensors").exists():
            (KEPT / study).mkdir(parents=True, exist_ok=True)
            lines = (folder / "journal.jsonl").read_text().splitlines(keepends=True)
            (KEPT / f"{name}.jsonl").write_text("".join(lines))
            shutil.copy(folder / "config.json", KEPT / f"{name}.json")
            print("kept", name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("commands", "keep", "table"))
    parser.add_argument("study", choices=("single", "pair", "sharing", "triples", "paper", "lag"))
    options = parser.parse_args()
    if options.what == "commands":
        for name, arguments in runs(options.study).items():
            print(f"[ -e {RUNS / name}/weights.safetensors ] || recall train {arguments} --out {RUNS / name}")
    else:
        if options.what == "table" and options.study == "single":
            single_table()
        else:
            {"keep": keep, "table": table}[options.what](options.study)


if __name__ == "__main__":
    main()
