"""SIGTERM at random moments, and a second process on a run that is held."""

import json
import random
import signal
import time

import pytest
from processes import SMALL, TASKS, kill, results
from waiting import step, until

from recall_rl.errors import UsageError
from recall_rl.runs.directory import RunDirectory
from recall_rl.runs.generation import claim


@pytest.mark.parametrize("times", [2, pytest.param(20, marks=pytest.mark.faults)])
def test_sigterm_at_random_moments_always_saves(recall, tmp_path, times):
    words = ("train", "--sequence", TASKS, "--method=recall", "--budget=smoke")
    recall(*words, "--out", tmp_path / "whole", **SMALL)
    rng, sent, longest, runs = random.Random(0), 0, 0.0, 0
    while sent < times:
        path = tmp_path / f"run{runs}"
        runs += 1
        while sent < times:
            process = recall.start(*words, "--out", path, **SMALL)
            # Before it holds the run it has nothing to save.
            until(lambda p=process, r=path: RunDirectory(r).held() or p.poll() is not None)
            time.sleep(rng.uniform(0.0, 5.0))
            if process.poll() is not None:
                process.communicate()
                break
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=30)
            if process.returncode == 0:
                break  # It had just finished.
            longest = max(longest, time.monotonic() - began)
            if process.returncode == -signal.SIGTERM:
                continue  # It had not begun to listen, and had done nothing.
            assert process.returncode == 128 + signal.SIGTERM, err
            sent += 1
            assert step(path) == int(err.split("at step ")[1].split(";")[0].replace(",", ""))
        recall("resume", path)
        assert results(path) == results(tmp_path / "whole")
    print(f"{sent} SIGTERMs over {runs} runs: all saved; at most {longest:.1f} s to leave")


def test_a_held_run_is_refused_in_milliseconds(recall, tmp_path):
    words = ("train", "--sequence", TASKS, "--budget=smoke", "--out", tmp_path / "run")
    process = recall.start(*words, **SMALL, **{"machine.checkpoint_seconds": 0})
    until(lambda: step(tmp_path / "run") >= 40)
    process.send_signal(signal.SIGSTOP)  # It holds the run even so.
    took = []
    for _ in range(20):
        began = time.perf_counter()
        with pytest.raises(UsageError, match="is being trained by process"):
            claim(tmp_path / "run")
        took.append(1000 * (time.perf_counter() - began))
    process.send_signal(signal.SIGCONT)
    kill(process)
    print(f"refused in {sorted(took)[10]:.2f} ms (median of 20)")
    assert sorted(took)[10] < 100
    generation = claim(tmp_path / "run")
    with pytest.raises(UsageError, match="is being trained by process"):
        claim(tmp_path / "run")
    generation.release()
    assert json.loads((generation.path / "lease.json").read_text())["pid"] > 0
