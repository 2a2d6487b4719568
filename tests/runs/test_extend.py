"""Runs that grow."""

import os

import pytest
from processes import SMALL
from rounding import PINNED, agree
from safetensors.numpy import load_file

import recall_rl
from recall_rl.errors import UsageError
from recall_rl.methods.catalogue import CATALOGUE

FEW = {**SMALL, "training.steps": 120}
LOOKING_AHEAD = ("packnet", "recall-as-released", "mtl", "mtl-popart")
IN_CI = ("recall", "ewc", "vcl", "reservoir")


def train(path, tasks, method, options):
    return recall_rl.train(tasks, method, budget="smoke", out=path, settings={**FEW, **options})


def grow(tmp_path, method, options):
    """A run of A, B extended by C, and one of A, B, C."""
    train(tmp_path / "ab", "reach-0,reach-180@100", method, options)
    grown = recall_rl.extend(tmp_path / "ab", "reach-90", tmp_path / "grown", trust_code=True)
    return grown, train(tmp_path / "abc", "reach-0,reach-180@100,reach-90", method, options)


@pytest.mark.parametrize(
    "method", [m if m in IN_CI else pytest.param(m, marks=pytest.mark.faults) for m in (*CATALOGUE, "packnet of 3")]
)
def test_extending_is_the_same_as_having_known(tmp_path, method):
    if method in LOOKING_AHEAD:
        train(tmp_path / "ab", "reach-0,reach-180@100", method, {})
        with pytest.raises(UsageError, match="cannot be extended"):
            recall_rl.extend(tmp_path / "ab", "reach-90", tmp_path / "grown")
        return
    name, _, room = method.partition(" of ")
    grown, known = grow(tmp_path, name, {"options.capacity": room} if room else {})
    for file in ("config.json", "journal.jsonl", "weights.safetensors") if PINNED else ("config.json",):
        assert (grown.path / file).read_bytes() == (known.path / file).read_bytes(), file
    one, other = load_file(grown.weights), load_file(known.weights)
    assert agree([one[key] for key in sorted(one)], [other[key] for key in sorted(other)])


def test_rows_are_linked_and_the_old_run_stays_as_it_is(tmp_path):
    old = train(tmp_path / "ab", "reach-0,reach-180@100", "recall", {})
    files = {f: f.read_bytes() for f in old.path.rglob("*") if f.is_file()}
    grown = recall_rl.extend(old.path, "reach-0", tmp_path / "grown")
    assert {f: f.read_bytes() for f in old.path.rglob("*") if f.is_file()} == files
    inodes = {os.stat(f).st_ino for f in files}
    rows = list(grown.path.rglob("*.rows"))
    assert sum(os.stat(f).st_ino in inodes for f in rows) == 2
    assert [e["event"] for e in grown.journal()][-1] == "end"
    assert recall_rl.extend(old.path, "reach-0", tmp_path / "grown").path == grown.path, "it goes on where it is"


def test_room_for_a_stated_number_of_tasks_is_kept_to(tmp_path):
    train(tmp_path / "ab", "reach-0,reach-180@100", "packnet", {"options.capacity": 2})
    with pytest.raises(UsageError, match="room for 2 tasks"):
        recall_rl.extend(tmp_path / "ab", "reach-90", tmp_path / "grown")


def test_a_task_may_return_to_its_old_head(tmp_path):
    """Without steps to change it, the new head of a returning task is the old one's twin."""
    still = {**FEW, "agent.learning_rate": 1e-30, "agent.tau": 1e-30, "training.returning": "old head"}
    run = recall_rl.train("reach-0,reach-90,reach-0", budget="smoke", out=tmp_path / "a", settings=still)
    heads = load_file(run.weights)["actor.head.0.w"]
    assert (heads[2] == heads[0]).all()
    assert (heads[1] != heads[0]).any()
    fresh = recall_rl.train(
        "reach-0,reach-90,reach-0",
        budget="smoke",
        out=tmp_path / "b",
        settings={**still, "training.returning": "new head"},
    )
    heads = load_file(fresh.weights)["actor.head.0.w"]
    assert (heads[2] != heads[0]).any()


def test_whether_a_task_returns_to_its_old_head_can_be_chosen_when_it_does(tmp_path):
    old = {**FEW, "training.returning": "old head"}
    train(tmp_path / "ab", "reach-0,reach-90", "ewc", {})
    grown = recall_rl.extend(tmp_path / "ab", "reach-0", tmp_path / "grown", to_old_head=True)
    known = recall_rl.train("reach-0,reach-90,reach-0", "ewc", budget="smoke", out=tmp_path / "abc", settings=old)
    assert (grown.path / "journal.jsonl").read_bytes() == (known.path / "journal.jsonl").read_bytes()


def test_a_run_that_is_not_finished_or_not_there_is_refused(tmp_path):
    with pytest.raises(UsageError, match="There is no run"):
        recall_rl.extend(tmp_path / "nothing", "reach-0", tmp_path / "new")
