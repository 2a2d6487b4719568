"""What bit-identity depends on beside the config: versions, kind of CPU, device and threads."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("recall-rl", "jax", "jaxlib", "numpy", "optax", "equinox", "gymnasium", "mujoco", "metaworld")


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def fingerprint(threads: int) -> dict[str, object]:
    """The same fingerprint and config give the same bits."""
    import jax

    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu(),
        "device": jax.devices()[0].device_kind,
        "threads": threads,
        **{package: _version(package) for package in _PACKAGES},
    }
