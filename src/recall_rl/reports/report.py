"""A report: one self-contained page, and beside it its figures, tables, numbers and the evaluations themselves."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from recall_rl import __version__
from recall_rl.analysis.published import beside as published_beside
from recall_rl.analysis.read import read
from recall_rl.analysis.setting import Setting
from recall_rl.analysis.store import needs_report, write
from recall_rl.analysis.summary import REFERENCE, family
from recall_rl.errors import UsageError
from recall_rl.reports.study import Study, by_method, study, to_json
from recall_rl.reports.tables import Table, all_tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_DETAILS = 4
"""Sequences of a setting that are drawn one by one; the tables have all."""
MOST_ROWS = 250
"""Rows of a table on the page; the files beside it have all."""


@dataclass(frozen=True)
class Shown:
    """A figure on the page."""

    name: str
    title: str
    caption: str
    svg: str


@dataclass(frozen=True)
class Section:
    """A setting on the page."""

    setting: Setting
    prefix: str
    """Of the files of its tables."""
    runs: int
    tables: list[Table]
    figures: list[Shown]
    left_out: list[str]
    """What is not drawn, so that the page stays small."""


def gather(paths: Sequence[Path], window: int = 1, reference: str = REFERENCE, beside: str | None = None) -> Study:
    """Read runs and work out all measures."""
    found = read(paths)
    if not found.results and not found.problems:
        raise UsageError(f"There is no run below {', '.join(map(str, paths))}.")
    others = published_beside(beside, found.results) if beside else []
    return study(found, window, reference, others)


def write_report(made: Study, out: Path, follow: bool = False) -> Path:
    """Write everything to a folder and return the page."""
    try:
        import jinja2

        from recall_rl.reports.drawing import style
    except ImportError as error:
        raise needs_report() from error

    try:
        for folder in (out / "figures", out / "tables"):
            folder.mkdir(parents=True, exist_ok=True)
        with style():
            sections = [_section(made, k, setting, out) for k, setting in enumerate(made.settings())]
        (out / "report.json").write_text(json.dumps(to_json(made), indent=1) + "\n")
        write(made.found.results, out / "results.parquet")
        template = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
            files("recall_rl.reports").joinpath("page.html").read_text()
        )
        waiting = [r for r in made.found.results if not r.finished]
        page = template.render(
            study=made,
            sections=sections,
            waiting=waiting,
            most_rows=MOST_ROWS,
            version=__version__,
            made=time.strftime("%Y-%m-%d %H:%M"),
            refresh=30 if follow and waiting else None,
        )
        # Whole or not at all: a browser may be looking.
        aside = out / "index.html.partial"
        aside.write_text(page)
        aside.replace(out / "index.html")
    except OSError as error:
        raise UsageError(f"The report cannot be written to {out}: {error.strerror or error}.") from error
    return out / "index.html"


def _section(made: Study, k: int, setting: Setting, out: Path) -> Section:
    prefix = f"s{k + 1}-" if len(made.settings()) > 1 else ""
    tables = all_tables(made, setting)
    for table in tables:
        for kind, text in (("md", table.markdown()), ("tex", table.latex()), ("csv", table.csv())):
            (out / "tables" / f"{prefix}{table.name}.{kind}").write_text(text)
    figures, left_out = _figures(made, setting, prefix, out / "figures")
    return Section(setting, prefix, len(made.of(setting)), tables, figures, left_out)


def _figures(made: Study, setting: Setting, prefix: str, folder: Path) -> tuple[list[Shown], list[str]]:
    from recall_rl.reports import figures
    from recall_rl.reports.drawing import MOST_METHODS, looks, named, save

    shown: list[Shown] = []
    methods = list(by_method(made.of(setting)))
    look, left_out = looks(methods[:MOST_METHODS]), [f"method {m}" for m in methods[MOST_METHODS:]]

    def add(name: str, title: str, caption: str, figure: Figure | None) -> None:
        if figure is not None:
            shown.append(Shown(prefix + name, title, caption, save(figure, folder, prefix + name)))

    sequences = made.sequences(setting)
    pairs = [s for s in sequences if family(s) == "pair"]
    drawn = [s for s in sequences if len(pairs) < 5 or s not in pairs][:MOST_DETAILS]
    left_out += [f"sequence {s}" for s in sequences if s not in drawn and s not in pairs]
    for n, sequence in enumerate(drawn):
        runs = [r for r in made.of(setting, sequence) if len(r.at)]
        if not runs:
            left_out.append(f"sequence {sequence}, not evaluated yet")
            continue
        here = named(look, list(by_method(runs)))
        changed = [f"{found['label']} is {m}" for m, found in here.items() if found["label"] != m]
        how = _HOW + (f" Here {'; '.join(changed)}." if changed else "")
        name = _file(sequence) if len(sequence) < 40 else f"sequence-{n + 1}"
        if len(runs[0].tasks) > 1:
            add(f"{name}-average", sequence, "Average performance P(t). " + how, figures.average(runs, here))
        add(
            f"{name}-tasks",
            sequence,
            "Success of each task. Shaded: its own training. " + how,
            figures.curves(runs, here),
        )
        if len(runs[0].tasks) > 1:
            add(
                f"{name}-matrix",
                sequence,
                "Success of each task over time, mean over runs.",
                figures.matrix(runs, here),
            )
            add(
                f"{name}-ablation",
                sequence,
                "Target normalisation (TN) and policy distillation (PD), alone and together. " + how,
                figures.ablation(runs),
            )
        add(f"{name}-lambda", sequence, "Measures against λ.", figures.sweep(made, setting, sequence))
        add(
            f"{name}-learning",
            sequence,
            "What goes on in learning: means over batches, in which methods that replay have old tasks' rows too.",
            figures.learning(runs, here),
        )
    if len(pairs) > 1:
        for method in list(look):
            members = [r for r in made.of(setting) if r.sequence in pairs and r.method == method and r.finished]
            if len(members) > 1:
                name = _file(method)
                add(
                    f"pairs-{name}",
                    f"Pairs: {method}",
                    "Ends of pairs of tasks.",
                    figures.pairs(members, method, made.window),
                )
                add(
                    f"pairs-forgotten-{name}",
                    f"Pairs: {method}",
                    "First tasks that lost more than 0.1.",
                    figures.forgotten(members, method, made.window),
                )
    return shown, left_out


_HOW = (
    "Lines are means over runs; bands are 90% intervals, from five runs on; thin lines are runs, where there are few."
)


def _file(text: str) -> str:
    return "".join(c if c.isalnum() or c in "-." else "-" for c in text).strip("-.")[:60] or "figure"
