"""Everything a report says, worked out once: the page, the tables, the figures and --json all read it from here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from recall_rl.analysis import metrics, paper
from recall_rl.analysis.read import Found, Result
from recall_rl.analysis.setting import Setting
from recall_rl.analysis.summary import (
    METRICS,
    REFERENCE,
    Comparison,
    Overall,
    References,
    Row,
    compare,
    overall,
    references,
    summarise,
)


@dataclass(frozen=True)
class Study:
    """Runs and what they amount to."""

    found: Found
    window: int
    """Last evaluations that are averaged for "the end"."""
    reference: str
    """The method whose training from scratch is the reference of forward transfer."""
    known: References
    rows: list[Row]
    overall: list[Overall]
    comparisons: list[Comparison]

    def settings(self) -> list[Setting]:
        """The settings of these runs, those with most runs first."""
        count: dict[Setting, int] = {}
        for result in self.found.results:
            count[result.setting] = count.get(result.setting, 0) + 1
        return sorted(count, key=lambda s: (-count[s], s))

    def of(self, setting: Setting, sequence: str | None = None) -> list[Result]:
        """The runs of a setting, and of one sequence of it."""
        return [r for r in self.found.results if r.setting == setting and sequence in (None, r.sequence)]

    def sequences(self, setting: Setting) -> list[str]:
        """The sequences of a setting, the longest and those with most runs first."""
        found: dict[str, list[Result]] = {}
        for result in self.of(setting):
            found.setdefault(result.sequence, []).append(result)
        return sorted(found, key=lambda s: (-min(len(found[s][0].tasks), 2), -len(found[s]), s))


def study(found: Found, window: int = 1, reference: str = REFERENCE, beside: Iterable[Result] = ()) -> Study:
    """Work out all measures of these runs, with those of others beside them."""
    every = [*found.results, *beside]
    known = references(every, reference)
    rows = summarise(every, known, window)
    return Study(Found(every, found.problems), window, reference, known, rows, overall(rows), compare(rows))


def by_method(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Runs by their method, RECALL first and then by name; of each method by seed."""
    groups: dict[str, list[Result]] = {}
    for result in sorted(results, key=lambda r: r.seed):
        groups.setdefault(result.method, []).append(result)
    return {m: groups[m] for m in sorted(groups, key=lambda m: (plain(m) != "recall", m))}


def plain(method: str) -> str:
    """The method's own name, without what was changed about it."""
    return re.split(r"[ (]", method, maxsplit=1)[0]


@dataclass(frozen=True)
class TaskEnd:
    """How one task of a sequence ended, over the finished runs of a method."""

    setting: Setting
    sequence: str
    method: str
    position: int
    task: str
    own: list[float]
    """Success at the end of its own training, a value a run."""
    end: list[float]
    """Success at the end of the run."""


def task_ends(made: Study) -> list[TaskEnd]:
    """Every task of every sequence and method."""
    found: list[TaskEnd] = []
    for setting in made.settings():
        for sequence in made.sequences(setting):
            for method, runs in by_method(made.of(setting, sequence)).items():
                ended = [r for r in runs if r.finished and len(r.at)]
                if ended:
                    own = np.array([metrics.at_own_end(r.success, made.window) for r in ended])
                    end = np.array([metrics.at_end(r.success, made.window) for r in ended])
                    found += [
                        TaskEnd(setting, sequence, method, p, task, own[:, p].tolist(), end[:, p].tolist())
                        for p, task in enumerate(ended[0].tasks)
                    ]
    return found


@dataclass(frozen=True)
class BesidePaper:
    """One of our figures and the paper's, made under another budget and engine."""

    setting: Setting
    sequence: str
    method: str
    metric: str
    ours: float
    runs: int
    papers: paper.Figure


def beside_paper(made: Study) -> list[BesidePaper]:
    """Our figures for which the paper prints one; `mw3` and changed protocols pose other tasks and are left out."""
    found: list[BesidePaper] = []
    for row in made.rows:
        if row.setting.protocol != "cw":
            continue
        for metric in METRICS:
            printed = paper.published(row.sequence, plain(row.method), metric)
            if printed and metric in row.measures:
                ours = row.measures[metric].interval
                found.append(BesidePaper(row.setting, row.sequence, row.method, metric, ours.value, ours.n, printed))
    return found


@dataclass(frozen=True)
class Cost:
    """Time that runs of a method took."""

    setting: Setting
    method: str
    runs: int
    steps_per_second: float
    """Median over runs; on what machine and beside what other work is not known here."""


def costs(made: Study) -> list[Cost]:
    """Methods whose runs have times, which published journals do not."""
    found: list[Cost] = []
    for setting in made.settings():
        for method, runs in by_method(made.of(setting)).items():
            speeds = [float(r.at[-1]) / r.seconds for r in runs if r.seconds and len(r.at)]
            if speeds:
                found.append(Cost(setting, method, len(speeds), float(np.median(speeds))))
    return found


def to_json(made: Study) -> dict[str, Any]:
    """All numbers of the report."""
    return {
        "window": made.window,
        "reference": made.reference,
        "runs": [
            {
                "run": r.name,
                "identity": r.identity,
                "method": r.method,
                "sequence": r.sequence,
                "seed": r.seed,
                "setting": r.setting._asdict(),
                "step": int(r.at[-1]) if len(r.at) else 0,
                "steps": r.steps,
                "finished": r.finished,
                "reproducible": r.reproducible,
            }
            for r in made.found.results
        ],
        "problems": [asdict(problem) for problem in made.found.problems],
        "references": [
            {"setting": s._asdict(), "task": task, "areas": areas} for (s, task), areas in sorted(made.known.items())
        ],
        "rows": [_plain(row) for row in made.rows],
        "overall": [_plain(row) for row in made.overall],
        "comparisons": [_plain(row) for row in made.comparisons],
        "tasks": [_plain(row) for row in task_ends(made)],
        "paper": [_plain(row) for row in beside_paper(made)],
        "cost": [_plain(row) for row in costs(made)],
    }


def _plain(value: Any) -> Any:
    """A record as JSON has it: settings and figures by their fields, keys as text."""
    if hasattr(value, "_asdict"):
        return {k: _plain(v) for k, v in value._asdict().items()}
    if hasattr(value, "__dataclass_fields__"):
        return {k: _plain(getattr(value, k)) for k in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}  # pyright: ignore
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]  # pyright: ignore
    return value
