"""The tables of docs/results.md, from published journals: what results/PLAN.md asks to be measured.

    python benchmarks/evidence.py primary    # the tables of one campaign
    python benchmarks/evidence.py --write    # all of them, into the page
    python benchmarks/evidence.py --check    # whether the page has them as they are

A campaign is its plan (results/plans/NAME.toml); its runs are found by their configs, in whichever folder below results
they were published. "The end" is the mean of the last three evaluations.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from recall_rl.analysis import metrics, paper
from recall_rl.analysis.bootstrap import FEWEST, Interval, interval, paired_difference
from recall_rl.analysis.read import Result, read
from recall_rl.analysis.summary import METRICS, measure, references
from recall_rl.campaigns.jobs import jobs
from recall_rl.campaigns.plan import Plan, find_plan
from recall_rl.reports.tables import TITLES, number, printed
from recall_rl.reports.tables import shown as with_interval

ROOT = Path(__file__).parent.parent
RESULTS, PAGE = ROOT / "results", ROOT / "docs/results.md"
FOLDERS = (
    "tuning",
    "references",
    "primary",
    "ablation",
    "pairs",
    "cw10",
    "cw3",
    "readings",
    "memory",
    "rewards",
    "steady",
)
"""Where the runs of the evidence are published."""
WINDOW = 3
SHORT = {"window-close": "wc", "faucet-close": "fc", "handle-press-side": "hps"}
Values = Mapping[tuple[str, int], float]
"""A number for each sequence and seed."""
Lines = list[list[str]]


@dataclass(frozen=True)
class Campaign:
    """A plan and those of its runs that are published."""

    plan: Plan
    asked: int
    runs: list[Result]

    def methods(self) -> list[str]:
        """Those with a run, in the plan's order."""
        return list(dict.fromkeys(base(run) for run in self.runs))

    def values(self, method: str, of: Callable[[Result], float | None]) -> dict[tuple[str, int], float]:
        """A number of each run of a method, where there is one."""
        mine = (run for run in self.runs if base(run) == method)
        return {(run.sequence, run.seed): value for run in mine if (value := of(run)) is not None}

    def split(self) -> list[Campaign]:
        """The runs of each sequence by themselves, in a plan whose methods all have the same sequences."""
        sequences = dict.fromkeys(run.sequence for run in self.runs)
        asked = self.asked // len(self.plan.sequences)
        return [
            replace(self, asked=asked, runs=[run for run in self.runs if run.sequence == sequence])
            for sequence in sequences
        ]


def base(run: Result) -> str:
    """The method without what was changed about it: a campaign after the search has each once."""
    return run.method.split(" ")[0].split("(")[0]


@cache
def published() -> dict[str, Result]:
    """Every finished run of the evidence, by the hash of its config."""
    found: dict[str, Result] = {}
    for folder in FOLDERS:
        if (RESULTS / folder).exists():
            found |= {run.identity: run for run in read([RESULTS / folder]).results if run.finished}
    return found


def campaign(name: str) -> Campaign:
    """The campaign of a plan's name."""
    file = RESULTS / "plans" / f"{name}.toml"
    plan = find_plan(str(file) if file.exists() else name)
    wanted = [job.config.identity() for job in jobs(plan) if job.wanted]
    return Campaign(plan, len(wanted), [published()[i] for i in wanted if i in published()])


@cache
def alone():
    """Areas of every task from scratch, for forward transfer."""
    return references(campaign("references").runs)


def named(metric: str) -> Callable[[Result], float | None]:
    return lambda run: measure(run, alone(), WINDOW).get(metric)


def end(position: int) -> Callable[[Result], float]:
    """Success on one task at the end of the run."""
    return lambda run: float(metrics.at_end(run.success, WINDOW)[position])


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


def count(found: Campaign) -> str:
    """How much of a campaign there is."""
    if len(found.runs) == found.asked:
        return f"All {found.asked} runs.\n"
    return f"{len(found.runs)} of {found.asked} runs so far.\n"


# The tables of each campaign.

