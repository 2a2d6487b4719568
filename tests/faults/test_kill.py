"""`kill -9` at random moments, as often as asked, and the run that results is compared with one that was left alone.

`pytest -m faults tests/faults/test_kill.py -s` prints the figures of docs/promises.md.
"""

import json
import random
import time
from pathlib import Path

import pytest
from processes import SMALL, TASKS, kill, results

from recall_rl.runs.checkpoint import latest
from recall_rl.runs.directory import RunDirectory

ALWAYS = {"machine.checkpoint_seconds": 0}
METAWORLD = {
    "training.steps": 2000,
    "training.start_steps": 500,
    "training.update_after": 500,
    "training.evaluate_every": 500,
    "protocol.episodes": 2,
}


def furthest(path):
    """The last step that the journal or a checkpoint tells of, whatever is read back later."""
    found = [entry.get("step", 0) for entry in RunDirectory(path).journal()]
    checkpoint = latest(path, verify_memory=False).checkpoint
    return max([*found, checkpoint.manifest.step if checkpoint else 0])


def tortured(recall, words, settings, path, kills, rng, longest):
    """Kill a run this often, each time after a random while, then let it end; steps repeated at most, and gone on."""
    repeated, done = 0, 0
    while done < kills:
        process = recall.start(*words, "--out", path, **settings)
        began = time.monotonic()
        wait = rng.uniform(0.0, longest)
        while time.monotonic() - began < wait and process.poll() is None:
            time.sleep(0.005)
        if process.poll() is not None:
            out, err = process.communicate()
            assert process.returncode == 0, out + err
            break
        kill(process)
        done += 1
        if RunDirectory(path).begun():
            at = latest(path).checkpoint
            repeated = max(repeated, furthest(path) - (at.manifest.step if at else 0))
    recall("resume", path) if RunDirectory(path).begun() else recall(*words, "--out", path, **settings)
    return repeated, done


@pytest.mark.parametrize("kills", [4, pytest.param(200, marks=pytest.mark.faults)])
def test_killed_runs_of_probes_end_as_if_nothing_had_happened(recall, tmp_path, kills):
    words = ("train", "--sequence", TASKS, "--method", "recall", "--budget=smoke")
    recall(*words, "--out", tmp_path / "whole", **SMALL)
    expected, rng = results(tmp_path / "whole"), random.Random(0)
    done, runs, worst = 0, 0, 0
    while done < kills:
        path = tmp_path / f"run{runs}"
        # Long enough that most kills find the run at work, short enough that a run is killed several times.
        more, count = tortured(recall, words, {**SMALL, **ALWAYS}, path, min(12, kills - done), rng, longest=7.0)
        worst, done, runs = max(worst, more), done + count, runs + 1
        assert results(path) == expected
    print(f"{done} kills over {runs} runs of three probe tasks: all bit-identical; most steps repeated {worst}")


@pytest.mark.faults
def test_killed_runs_of_robots_end_as_if_nothing_had_happened(recall, tmp_path):
    words = ("train", "--sequence", "handle-press-side,window-close", "--method", "recall")
    recall(*words, "--out", tmp_path / "whole", timeout=1200, **METAWORLD)
    rng = random.Random(1)
    every = {**METAWORLD, "machine.checkpoint_seconds": 1}
    done, runs, worst = 0, 0, 0
    while done < 20:
        path = tmp_path / f"run{runs}"
        more, count = tortured(recall, words, every, path, 20 - done, rng, longest=40.0)
        worst, done, runs = max(worst, more), done + count, runs + 1
        assert results(path) == results(tmp_path / "whole")
    print(f"{done} kills over {runs} runs of two Meta-World tasks: all bit-identical; most steps repeated {worst}")


def test_repeated_steps_are_those_since_the_last_checkpoint(recall, tmp_path):
    """With checkpoints after every chunk, no more than the chunk under way and the one before are repeated."""
    words = ("train", "--sequence", "reach-0", "--budget=smoke", "--out", tmp_path / "run")
    process = recall.start(*words, **SMALL, **ALWAYS)
    end = time.monotonic() + 120
    while not RunDirectory(tmp_path / "run").begun() or furthest(tmp_path / "run") < 60:
        assert time.monotonic() < end
        time.sleep(0.02)
    kill(process)
    at = latest(Path(tmp_path / "run")).checkpoint.manifest.step
    assert furthest(tmp_path / "run") - at <= 2 * SMALL["training.chunk"]
    recall("resume", tmp_path / "run")
    times = [json.loads(line) for line in (tmp_path / "run" / "times.jsonl").read_text().splitlines()]
    assert [t["step"] for t in times if t["event"] == "resumed"] == [at]
