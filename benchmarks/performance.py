"""How close to the bare engines, how far ahead of peers, how flat as work grows: one table of ratios.

    python benchmarks/performance.py --json results/performance.json   # half an hour; nothing else should run
    python benchmarks/performance.py --only a b --rounds 3             # some of it

(a) learner with memory / the same update in a bare `lax.scan` on ready batches; one thread, CPU time
(b) learner with memory / the products it needs at the speed of products alone, measured in turn with it; CPU time
(c) whole run on two cores, evaluation off / the slower of bare learner and bare environment
(d) whole run / Stable-Baselines3 and CleanRL's SAC, window-close, one update a step, all on one core (needs torch)
(e) whole run of recall / of fine-tuning, in the second task
(f) updates a second with 20 tasks and 10^6 rows, and with 200 tasks and 10^7 rows / with 2 tasks and 10^5 rows
(g) seconds from `recall train` to the first environment step / to import JAX; compilations of a run
(h) whole run over cw10 with the paper's cadence of evaluation, recipes full and flat / without evaluation, on two cores
"""

from __future__ import annotations

import os

os.environ["NPROC"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sides import CHUNK, Bare, BareEnvironment, Learner, Products, TenTasks, WholeRun, update_flops

from recall_rl.runs.fingerprint import fingerprint
from recall_rl.training.config import BUDGETS
from recall_rl.training.team import MachineConfig, Team

HERE = Path(__file__).parent
SPEED = {"laptop": 700, "paper": 100}
"""About the updates a second, from which the length of a turn is chosen."""


class Table:
    """The rows found so far, each printed as it is found."""

    def __init__(self):
        self.rows: list[dict] = []
        print(
            "| measure | networks | ours | against | ratio | spread of rounds |\n|---|---|---|---|---|---|", flush=True
        )

    def note(self, what: str, size: str, ours: list[float], against: list[float]) -> None:
        """Add a row: medians of both sides, and the median, least and largest ratio of a round."""
        ratios = [a / b for a, b in zip(ours, against, strict=True)]
        ratio, left, right = statistics.median(ratios), statistics.median(ours), statistics.median(against)
        row = {"what": what, "size": size, "ours": left, "against": right, "ratio": ratio}
        self.rows.append({**row, "least": min(ratios), "largest": max(ratios)})
        print(
            f"| {what} | {size} | {left:,.4g} | {right:,.4g} | {ratio:.2f} | {min(ratios):.2f} to {max(ratios):.2f} |",
            flush=True,
        )


def alternate(sides: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """What each side's rounds gave, the sides taking turns."""
    seen: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, measure in sides.items():
            seen[name].append(measure())
    return seen


def turns(size: str, seconds: float) -> int:
    return max(1, round(seconds * SPEED[size] / CHUNK))


def learners(table: Table, only: set[str], rounds: int, seconds: float) -> None:
    for size in ("laptop", "paper"):
        for name, tasks in (("fine-tuning", 1), ("recall", 2)):
            ours = Learner(name, size, max(1, turns(size, seconds) // tasks), tasks)
            rows = ours.batches()
            sides: dict[str, Callable[[], float]] = {"ours": ours, "bare": Bare(ours)}
            if size == "paper":
                sides["products"] = Products(ours.config.batch, ours.config.critic.width)
            found = alternate(sides, rounds)
            if "a" in only:
                table.note(
                    f"(a) {name}: learner with memory / bare scan, updates/s", size, found["ours"], found["bare"]
                )
            if "b" in only and size == "paper":
                flops = update_flops(ours.config, rows.learn.rows.shape[1], rows.distil.rows.shape[1])
                bound = [speed / flops for speed in found["products"]]
                table.note(
                    f"(b) {name}: learner with memory / its products alone, updates/s", size, found["ours"], bound
                )


def whole(table: Table, rounds: int, seconds: float) -> None:
    for size in ("laptop", "paper"):
        chunks, task = turns(size, seconds), "window-close"
        run = WholeRun(task, "fine-tuning", BUDGETS[size].agent, chunks, rounds)
        bare = Bare(Learner("fine-tuning", size, chunks))

        def learner(bare: Bare = bare) -> float:
            began = time.perf_counter()
            bare.work(bare.chunks)
            return bare.chunks * CHUNK / (time.perf_counter() - began)

        environment = BareEnvironment(task, max(1, round(4 * seconds)))
        found = alternate({"ours": run, "learner": learner, "environment": environment}, rounds)
        run.close()
        slower = min(("learner", "environment"), key=lambda side: statistics.median(found[side]))
        table.note(f"(c) whole run / bare {slower}, {task}, steps/s", size, found["ours"], found[slower])


def peers(table: Table, rounds: int, seconds: float) -> None:
    try:
        from peers import CleanRL, StableBaselines
    except ImportError as error:
        print(f"(d) left out: {error.name} is not installed.", flush=True)
        return
    cores, task = os.sched_getaffinity(0), "window-close"
    os.sched_setaffinity(0, {min(cores)})
    try:
        for size in ("laptop", "paper"):
            agent = BUDGETS[size].agent
            steps = max(50, round(seconds * SPEED[size] / 6))
            run = WholeRun(task, "fine-tuning", agent, turns(size, seconds / 2), rounds)
            sides = {
                "ours": run,
                "Stable-Baselines3": StableBaselines(task, agent.actor, steps),
                "CleanRL": CleanRL(task, agent.actor, steps),
            }
            found = alternate(sides, rounds)
            run.close()
            for name in ("Stable-Baselines3", "CleanRL"):
                table.note(f"(d) whole run / {name}, {task}, one core, steps/s", size, found["ours"], found[name])
    finally:
        os.sched_setaffinity(0, cores)


def second_task(table: Table, rounds: int, seconds: float) -> None:
    for size in ("laptop", "paper"):
        chunks, tasks = max(1, turns(size, seconds) // 2), "window-close,handle-press-side"
        sides = {name: WholeRun(tasks, name, BUDGETS[size].agent, chunks, rounds) for name in ("recall", "fine-tuning")}
        found = alternate(sides, rounds)
        for side in sides.values():
            side.close()
        table.note("(e) recall / fine-tuning in the second task, steps/s", size, found["recall"], found["fine-tuning"])


class Process:
    """A learner in a process of its own, so that its memory can be told; it works when asked."""

    def __init__(self, *words: object):
        command = [sys.executable, __file__, "--learner", *map(str, words)]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.child.stdout.readline()

    def __call__(self) -> float:
        self.child.stdin.write("go\n")
        self.child.stdin.flush()
        return float(self.child.stdout.readline())

    def close(self) -> float:
        """The most memory it used, in GB."""
        self.child.stdin.close()
        most = float(self.child.stdout.readline())
        self.child.wait()
        return most


def be_learner(name: str, size: str, tasks: int, rows: int, old_tasks: int) -> None:
    options = {"old_tasks": old_tasks} if old_tasks else {}
    learner = Learner(name, size, turns(size, 1.0), tasks, rows // tasks, **options)
    print("ready", flush=True)
    for _ in sys.stdin:
        print(learner(), flush=True)
    # Not `ru_maxrss`, in which a child begins with what its parent had.
    lines = Path("/proc/self/status").read_text().splitlines()
    print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e6, flush=True)


def growth(table: Table, rounds: int) -> None:
    for name, old_tasks in (("fine-tuning", 0), ("recall", 1)):
        sizes = {2: 10**5, 20: 10**6, 200: 10**7}
        sides = {tasks: Process(name, "laptop", tasks, rows, old_tasks) for tasks, rows in sizes.items()}
        found = alternate(sides, rounds)
        used = {tasks: side.close() for tasks, side in sides.items()}
        title = f"(f) {name}" + (f", old_tasks={old_tasks}" if old_tasks else "")
        for tasks in (20, 200):
            text = f"{title}: {tasks} tasks, {sizes[tasks]:,} rows / 2 tasks, 100,000 rows, updates/s"
            table.note(f"{text} ({used[tasks]:.1f} against {used[2]:.1f} GB)", "laptop", found[tasks], found[2])


def first_step(environment: str) -> float:
    """Seconds from the command to the first step of an environment of `first_step.py`."""
    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder) / "first"
        paths = os.pathsep.join((str(HERE), os.environ.get("PYTHONPATH", "")))
        env = {**os.environ, "FIRST_STEP": str(note), "PYTHONPATH": paths}
        words = ["train", "--sequence", f"gym:first_step:{environment}", "--budget", "laptop", "--out", f"{folder}/run"]
        quiet = subprocess.DEVNULL
        began = time.time()
        child = subprocess.Popen([sys.executable, "-m", "recall_rl", *words], env=env, stdout=quiet, stderr=quiet)
        while not note.exists() and child.poll() is None:
            time.sleep(0.01)
        child.terminate()
        child.wait()
        return float(note.read_text()) - began


def import_jax() -> float:
    began = time.time()
    subprocess.run([sys.executable, "-c", "import jax; jax.devices()"], check=True)
    return time.time() - began


def beginning(table: Table, rounds: int) -> None:
    sides = {name: lambda name=name: first_step(name) for name in ("First-v0", "FirstRobot-v0")}
    found = alternate({**sides, "import": import_jax}, rounds)
    for name, what in (("First-v0", "nothing"), ("FirstRobot-v0", "window-close")):
        table.note(f"(g) seconds to the first step of {what} / to import JAX", "laptop", found[name], found["import"])
    counts = [float(compilations("recall", tasks)) for tasks in (2, 5)]
    table.note(
        "(g) programs that take over 1 s to compile in a run of recall: 5 tasks / 2",
        "laptop",
        *([c] for c in counts[::-1]),
    )


def compilations(name: str, tasks: int) -> int:
    """Programs that took more than a second to compile in one short run."""
    code = f"""
import tempfile, jax, recall_rl
seen = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, seconds, **_: seen.append(seconds) if event.endswith("backend_compile_duration") else None)
short = {{"training.steps": 200, "training.start_steps": 50, "training.update_after": 50, "protocol.episodes": 1,
          "training.evaluate_every": 200}}
tasks = ",".join(f"reach-{{90 * (k % 4)}}@{{k + 1}}" for k in range({tasks}))
with tempfile.TemporaryDirectory() as folder:
    recall_rl.train(tasks, {name!r}, budget="laptop", out=folder + "/run", settings=short)
print(sum(seconds > 1 for seconds in seen))
"""
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    return int(out.splitlines()[-1])


def evaluations(table: Table, rounds: int) -> None:
    with Team(MachineConfig()) as team:
        sides = {"full": TenTasks(team, "full"), "flat": TenTasks(team, "flat"), "none": TenTasks(team, "full", 0)}
        sides["full"]()  # Compiles, and makes the environments.
        found = alternate(sides, max(1, rounds // 2))
    for name in ("full", "flat"):
        title = f"(h) cw10, the paper's cadence, evaluation {name} / none, steps/s"
        table.note(title, "laptop", found[name], found["none"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="how often the sides of a pair take turns")
    parser.add_argument("--seconds", type=float, default=2.0, help="about how long one turn is")
    parser.add_argument("--only", nargs="+", choices=list("abcdefgh"), default=list("abcdefgh"))
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--learner", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.learner:
        name, size, *numbers = options.learner
        return be_learner(name, size, *map(int, numbers))
    machine = {**fingerprint(1), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
    print(f"{machine['cpu']}, {machine['cores']} cores, load {machine['load']}; JAX {machine['jax']}, one thread\n")
    table, only, rounds, seconds = Table(), set(options.only), options.rounds, options.seconds
    if only & {"a", "b"}:
        learners(table, only, rounds, seconds)
    for letter, measure in (("c", whole), ("d", peers), ("e", second_task)):
        if letter in only:
            measure(table, rounds, seconds)
    if "f" in only:
        growth(table, rounds)
    if "g" in only:
        beginning(table, rounds)
    if "h" in only:
        evaluations(table, rounds)
    if options.json:
        content = {"machine": machine, "rounds": rounds, "rows": table.rows}
        options.json.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