PAPERS = {"ewc": 1e4, "packnet": 2e-5, "clonex": 100.0, "perfect-memory": 512, "recall": 10.0}
"""The value of each method's searched coefficient in the paper, or in Continual World."""

PAPERS_PAIRS = {
    "perfect-memory": ("0.87", "0.44", "0.02", "56 of 100"),
    "recall": ("0.91", "0.85", "-0.02", "4 of 100"),
}
"""What the paper says of its 100 pairs: both tasks at the end, forgetting of the first, second tasks hardly learnt."""


def search(found: Campaign) -> str:
    """Every value that was tried, and which the plan's rule takes."""
    tried: dict[str, dict[float, Result | None]] = {}
    by_identity = {run.identity: run for run in found.runs}
    for job in jobs(found.plan):
        options = {**job.config.options, "batch": job.config.agent.batch}
        key = {"ewc": "c", "packnet": "clip", "clonex": "c", "perfect-memory": "batch", "recall": "lam"}
        value = float(options[key[job.config.method]])
        tried.setdefault(job.config.method, {})[value] = by_identity.get(job.config.identity())
    lines: Lines = []
    for method, values in tried.items():
        ends = {v: metrics.final_performance(r.success, WINDOW) for v, r in values.items() if r is not None}
        cells = [f"{v:g}: {number(ends[v]) if v in ends else '–'}" for v in values]
        lines.append([f"`{method}`", *cells, f"{taken(method, ends):g}" if len(ends) == len(values) else "–"])
    return table(["method", *["value: average"] * 4, "taken"], lines)


def taken(method: str, ends: Mapping[float, float]) -> float:
    """The value with the best average; of those within 0.02 of it, the one nearest to the paper's."""
    best = max(ends.values())
    near = [value for value, average in ends.items() if average >= best - 0.02 - 1e-9]
    return min(near, key=lambda value: abs(np.log(value / PAPERS[method])))


def tasks_alone(found: Campaign) -> str:
    """Each task from scratch."""
    lines: Lines = []
    for task in found.plan.sequences:
        mine = [run for run in found.runs if run.tasks == (task,)]
        ends = {(task, run.seed): metrics.final_performance(run.success, WINDOW) for run in mine}
        areas = {(task, run.seed): float(metrics.areas(run.success)[0]) for run in mine}
        lines.append([task, shown(over(ends)), shown(over(areas)), str(len(mine))])
    return table(["task", "success at the end", "area under the curve", "runs"], lines)


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


def by_sequence(found: Campaign, title: str, cell: Callable[[list[Result]], str]) -> str:
    """The paper's format: a line a sequence, a column a method."""
    lines: Lines = []
    for sequence in dict.fromkeys(run.sequence for run in found.runs):
        mine = [[r for r in found.runs if (base(r), r.sequence) == (m, sequence)] for m in found.methods()]
        lines.append([short(sequence), *(cell(runs) if runs else "–" for runs in mine)])
    return table([title, *(f"`{m}`" for m in found.methods())], lines)


AVERAGE = named("average_performance")


def measured(
    found: Campaign, title: str = TITLES["average_performance"], of: Callable[[Result], float | None] = AVERAGE
) -> str:
    """A number of every sequence and method: average performance, unless another is given with its title."""

    def cell(runs: list[Result]) -> str:
        values = {(run.sequence, run.seed): of(run) for run in runs}
        return shown(over({key: value for key, value in values.items() if value is not None}))

    return by_sequence(found, title, cell)


def learnt(found: Campaign) -> str:
    """How well each task was learnt: its success at the end of its own training, task after task."""
    return by_sequence(found, "each task at its own end", own_ends)


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


def differences(found: Campaign, against: str, of: Mapping[str, Callable[[Result], float | None]]) -> str:
    """A table of one method's leads."""
    return table(["difference", *of, "pairs"], leads(found, against, of))


