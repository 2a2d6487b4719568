"""Ctrl-C and SIGTERM: the run saves at the next chunk and leaves; a second signal, or 20 seconds, leaves at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

_PATIENCE_SECONDS = 20.0


class StoppedError(Exception):
    """A signal ended the run."""

    def __init__(self, number: int, sentence: str):
        self.number = number
        super().__init__(sentence)


class Stop:
    """Whether a signal has asked the run to end."""

    def __init__(self) -> None:
        self.asked: int | None = None

    def hear(self, number: int, frame: FrameType | None) -> None:
        """What happens when a signal comes."""
        if self.asked is not None:
            raise StoppedError(self.asked, "stopped without saving once more; the last checkpoint is whole.")
        self.asked = number
        # A stage's trials can take long; they lose nothing, so the run need not wait for them.
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE_SECONDS)


def wait_longer() -> None:
    """Take back the limit on leaving, where others are waited for that have their own."""
    signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def listening() -> Generator[Stop]:
    """Hear signals while a run goes on; only the main thread of a program can."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, stop.hear)
    try:
        yield stop
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
