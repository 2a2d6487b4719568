"""A process that steps environments, and the watchdog that notices when it dies or hangs.

Started as `python -m recall_rl.collect SOCKET MEMORY PARENT` rather than through multiprocessing, so that a user's
script needs no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from recall_rl.collect.channel import Receiver, Sender, shared_file
from recall_rl.collect.episode import Address, Purpose
from recall_rl.collect.play import Beat, Episode, Lane, OpenEpisode, Player, play
from recall_rl.collect.policy import Actor
from recall_rl.errors import RunError, UsageError
from recall_rl.tasks.task import Task

_HEARTBEAT_SECONDS = 1.0
_IDLE_PLAYERS = 16
"""Environments of evaluated tasks kept alive in a worker; 200 tasks do not need 200 simulators."""


class Description(NamedTuple):
    """What the learner must know of a task before it begins."""

    observation_size: int
    action_size: int
    reproducible: bool
    """Whether the same seed and actions gave the same bits twice."""


class Describe(NamedTuple):
    """Ask: make the task and say what it is like."""

    task: Task


class Stretch(NamedTuple):
    """The next rows of one lane."""

    task: Task
    run_seed: int
    position: int
    lane: int
    lanes: int
    steps: int
    actor: Actor | None
    """None acts uniformly at random."""
    go_on: OpenEpisode | None = None
    """Where a new environment must be brought first, because the one before is gone."""


class Collect(NamedTuple):
    """Ask: rows of the lanes this worker carries, in one message, so that one answer is ever outstanding."""

    stretches: tuple[Stretch, ...]


class Job(NamedTuple):
    """One whole episode to play."""

    task: Task
    address: Address
    actor: Actor


class Play(NamedTuple):
    """Ask: whole episodes, not stored."""

    jobs: tuple[Job, ...]
    stochastic: bool
    stop_at_success: bool


class Look(NamedTuple):
    """Ask: play a task as training does, and say what was seen (`recall check`)."""

    task: Task
    steps: int
    """At most; none: only the first episode, to compare it with how another process played it."""
    seconds: float
    compared: int
    """Most steps of that episode."""


Request = Describe | Collect | Play | Look


class Collected(NamedTuple):
    """The rows of one stretch."""

    rows: NDArray[np.float32]
    ended: list[Episode]
    number: int
    """Of the episode being played now."""
    t: int
    """Steps taken in it."""
    faithful: bool
    """Whether the environment came to the state asked for; if not, an open episode was given up."""


@dataclass(frozen=True)
class Fault:
    """A sentence in place of an answer."""

    sentence: str
    usage: bool


class Alive(NamedTuple):
    """Sent between steps in place of an answer that takes long."""


class Host:
    """The environments of one worker and what it does with them."""

    def __init__(self, beat: Beat):
        self._beat = beat
        self._lanes: dict[tuple[int, int], Lane] = {}
        self._players: OrderedDict[str, Player] = OrderedDict()

    def answer(self, request: Request) -> Any:
        """Do what is asked."""
        if isinstance(request, Describe):
            return self._describe(request.task)
        if isinstance(request, Collect):
            return [self._collect(stretch) for stretch in request.stretches]
        if isinstance(request, Look):
            from recall_rl.checks.look import look

            return look(self._make(request.task), request, self._beat)
        return [self._play(request, job) for job in request.jobs]

    def _make(self, task: Task) -> Player:
        try:
            return Player(task.name, task.make())
        except (UsageError, RunError):
            raise
        except Exception as error:
            raise RunError(f"Task {task.name!r} could not be made: {error!r}.") from error

    def _player(self, task: Task) -> Player:
        if task.name not in self._players:
            self._players[task.name] = self._make(task)
            if len(self._players) > _IDLE_PLAYERS:
                self._players.popitem(last=False)[1].environment.close()
        self._players.move_to_end(task.name)
        return self._players[task.name]

    def _describe(self, task: Task) -> Description:
        player = self._player(task)
        seen: list[bytes] = []
        for _ in range(2):
            player.begin(Address(0, Purpose.TRIAL, 0, 0, 0))
            parts = [player.observation.tobytes()]
            for _ in range(5):
                _, _, outcome = player.step(None)
                parts.append(outcome.observation.tobytes() + np.float64(outcome.reward).tobytes())
                self._beat()
                if outcome.terminated or outcome.truncated:
                    break
            seen.append(b"".join(parts))
        return Description(player.row.observation_size, player.row.action_size, seen[0] == seen[1])

    def _collect(self, ask: Stretch) -> Collected:
        key, faithful = (ask.position, ask.lane), True
        if key not in self._lanes:
            for old in [k for k in self._lanes if k[0] != ask.position]:
                self._lanes.pop(old).player.environment.close()
            self._lanes[key] = Lane(self._make(ask.task), ask.run_seed, ask.position, ask.lane, ask.lanes)
        lane = self._lanes[key]
        if ask.go_on is not None:
            faithful = lane.go_on(ask.go_on, self._beat)
        rows, ended = lane.collect(ask.steps, ask.actor, self._beat)
        return Collected(rows, ended, lane.player.address.number, lane.player.t, faithful)

    def _play(self, ask: Play, job: Job) -> Episode:
        return play(self._player(job.task), job.address, job.actor, ask.stochastic, ask.stop_at_success, self._beat)


class WorkerLostError(RunError):
    """A worker process is gone; a new one can be asked again."""


class Worker(Protocol):
    """Something that answers requests, one at a time and in order."""

    def restart(self) -> None:
        """Begin anew, with no environment made."""
        ...

    def send(self, request: Request) -> None:
        """Ask without waiting."""
        ...

    def receive(self) -> Any:
        """Wait for the answer."""
        ...

    def close(self) -> None:
        """End the worker."""
        ...


class InlineWorker:
    """A worker within this process, so that breakpoint() works in environments."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget every environment."""
        self._host = Host(lambda: None)
        self._answers: list[Any] = []

    def send(self, request: Request) -> None:
        """Answer at once, and keep the answer."""
        self._answers.append(self._host.answer(request))

    def receive(self) -> Any:
        """The kept answer."""
        return self._answers.pop(0)

    def close(self) -> None:
        """Nothing to end."""