def leads(
    found: Campaign, against: str, of: Mapping[str, Callable[[Result], float | None]], others: Iterable[str] = ()
) -> Lines:
    """One method minus each other on the same sequence and seed, where there are such runs."""
    lines: Lines = []
    for method in others or (m for m in found.methods() if m != against):
        pairs = [paired_difference(found.values(against, f), found.values(method, f)) for f in of.values()]
        if pairs[0] is not None:
            lines.append([f"`{against}` − `{method}`", *map(shown, pairs), str(pairs[0].n)])
    return lines


def primary() -> str:
    found = campaign("primary")
    of = {TITLES[m]: named(m) for m in METRICS[:3]}
    parts = [count(found), methods(found, "cw3"), measured(found), by_seed(found), learnt(found), plasticity(found)]
    return together(*parts, differences(found, "recall", of))


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


def ablation() -> str:
    found = campaign("ablation")
    parts = [count(found), *sides(found)]
    # Each sequence by itself: one is the beginning of the other, run by run.
    for mine in found.split():
        sequence, names = mine.runs[0].sequence, mine.runs[0].tasks
        parts.append(effects(mine, short(sequence), ABLATED))
        each = {f"{k + 1}: {short(names[k])}": own_end(k) for k in range(1, len(names))}
        parts.append(effects(mine, f"{short(sequence)}, at their own end", each))
    return together(*parts)


def sides(found: Campaign) -> list[str]:
    """The ablation's measures of each sequence and method, and how well each task was learnt."""
    return [*(measured(found, title, of) for title, of in ABLATED.items() if of != _later), learnt(found)]


def own_end(task: int) -> Callable[[Result], float]:
    """How well a task was learnt."""
    return lambda run: float(metrics.at_own_end(run.success, WINDOW)[task])


def effects(found: Campaign, title: str, of: Mapping[str, Callable[[Result], float | None]]) -> str:
    """A table of what each of the two parts adds, without the other and with it."""
    lines: Lines = []
    for part, more, less in (
        ("TN", "recall-tn", "naive-replay"),
        ("TN and PD", "recall", "naive-replay"),
        ("PD", "recall-pd", "naive-replay"),
        ("PD beside TN", "recall", "recall-tn"),
        ("TN beside PD", "recall", "recall-pd"),
    ):
        lines += [[f"{part}: {line[0]}", *line[1:]] for line in leads(found, more, of, [less])]
    return table([title, *of, "pairs"], lines)


def _later(run: Result) -> float:
    """How well all tasks after the first were learnt."""
    return float(metrics.at_own_end(run.success, WINDOW)[1:].mean())


def _on_the_way(run: Result) -> float:
    """What old tasks lack while later ones are learnt: success at their own end less its mean over all that follow."""
    own, spans = metrics.at_own_end(run.success, WINDOW), metrics.spans(run.success)[:-1]
    return float(np.mean([own[i] - run.success[span.stop :, i].mean() for i, span in enumerate(spans)]))


ABLATED: Mapping[str, Callable[[Result], float | None]] = {
    TITLES["average_performance"]: named("average_performance"),
    "tasks after the first, at their own end": _later,
    TITLES["forgetting"]: named("forgetting"),
    "lost on the way": _on_the_way,
}


def steady() -> str:
    """RECALL kept steady beside RECALL and its normalisation alone, on the sequences of the ablation."""
    more = campaign("steady")
    others = [run for run in campaign("ablation").runs if base(run) in ("recall", "recall-tn")]
    found = replace(more, runs=[*more.runs, *others])
    parts = [count(more), *sides(found)]
    for mine in found.split():
        of = {
            f"{short(mine.runs[0].sequence)}: {title}" if k == 0 else title: f
            for k, (title, f) in enumerate(ABLATED.items())
        }
        parts.append(differences(mine, "recall-steady", of))
    return together(*parts)


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


