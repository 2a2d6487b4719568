"""The tables of docs/results.md are those of the published journals."""

import dataclasses
import sys

import pytest
from blocks import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import evidence
import evidence_runs
import evidence_tables
import evidence_values


def test_the_page_has_the_tables_of_the_journals():
    page = (ROOT / "docs/results.md").read_text()
    assert len(evidence.BLOCK.findall(page)) >= 1
    assert evidence.filled(page) == page, "python benchmarks/evidence.py --write"


def test_a_table_that_was_changed_by_hand_is_found():
    page = (ROOT / "docs/results.md").read_text()
    changed = page.replace("0.62", "0.99", 1)
    assert changed != page
    assert evidence.filled(changed) == page


@pytest.mark.parametrize(
    ("ends", "value"),
    [
        ({1.0: 0.5, 10.0: 0.9, 100.0: 0.6, 1000.0: 0.2}, 10.0),
        ({1.0: 0.895, 10.0: 0.9, 100.0: 0.88, 1000.0: 0.2}, 100.0),
        ({1.0: 0.895, 10.0: 0.9, 100.0: 0.879, 1000.0: 0.2}, 10.0),
        ({1.0: 0.9, 10.0: 0.5, 100.0: 0.6, 1000.0: 0.9}, 1000.0),
    ],
)
def test_the_rule_of_the_search(ends, value):
    """The best average; of those within 0.02 of it the one nearest to the paper's 100."""
    assert evidence.taken("clonex", ends) == value


@pytest.mark.parametrize(("methods", "lines"), [(["recall"], 0), (["ewc"], 0), (["recall", "ewc"], 3)])
def test_differences_have_a_line_for_each_method_with_a_pair(methods, lines):
    """A head, a rule and EWC's line, or no table at all."""
    whole = evidence_runs.campaign("primary")
    part = dataclasses.replace(whole, runs=[run for run in whole.runs if evidence_runs.base(run) in methods])
    text = evidence_tables.differences(part, "recall", {"average": evidence_runs.AVERAGE})
    assert len(text.splitlines()) == lines


def test_tasks_of_a_sequence_stand_one_below_the_other():
    """Two methods over three tasks: own end and end are the ones of the runs."""
    whole = evidence_runs.campaign("primary").split()[0]
    two = [run for run in whole.runs if run.seed == 0 and evidence_runs.base(run) in ("fine-tuning", "recall")]
    _, _, *lines = evidence_tables.by_task(dataclasses.replace(whole, runs=two)).splitlines()
    assert len(lines) == len(two[0].tasks)
    for k, line in enumerate(lines):
        ends = [
            (evidence_tables.number(evidence_runs.own_end(k)(run)), evidence_tables.number(evidence_runs.end(k)(run)))
            for run in two
        ]
        assert [tuple(cell.strip().split(" → ")) for cell in line.split("|")[3:5]] == ends


def test_a_run_that_came_out_the_same_is_told_from_one_that_did_not():
    one, other = evidence_runs.campaign("primary").runs[:2]
    assert evidence_runs.the_same(one, dataclasses.replace(one, name="again"))
    assert not evidence_runs.the_same(one, other)


def test_a_beginning_that_two_runs_share_counts_once():
    """window-close alone, and the same as the first of three tasks."""
    one = next(r for r in evidence_runs.campaign("references").runs if r.tasks == ("window-close",) and r.seed == 0)
    three = next(r for r in evidence_runs.campaign("primary").runs if r.tasks[0] == "window-close" and r.seed == 0)
    assert evidence_runs.base(one) == evidence_runs.base(three) == "fine-tuning"
    assert len(evidence_values.once([(one, 0), (three, 0)])) == 1
    assert len(evidence_values.once([(three, 0), (three, 1)])) == 2


def test_a_task_settles_first():
    """Of twenty notes of each task, those of its first 10,000 steps are left out."""
    run = evidence_runs.campaign("primary").runs[0]
    noted = run.training.values["alpha"]
    for task in range(len(run.tasks)):
        kept = noted[20 * task + 2 : 20 * (task + 1)]
        assert evidence_values.settled(run, task, "alpha").tolist() == kept.tolist()
        assert evidence_values.temperature(run, task) == kept.max()
