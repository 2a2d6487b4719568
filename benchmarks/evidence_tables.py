"""Tables in Markdown that several campaigns of the evidence have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from evidence_runs import AVERAGE, WINDOW, Campaign, Measure, Values, base, known_alone, named

from recall_rl.analysis import metrics, paper
from recall_rl.analysis.bootstrap import FEWEST, Interval, interval, paired_difference
from recall_rl.analysis.read import Result
from recall_rl.analysis.summary import METRICS
from recall_rl.reports.tables import TITLES, number, printed
from recall_rl.reports.tables import shown as with_interval

SHORT = {"window-close": "wc", "faucet-close": "fc", "handle-press-side": "hps"}
Lines = list[list[str]]


def short(sequence: str) -> str:
    """A sequence as it stands in a table."""
    return " → ".join(SHORT.get(task, task) for task in sequence.split(","))


def table(head: list[str], lines: Lines) -> str:
    """Markdown, in which no interval is broken over two lines; nothing without a line."""
    if not lines:
        return ""
    text = "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *lines)) + "\n"
    return re.sub(r"\[(\S+), (\S+)\]", r"[\1,&nbsp;\2]", text)


def together(*parts: str) -> str:
    """What there is of a campaign's tables, one below the other."""
    return "\n".join(filter(None, parts))


def folded(title: str, *parts: str) -> str:
    """Tables that a reader opens who wants to know more; nothing if there are none."""
    inside = together(*parts)
    return f"<details><summary>{title}</summary>\n\n{inside}\n</details>\n" if inside else ""


def count(found: Campaign) -> str:
    """How much of a campaign there is."""
    if found.complete:
        return f"All {found.asked} runs.\n"
    return f"{len(found.runs)} of {found.asked} runs so far.\n"


def over(values: Values) -> Interval | None:
    """The mean over runs, resampled within each sequence."""
    strata: dict[str, list[float]] = {}
    for (sequence, _), value in values.items():
        strata.setdefault(sequence, []).append(value)
    return interval(list(strata.values())) if strata else None


def shown(found: Interval | None) -> str:
    """A mean, with its interval from five runs on, if some sequence has more than one."""
    if found is None:
        return "–"
    sure = found.n >= FEWEST and found.low < found.high
    return with_interval(found) if sure else number(found.value)


def methods(found: Campaign, family: str | None = None) -> str:
    """The paper's three measures of every method, best first, with the paper's own means where it has them."""
    lines: list[tuple[float, list[str]]] = []
    for method in found.methods():
        ours = [over(found.values(method, named(metric))) for metric in METRICS[:3]]
        papers = [paper.MEANS[family, method, metric] for metric in METRICS[:3]] if family else []
        runs = ours[0].n if ours[0] else 0
        cells = [*map(shown, ours), *map(printed, papers), str(runs)]
        lines.append((-ours[0].value if ours[0] else 0.0, [f"`{method}`", *cells]))
    head = ["method", *(TITLES[m] for m in METRICS[:3])]
    head += ["paper's average", "forgetting", "transfer"] if family else []
    return table([*head, "runs"], [line for _, line in sorted(lines, key=lambda pair: pair[0])])


def by_sequence(
    found: Campaign, title: str, cell: Callable[[list[Result]], str], alone: Callable[[Result], str] | None = None
) -> str:
    """The paper's format: a line a sequence, a column a method, before them one of the tasks alone if it is given."""
    first = {run.sequence: run for run in found.runs}
    lines: Lines = []
    for sequence, run in ((each, first[each]) for each in found.plan.sequences if each in first):
        mine = [[r for r in found.runs if (base(r), r.sequence) == (m, sequence)] for m in found.methods()]
        before = [alone(run)] if alone else []
        lines.append([titled(run), *before, *(cell(runs) if runs else "–" for runs in mine)])
    return table([title, *(["alone"] if alone else []), *(f"`{m}`" for m in found.methods())], lines)


def titled(run: Result) -> str:
    """The sequence of a run as it stands in a table, with its tasks if it has a name of its own."""
    tasks = ",".join(run.tasks)
    return short(tasks) if run.sequence == tasks else f"{run.sequence}: {short(tasks)}"