def pairs() -> str:
    found = campaign("pairs")
    known = _known()
    lines: Lines = []
    for sequence in dict.fromkeys(run.sequence for run in found.runs):
        tasks = next(run.tasks for run in found.runs if run.sequence == sequence)
        cells = []
        for of in (end(0), end(1)):
            for method in ("perfect-memory", "recall"):
                mine = {k: v for k, v in found.values(method, of).items() if k[0] == sequence}
                cells.append(shown(over(mine)))
        lines.append([short(",".join(tasks)), *cells, number(known[tasks[1]])])
    head = ["pair", "first: `perfect-memory`", "`recall`", "second: `perfect-memory`", "`recall`", "second alone"]
    different = replace(found, runs=[run for run in found.runs if len(set(run.tasks)) == 2])
    return together(count(found), table(head, lines), _all_pairs(found), _different(different, known))


def _all_pairs(found: Campaign) -> str:
    """The averages over all pairs that the paper's two matrices of pairs have in their captions, and the paper's."""
    of = [end(0), end(1), named("forgetting")]
    lines: Lines = []
    for method, printed_there in PAPERS_PAIRS.items():
        seconds = found.values(method, end(1))
        unlearnt = sum(value < 0.5 for value in seconds.values())
        ours = [shown(over(found.values(method, f))) for f in of]
        lines.append([f"`{method}`", *ours, f"{unlearnt} of {len(seconds)}"])
        lines.append([f"`{method}` in the paper", *printed_there])
    return table(["all pairs", "first task", "second task", "forgetting", "second task below 0.5"], lines)


def _known() -> dict[str, float]:
    """Success of every task alone, at the end."""
    ends: dict[str, list[float]] = {}
    for run in campaign("references").runs:
        ends.setdefault(run.tasks[0], []).append(metrics.final_performance(run.success, WINDOW))
    return {task: float(np.mean(values)) for task, values in ends.items()}


def _different(found: Campaign, known: Mapping[str, float]) -> str:
    """Pairs of different tasks taken together, and RECALL's lead over them."""
    of: dict[str, Callable[[Result], float | None]] = {
        "first task": end(0),
        "second task": end(1),
        "second, as a share of alone": lambda run: end(1)(run) / known[run.tasks[1]],
        "forgetting": named("forgetting"),
    }
    lines: Lines = []
    for method in found.methods():
        means = [over(found.values(method, f)) for f in of.values()]
        lines.append([f"`{method}`", *map(shown, means), str(means[0].n if means[0] else 0)])
    return table(["pairs of different tasks", *of, "runs"], lines + leads(found, "recall", of))


def cw3() -> str:
    """Our one seed beside the means of the paper's five."""
    found = campaign("cw3")
    return together(count(found), methods(found, "cw3"), measured(found))


def cw10() -> str:
    """Our one seed, and the paper's five."""
    found = campaign("cw10")
    lines = [
        [f"`{m}`", *(printed(paper.RESULTS["cw10", m, metric]) for metric in METRICS[:3])] for m in found.methods()
    ]
    papers = table(["the paper's", *(TITLES[m] for m in METRICS[:3])], lines)
    return together(count(found), methods(found), papers, by_task(found))


def by_task(found: Campaign) -> str:
    """Each task of a campaign's one sequence: alone, and with every method at its own end and at the end of all."""
    known = _known()
    runs = {base(run): run for run in found.runs}
    ends = {m: (metrics.at_own_end(r.success, WINDOW), metrics.at_end(r.success, WINDOW)) for m, r in runs.items()}
    lines: Lines = []
    for k, task in enumerate(found.runs[0].tasks if found.runs else ()):
        cells = [f"{number(float(own[k]))} → {number(float(last[k]))}" for own, last in ends.values()]
        lines.append([f"{k + 1}: {task}", number(known[task]), *cells])
    return table(["own end → the end", "alone", *(f"`{m}`" for m in ends)], lines)


def compared(name: str, against: str = "recall") -> str:
    """Measures of every method and one against the others."""
    found = campaign(name)
    of = {TITLES[m]: named(m) for m in METRICS[:2]}
    return together(count(found), methods(found), measured(found), differences(found, against, of))


ROWS, OLD_ROW, COMING = 900_000, 168, 7_000_000
"""Of memory.toml: rows of nine old tasks, bytes of one, and those that a task's own rows count as."""


