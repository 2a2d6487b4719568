"""The page: complete, self-contained, equal to its numbers, and unmoved by hostile names and broken runs."""

import html
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from recall_rl.cli.main import main

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))
from made_up import curves, write


class Page(HTMLParser):
    """The tags and the tables of a page."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.tables, self.cell = [], [], None
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.cell = ""

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.tables[-1][-1].append(self.cell)
            self.cell = None

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data


def report(*paths, out, options=()):
    assert main(["report", *map(str, paths), "--out", str(out), *options]) == 0
    return Page(out / "index.html")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three methods with three seeds, one with six, pairs, a sweep, a run under way and one under another budget."""
    folder = tmp_path_factory.mktemp("runs")
    for seed in range(3):
        write(folder, f"f{seed}", "fine-tuning", "cw3-7", seed, success=curves(3, kept=0.1))
        write(folder, f"n{seed}", "naive-replay", "cw3-7", seed, success=curves(3, kept=0.7))
        write(folder, f"l{seed}", "recall", "cw3-7", seed, **{"options.lam": 10})
        for i, j in ((5, 8), (8, 5)):
            write(folder, f"p{i}{j}{seed}", "perfect-memory", f"pair-{i}-{j}", seed, success=curves(2, kept=0.5))
    for seed in range(6):
        write(folder, f"r{seed}", "recall", "cw3-7", seed, success=curves(3, kept=0.95, seed=seed))
    write(folder, "half", "recall", "cw3-7", 7, success=curves(3)[:7], ended=False)
    write(folder, "longer", "recall", "cw3-7", 0, **{"training.steps": 9000})
    return folder


