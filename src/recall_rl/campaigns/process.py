"""The process of one attempt at a run: started the same way by every engine, its words in the campaign's logs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from recall_rl.campaigns.pin import Cores

LEAVE_SECONDS = 40.0
"""For a run to save after it was asked to stop; it promises 30."""


class RunProcess:
    """A run at work in a process of its own."""

    def __init__(
        self,
        campaign: Path,
        place: str,
        take_over: bool = False,
        bound: bool = False,
        more: Mapping[str, str] = {},
        cores: Cores | None = None,
    ):
        """`bound`: it saves and leaves when this process ends, however; `more`: environment; `cores`: its own."""
        self.log = campaign / "logs" / f"{place.replace('/', '~')}.log"
        self.log.parent.mkdir(exist_ok=True)
        options = [*(["--take-over"] if take_over else []), *(["--bound"] if bound else [])]
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "recall_rl.campaigns.work", str(campaign), place, *options],
                stdout=log,
                stderr=log,
                stdin=subprocess.PIPE if bound else subprocess.DEVNULL,
                env={**_environment(campaign), **more},
                pass_fds=() if cores is None else cores.filenos(),
                start_new_session=True,  # Ctrl-C is for us; we ask them to save.
            )
        if cores is not None:
            cores.give(self.pid)
        self._pipe: IO[bytes] | None = self._process.stdin

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        return self._process.poll()

    def wait(self) -> int:
        """Its exit code, once it has ended."""
        return self._process.wait()

    def ask_to_leave(self) -> None:
        """Ask it to save and leave."""
        self._process.send_signal(signal.SIGTERM)

    def leave(self, seconds: float = LEAVE_SECONDS) -> int:
        """Ask it to save and leave, and wait for that; end it if it does not."""
        self.ask_to_leave()
        return self.end(seconds)

    def end(self, seconds: float) -> int:
        """Wait for it to leave as it was asked to; end it if it does not."""
        try:
            return self._process.wait(max(0.1, seconds))
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def reason(self) -> str:
        """Why it failed, once it has."""
        code = self._process.returncode
        return f"ended by {signal.Signals(-code).name}" if code and code < 0 else _last_line(self.log)


def leave_with_parent() -> None:
    """Save and leave once the process that started this one is gone: its end of our standard input closes with it."""

    def listen() -> None:
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(LEAVE_SECONDS)
        os._exit(128 + signal.SIGTERM)

    threading.Thread(target=listen, daemon=True).start()


def _environment(campaign: Path) -> dict[str, str]:
    """One thread a process, and compiled programs shared by all runs, unless they are already kept elsewhere."""
    threads = dict.fromkeys(("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str((campaign / "compiled").resolve()),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.5",
    }
    return {**cache, **os.environ, **threads}


def _last_line(path: Path) -> str:
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - 4096))
        lines = [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