def remembered() -> str:
    """RECALL by how many past rows its memory has room for."""
    found = campaign("memory")
    by_identity = {run.identity: run for run in found.runs}
    lines: Lines = []
    for job in jobs(found.plan):
        room = job.config.training.memory_bytes
        share = 1.0 if room is None else (room - COMING) / OLD_ROW / ROWS
        run = by_identity.get(job.config.identity())
        cells = [number(measure(run, alone(), WINDOW)[m]) if run else "–" for m in METRICS[:2]]
        lines.append([f"{share:.1%}".replace(".0%", "%"), *cells])
    return together(count(found), table(["room for past rows", *(TITLES[m] for m in METRICS[:2])], lines))


def twice() -> str:
    """Runs that were learnt a second time, beside those published first."""
    pairs = [(published()[again.identity], again) for again in read([RESULTS / "twice"]).results]
    pairs.sort(key=lambda pair: pair[0].seed)
    lines: Lines = []
    for once, again in pairs:
        cells = [(number(metrics.final_performance(run.success, WINDOW)), own_ends([run])) for run in (once, again)]
        (average, own), second = cells[0], ("the same", "the same") if the_same(once, again) else cells[1]
        lines.append([f"seed {once.seed}", average, second[0], own, second[1]])
    head = ["", "average performance", "again", "each task at its own end", "again"]
    return together(table(head, lines), _apart(pairs))


def the_same(one: Result, other: Result) -> bool:
    """Whether two runs did the same to the last bit, as far as their evaluations tell."""
    return np.array_equal(one.total, other.total, equal_nan=True)


def _apart(pairs: list[tuple[Result, Result]]) -> str:
    """How far apart two runs are on average: of one seed, where they are not the same run, and of two."""
    first = [once for once, _ in pairs]
    again = [pair for pair in pairs if not the_same(*pair)]
    others = [(one, other) for k, one in enumerate(first) for other in first[:k]]
    lines: Lines = []
    for title, some in (("one seed, twice", again), ("two seeds", others)):
        ends = [[metrics.at_own_end(run.success, WINDOW) for run in pair] for pair in some]
        finals = [[metrics.final_performance(run.success, WINDOW) for run in pair] for pair in some]
        gaps = [np.mean([abs(a - b) for a, b in finals]), *np.mean([np.abs(a - b) for a, b in ends], axis=0)]
        lines.append([title, *(number(float(gap)) for gap in gaps), str(len(some))])
    names = [f"{k + 1}: {short(task)}" for k, task in enumerate(first[0].tasks)]
    return table(["mean distance", TITLES["average_performance"], *names, "pairs"], lines)


def searched() -> str:
    found = campaign("tuning")
    return together(count(found), search(found))


def references_alone() -> str:
    found = campaign("references")
    return together(count(found), tasks_alone(found))


TABLES: dict[str, Callable[[], str]] = {
    "tuning": searched,
    "references": references_alone,
    "primary": primary,
    "ablation": ablation,
    "pairs": pairs,
    "cw10": cw10,
    "cw3": cw3,
    "readings": lambda: compared("readings"),
    "memory": remembered,
    "rewards": lambda: compared("rewards"),
    "twice": twice,
    "targets": targets,
    "steady": steady,
}
BLOCK = re.compile(r"(<!-- evidence: (\S+) -->\n).*?(<!-- end of evidence -->)", re.DOTALL)


def filled(page: str) -> str:
    """The page with its tables as the journals have them."""
    return BLOCK.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "name", nargs="?", choices=TABLES, help="a campaign; twice: runs learnt again; targets: their size"
    )
    parser.add_argument("--write", action="store_true", help="bring the tables of docs/results.md up to date")
    parser.add_argument("--check", action="store_true", help="fail if they are not")
    given = parser.parse_args()
    if given.name:
        print(TABLES[given.name]())
    elif given.write:
        PAGE.write_text(filled(PAGE.read_text()))
    elif given.check:
        sys.exit("docs/results.md differs from the journals." if filled(PAGE.read_text()) != PAGE.read_text() else 0)
    else:
        parser.error("name a campaign, or give --write or --check")


if __name__ == "__main__":
    main()
