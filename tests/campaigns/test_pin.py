"""Runs of one machine keep to different cores, whichever campaign they belong to."""

import os
import subprocess
import sys

import pytest
from processes import kill

from recall_rl.campaigns import pin
from recall_rl.campaigns.pin import take_core

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")


@pytest.fixture(autouse=True)
def name(monkeypatch):
    """Of these cores: campaigns that run beside the tests are not in the way."""
    monkeypatch.setattr(pin, "_NAME", f"\0recall-rl/test/{os.getpid()}/")


def start(core):
    """A process that waits, on this core."""
    waiting = [sys.executable, "-c", "input()"]
    process = subprocess.Popen(waiting, stdin=subprocess.PIPE, text=True, pass_fds=(core.fileno(),))
    core.give(process.pid)
    assert os.sched_getaffinity(process.pid) == {core.number}
    return process


def test_each_run_has_a_core_until_it_is_killed():
    runs = {}
    for _ in os.sched_getaffinity(0):
        core = take_core()
        runs[core.number] = start(core)
    assert runs.keys() == os.sched_getaffinity(0)
    assert take_core() is None
    last = max(runs)
    kill(runs[last])
    core = take_core()
    assert core.number == last
    runs[last] = start(core)
    assert take_core() is None
    for run in runs.values():
        kill(run)