def measured(
    found: Campaign, title: str = TITLES["average_performance"], of: Measure = AVERAGE, beside_alone: bool = False
) -> str:
    """A number of every sequence and method: average performance, unless another is given with its title."""
    known = known_alone() if beside_alone else {}

    def cell(runs: list[Result]) -> str:
        values = {(run.sequence, run.seed): of(run) for run in runs}
        return shown(over({key: value for key, value in values.items() if value is not None}))

    def alone(run: Result) -> str:
        return number(float(np.mean([known[task] for task in run.tasks])))

    return by_sequence(found, title, cell, alone if beside_alone else None)


def learnt(found: Campaign, beside_alone: bool = False) -> str:
    """How well each task was learnt: its success at the end of its own training, task after task."""
    known = known_alone() if beside_alone else {}

    def alone(run: Result) -> str:
        return ", ".join(number(known[task]) for task in run.tasks)

    return by_sequence(found, "each task at its own end", own_ends, alone if beside_alone else None)


def own_ends(runs: list[Result]) -> str:
    """Every task at the end of its own training, over runs of one sequence."""
    ends = np.array([metrics.at_own_end(run.success, WINDOW) for run in runs])
    return ", ".join(number(float(task)) for task in ends.mean(axis=0))


def plasticity(found: Campaign) -> str:
    """How well tasks are learnt after others, and how many of them are not."""
    lines: Lines = []
    for method in found.methods():
        ends = [metrics.at_own_end(run.success, WINDOW) for run in found.runs if base(run) == method]
        later = np.concatenate([run[1:] for run in ends])
        cells = [number(float(np.mean([run[0] for run in ends]))), number(float(later.mean()))]
        lines.append([f"`{method}`", *cells, f"{(later < 0.5).sum()} of {len(later)}"])
    return table(["at their own end", "first tasks", "later tasks", "later tasks below 0.5"], lines)


def by_seed(found: Campaign) -> str:
    """The average performance over all sequences with each seed, where a method has them all."""
    sequences = {run.sequence for run in found.runs}
    lines: Lines = []
    for seed in sorted({run.seed for run in found.runs}):
        cells = []
        for method in found.methods():
            values = found.values(method, named("average_performance"))
            mine = [value for (_, own), value in values.items() if own == seed]
            cells.append(number(sum(mine) / len(mine)) if len(mine) == len(sequences) else "–")
        lines.append([f"seed {seed}", *cells])
    return table(["average performance", *(f"`{method}`" for method in found.methods())], lines)


def differences(found: Campaign, against: str, of: Mapping[str, Measure]) -> str:
    """A table of one method's leads."""
    return table(["difference", *of, "pairs"], leads(found, against, of))


def leads(found: Campaign, against: str, of: Mapping[str, Measure], others: Iterable[str] = ()) -> Lines:
    """One method minus each other on the same sequence and seed, where there are such runs."""
    lines: Lines = []
    for method in others or (m for m in found.methods() if m != against):
        pairs = [paired_difference(found.values(against, f), found.values(method, f)) for f in of.values()]
        if pairs[0] is not None:
            lines.append([f"`{against}` − `{method}`", *map(shown, pairs), str(pairs[0].n)])
    return lines


def by_task(found: Campaign) -> str:
    """Each task of a campaign's one sequence: alone, and with every method at its own end and at the end of all."""
    known = known_alone()
    runs = {base(run): run for run in found.runs}
    ends = {m: (metrics.at_own_end(r.success, WINDOW), metrics.at_end(r.success, WINDOW)) for m, r in runs.items()}
    lines: Lines = []
    for k, task in enumerate(found.runs[0].tasks if found.runs else ()):
        cells = [f"{number(float(own[k]))} → {number(float(last[k]))}" for own, last in ends.values()]
        lines.append([f"{k + 1}: {task}", number(known[task]), *cells])
    return table(["own end → the end", "alone", *(f"`{m}`" for m in ends)], lines)
