import os
import re
from pathlib import Path

import pytest

from recall_rl.analysis import paper
from recall_rl.analysis.paper import Figure, published
from recall_rl.methods.catalogue import CATALOGUE
from recall_rl.tasks.sequences import PAPER_SEQUENCES

METRICS = ("average_performance", "forgetting", "forward_transfer")
METHODS = {
    "Fine-tuning": "fine-tuning",
    "EWC": "ewc",
    "PackNet": "packnet",
    "ClonEx": "clonex",
    "PM": "perfect-memory",
    "RECALL": "recall",
}
OUTSIDE_THEIR_INTERVAL = {("cw3-8", "clonex", "forward_transfer"): Figure(0.30, -0.81, 0.17)}
# The mean of the eight printed rows is -0.03625, which would print as -0.04; their own rounding can explain it.
ROUNDED_OTHERWISE = {("cw3", "packnet", "forward_transfer"): Figure(-0.03)}


# What needs no paper


def everything():
    """All figures, each with where it stands."""
    tables = {
        "results": paper.RESULTS,
        "means": paper.MEANS,
        "sharing": paper.NETWORK_SHARING,
        "offline": paper.OFFLINE_REPLAY,
        "online": paper.ONLINE_REPLAY,
        "lambda": paper.LAMBDA,
        "pairs": paper.PAIR_MEANS,
    }
    return {(name, *key): figure for name, table in tables.items() for key, figure in table.items()}


def hundredths(number: float) -> int:
    """Exact, so that a mean on the edge of rounding is judged as printed."""
    return round(100 * number)


def test_every_result_is_there_under_a_name_of_this_project():
    families = {"cw3": 8, "cw6": 8}
    sequences = [f"{family}-{i + 1}" for family, n in families.items() for i in range(n)] + ["cw10", "cw20"]
    assert set(METHODS.values()) <= set(CATALOGUE)
    assert {*sequences, *(pair for pair, _ in paper.OFFLINE_REPLAY)} <= set(PAPER_SEQUENCES)
    assert set(paper.RESULTS) == {(s, m, k) for s in sequences for m in METHODS.values() for k in METRICS}
    assert set(paper.MEANS) == {(f, m, k) for f in families for m in METHODS.values() for k in METRICS}


def test_a_value_lies_in_its_interval_unless_misprinted():
    with_interval = {key: f for key, f in everything().items() if f.low is not None and f.high is not None}
    assert len(with_interval) == len(everything()) - len(paper.MEANS) - len(paper.PAIR_MEANS)
    outside = {key: f for key, f in with_interval.items() if not f.low <= f.value <= f.high}
    assert outside == {("results", *key): figure for key, figure in OUTSIDE_THEIR_INTERVAL.items()}
    assert all(f.low <= f.high for f in with_interval.values())


def test_means_have_no_interval():
    assert all(f.low is f.high is None for f in [*paper.MEANS.values(), *paper.PAIR_MEANS.values()])


def test_a_printed_mean_is_the_mean_of_its_rows():
    otherwise = {}
    for (family, method, metric), mean in paper.MEANS.items():
        total = sum(hundredths(paper.RESULTS[f"{family}-{i}", method, metric].value) for i in range(1, 9))
        off = abs(8 * hundredths(mean.value) - total) / 8
        assert off <= 1, "rounding of the rows and of their mean explains no more"
        if off > 0.5:
            otherwise[family, method, metric] = mean
    assert otherwise == ROUNDED_OTHERWISE


def test_the_misprinted_value_is_the_one_in_the_mean():
    others = sum(hundredths(paper.RESULTS[f"cw3-{i}", "clonex", "forward_transfer"].value) for i in range(1, 8))
    assert round((others + 30) / 8) == hundredths(paper.MEANS["cw3", "clonex", "forward_transfer"].value) == 39
    assert round((others - 30) / 8) == 31


def test_the_coefficient_chosen_is_ten():
    assert {lam for lam, _ in paper.LAMBDA} == {0.01, 0.1, 1.0, 10.0, 100.0}
    for metric in METRICS:
        assert paper.LAMBDA[10.0, metric] == paper.RESULTS["cw6-1", "recall", metric]


