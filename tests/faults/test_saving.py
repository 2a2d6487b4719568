"""A save that is killed, or whose disk fails, at each of its system calls (strace does it)."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from processes import SMALL, TASKS, environment, kill
from waiting import step, until

import recall_rl
from recall_rl.runs.checkpoint import latest

WRITING = "openat,write,pwrite64,fsync,rename,mkdir,unlink,unlinkat,rmdir,ftruncate,close,newfstatat,getdents64"
FAILING = ("write", "fsync", "rename", "mkdir", "openat")

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory, recall):
    """A run of three tasks that was killed in its second."""
    path = tmp_path_factory.mktemp("saving") / "run"
    process = recall.start(
        "train",
        "--sequence",
        TASKS,
        "--method=recall",
        "--budget=smoke",
        "--out",
        path,
        **SMALL,
        **{"machine.checkpoint_seconds": 0},
    )
    until(lambda: step(path) >= 400)
    kill(process)
    return path


class Save:
    """One save of a copy of the run, with a fault."""

    def __init__(self, stopped, path, cache):
        shutil.copytree(stopped, path, symlinks=True)
        self.path = path
        self.process = subprocess.Popen(
            [sys.executable, Path(__file__).parent / "saving.py", path],
            env=environment(cache),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.thread = self.process.stdout.readline().strip()
        assert self.thread.isdigit(), self.thread + self.process.stdout.read()

    def run(self, *trace):
        """Let it save under strace; what it printed, and the trace."""
        log = self.path.with_suffix(".trace")
        strace = subprocess.Popen(["strace", "-p", self.thread, "-o", log, *trace], stderr=subprocess.PIPE, text=True)
        assert "attached" in strace.stderr.readline()
        try:
            out, _ = self.process.communicate("go\n", timeout=60)
        finally:
            strace.terminate()
            strace.communicate()
        return out, log.read_text()


def calls(stopped, tmp_path):
    """The system calls of a whole save, in order."""
    out, trace = Save(stopped, tmp_path / "whole", tmp_path / "cache").run("-e", f"trace={WRITING}")
    assert "saved" in out
    return re.findall(r"^(\w+)\(", trace, re.MULTILINE)


def recoverable(path, least):
    """Whether a whole checkpoint is there, no older than the one before the save."""
    found = latest(path).checkpoint
    return found is not None and found.manifest.number >= least


@pytest.mark.parametrize("every", [25, pytest.param(1, marks=pytest.mark.faults)])
def test_a_save_that_is_killed_at_any_system_call_leaves_a_whole_checkpoint(stopped, tmp_path, every):
    found, before = calls(stopped, tmp_path), latest(stopped).checkpoint.manifest.number
    assert len(found) > 30
    places = [(call, found[: k + 1].count(call)) for k, call in enumerate(found)][::every]
    for call, n in places:
        save = Save(stopped, tmp_path / f"{call}{n}", tmp_path / "cache")
        save.run("-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={n}")
        assert save.process.returncode == -9
        assert recoverable(save.path, before + 1), f"{call} {n}"
        shutil.rmtree(save.path)
    print(f"killed at {len(places)} of the {len(found)} system calls of a save; the run can go on from all of them")


@pytest.mark.parametrize("every", [40, pytest.param(1, marks=pytest.mark.faults)])
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_a_save_whose_disk_fails_says_so_and_leaves_a_whole_checkpoint(stopped, tmp_path, every, error):
    found, before = calls(stopped, tmp_path), latest(stopped).checkpoint.manifest.number
    tried = 0
    for call in FAILING:
        for n in range(1, found.count(call) + 1, every):
            save = Save(stopped, tmp_path / f"{call}{n}", tmp_path / "cache")
            out, trace = save.run("-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={n}")
            assert "INJECTED" in trace
            assert recoverable(save.path, before + 1), f"{call} {n}: {out}"
            committed = latest(save.path).checkpoint.manifest.number == before + 2
            # Removing old files after the commit may fail quietly: nothing is lost by it.
            assert "could not be written" in out or committed, f"{call} {n}: {out}"
            shutil.rmtree(save.path)
            tried += 1
    print(f"{error} at {tried} calls of a save: none silent, the previous checkpoint whole after each")


def test_the_run_goes_on_after_a_full_disk(stopped, tmp_path):
    save = Save(stopped, tmp_path / "full", tmp_path / "cache")
    out, _ = save.run("-e", "trace=fsync", "-e", "inject=fsync:error=ENOSPC:when=2")
    assert "No space left on device" in out
    assert recall_rl.resume(save.path).journal()[-1]["event"] == "end"
