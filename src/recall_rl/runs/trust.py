"""Files may come from strangers: code that they name is not imported unless the user says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from recall_rl.errors import UsageError
from recall_rl.tasks.gymnasium import PREFIX


def named_code(config: Mapping[str, Any]) -> list[str]:
    """The code that a config's method, tasks and writer would import, beside what is installed under a plain name."""
    method, sequence, machine = config.get("method"), config.get("sequence"), config.get("machine")
    writer = cast("Mapping[str, Any]", machine).get("writer") if isinstance(machine, Mapping) else None
    found = [name for name in (method, writer) if isinstance(name, str) and ":" in name]
    for task in sequence.split(",") if isinstance(sequence, str) else ():
        # Gymnasium imports `module` to make `module:Env-v0`.
        if ":" in task.strip().removeprefix(PREFIX):
            found.append(task.strip())
    return found


def refuse_named_code(config: Mapping[str, Any], where: str) -> None:
    """Refuse a config that names code."""
    names = named_code(config)
    if names:
        raise UsageError(
            f"The config of {where} names code to import: {', '.join(n[:80] for n in names)}. If you trust whoever "
            "wrote it, add --trust-code."
        )
