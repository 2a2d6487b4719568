"""What journals tell of values and temperatures, over all published runs of the evidence."""

from __future__ import annotations

import numpy as np
from evidence_runs import base, own_end, published
from evidence_tables import Lines, short, table, together

from recall_rl.analysis.metrics import Rates
from recall_rl.analysis.read import Result
from recall_rl.reports.tables import number

REPLAYING = (
    "perfect-memory",
    "naive-replay",
    "recall-pd",
    "recall-tn",
    "recall",
    "recall-steady",
    "recall-as-released",
)
"""Methods that learn values of old tasks."""


def targets() -> str:
    """What value targets come to, by the number of tasks in a run, in whichever campaign it was."""
    groups: dict[tuple[int, str], list[Result]] = {}
    for run in published().values():
        if len(run.tasks) > 1 and base(run) in REPLAYING:
            groups.setdefault((len(run.tasks), base(run)), []).append(run)
    lines: Lines = []
    for tasks, method in sorted(groups, key=lambda key: (key[0], REPLAYING.index(key[1]))):
        values = [run.training.values for run in groups[tasks, method]]
        means = np.concatenate([noted["target"] for noted in values])
        spreads = np.concatenate([noted["target_deviation"] for noted in values])
        cells = [power(float(x)) for x in (np.nanmin(means), np.nanmax(means), np.nanmax(spreads))]
        lines.append([str(tasks), f"`{method}`", *cells, str(len(values))])
    head = ["tasks", "method", "lowest mean target", "highest", "largest deviation", "runs"]
    return table(head, lines)


def power(value: float) -> str:
    """A number of any size, by its power of ten from ten thousand on."""
    if abs(value) < 1e4:
        return f"{value:.0f}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}·10{str(int(exponent)).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


SETTLED = 10_000
"""Steps of a task after which its temperature has found its size."""
PLUNGED = -6.0
"""An entropy far below the target, which is -4."""
SHOWN = 4
"""Lines of a table of extremes."""


def broken() -> str:
    """How often the entropy of window-close's policy plunged, and RECALL's tasks with the highest temperature."""
    each = [(run, task) for run in published().values() for task in range(len(run.tasks))]
    closes = [learnt for learnt in each if learnt[0].tasks[learnt[1]] == "window-close"]
    hottest = sorted((learnt for learnt in each if base(learnt[0]) == "recall"), key=lambda x: -temperature(*x))
    worst = sorted((learnt for learnt in closes if base(learnt[0]) == "recall"), key=lambda x: ended(*x))
    return together(
        plunges(closes),
        extremes(f"`recall`, highest temperature of {len(hottest)} tasks", hottest[:SHOWN]),
        extremes(f"`recall`, worst window-close of {len(worst)}", worst[:SHOWN]),
    )


def plunges(found: list[tuple[Result, int]]) -> str:
    """Of each method: tasks, those whose policy's entropy plunged, and how many of either kind were not learnt."""
    lines: Lines = []
    for method in sorted({base(run) for run, _ in found}):
        mine = [
            (settled(run, task, "entropy").min() < PLUNGED, ended(run, task))
            for run, task in found
            if base(run) == method
        ]
        fell, kept = ([end for plunged, end in mine if plunged == which] for which in (True, False))
        unlearnt = [f"{sum(end < 0.5 for end in some)} of {len(some)}" for some in (fell, kept)]
        lines.append([f"`{method}`", *unlearnt])
    return table(["window-close below 0.5", f"where entropy fell below {PLUNGED:.0f}", "elsewhere"], lines)


def settled(run: Result, task: int, name: str) -> Rates:
    """What was noted of a task's training, over the rows of a batch, once the task had settled."""
    noted, begun = run.training, run.steps // len(run.tasks) * task
    return noted.values[name][(noted.stage == task) & (noted.at > begun + SETTLED)]


def temperature(run: Result, task: int) -> float:
    """The highest of a task, as a mean over new and old rows."""
    return float(settled(run, task, "alpha").max())


def ended(run: Result, task: int) -> float:
    """How well a task was learnt."""
    return own_end(task)(run)


def extremes(title: str, found: list[tuple[Result, int]]) -> str:
    """Tasks of runs, each with its highest temperature and how well it was learnt."""
    lines: Lines = []
    for run, task in found:
        cells = [short(",".join(run.tasks)), str(run.seed), f"{task + 1}: {short(run.tasks[task])}"]
        lines.append([*cells, f"{temperature(run, task):.3g}", number(ended(run, task))])
    return table([title, "seed", "task", "temperature", "at its own end"], lines)
