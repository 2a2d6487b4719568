"""The process that talks to a Ray cluster: python -m recall_rl.campaigns.ray_driver FOLDER OPTIONS.

One task is one attempt at a run: it starts the run's process, waits for it and returns its exit code. Nothing else goes
through Ray. A bounded number of tasks is in flight, so the driver's memory does not grow with the campaign.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import IO, Any

from recall_rl.campaigns.campaign import Campaign
from recall_rl.campaigns.process import LEAVE_SECONDS, leave_with_parent
from recall_rl.campaigns.queue import Attempt, Queue
from recall_rl.campaigns.ray import FAILED, LOST, REFUSED, UNREACHABLE, RayOptions, reach
from recall_rl.campaigns.ray_task import MISSING, attempt
from recall_rl.errors import UsageError
from recall_rl.runs.stop import listening, wait_longer

_PAUSE_SECONDS = 0.5
_CONNECT_SECONDS = 20.0
_WATCH_SECONDS = 2.0
_MISSES = 3
"""Tries at the head in a row that fail before it counts as lost."""
_COUNT_SECONDS = 10.0


class Driver:
    """Keeps a cluster busy with the runs of a campaign."""

    def __init__(self, ray: Any, campaign: Campaign, options: RayOptions, task: Any = attempt):
        self.ray, self.campaign, self.options = ray, campaign, options
        self.queue = Queue(campaign, _tell)
        self.flying: dict[Any, Attempt] = {}
        self._room, self._counted = 0, -_COUNT_SECONDS
        self._task = ray.remote(task)
        self._needs = {"num_cpus": options.cpus, "num_gpus": options.gpus, "memory": options.memory, "max_retries": 0}

    def go(self) -> int:
        """Work until nothing is left that can be done, or a signal comes; returns an exit code."""
        with listening() as stop:
            while not self.queue.over:
                self.queue.look()
                self._fill()
                self._look()
                if stop.asked is not None:
                    self._cancel()
                    return 128 + stop.asked
        return 0

    def _fill(self) -> None:
        """Send as many attempts as keep the cluster busy: about twice as many as it can carry at a time."""
        now = time.monotonic()
        if now - self._counted > _COUNT_SECONDS:
            self._counted, self._room = now, self._count()
        while len(self.flying) < self._room and (taken := self.queue.take()) is not None:
            place = taken.job.place
            ref = self._task.options(name=place, **self._needs).remote(
                str(self.campaign.path), place, taken.take_over, self.options.gpus
            )
            self.flying[ref] = taken
            _tell(f"started  {place}")

    def _count(self) -> int:
        has, wants = self.ray.cluster_resources(), {"CPU": self.options.cpus, "GPU": self.options.gpus}
        wants["memory"] = self.options.memory or 0
        fits = min(int(has.get(name, 0) / need) for name, need in wants.items() if need)
        if fits == 0 and self._room == 0:
            _tell("waiting  for a machine with what a run takes; the cluster has none now")
        return max(2, 2 * fits)

    def _look(self) -> None:
        """Take note of attempts that ended."""
        if not self.flying:
            time.sleep(_PAUSE_SECONDS)
            return
        self.ray.wait(list(self.flying), num_returns=1, timeout=_PAUSE_SECONDS)
        ended, _ = self.ray.wait(list(self.flying), num_returns=len(self.flying), timeout=0)
        for ref in ended:
            self._note(self.flying.pop(ref), ref)

    def _note(self, taken: Attempt, ref: Any) -> None:
        errors = self.ray.exceptions
        try:
            code, reason = self.ray.get(ref)
        except errors.NodeDiedError:
            self.queue.lose(taken, "its machine was lost", machine=True)
        except errors.OutOfMemoryError:
            self.queue.report(taken, -9, "ended by Ray, which was short of memory")
        except errors.WorkerCrashedError:
            self.queue.lose(taken, "its Ray worker was lost")
        except errors.TaskCancelledError:
            self.queue.put_back(taken)
        except errors.RayTaskError as error:
            self.queue.report(taken, 1, str(error).strip().splitlines()[-1])
        else:
            if code == MISSING:
                raise UsageError(reason)
            self.queue.report(taken, code, reason)

    def _cancel(self) -> None:
        """Ask all runs to save and leave, and wait for them."""
        wait_longer()
        for ref in self.flying:
            self.ray.cancel(ref, force=False)
        if self.flying:
            self.ray.wait(list(self.flying), num_returns=len(self.flying), timeout=LEAVE_SECONDS + 10)


def connect(options: RayOptions) -> Any:
    """Join the cluster, or start one on this machine; a cluster that is not there is refused within seconds."""
    address = options.address
    if address:
        reach(address)
        if "RAY_AUTH_MODE" not in os.environ and _has_token():
            os.environ["RAY_AUTH_MODE"] = "token"  # Read when Ray is imported.
    import logging

    import ray

    if not address:
        ray.init(logging_level=logging.ERROR, log_to_driver=False, include_dashboard=False)
        return ray
    late = threading.Timer(_CONNECT_SECONDS, _give_up, [f"The Ray cluster at {address} does not answer."])
    late.daemon = True
    late.start()
    try:
        ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
    except Exception as error:
        said = str(error).strip().splitlines()
        raise ConnectionError(f"The Ray cluster at {address} refused: {said[0] if said else error!r}") from error
    late.cancel()
    return ray


def _has_token() -> bool:
    named = {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & set(os.environ)
    return bool(named) or (Path.home() / ".ray" / "auth_token").is_file()


def _give_up(reason: str) -> None:
    _tell(f"!{reason}")
    os._exit(UNREACHABLE)


def watch(address: str) -> None:
    """End this process once the head of the cluster is gone: Ray's calls would hang for a minute and end it too."""

    def look() -> None:
        missed = 0
        while missed < _MISSES:
            time.sleep(_WATCH_SECONDS)
            missed = 0 if _answers(address) else missed + 1
        os._exit(LOST)

    threading.Thread(target=look, daemon=True).start()


def _answers(address: str) -> bool:
    try:
        reach(address, _WATCH_SECONDS)
    except ConnectionError:
        return False
    return True


_said: list[IO[str]] = []


def _keep_output() -> None:
    """Keep standard output for ourselves; what Ray prints there goes to the log."""
    _said.append(os.fdopen(os.dup(1), "w"))
    os.dup2(2, 1)


def _tell(line: str) -> None:
    print(line, file=_said[0] if _said else None, flush=True)


def main(arguments: list[str]) -> int:
    """What the process does."""
    folder, options = Path(arguments[0]), RayOptions(**json.loads(arguments[1]))
    leave_with_parent()
    _keep_output()
    try:
        ray = connect(options)
    except ConnectionError as error:
        _tell(f"!{error}")
        return UNREACHABLE
    head = ray.get_runtime_context().gcs_address
    watch(head)
    try:
        return Driver(ray, Campaign.existing(folder), options).go()
    except UsageError as error:
        _tell(f"!{error}")
        return REFUSED
    except ray.exceptions.RayError as error:
        print(error, file=sys.stderr)
        return LOST
    except Exception as error:  # Ray also raises others when its head is gone.
        traceback.print_exc()
        _tell(f"!The Ray driver failed: {error}; {folder}/logs/ray.log has more.")
        return FAILED if _answers(head) else LOST


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    # What is in flight has been told to leave or is over; Ray's own farewell can hang where the head is gone.
    if code != 0:
        os._exit(code)
    sys.exit(code)
