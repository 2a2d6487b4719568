"""Real runs in real processes, small enough to be killed hundreds of times."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from recall_rl.runs.directory import RunDirectory

SMALL = {
    "training.steps": 300,
    "training.start_steps": 40,
    "training.update_after": 40,
    "training.chunk": 20,
    "training.evaluate_every": 60,
    "training.lanes": 2,
    "agent.actor.width": 16,
    "agent.critic.width": 16,
    "agent.batch": 16,
    "protocol.episodes": 2,
}
TASKS = "reach-0,reach-180@100,reach-90"


def command(*words, **settings):
    """`recall` with these words and settings."""
    given = [f"--set={name}={value}" for name, value in settings.items()]
    return [sys.executable, "-m", "recall_rl", *map(str, words), *given]


def environment(cache):
    """That of a process which compiles each program once for all tests."""
    found = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [found.get("PYTHONPATH")])])
    cached = {"JAX_COMPILATION_CACHE_DIR": str(cache), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.05"}
    return {**found, "PYTHONPATH": path, **cached}


class Recall:
    """Starts `recall` in processes of their own."""

    def __init__(self, cache):
        self.environment = environment(cache)

    def start(self, *words, **settings):
        """A process, not waited for."""
        return subprocess.Popen(
            command(*words, **settings),
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def __call__(self, *words, code=0, timeout=300, **settings):
        """What a process printed, once it has ended with this code."""
        process = self.start(*words, **settings)
        out, err = process.communicate(timeout=timeout)
        assert process.returncode == code, f"{process.returncode}\n{out}\n{err}"
        assert "Traceback" not in err, err
        return out + err

    def train(self, path, method="recall", tasks=TASKS, **more):
        """Train a small run to its end."""
        return self("train", "--sequence", tasks, "--method", method, "--budget=smoke", "--out", path, **SMALL, **more)


def results(path):
    """The bytes that must not depend on what happened on the way: journal and weights."""
    run = RunDirectory(Path(path))
    return (run.generation().path / "journal.jsonl").read_bytes(), run.weights.read_bytes()


def kill(process, number=signal.SIGKILL):
    """Send a signal and wait for the end."""
    process.send_signal(number)
    process.communicate(timeout=60)
