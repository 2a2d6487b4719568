"""Campaigns of real processes on this machine: shared beginnings, kills, stops and runs that cannot succeed."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from processes import kill
from small_campaign import results
from waiting import until

from recall_rl.runs.cores import cores


def states(recall, out):
    return {s["run"]: s for s in map(json.loads, recall("campaign", "status", out, "--json").splitlines())}


def test_neither_sharing_beginnings_nor_more_cores_a_run_changes_a_result(recall, plan, shared, tmp_path):
    out = tmp_path / "apart"
    recall("campaign", "run", plan, "--out", out, "--cores", cores(), "--no-sharing")
    assert len(results(shared)) == 2
    assert results(shared) == results(out)
    assert len(list(shared.glob("shared/**/config.json"))) == 1


def test_nothing_is_done_twice(recall, plan, shared):
    before = {p: p.stat().st_mtime_ns for p in shared.glob("runs/**/journal.jsonl")}
    said = recall("campaign", "run", plan, "--out", shared)
    assert "started" not in said
    assert before == {p: p.stat().st_mtime_ns for p in shared.glob("runs/**/journal.jsonl")}
    found = states(recall, shared)
    assert {s["state"] for s in found.values()} == {"done"}
    assert "3 done" in recall("campaign", "status", shared)
    other = recall("campaign", "run", plan, "--out", shared, "--seed", 5, code=2)
    assert "another campaign" in other


def test_slots_and_cores_that_there_cannot_be_are_refused(recall, plan, tmp_path):
    words = ("campaign", "run", plan, "--out", tmp_path / "out")
    assert "--slots must be positive" in recall(*words, "--slots", 0, code=2)
    for wrong in (0, cores() + 1):
        assert f"from 1 to {cores()}" in recall(*words, "--cores", wrong, code=2)
    assert "an option of --engine local" in recall(*words, "--cores", 1, "--engine", "ray", code=2)
    assert not (tmp_path / "out").exists()


def children(pid):
    return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("kills", [1, pytest.param(4, marks=pytest.mark.faults)])
def test_killed_runs_and_a_killed_campaign_end_as_if_nothing_had_happened(recall, plan, shared, tmp_path, kills):
    out = tmp_path / "killed"
    words = ("campaign", "run", plan, "--out", out, "--slots", "2")
    process = recall.start(*words)
    for _ in range(kills):
        # The two runs in turn, each at most twice: a third attempt that got no further would set a run aside.
        until(lambda: len(children(process.pid)) == 2 and list(out.glob("*/*/*/*/g*/checkpoint-*")))
        os.kill(children(process.pid)[0], signal.SIGKILL)
        time.sleep(1)
    # Its runs go on without it; the next campaign waits for those that still hold theirs.
    kill(process)
    process = recall.start(*words)
    until(lambda: list(out.glob(f"drivers/*-{process.pid}.json")))
    time.sleep(3)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, err
    assert "go on with the same command" in err
    recall(*words)
    assert results(out) == results(shared)


def test_a_run_that_cannot_succeed_is_set_aside_and_the_rest_goes_on(recall, plan, tmp_path):
    path = tmp_path / "broken.toml"
    text = plan.read_text().replace(
        '["reach-0,reach-90", "reach-0,reach-180"]', '["gym:broken_envs:Raises-v0", "reach-0"]'
    )
    path.write_text(text.replace('"recall"', '"fine-tuning"'))
    out = tmp_path / "out"
    said = recall("campaign", "run", path, "--out", out, code=1)
    assert "1 of 2 runs done" in said
    assert said.count("failed ") == 3
    assert "on fire" in said
    found = states(recall, out)
    (broken,) = [s for s in found.values() if s["state"] == "set aside"]
    assert (broken["failures"], "on fire" in broken["reason"]) == (3, True)
