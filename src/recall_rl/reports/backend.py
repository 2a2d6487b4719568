"""Which OpenGL backend MuJoCo draws with: one that works, chosen before MuJoCo is imported."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys

from recall_rl.errors import UsageError

VARIABLE = "MUJOCO_GL"
"""The environment variable that MuJoCo and Gymnasium read the backend from."""
INSTALL = "On Debian or Ubuntu, `apt install libegl1 libgl1` brings EGL and `apt install libosmesa6` brings OSMesa"

_TRIAL = "import mujoco; mujoco.Renderer(mujoco.MjModel.from_xml_string('<mujoco/>'), 16, 16).render()"


def candidates() -> tuple[str, ...]:
    """The backends to try, in order; an empty name is MuJoCo's own choice, a window that is not shown."""
    if asked := os.environ.get(VARIABLE):
        return (asked,)
    if sys.platform != "linux":
        return ("",)
    return (*([""] if os.environ.get("DISPLAY") else []), "egl", "osmesa")


def works(backend: str) -> bool:
    """Whether MuJoCo can draw with this backend; tried in a process of its own, as drivers may crash."""
    env = {name: value for name, value in os.environ.items() if name not in (VARIABLE, "PYOPENGL_PLATFORM")}
    try:
        tried = subprocess.run(
            [sys.executable, "-c", _TRIAL],
            env={**env, VARIABLE: backend} if backend else env,
            capture_output=True,
            timeout=60,
        )
    except subprocess.TimeoutExpired:
        return False
    return tried.returncode == 0


def choose_backend() -> None:
    """Let MuJoCo, if it is installed, draw with the first backend that works."""
    if importlib.util.find_spec("mujoco") is None:
        return
    asked = os.environ.get(VARIABLE)
    found = next((name for name in candidates() if works(name)), None)
    if found is None and asked:
        raise UsageError(f"MuJoCo cannot draw with {VARIABLE}={asked}. {INSTALL}; without {VARIABLE} both are tried.")
    if found is None:
        raise UsageError(f"MuJoCo cannot draw on this machine. {INSTALL}.")
    if found:
        os.environ[VARIABLE] = found
    # MuJoCo reads the variable when it is imported, which may have been long ago.
    if "mujoco.gl_context" in sys.modules:
        importlib.reload(sys.modules["mujoco.gl_context"])
