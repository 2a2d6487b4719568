"""Runs of one machine keep to different cores, whichever campaign they belong to."""

import os
import signal
import subprocess
import sys

import pytest

from recall_rl.campaigns import pin
from recall_rl.campaigns.pin import take_core
from recall_rl.campaigns.process import RunProcess

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")


@pytest.fixture(autouse=True)
def name(monkeypatch):
    """Of these cores: campaigns that run beside the tests are not in the way."""
    monkeypatch.setattr(pin, "_NAME", f"\0recall-rl/test/{os.getpid()}/")


@pytest.fixture
def start(tmp_path):
    """Start the process of a run, halted before it finds that there is no campaign."""
    started = []

    def start(core):
        started.append(RunProcess(tmp_path, "run", core=core))
        os.kill(started[-1].pid, signal.SIGSTOP)
        assert os.sched_getaffinity(started[-1].pid) == {core.number}
        return started[-1]

    yield start
    for process in started:
        kill(process)


def kill(process):
    if process.poll() is None:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def test_each_run_has_a_core_until_it_is_killed(start):
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
    start(core)
    assert take_core() is None


def test_a_process_keeps_itself_to_a_core_that_no_run_has(start):
    taken = take_core()
    start(taken)
    code = f"""
import os
from recall_rl.campaigns import pin
pin._NAME = {pin._NAME!r}
core = pin.take_core()
if core is not None:
    core.keep()
print(core is not None, *os.sched_getaffinity(0))
"""
    said = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    free = sorted(os.sched_getaffinity(0) - {taken.number})
    assert said == (["True", str(free[0])] if free else ["False", str(taken.number)])
