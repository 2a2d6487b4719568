"""Bytes that change on the disk, and files that end early: noticed always, and the checkpoint before is used."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from processes import SMALL

import recall_rl
from recall_rl.errors import RunError
from recall_rl.runs.checkpoint import latest


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run with two checkpoints."""
    settings = {**SMALL, "training.steps": 120, "machine.checkpoint_seconds": 0}
    return recall_rl.train(
        "reach-0,reach-180", "recall", budget="smoke", out=tmp_path_factory.mktemp("damage") / "run", settings=settings
    ).path


def offsets(length, count):
    """Every byte of a small file; the ends and evenly spread ones of a large one."""
    if length <= count:
        return range(length)
    return sorted({*range(16), *range(length - 16, length), *np.linspace(0, length - 1, count).astype(int)})


def outcome(path):
    """ "noticed": all checkpoints are refused; "fallback": an older one is used; "unnoticed" else."""
    try:
        found = latest(path)
    except RunError as error:
        helps = "No checkpoint" in str(error) and "recall train --config" in str(error)
        return "noticed" if helps else str(error)
    return "fallback" if found.problems else "unnoticed"


def harm(path, file, count):
    """What becomes of each flipped byte and each early end of a file."""
    whole, seen = file.read_bytes(), {"flipped": [], "cut": []}
    file.chmod(0o644)
    for at in offsets(len(whole), count):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1 :])
        seen["flipped"].append(outcome(path))
        file.write_bytes(whole[:at])
        seen["cut"].append(outcome(path))
    file.write_bytes(whole)
    assert outcome(path) == "unnoticed", "it is whole again"
    return seen


@pytest.mark.parametrize("count", [12, pytest.param(2000, marks=pytest.mark.faults)])
def test_every_flip_and_every_cut_is_noticed(run, tmp_path, count):
    path = tmp_path / "run"
    shutil.copytree(run, path, symlinks=True)
    found = latest(path).checkpoint
    newest, generation = found.path, found.generation.path
    kinds = {
        "manifest": newest / "manifest.json",
        "state": newest / "state.safetensors",
        "journal": generation / "journal.jsonl",
        "weights": generation / "weights.safetensors",
        "config": path / "config.json",
        **{Path(t.file).suffix[1:]: path / t.file for t in found.manifest.memory.tables()},
    }
    tried = 0
    for kind, file in kinds.items():
        seen = harm(path, file, count)
        every = seen["flipped"] + seen["cut"]
        tried += len(every)
        assert "unnoticed" not in every, kind
        if kind in ("manifest", "state", "weights"):
            assert set(every) == {"fallback"}, f"the checkpoint before does not need the {kind}"
    print(f"{tried} damages, all noticed")


def test_damage_to_rows_names_the_rows_that_are_lost(run, tmp_path):
    path = tmp_path / "run"
    shutil.copytree(run, path, symlinks=True)
    rows = next(path.rglob("*.rows"))
    rows.chmod(0o644)
    rows.write_bytes(b"\0" + rows.read_bytes()[1:])
    with pytest.raises(RunError, match=r"000-0001.rows is not what was written: 120 records are lost"):
        recall_rl.resume(path)


def test_a_run_goes_on_from_the_checkpoint_before_a_damaged_one(run, tmp_path):
    path = tmp_path / "run"
    shutil.copytree(run, path, symlinks=True)
    state = latest(path).checkpoint.path / "state.safetensors"
    state.write_bytes(state.read_bytes()[:-1])
    recall_rl.resume(path)
    assert (path / "weights.safetensors").read_bytes() == (run / "weights.safetensors").read_bytes()
    assert (path / "journal.jsonl").read_bytes() == (run / "journal.jsonl").read_bytes()
