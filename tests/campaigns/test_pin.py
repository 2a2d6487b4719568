"""Runs of one machine keep to different cores, whichever campaign they belong to."""

import os
import signal
import subprocess
import sys

import pytest

from recall_rl.campaigns import pin
from recall_rl.campaigns.pin import take_cores
from recall_rl.campaigns.process import RunProcess
from recall_rl.runs.cores import cores

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")


@pytest.fixture(autouse=True)
def name(monkeypatch):
    """Of these cores: campaigns that run beside the tests are not in the way."""
    monkeypatch.setattr(pin, "_NAME", f"\0recall-rl/test/{os.getpid()}/")


@pytest.fixture
def start(tmp_path):
    """Start the process of a run, halted before it finds that there is no campaign."""
    started = []

    def start(taken):
        started.append(RunProcess(tmp_path, "run", cores=taken))
        os.kill(started[-1].pid, signal.SIGSTOP)
        assert os.sched_getaffinity(started[-1].pid) == taken.numbers
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
        taken = take_cores()
        (number,) = taken.numbers
        runs[number] = start(taken)
    assert runs.keys() == os.sched_getaffinity(0)
    assert take_cores() is None
    last = max(runs)
    kill(runs[last])
    taken = take_cores()
    assert taken.numbers == {last}
    start(taken)
    assert take_cores() is None


@pytest.mark.skipif(cores() < 2, reason="there is only one core")
def test_a_run_that_is_given_two_cores_has_both_until_it_is_killed(start):
    every = os.sched_getaffinity(0)
    run = start(take_cores(len(every)))
    assert take_cores() is None
    kill(run)
    one = take_cores()
    assert take_cores(len(every)) is None, "all of them are asked for and one is taken"
    one.leave()
    both = take_cores(len(every))
    assert both.numbers == every, "what was not enough is not held"
    both.leave()


def test_a_process_keeps_itself_to_a_core_that_no_run_has(start):
    taken = take_cores()
    start(taken)
    code = f"""
import os
from recall_rl.campaigns import pin
pin._NAME = {pin._NAME!r}
cores = pin.take_cores()
if cores is not None:
    cores.keep()
print(cores is not None, *os.sched_getaffinity(0))
"""
    said = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    free = sorted(os.sched_getaffinity(0) - taken.numbers)
    assert said == (["True", str(free[0])] if free else ["False", *map(str, sorted(taken.numbers))])
