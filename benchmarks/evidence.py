"""The tables of docs/results.md, from published journals: what results/PLAN.md asks to be measured.

python benchmarks/evidence.py primary    # the tables of one campaign
python benchmarks/evidence.py --write    # all of them, into the page
python benchmarks/evidence.py --check    # whether the page has them as they are
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from evidence_runs import (
    RESULTS,
    ROOT,
    WINDOW,
    Campaign,
    Measure,
    alone,
    base,
    campaign,
    end,
    known_alone,
    later_ends,
    lost_on_the_way,
    named,
    own_end,
    published,
    the_same,
)
from evidence_tables import (
    Lines,
    by_seed,
    by_task,
    count,
    differences,
    folded,
    leads,
    learnt,
    measured,
    methods,
    over,
    own_ends,
    plasticity,
    short,
    shown,
    table,
    together,
)
from evidence_values import broken, targets

from recall_rl.analysis import metrics, paper
from recall_rl.analysis.read import Result, read
from recall_rl.analysis.summary import METRICS, measure
from recall_rl.campaigns.jobs import jobs
from recall_rl.reports.tables import TITLES, number, printed

PAGE = ROOT / "docs/results.md"

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


def primary() -> str:
    found = campaign("primary")
    of = {TITLES[m]: named(m) for m in METRICS[:3]}
    each = folded("Each sequence, seed and task", measured(found), by_seed(found), learnt(found))
    return together(count(found), methods(found, "cw3"), differences(found, "recall", of), plasticity(found), each)


def ablation() -> str:
    found = campaign("ablation")
    parts, tasks = [count(found), *sides(found)], list[str]()
    # Each sequence by itself: one is the beginning of the other, run by run.
    for mine in found.split():
        sequence, names = mine.runs[0].sequence, mine.runs[0].tasks
        parts.append(effects(mine, short(sequence), ABLATED))
        each = {f"{k + 1}: {short(names[k])}": own_end(k) for k in range(1, len(names))}
        tasks.append(effects(mine, f"{short(sequence)}, at their own end", each))
    return together(*parts, folded("The same differences for each later task", *tasks))


def sides(found: Campaign) -> list[str]:
    """The ablation's measures of each sequence and method, and how well each task was learnt."""
    return [*(measured(found, title, of) for title, of in ABLATED.items() if of != later_ends), learnt(found)]


def effects(found: Campaign, title: str, of: Mapping[str, Measure]) -> str:
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


ABLATED: Mapping[str, Measure] = {
    TITLES["average_performance"]: named("average_performance"),
    "tasks after the first, at their own end": later_ends,
    TITLES["forgetting"]: named("forgetting"),
    "lost on the way": lost_on_the_way,
}


def steady() -> str:
    """RECALL kept steady beside RECALL and its normalisation alone, on the sequences of the ablation."""
    more = campaign("steady")
    others = [run for run in campaign("ablation").runs if base(run) in ("recall", "recall-tn")]
    found = replace(more, runs=[*more.runs, *others])
    parts = list[str]()
    for mine in found.split():
        of = {
            f"{short(mine.runs[0].sequence)}: {title}" if k == 0 else title: f
            for k, (title, f) in enumerate(ABLATED.items())
        }
        parts.append(differences(mine, "recall-steady", of))
    return together(count(more), *sides(found), folded("Differences run by run", *parts))


def pairs() -> str:
    found = campaign("pairs")
    known = known_alone()
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
    each = folded("Each pair", table(head, lines))
    return together(count(found), _all_pairs(found), _different(different, known), each)


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


def _different(found: Campaign, known: Mapping[str, float]) -> str:
    """Pairs of different tasks taken together, and RECALL's lead over them."""
    of: dict[str, Measure] = {
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
    """Our one seed, the means of every method that has all eight beside those of the paper's five seeds."""
    found = campaign("cw3")
    whole = found.whole()
    averages, ends = measured(found, beside_alone=True), learnt(found, beside_alone=True)
    each = folded("Each task at its own end", ends)
    return together(count(found), methods(whole, "cw3"), plasticity(whole), averages, each)


def cw10() -> str:
    """Our one seed, and the paper's five."""
    found = campaign("cw10")
    lines = [
        [f"`{m}`", *(printed(paper.RESULTS["cw10", m, metric]) for metric in METRICS[:3])] for m in found.methods()
    ]
    papers = table(["the paper's", *(TITLES[m] for m in METRICS[:3])], lines)
    return together(count(found), methods(found), papers, by_task(found))


def readings() -> str:
    """Three readings of RECALL, by the measures of its ablation."""
    found = campaign("readings")
    each = folded("Each task at its own end", learnt(found))
    return together(count(found), methods(found.whole()), measured(found), differences(found, "recall", ABLATED), each)


def rewards() -> str:
    """RECALL and Perfect Memory where a task pays at most ten a step."""
    found = campaign("rewards")
    of = {TITLES[m]: named(m) for m in METRICS[:2]}
    each = folded("Each task at its own end", learnt(found))
    parts = methods(found), plasticity(found), measured(found), differences(found, "recall", of), each
    return together(count(found), *parts)


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
    "readings": readings,
    "memory": remembered,
    "rewards": rewards,
    "twice": twice,
    "targets": targets,
    "broken": broken,
    "steady": steady,
}
BLOCK = re.compile(r"(<!-- evidence: (\S+) -->\n).*?(<!-- end of evidence -->)", re.DOTALL)


def filled(page: str) -> str:
    """The page with its tables as the journals have them."""
    return BLOCK.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "name",
        nargs="?",
        choices=TABLES,
        help="a campaign, or twice: runs learnt again, targets: their size, broken: policies that broke",
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