def test_the_forgotten_pairs():
    pairs = {pair for pair, _ in paper.OFFLINE_REPLAY}
    assert len(pairs) == paper.FORGOTTEN_PAIRS == 13
    assert paper.OFFLINE_REPLAY.keys() == paper.ONLINE_REPLAY.keys()
    assert paper.PAIR_COUNTS["perfect-memory"].first_kept + paper.FORGOTTEN_PAIRS == 100
    forgetting = {pair: paper.OFFLINE_REPLAY[pair, "first_task_forgetting"].value for pair in pairs}
    assert {pair for pair, value in forgetting.items() if value <= 0.1} == {"pair-2-3", "pair-7-1"}


@pytest.mark.parametrize(
    ("sequence", "method", "metric", "figure"),
    [
        ("cw3-1", "recall", "average_performance", Figure(0.90, 0.88, 0.92)),
        ("cw6-8", "perfect-memory", "forward_transfer", Figure(0.11, 0.02, 0.18)),
        ("cw10", "recall-paper", "forgetting", Figure(-0.03, -0.04, -0.03)),
        ("cw20", "recall-as-released", "average_performance", Figure(0.90, 0.87, 0.92)),
        ("pair-4-3", "perfect-memory", "first_task_forgetting", Figure(0.32, 0.23, 0.39)),
        ("pair-4-3", "perfect-memory", "forgetting", None),
        ("pair-4-3", "recall", "first_task_forgetting", None),
        ("pair-0-0", "perfect-memory", "first_task_forgetting", None),
        ("cw3-1", "naive-replay", "average_performance", None),
        ("cw3-1", "recall", "success", None),
        ("push,hammer", "recall", "forgetting", None),
    ],
)
def test_published(sequence, method, metric, figure):
    assert published(sequence, method, metric) == figure


# What compares with the paper's text

NUMBER = re.compile(r"-?\d+\.\d+")
CELL = re.compile(r"\$(-?\d+\.\d+)\$\}?(?:\s*\\scriptsize\[(-?\d+\.\d+),\s*(-?\d+\.\d+)\])?")


@pytest.fixture(scope="module")
def text():
    given = os.environ.get("RECALL_PAPER")
    folder = Path(__file__).parents[3] / "shared" / "paper"
    for path in [Path(given)] if given else sorted(folder.glob("*.txt")):
        if path.is_file() and "table:CW3_performance" in (found := path.read_text(encoding="utf-8")):
            return "\n".join(line for line in found.splitlines() if not line.lstrip().startswith("%"))
    pytest.skip("the paper's LaTeX is not here; name its file in RECALL_PAPER")


def body(text, label):
    """What stands between the head and the foot of the table of this label."""
    start = text.index(r"\midrule", text.index(rf"\label{{{label}}}"))
    return text[start : text.index(r"\bottomrule", start)]


def rows(part):
    """The rows of a part of a table: its name, and its cells as figures."""
    found = []
    for line in part.splitlines():
        name, *cells = line.split("&")
        if cells and CELL.search(cells[0]):
            matches = [CELL.search(cell) for cell in cells]
            found.append(
                (name.strip(" \t$"), [Figure(*(None if g is None else float(g) for g in m.groups())) for m in matches])
            )
    return found


def numbers_in(figures):
    return sorted(number for figure in figures for number in figure if number is not None)


def printed_in(part):
    return sorted(map(float, NUMBER.findall(part)))


@pytest.mark.parametrize("family", ["cw3", "cw6"])
def test_triplets_are_as_printed(text, family):
    whole = body(text, f"table:{family.upper()}_performance")
    parts = re.split(r"\\underline\{[^}]*\}", whole)
    assert re.findall(r"\\underline\{([^}]*)\}", whole) == ["Forgetting", "Forward Transfer"]
    printed = {
        (name if name == "mean" else f"{family}-{name}", method, metric): figure
        for metric, part in zip(METRICS, parts, strict=True)
        for name, figures in rows(part)
        for method, figure in zip(METHODS.values(), figures, strict=True)
    }
    ours = {
        **{key: figure for key, figure in paper.RESULTS.items() if key[0].startswith(f"{family}-")},
        **{("mean", *key[1:]): figure for key, figure in paper.MEANS.items() if key[0] == family},
    }
    assert printed == ours
    assert printed_in(whole) == numbers_in(ours.values())
    assert len(numbers_in(ours.values())) == 3 * 6 * (8 * 3 + 1)


