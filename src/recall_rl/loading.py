"""Code of one's own by its name, `package.module:function`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from recall_rl.errors import UsageError


def load(path: str, kind: str, makes: str) -> Any:
    """The function that `package.module:function` names for a thing of this kind; the present folder is searched last.

    `makes` ends the sentence about a function that does not exist: "that makes a method".
    """
    module, _, name = path.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise UsageError(f"The module {module!r} needs {error.name!r}, which is not installed.") from error
        raise UsageError(
            f"There is no module {error.name!r} for the {kind} {path!r}, neither installed nor in the present folder."
        ) from error
    found = getattr(loaded, name, None)
    if not callable(found):
        raise UsageError(f"{module!r} has no function {name!r} {makes}.")
    return found
