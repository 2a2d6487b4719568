"""Runs as tasks of a Ray cluster, and patience with it: when its head is lost, the campaign waits and goes on anew.

A process of its own (`ray_driver.py`) speaks to Ray: when the head of the cluster is gone, Ray's library hangs and then
ends the process that it lives in. That process may end at any moment; what is left is on the disk.
"""

from __future__ import annotations

import importlib.util
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from recall_rl.campaigns.campaign import Campaign, Standing
from recall_rl.errors import RunError, UsageError
from recall_rl.runs.stop import StoppedError, listening, wait_longer

REFUSED, UNREACHABLE, LOST, FAILED = 2, 68, 69, 70
"""Exit codes of the driver: wrongly asked, no cluster there, the cluster was lost, a mistake of ours."""
_PAUSE_SECONDS = 0.2
_AGAIN_SECONDS = 2.0
_LASTING_SECONDS = 30.0
"""A driver that lived for so long had a cluster; waiting begins anew when it ends."""
_LEAVE_SECONDS = 90.0


@dataclass(frozen=True)
class RayOptions:
    """Where a cluster is, and what a run takes of it."""

    address: str | None = None
    """host:port of its head; None: a cluster that runs on this machine, or else one that is started here."""
    cpus: float = 1.0
    """CPUs of a run."""
    gpus: float = 0.0
    """GPUs of a run, or the share of one."""
    memory: int | None = None
    """Bytes of main memory of a run; None: not counted."""
    patience: float = 600.0
    """Seconds to wait for a cluster that was lost."""


def check_ray(options: RayOptions) -> None:
    """Refuse what cannot work, before anything starts."""
    if importlib.util.find_spec("ray") is None:
        raise UsageError("--engine ray needs Ray: pip install 'recall-rl[cluster]'")
    if options.address and options.address.startswith("ray://"):
        raise UsageError(
            "--address takes host:port of the head, and the command runs on a machine of the cluster; not ray://."
        )
    if options.address and not (options.address.rpartition(":")[0] and options.address.rpartition(":")[2].isdigit()):
        raise UsageError(
            f"--address takes host:port of the cluster's head, as in 10.0.0.1:6379, not {options.address!r}."
        )
    if options.cpus <= 0 or options.gpus < 0 or (options.gpus > 1 and options.gpus % 1):
        raise UsageError("--cpus must be positive, and --gpus a share of one GPU or a whole number of them.")
    if options.address:
        try:
            reach(options.address)
        except ConnectionError as error:
            raise UsageError(str(error)) from error


def reach(address: str, seconds: float = 10.0) -> None:
    """Raise ConnectionError if nobody listens at the address of a cluster."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), seconds).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(f"No Ray cluster answers at {address}: {error}.") from error


class Ray:
    """Carries a campaign to its end on a Ray cluster; whatever happens, the same call goes on."""

    def __init__(self, campaign: Campaign, options: RayOptions, tell: Callable[[str], None]):
        check_ray(options)
        self.campaign, self.options, self.tell = campaign, options, tell
        self._reason: str | None = None

    def go(self) -> list[Standing]:
        """Work until nothing is left that can be done; returns where every run is then."""
        began, lost = time.monotonic(), None
        while (code := self._drive()) != 0:
            if code == REFUSED or (code == UNREACHABLE and lost is None):
                raise UsageError(self._reason or "The Ray driver refused to start.")
            if code == FAILED:
                raise RunError(self._reason or "The Ray driver failed.")
            now = time.monotonic()
            if lost is None or now - began > _LASTING_SECONDS:
                lost = now
                self.tell("lost     the Ray cluster; waiting for it to come back")
            if now - lost > self.options.patience:
                raise RunError(
                    f"The Ray cluster did not come back within {self.options.patience:.0f} s; every run is saved. Go "
                    f"on with the same command once it is there; what Ray said is in {self.campaign.path}/logs/ray.log."
                )
            time.sleep(_AGAIN_SECONDS)
            began = time.monotonic()
        return self.campaign.standings()

    def _drive(self) -> int:
        """Let one driver work until it ends; returns its exit code."""
        logs = self.campaign.path / "logs"
        logs.mkdir(exist_ok=True)
        words = [str(self.campaign.path.resolve()), json.dumps(asdict(self.options))]
        with open(logs / "ray.log", "ab") as log:
            driver = subprocess.Popen(
                [sys.executable, "-m", "recall_rl.campaigns.ray_driver", *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        forward = threading.Thread(target=self._forward, args=(driver,), daemon=True)
        forward.start()
        with listening() as stop:
            try:
                while driver.poll() is None:
                    if stop.asked is not None:
                        self._leave(driver, stop.asked)
                    time.sleep(_PAUSE_SECONDS)
            finally:
                if driver.poll() is None:
                    driver.kill()
                    driver.wait()
        forward.join(_PAUSE_SECONDS)
        return driver.returncode

    def _forward(self, driver: subprocess.Popen[bytes]) -> None:
        """Pass on what the driver says; a line that begins with an exclamation mark is why it refused."""
        assert driver.stdout is not None
        for line in driver.stdout:
            text = line.decode(errors="replace").rstrip()
            if text.startswith("!"):
                self._reason = text[1:]
            else:
                self.tell(text)

    def _leave(self, driver: subprocess.Popen[bytes], number: int) -> None:
        wait_longer()
        driver.send_signal(signal.SIGTERM)
        try:
            driver.wait(_LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            driver.kill()
        raise StoppedError(number, f"stopped; every run is saved, go on with the same command: {self.campaign.path}")


def parse_bytes(text: str) -> int:
    """A number of bytes, as in 4G or 512M."""
    number, unit = (text[:-1], text[-1].upper()) if text and not text[-1].isdigit() else (text, "")
    powers = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
    try:
        found = int(float(number) * 1024 ** powers[unit])
    except (ValueError, KeyError, OverflowError) as error:
        raise UsageError(f"--memory takes a number of bytes, as in 4G or 512M, not {text!r}.") from error
    if found <= 0:
        raise UsageError("--memory must be positive.")
    return found
