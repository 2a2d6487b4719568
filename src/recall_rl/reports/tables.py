"""The report's tables as text, in Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from recall_rl.analysis import paper
from recall_rl.analysis.bootstrap import FEWEST, Interval
from recall_rl.analysis.setting import Setting
from recall_rl.analysis.summary import METRICS, Comparison, Measured, Row
from recall_rl.reports.study import Study, beside_paper, costs, task_ends

TITLES = {
    "average_performance": "average performance",
    "forgetting": "forgetting",
    "forward_transfer": "forward transfer",
    "backward_transfer": "backward transfer",
}
_LATEX = str.maketrans(
    {**{c: f"\\{c}" for c in "&%$#_{}"}, "~": r"\textasciitilde{}", "^": r"\^{}", "\\": r"\textbackslash{}"}
)


@dataclass(frozen=True)
class Table:
    """A table of texts."""

    name: str
    """Of its files."""
    title: str
    note: str
    """What must be known to read it."""
    columns: Sequence[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """For a README or an issue."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        body = "\n".join(
            "| " + " | ".join(_one_line(cell).replace("|", r"\|") for cell in line) + " |" for line in lines
        )
        return f"**{self.title}**\n\n{body}\n\n{self.note}\n"

    def latex(self) -> str:
        """For a paper; needs booktabs."""
        lines = [" & ".join(_one_line(cell).translate(_LATEX) for cell in line) + r" \\" for line in self.rows]
        head = " & ".join(column.translate(_LATEX) for column in self.columns) + r" \\"
        return "\n".join(
            [
                f"% {_one_line(self.title)}: {_one_line(self.note)}",
                rf"\begin{{tabular}}{{{'l' * len(self.columns)}}}",
                r"\toprule",
                head,
                r"\midrule",
                *lines,
                r"\bottomrule",
                r"\end{tabular}",
                "",
            ]
        )

    def csv(self) -> str:
        """For a spreadsheet."""
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([self.columns, *self.rows])
        return out.getvalue()


def _one_line(text: str) -> str:
    return " ".join(text.split())


def number(value: float) -> str:
    """Two decimals, and no negative zero."""
    return f"{value + 0.0:.2f}".replace("-0.00", "0.00")


def shown(interval: Interval | None) -> str:
    """A value with its interval."""
    return "" if interval is None else f"{number(interval.value)} [{number(interval.low)}, {number(interval.high)}]"


def printed(figure: paper.Figure) -> str:
    """A number of the paper, with its interval where it prints one."""
    ends = "" if figure.low is None or figure.high is None else f" [{number(figure.low)}, {number(figure.high)}]"
    return number(figure.value) + ends


def cell(measured: Measured | None) -> str:
    """A mean with its interval; with few runs their values instead; one run as it is."""
    if measured is None:
        return "–"
    found = measured.interval
    if found.n >= FEWEST:
        return shown(found)
    values = ", ".join(number(v) for v in measured.values.values())
    return number(found.value) + (f" ({values})" if found.n > 1 else "")


def runs(row: Row) -> str:
    """How many runs stand behind a row."""
    return f"{len(row.seeds)}" + (f" (+{row.unfinished} not ended)" if row.unfinished else "")


def _end(made: Study) -> str:
    return "the last evaluation" if made.window == 1 else f"the mean of the last {made.window} evaluations"


def measures(made: Study, setting: Setting) -> Table:
    """The paper's measures of every sequence and method of a setting."""
    rows = [row for row in made.rows if row.setting == setting]
    order = {name: k for k, name in enumerate(made.sequences(setting))}
    rows.sort(key=lambda r: (order[r.sequence], -_value(r), r.method))
    note = (
        f"The end is {_end(made)}. Intervals are 90% bootstrap intervals over seeds, from {FEWEST} runs on; with fewer "
        "the runs' own values stand in brackets. "
    )
    missing = {row.sequence for row in rows if row.seeds and "forward_transfer" not in row.measures}
    note += f"Forward transfer is against {made.reference} from scratch under the same setting" + (
        "; – where a task has no such run." if missing else "."
    )
    return Table(
        "measures",
        "Measures",
        note,
        ["sequence", "method", *(TITLES[m] for m in METRICS), "runs"],
        [[r.sequence, r.method, *(cell(r.measures.get(m)) for m in METRICS), runs(r)] for r in rows],
    )


