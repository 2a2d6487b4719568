"""Whether this machine has what runs, reports and videos need, and for each trouble the sentence that mends it."""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from recall_rl.runs.cores import cores

State = Literal["fine", "absent", "trouble"]

CORE = ("jax", "jaxlib", "equinox", "optax", "numpy", "gymnasium", "msgspec", "safetensors", "tyro", "rich")
EXTRAS = {
    "report": ("duckdb", "jinja2", "matplotlib", "pandas", "pyarrow"),
    "cluster": ("ray",),
    "slurm": ("submitit",),
    "onnx": ("onnx", "onnxruntime"),
    "hub": ("huggingface_hub",),
    "tensorboard": ("tensorboardX",),
}
"""The modules that each extra brings and that nothing else of this page tries."""
LITTLE_DISK, LITTLE_MEMORY = 1.0, 1.0
"""GB below which a run is in danger."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    name: str
    state: State
    """`absent` is what only some uses need; `trouble` is what must be mended."""
    found: str
    mend: str = ""
    """What to do about it."""


def examine(folder: Path) -> Iterator[Finding]:
    """Look at everything, one finding after another; runs would be written below `folder`."""
    checks: list[Callable[[], Finding]] = [_python, _core, _jax, _simulator, _drawing, _encoder]
    checks += [lambda extra=extra: _extra(extra) for extra in EXTRAS]
    checks += [_processors, _memory, lambda: _disk(folder), lambda: _folder(folder)]
    for check in checks:
        yield check()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"


def _said(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _python() -> Finding:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.platform == "win32":
        return Finding("Python", "trouble", found, "Use WSL: runs need the file locks and links of Linux or macOS.")
    return Finding("Python", "fine", found)


def _core() -> Finding:
    from recall_rl import __version__

    broken: list[str] = []
    for module in CORE:
        try:
            importlib.import_module(module)
        except Exception as error:
            broken.append(f"{module} ({_said(error)})")
    if broken:
        mend = "Install into a fresh environment: python -m venv new, then new/bin/pip install recall-rl."
        return Finding("packages", "trouble", "cannot be imported: " + ", ".join(broken), mend)
    return Finding("packages", "fine", ", ".join([f"recall-rl {__version__}", *(f"{m} {_version(m)}" for m in CORE)]))


def _jax() -> Finding:
    try:
        import jax
        import jax.numpy as jnp

        total = float(jax.jit(jnp.sum)(jnp.ones(8)))
        devices = [f"{d.platform} ({d.device_kind})" for d in jax.devices()]
    except Exception as error:
        mend = "Try `JAX_PLATFORMS=cpu recall doctor`; if that works, the driver or the jaxlib of your device is wrong."
        return Finding("JAX", "trouble", _said(error), mend)
    if total != 8.0:
        return Finding("JAX", "trouble", f"adds eight ones to {total}", "Install jax and jaxlib of the same version.")
    if shutil.which("nvidia-smi") and jax.devices()[0].platform == "cpu":
        mend = 'For the NVIDIA card of this machine: pip install "jax[cuda12]".'
        return Finding("JAX", "absent", ", ".join(devices), mend)
    return Finding("JAX", "fine", ", ".join(devices))


def _simulator() -> Finding:
    if importlib.util.find_spec("metaworld") is None:
        return Finding(
            "Meta-World", "absent", "not installed", 'For the robot tasks: pip install "recall-rl[metaworld]".'
        )
    found = f"metaworld {_version('metaworld')}, mujoco {_version('mujoco')}"
    tried = _try("from recall_rl.runs.health import play; play()")
    if tried is not None:
        mend = 'Install the versions that belong together: pip install "recall-rl[metaworld]" in a fresh environment.'
        return Finding("Meta-World", "trouble", f"{found}: {tried}", mend)
    return Finding("Meta-World", "fine", found)


def play() -> None:
    """Take a step in a robot task."""
    import numpy as np

    from recall_rl.tasks.protocol import PROTOCOLS
    from recall_rl.tasks.sequences import task

    world = task("handle-press-side", PROTOCOLS["cw"]).make()
    world.reset(0)
    if not np.isfinite(world.step(np.zeros(world.action_size, np.float32)).observation).all():
        raise ValueError("the simulator returns numbers that are not finite")
    world.close()


def _try(code: str) -> str | None:
    """What goes wrong with this code in a process of its own, since libraries may crash; None: nothing."""
    try:
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "it does not end"
    if done.returncode == 0:
        return None
    return (done.stderr.strip().splitlines() or [f"it ends with code {done.returncode}"])[-1]


def _drawing() -> Finding:
    from recall_rl.reports.backend import INSTALL, VARIABLE, candidates, works

    if importlib.util.find_spec("mujoco") is None:
        return Finding("rendering", "absent", "MuJoCo is not installed", "Nothing to do; probes draw themselves.")
    found = next((backend for backend in candidates() if works(backend)), None)
    if found is not None:
        return Finding("rendering", "fine", found or "with a window system")
    if asked := os.environ.get(VARIABLE):
        mend = f"{INSTALL}; without {VARIABLE} both are tried."
        return Finding("rendering", "trouble", f"MuJoCo cannot draw with {VARIABLE}={asked}", mend)
    return Finding("rendering", "absent", "MuJoCo cannot draw", f"For videos of robots: {INSTALL}.")


def _encoder() -> Finding:
    mend = 'For videos: pip install "recall-rl[video]".'
    if any(importlib.util.find_spec(m) is None for m in ("imageio_ffmpeg", "PIL")):
        return Finding("video", "absent", "not installed", mend)
    try:
        path = importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe()
    except Exception as error:
        mend = "Install ffmpeg, or set IMAGEIO_FFMPEG_EXE to where it is."
        return Finding("video", "trouble", _said(error), mend)
    return Finding("video", "fine", f"ffmpeg {Path(path).name}")


def _extra(extra: str) -> Finding:
    missing = [m for m in EXTRAS[extra] if importlib.util.find_spec(m) is None]
    if missing:
        mend = f'Where you need it: pip install "recall-rl[{extra}]".'
        return Finding(extra, "absent", f"{', '.join(missing)} not installed", mend)
    try:
        for module in EXTRAS[extra]:
            importlib.import_module(module)
    except Exception as error:
        return Finding(extra, "trouble", _said(error), f'pip install --force-reinstall "recall-rl[{extra}]"')
    return Finding(extra, "fine", ", ".join(f"{m} {_version(m)}" for m in EXTRAS[extra]))


def _processors() -> Finding:
    count = cores()
    found = f"{count} for this process; a run uses one to learn and its workers beside it"
    if count == 1:
        return Finding("cores", "fine", f"{found}, so gathering and learning take turns here")
    return Finding("cores", "fine", found)


def _memory() -> Finding:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) / 1e6
    except (OSError, StopIteration):
        return Finding("memory", "fine", "not known on this system")
    if free < LITTLE_MEMORY:
        mend = "Close something, or keep rows on disk: --set machine.memory=disk."
        return Finding("memory", "trouble", f"{free:.1f} GB free", mend)
    return Finding("memory", "fine", f"{free:.1f} GB free")


def _disk(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free / 1e9
    if free < LITTLE_DISK:
        mend = "Make room, or write runs elsewhere with --out; a million rows of a robot task take 0.07 to 0.18 GB."
        return Finding("disk", "trouble", f"{free:.1f} GB free at {folder}", mend)
    return Finding("disk", "fine", f"{free:.1f} GB free at {folder}")


def _folder(folder: Path) -> Finding:
    """What runs ask of a folder: files that can be written, locked, linked and renamed."""
    import fcntl

    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".recall-doctor-") as place:
            file = Path(place) / "a"
            with file.open("w") as opened:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.fsync(opened.fileno())
            os.link(file, file.with_name("b"))
            file.with_name("c").symlink_to("b")
            file.rename(file.with_name("d"))
    except OSError as error:
        mend = "Write runs to a folder of a local disk with --out: they need locks, links and renaming."
        return Finding("folder", "trouble", f"{folder}: {error.strerror or error}", mend)
    return Finding("folder", "fine", f"{folder} can be written, locked and linked")
