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
    "recall-paper",
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


Learnt = tuple[Result, int]
"""A task of a run, by its number."""


def broken() -> str:
    """How often the entropy of window-close's policy plunged, and RECALL's tasks with the highest temperature."""
    each: list[Learnt] = [(run, task) for run in published().values() for task in range(len(run.tasks))]
    closes = [learnt for learnt in each if learnt[0].tasks[learnt[1]] == "window-close"]
    hottest, worst = (once([learnt for learnt in some if base(learnt[0]) == "recall"]) for some in (each, closes))
    hottest.sort(key=lambda learnt: -temperature(*learnt))
    worst.sort(key=lambda learnt: ended(*learnt))
    return together(
        plunges(closes),
        extremes(f"`recall`, highest temperature of {len(hottest)} tasks", hottest[:SHOWN]),
        extremes(f"`recall`, worst window-close of {len(worst)}", worst[:SHOWN]),
    )


def plunges(found: list[Learnt]) -> str:
    """Of each method, how often entropy plunged in a first and in a later task, and how many of these were missed."""
    lines: Lines = []
    for method in sorted({base(run) for run, _ in found}):
        mine = once([learnt for learnt in found if base(learnt[0]) == method])
        fell = [learnt for learnt in mine if settled(*learnt, "entropy").min() < PLUNGED]
        places = [[task > 0 for _, task in some] for some in (fell, mine)]
        cells = [f"{places[0].count(later)} of {places[1].count(later)}" for later in (False, True)]
        lines.append([f"`{method}`", *cells, f"{sum(ended(*learnt) < 0.5 for learnt in fell)} of {len(fell)}"])
    return table([f"entropy below {PLUNGED:.0f}", "as the first task", "as a later one", "of these below 0.5"], lines)


def once(found: list[Learnt]) -> list[Learnt]:
    """Without those that were learnt in the very same way, as beginnings of several runs are."""
    return list({settled(*learnt, "entropy").tobytes(): learnt for learnt in found}.values())


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


def extremes(title: str, found: list[Learnt]) -> str:
    """Tasks of runs, each with its highest temperature and how well it was learnt."""
    lines: Lines = []
    for run, task in found:
        cells = [short(",".join(run.tasks)), str(run.seed), f"{task + 1}: {short(run.tasks[task])}"]
        lines.append([*cells, f"{temperature(run, task):.3g}", number(ended(run, task))])
    return table([title, "seed", "task", "temperature", "at its own end"], lines)
