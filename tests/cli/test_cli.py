"""The command as a user runs it: a process of its own, its output and its exit code."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recall_rl.cli.display import duration, spark

TESTS = Path(__file__).parent.parent


def recall(*arguments, cwd=None, timeout=180):
    env = {**os.environ, "PYTHONPATH": str(TESTS), "COLUMNS": "100", "TERM": "dumb"}
    command = [sys.executable, "-c", "from recall_rl.cli.main import entry; entry()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env, timeout=timeout)


def test_help_reads_well_and_is_quick():
    began = time.monotonic()
    top = recall("--help")
    assert time.monotonic() - began < 5
    assert top.returncode == 0
    assert "recall train --sequence probe --budget smoke" in top.stdout
    train = recall("train", "--help").stdout
    for option in (
        "--sequence",
        "--method",
        "--protocol",
        "--budget",
        "--seed",
        "--out",
        "--config",
        "--set",
        "--debug",
    ):
        assert option in train
    assert "None" not in train
    assert recall().stdout == top.stdout, "no arguments: help"
    assert recall("--version").stdout.startswith("recall-rl ")


def test_list_shows_everything_with_a_sentence():
    out = recall("list").stdout
    for name in ("fine-tuning", "handle-press-side", "cw3-7", "cw20", "pair-I-J", "mw3", "laptop", "gym:ID"):
        assert name in out
    found = json.loads(recall("list", "--json").stdout)
    assert set(found) == {"methods", "tasks", "sequences", "protocols", "budgets", "plans"}
    assert all(entry["name"] and entry["sentence"] for entries in found.values() for entry in entries)
    assert set(json.loads(recall("list", "budgets", "--json").stdout)) == {"budgets"}


def test_a_run_without_a_terminal_prints_plain_lines(tmp_path):
    done = recall("train", "--sequence", "reach-0", "--budget", "smoke", "--set", "training.steps=1000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "average" in done.stdout
    assert "\x1b" not in done.stdout
    folder = tmp_path / "runs" / "fine-tuning-reach-0-own-smoke+changed-seed0"
    assert (folder / "weights.safetensors").exists()
    assert str(folder.relative_to(tmp_path)) in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "helps"),
    [
        (["--sequence", "hamer"], 2, "Did you mean 'hammer'"),
        (["--sequence", "probe", "--method", "recal"], 2, "no method"),
        (["--sequence", "probe", "--budgt", "smoke"], 2, "--budget"),
        (["--sequence", "probe", "--set", "training.stps=1"], 2, "training.steps"),
        (["--sequence", "gym:CartPole-v1"], 2, "Box spaces only"),
        (["--sequence", "gym:broken_envs:NanReward-v0"], 1, "non-finite reward"),
        (["--sequence", "gym:broken_envs:Raises-v0"], 1, "on fire"),
        (["--sequence", "gym:broken_envs:Hangs-v0", "--set", "machine.patience=3"], 1, "hangs"),
        (["--sequence", "gym:broken_envs:Dies-v0"], 1, "SIGSEGV"),
    ],
)
def test_a_mistake_ends_in_one_sentence_and_a_code(tmp_path, arguments, code, helps):
    began = time.monotonic()
    done = recall("train", *arguments, "--out", str(tmp_path / "run"))
    assert done.returncode == code, done.stderr
    assert helps in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert time.monotonic() - began < 60
    if "--budgt" not in arguments:
        assert len(done.stderr.strip().splitlines()) == 1


def test_small_helpers_of_the_display():
    assert spark([None, 0, 0.5, 1]) == " ▁▅█"
    assert [duration(s) for s in (42, 185, 8040)] == ["42s", "3m 05s", "2h 14m"]
