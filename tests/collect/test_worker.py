"""Real processes that really break."""

import os
import signal
import subprocess
import sys
import time

import pytest

from recall_rl.collect.worker import Collect, Describe, ProcessWorker, Stretch
from recall_rl.errors import RunError, UsageError
from recall_rl.tasks.gymnasium import gymnasium_task


@pytest.fixture
def worker():
    worker = ProcessWorker(patience=2.0)
    yield worker
    worker.close()


def collect(worker, identity, steps=30):
    task = gymnasium_task(f"broken_envs:{identity}")
    worker.send(Collect((Stretch(task, 0, 0, 0, 1, steps, None),)))
    return worker.receive()


@pytest.mark.parametrize(
    ("identity", "helps"),
    [
        ("NanReward-v0", "gave a non-finite reward at step 11 of train episode 0"),
        ("InfObservation-v0", "gave a non-finite observation at step 11"),
        ("WrongShape-v0", r"observation of shape \(5,\) instead of \(3,\)"),
        ("Raises-v0", r"raised ValueError\('the gripper is on fire'\) at step 11"),
        ("CannotBeMade-v0", "could not be made.*no licence"),
        ("Dies-v0", "killed by SIGSEGV"),
        ("Hangs-v0", "hangs: no step was finished in 2 s"),
    ],
)
def test_what_broke_is_named_in_bounded_time(worker, identity, helps):
    began = time.monotonic()
    with pytest.raises(RunError, match=helps):
        collect(worker, identity)
    assert time.monotonic() - began < 15


def test_a_space_that_does_not_fit_is_a_usage_error(worker):
    worker.send(Describe(gymnasium_task("broken_envs:DiscreteActions-v0")))
    with pytest.raises(UsageError, match="Box spaces only"):
        worker.receive()


def test_slow_is_not_hanging(worker):
    (collected,) = collect(worker, "Slow-v0", steps=15)
    assert len(collected.rows) == 15


def test_whether_an_environment_can_be_seeded_is_found_out(worker):
    found = {}
    for identity in ("Sound-v0", "Unseeded-v0"):
        worker.send(Describe(gymnasium_task(f"broken_envs:{identity}")))
        found[identity] = worker.receive().reproducible
    assert found == {"Sound-v0": True, "Unseeded-v0": False}


def test_a_killed_worker_is_noticed(worker):
    collect(worker, "Sound-v0", steps=5)
    os.kill(worker._process.pid, signal.SIGKILL)
    with pytest.raises(RunError, match="killed by SIGKILL"):
        collect(worker, "Sound-v0", steps=5)


def test_workers_never_import_jax():
    script = "import recall_rl.collect.worker, sys; print('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout.strip() == "False"


def test_workers_leave_with_their_parent():
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from recall_rl.collect.worker import *\n"
        "from recall_rl.tasks.gymnasium import gymnasium_task\n"
        "w = ProcessWorker(60)\n"
        "w.send(Collect((Stretch(gymnasium_task('broken_envs:Hangs-v0'), 0, 0, 0, 1, 30, None),)))\n"
        "print(w._process.pid, flush=True); import time; time.sleep(3); os.kill(os.getpid(), 9)"
    )
    here = os.path.dirname(os.path.dirname(__file__))
    out = subprocess.run([sys.executable, "-c", script, here], capture_output=True, text=True).stdout
    pid = int(out)
    for _ in range(100):
        if not os.path.exists(f"/proc/{pid}"):
            break
        time.sleep(0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