@pytest.fixture(scope="module")
def made(runs, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    return report(runs, out=out), out


def test_everything_is_there(made):
    _, out = made
    names = {p.stem.removeprefix("s1-") for p in (out / "figures").glob("s1-*.png")}
    assert {
        "cw3-7-average",
        "cw3-7-tasks",
        "cw3-7-matrix",
        "cw3-7-ablation",
        "cw3-7-lambda",
        "cw3-7-learning",
        "pairs-perfect-memory",
        "pairs-forgotten-perfect-memory",
    } <= names
    for name in names:
        assert all((out / "figures" / f"s1-{name}.{kind}").stat().st_size > 1000 for kind in ("png", "svg", "pdf"))
    tables = {p.name.removeprefix("s1-") for p in (out / "tables").glob("s1-*")}
    kinds = ("md", "tex", "csv")
    assert {f"{t}.{k}" for t in ("measures", "comparisons", "tasks", "paper") for k in kinds} <= tables
    text = (out / "index.html").read_text()
    assert "2 settings" in text
    assert "1 of them is not finished" in text
    assert "the simulator of 2021" in text


def test_the_page_needs_nothing_but_itself(made):
    page, out = made
    for tag, attributes in page.tags:
        assert tag not in ("script", "link", "iframe", "object", "embed"), tag
        for name in ("src", "xlink:href", "href"):
            value = attributes.get(name, "")
            assert not re.match(r"(https?:)?//", value), value
    text = (out / "index.html").read_text()
    assert not re.search(r"url\((?!#)", text), "nothing is loaded by style"
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text


def test_numbers_on_the_page_are_those_of_the_json(made, runs, capsys):
    page, out = made
    capsys.readouterr()
    assert main(["report", str(runs), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((out / "report.json").read_text())
    cells = [cell for table in page.tables for row in table for cell in row]
    for row in printed["rows"]:
        for measured in row["measures"].values():
            i = measured["interval"]
            value = f"{i['value'] + 0.0:.2f}".replace("-0.00", "0.00")
            assert any(cell.startswith(value) for cell in cells)
    (six,) = [r for r in printed["rows"] if len(r["seeds"]) == 6]
    i = six["measures"]["average_performance"]["interval"]
    assert f"{i['value']:.2f} [{i['low']:.2f}, {i['high']:.2f}]" in cells
    assert (i["n"], six["unfinished"]) == (6, 1)
    few = next(r for r in printed["rows"] if r["method"] == "fine-tuning")
    assert any(re.fullmatch(r"0\.40 \(0\.40, 0\.40, 0\.40\)", cell) for cell in cells), few


def test_figures_on_the_page_say_what_their_files_say(made):
    _, out = made
    text = (out / "index.html").read_text()
    for file in (out / "figures").glob("*-lambda.svg"):
        words = re.findall(r"<text[^>]*>([^<]+)</text>", file.read_text())
        assert len(words) > 10
        assert any(re.fullmatch(r"-?\d\.\d\d+", word) for word in words), "numbers with decimals are among them"
        for word in words:
            assert f">{word}</text>" in text


def test_hostile_names_are_names(tmp_path):
    evil = ["<script>alert(1)</script>", "$\\frac{x", "a&b\"onload='x'"]
    write(tmp_path / "runs", "<img src=x onerror=y>", tasks=evil, success=curves(3))
    page = report(tmp_path / "runs", out=tmp_path / "out")
    text = (tmp_path / "out" / "index.html").read_text()
    assert not any(tag in ("script", "img") for tag, _ in page.tags)
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert html.escape(evil[0], quote=False) in text
    assert all(p.parent == tmp_path / "out" / "figures" for p in (tmp_path / "out").rglob("*.png"))
    assert r"\textbackslash{}frac\{x" in (tmp_path / "out" / "tables" / "tasks.tex").read_text()


def test_broken_runs_are_named_on_the_page(tmp_path, capsys):
    write(tmp_path / "runs", "good")
    write(tmp_path / "runs", "bad", seed=1)
    (tmp_path / "runs" / "bad.jsonl").write_text("nonsense\n")
    (tmp_path / "runs" / "folder").mkdir()
    (tmp_path / "runs" / "folder" / "config.json").write_text("{}")
    report(tmp_path / "runs", out=tmp_path / "out")
    text = (tmp_path / "out" / "index.html").read_text()
    assert "Runs that are not counted" in text
    assert "<strong>bad</strong>: Its journal cannot be read" in text
    assert "<strong>folder</strong>" in text
    assert "not counted: bad" in capsys.readouterr().out


def test_runs_without_any_result_still_make_a_page(tmp_path):
    write(tmp_path / "runs", "new", ended=False)
    (tmp_path / "runs" / "new.jsonl").write_text('{"event": "run", "identity": "a", "reproducible": true}\n')
    report(tmp_path / "runs", out=tmp_path / "out")
    assert "not evaluated yet" in (tmp_path / "out" / "index.html").read_text()


def test_published_results_stand_beside_only_what_agrees(tmp_path, capsys):
    write(tmp_path / "small", "a", "recall", "pair-5-8")
    assert main(["report", str(tmp_path / "small"), "--beside", "methods/pair", "--json"]) == 2
    assert "cannot stand beside methods/pair" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "small"), "--beside", "methods/pears", "--json"]) == 2
    assert "methods/pair" in capsys.readouterr().err
    from recall_rl.analysis.published import names

    config = json.loads((names()["methods/pair"] / "ewc-0.json").read_text())
    write(tmp_path / "laptop", "mine", "l2", "pair-5-8", success=curves(2))
    own = config | {"method": "l2", "options": {}, "seed": 3}
    (tmp_path / "laptop" / "mine.json").write_text(json.dumps(own))
    assert main(["report", str(tmp_path / "laptop"), "--beside", "methods/pair", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    methods = {row["method"].split(" ")[0] for row in found["rows"]}
    assert {"l2", "recall", "ewc"} <= methods
    assert len({json.dumps(row["setting"]) for row in found["rows"]}) == 1


def test_wrong_questions_get_a_sentence(tmp_path, capsys):
    assert main(["report", str(tmp_path / "none")]) == 2
    assert main(["report", str(tmp_path)]) == 2
    write(tmp_path / "runs", "a")
    assert main(["report", str(tmp_path / "runs"), "--window", "0"]) == 2
    (tmp_path / "file").write_text("")
    assert main(["report", str(tmp_path / "runs"), "--out", str(tmp_path / "file" / "x")]) == 2
    said = capsys.readouterr().err
    assert "nothing at" in said
    assert "no run below" in said
    assert "must be positive" in said
    assert "cannot be written" in said