class ProcessWorker:
    """A worker in a process of its own, watched while it is waited for."""

    def __init__(self, patience: float, log: Path | None = None):
        self.patience, self._log = patience, log
        self._start()

    def restart(self) -> None:
        """End the process, if it still runs, and start another."""
        self.close()
        self._start()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        # One thread each: a learner and its workers together must not fight for cores.
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        path = os.pathsep.join(p for p in sys.path if p)
        memory = shared_file()
        inherited = [theirs.fileno(), memory]
        with open(self._log or os.devnull, "ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "recall_rl.collect", *map(str, inherited), str(os.getpid())],
                pass_fds=inherited,
                env={**os.environ, **threads, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                # Ctrl-C is for the learner, which then ends its workers.
                start_new_session=True,
            )
        theirs.close()
        self._connection = Connection(ours.detach())
        self._sender = Sender(self._connection, memory)

    def send(self, request: Request) -> None:
        """Ask without waiting."""
        try:
            self._sender.send(request)
        except OSError as error:
            raise WorkerLostError(self._obituary()) from error

    def receive(self) -> Any:
        """Wait for the answer as long as steps keep being made."""
        while True:
            if not self._connection.poll(self.patience):
                self.close()
                raise RunError(
                    f"An environment hangs: no step was finished in {self.patience:g} s, so its worker was ended. "
                    "If the simulator is only slow, raise machine.patience."
                )
            try:
                message = self._connection.recv()
            except (EOFError, OSError) as error:
                raise WorkerLostError(self._obituary()) from error
            if isinstance(message, Fault):
                raise UsageError(message.sentence) if message.usage else RunError(message.sentence)
            if not isinstance(message, Alive):
                return message

    def _obituary(self) -> str:
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "A worker process closed its connection."
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return f"A worker process {how}; workers.log in the run folder may say more."

    def close(self) -> None:
        """End the process: politely, then not."""
        self._sender.close()
        try:
            self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


REPLACEMENTS = 3
"""Processes that are tried in place of one that is gone, over one request; an environment may be what kills them."""


Again = Request | Callable[[], Request]
"""What to ask a process that knows nothing of earlier requests."""


def ask(worker: Worker, request: Request, again: Again | None = None) -> None:
    """Ask; a process that is gone is replaced."""
    try:
        worker.send(request)
    except WorkerLostError:
        _ask_again(worker, again or request)


def answer(worker: Worker, again: Again) -> Any:
    """The answer to what was asked; if the process is gone, a new one is asked and finds the same."""
    for _ in range(REPLACEMENTS):
        try:
            return worker.receive()
        except WorkerLostError:
            _ask_again(worker, again)
    return worker.receive()


def _ask_again(worker: Worker, again: Again) -> None:
    worker.restart()
    # A new process that is gone already is noticed where its answer is waited for.
    with contextlib.suppress(WorkerLostError):
        worker.send(again() if callable(again) else again)


def leave_with(parent: int) -> None:
    """End this process soon after its parent is gone, even while an environment hangs."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def serve(connection: Connection, memory: int) -> None:
    """Answer requests until the other side hangs up."""
    last = time.monotonic()

    def beat() -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > _HEARTBEAT_SECONDS:
            last = now
            connection.send(Alive())

    host, requests = Host(beat), Receiver(connection, memory)
    while True:
        try:
            request = cast("Request", requests.receive())
        except (EOFError, OSError):
            return
        last = time.monotonic()
        try:
            answer = host.answer(request)
        except (UsageError, RunError) as error:
            traceback.print_exc()
            answer = Fault(str(error), isinstance(error, UsageError))
        try:
            connection.send(answer)
        except OSError:
            return