def _value(row: Row) -> float:
    found = row.measures.get("average_performance")
    return found.interval.value if found else -1.0


def families(made: Study, setting: Setting) -> Table:
    """Methods over all sequences of a family."""
    rows = [row for row in made.overall if row.setting == setting]
    return Table(
        "families",
        "Over sequences",
        "Over the sequences that every method listed has finished runs of; runs are resampled within each sequence, so "
        "with one seed a sequence intervals have no width and say nothing.",
        ["sequences", "method", *(TITLES[m] for m in METRICS), "interquartile mean of performance", "runs"],
        [
            [
                f"{row.family} ({len(row.sequences)})",
                row.method,
                *(shown(row.means.get(m)) or "–" for m in METRICS),
                shown(row.middle.get("average_performance")),
                str(row.means["average_performance"].n) if row.means else "0",
            ]
            for row in rows
        ],
    )


def comparisons(made: Study, setting: Setting) -> Table:
    """Every method against one, by seed."""
    rows = [row for row in made.comparisons if row.setting == setting]
    against = rows[0].against if rows else ""
    return Table(
        "comparisons",
        f"Against {against}",
        f"Average performance at the end, minus that of {against} on the same sequence and seed, and the probability "
        f"that a run ends higher. 90% bootstrap intervals within sequences, from {FEWEST} pairs on.",
        ["method", "difference", "pairs", "probability of improvement"],
        [[r.method, _sure(r.difference, r), str(r.difference.n), _sure(r.improvement, r)] for r in rows],
    )


def _sure(interval: Interval | None, row: Comparison) -> str:
    """With the interval if there are pairs enough, and more than one in some sequence: else it has no width."""
    if interval is None:
        return "–"
    enough = row.difference.n >= FEWEST and interval.low < interval.high
    return shown(interval) if enough else number(interval.value)


def tasks(made: Study, setting: Setting) -> Table:
    """Each task at the end of its own training and of the run."""
    found = [end for end in task_ends(made) if end.setting == setting]
    return Table(
        "tasks",
        "Task by task",
        f"Success at the end of a task's own training, and at the end of the run, each {_end(made)}; means over runs.",
        ["sequence", "method", "task", "own end", "end of run", "runs"],
        [
            [
                e.sequence,
                e.method,
                f"{e.position + 1} {e.task}",
                number(sum(e.own) / len(e.own)),
                number(sum(e.end) / len(e.end)),
                str(len(e.end)),
            ]
            for e in found
        ],
    )


def against_paper(made: Study, setting: Setting) -> Table:
    """Our figures and the paper's."""
    found = [row for row in beside_paper(made) if row.setting == setting]

    return Table(
        "paper",
        "Beside the paper",
        f"Ours: {setting.describe()}. The paper's: {paper.STEPS_PER_TASK:,} steps a task, networks of 4 x 256, "
        f"{paper.SEEDS} seeds, the simulator of 2021. The two differ in size and simulator, so only the order of "
        "methods is to be compared.",
        ["sequence", "method", "measure", "ours", "runs", "paper"],
        [[r.sequence, r.method, TITLES[r.metric], number(r.ours), str(r.runs), printed(r.papers)] for r in found],
    )


def cost(made: Study, setting: Setting) -> Table:
    """Steps a second of each method."""
    found = [row for row in costs(made) if row.setting == setting]
    base = next((row.steps_per_second for row in found if row.method == made.reference), None)
    return Table(
        "cost",
        "Cost",
        "Environment steps a second with all learning and evaluation, median over runs that have times. Only runs made "
        "one beside the other on the same machine can be compared; benchmarks/cost.py in the repository does that.",
        ["method", "steps a second", f"ratio to {made.reference}", "runs"],
        [
            [r.method, f"{r.steps_per_second:,.0f}", number(r.steps_per_second / base) if base else "–", str(r.runs)]
            for r in found
        ],
    )


def all_tables(made: Study, setting: Setting) -> list[Table]:
    """The tables of a setting that have anything to say."""
    makers = (measures, families, comparisons, tasks, against_paper, cost)
    return [table for table in (maker(made, setting) for maker in makers) if table.rows]