@pytest.mark.parametrize("family", ["CW3", "CW6"])
def test_the_columns_stand_in_the_order_read(text, family):
    heads = [line for line in text.splitlines() if re.match(rf"{family}\s*&", line)]
    assert len(heads) == 3
    for head in heads:
        assert [name.strip(" \\") for name in head.split("&")[1:]] == list(METHODS)


def test_long_sequences_are_as_printed(text):
    whole = body(text, "table:CW10&20_performance")
    columns = [(sequence, metric) for sequence in ("cw10", "cw20") for metric in METRICS]
    printed = {
        (sequence, METHODS[name], metric): figure
        for name, figures in rows(whole)
        for (sequence, metric), figure in zip(columns, figures, strict=True)
    }
    ours = {key: figure for key, figure in paper.RESULTS.items() if key[0] in ("cw10", "cw20")}
    assert printed == ours
    assert printed_in(whole) == numbers_in(ours.values())


def test_network_sharing_is_as_printed(text):
    whole = body(text, "table:actor_critic_component")
    columns = ("first_task_performance", "second_task_performance")
    printed = {(name, c): figure for name, figures in rows(whole) for c, figure in zip(columns, figures, strict=True)}
    assert printed == paper.NETWORK_SHARING
    assert printed_in(whole) == numbers_in(paper.NETWORK_SHARING.values())


def test_replay_modes_are_as_printed(text):
    whole = body(text, "table:offline_online")
    columns = ("first_task_performance", "first_task_forgetting")
    offline, online = {}, {}
    for name, figures in rows(whole):
        i, j = name.strip("()").split(",")
        assert len(figures) == 4
        for column, before, after in zip(columns, figures[:2], figures[2:], strict=True):
            offline[f"pair-{i}-{j}", column], online[f"pair-{i}-{j}", column] = before, after
    assert (offline, online) == (paper.OFFLINE_REPLAY, paper.ONLINE_REPLAY)
    assert printed_in(whole) == numbers_in([*paper.OFFLINE_REPLAY.values(), *paper.ONLINE_REPLAY.values()])


def test_coefficients_are_as_printed(text):
    whole = body(text, "table:paras_recall")
    printed = {
        (float(name), metric): figure
        for name, figures in rows(whole)
        for metric, figure in zip(METRICS, figures, strict=True)
    }
    assert printed == paper.LAMBDA
    # Two of the coefficients are decimal numbers themselves.
    assert printed_in(whole) == sorted([*numbers_in(paper.LAMBDA.values()), 0.01, 0.1])


def only(pattern, text):
    """The groups of the one sentence that matches, as numbers."""
    (found,) = re.finditer(pattern, text)
    return tuple(map(float, found.groups()))


def test_pairs_are_as_stated(text):
    n = r"\$(-?[\d.]+)\$"
    stated = re.findall(rf"average values of \(a\), \(b\), and \(c\) are {n},\s*{n} and {n}", text)
    metrics = ("first_task_performance", "second_task_performance", "first_task_forgetting")
    assert {
        (method, metric): Figure(float(value))
        for method, values in zip(("perfect-memory", "recall"), stated, strict=True)
        for metric, value in zip(metrics, values, strict=True)
    } == paper.PAIR_MEANS
    memory, recall = paper.PAIR_COUNTS["perfect-memory"], paper.PAIR_COUNTS["recall"]
    below = only(rf"second tasks with success rate less than \$0\.5\$ to {n} from {n} for Perfect Memory", text)
    assert below == (recall.second_below_half, memory.second_below_half)
    kept = only(rf"less than \$0\.1\$ on all {n} first tasks \({n} for Perfect Memory\)", text)
    assert kept == (recall.first_kept, memory.first_kept)
    assert only(rf"decreased by over \$0\.1\$ in {n} out of \$100\$ tasks", text) == (paper.FORGOTTEN_PAIRS,)
    worst = max(f.value for (_, metric), f in paper.OFFLINE_REPLAY.items() if metric == "first_task_forgetting")
    assert only(rf"maximum forgetting reached {n}", text) == (worst,)


def test_the_protocol_is_as_stated(text):
    assert only(r"was trained on each task for (\d+)M steps", text) == (paper.STEPS_PER_TASK / 1e6,)
    assert only(r"on all tasks every (\d+)k steps", text) == (paper.EVALUATE_EVERY / 1e3,)
    seeds, percent = only(r"conducted with (\d+) different seeds and we also provide \$(\d+)\\%\$ confidence", text)
    assert (seeds, percent / 100) == (paper.SEEDS, paper.LEVEL)
