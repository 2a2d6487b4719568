"""Runs that are stopped and go on, in real processes with real signals."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from processes import SMALL, TASKS, kill, results
from waiting import step, until

from recall_rl.runs.directory import RunDirectory

ALWAYS = {"machine.checkpoint_seconds": 0}


@pytest.fixture(scope="module")
def whole(recall, tmp_path_factory):
    """The run that nothing happened to."""
    path = tmp_path_factory.mktemp("runs") / "whole"
    recall.train(path)
    return path


def started(recall, path, method="recall", **more):
    settings = {**SMALL, **ALWAYS, **more}
    return recall.start("train", "--sequence", TASKS, "--method", method, "--budget=smoke", "--out", path, **settings)


@pytest.mark.parametrize("memory", ["ram", "disk"])
def test_a_run_that_is_killed_goes_on_to_the_same_bytes(recall, whole, tmp_path, memory):
    run, first = tmp_path / "run", {"machine.memory": memory}
    for least in (100, 420, 700):
        process = started(recall, run, **first)
        until(lambda least=least, p=process: step(run) >= least or p.poll() is not None)
        kill(process)
    out = recall("resume", run)
    assert "Done" in out
    assert results(run) == results(whole)
    times = [json.loads(line) for line in (run / "times.jsonl").read_text().splitlines()]
    assert sum(t["event"] == "resumed" for t in times) >= 1
    assert "finished" in recall("resume", run), "nothing is left to do"


def test_ctrl_c_and_sigterm_save_and_leave(recall, whole, tmp_path):
    run = tmp_path / "run"
    for number, least in ((signal.SIGTERM, 100), (signal.SIGINT, 400)):
        process = started(recall, run)
        until(lambda least=least: step(run) >= least)
        began = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 128 + number, out + err
        assert "recall resume" in err
        assert "Traceback" not in err
        assert time.monotonic() - began < 30
        saved = int(err.split("at step ")[1].split(";")[0].replace(",", ""))
        assert step(run) == saved, "nothing that was learnt is lost"
    recall("resume", run)
    assert results(run) == results(whole)


def test_a_second_process_is_refused_at_once(recall, tmp_path):
    run = tmp_path / "run"
    process = started(recall, run, **{"training.steps": 30_000})  # It shall not end meanwhile.
    until(lambda: step(run) >= 60)
    assert "is being trained by process" in recall("resume", run, code=2)
    assert process.poll() is None
    state = json.loads(recall("runs", tmp_path, "--json"))
    assert state["state"] == "running"
    kill(process)
    state = json.loads(recall("runs", tmp_path, "--json"))
    assert state["state"] == "stopped"
    assert 0 < state["step"] < state["steps"] == 90_000


def test_a_frozen_holder_that_wakes_up_writes_where_nobody_reads(recall, whole, tmp_path):
    run = tmp_path / "run"
    frozen = started(recall, run)
    until(lambda: step(run) >= 300)
    frozen.send_signal(signal.SIGSTOP)
    recall("resume", run, "--take-over")
    assert results(run) == results(whole)
    frozen.send_signal(signal.SIGCONT)
    time.sleep(2)
    kill(frozen)
    assert results(run) == results(whole)
    assert "finished" in recall("resume", run)


def test_a_worker_that_is_killed_is_replaced_and_leaves_no_trace(recall, whole, tmp_path):
    run = tmp_path / "run"
    process = started(recall, run, **{"machine.workers": 2})
    killed = 0
    for least in (60, 200, 400, 600):
        until(lambda least=least: step(run) >= least or process.poll() is not None)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        if children:
            os.kill(int(children[least % len(children)]), signal.SIGKILL)
            killed += 1
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    assert killed >= 2
    assert results(run) == results(whole)


def test_the_same_command_goes_on_and_another_config_is_refused(recall, whole, tmp_path):
    out = recall.train(whole)
    assert "finished" in out
    other = recall("train", "--sequence", TASKS, "--budget=smoke", "--out", whole, code=2, **SMALL)
    assert "another run" in other
    assert "cannot change" in recall("resume", whole, "--set=training.steps=5", code=2)


def test_an_environment_that_cannot_be_seeded_goes_on_and_is_stamped(recall, tmp_path):
    run = tmp_path / "run"
    words = ("train", "--sequence", "gym:broken_envs:Unseeded-v0", "--budget=smoke", "--out", run)
    process = recall.start(*words, **SMALL, **ALWAYS)
    until(lambda: step(run) >= 100)
    kill(process)
    assert "--trust-code" in recall("resume", run, code=2), "the config names code"
    recall("resume", run, "--trust-code")
    journal = RunDirectory(run).journal()
    assert journal[0]["reproducible"] is False
    assert journal[-1]["event"] == "end"
    assert json.loads(recall("runs", tmp_path, "--json"))["reproducible"] is False


def test_another_machine_goes_on_and_says_so(recall, tmp_path):
    """Another number of threads stands for another machine: it is part of the fingerprint."""
    run = tmp_path / "run"
    process = started(recall, run)
    until(lambda: step(run) >= 100)
    kill(process)
    recall("resume", run, **{"machine.threads": 2})
    moved = [entry for entry in RunDirectory(run).journal() if entry["event"] == "moved"]
    assert [entry["changed"] for entry in moved] == [{"threads": 2}]
