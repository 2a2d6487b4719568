"""Files may come from strangers: code that they name is not imported unless the user says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    return found + _of_tasks(config.get("tasks"))


_KNOWN = ("recall_rl.tasks.metaworld:MetaWorld",)
"""Environments of this package, which run no code of others."""


def _of_tasks(tasks: Any) -> list[str]:
    """What own tasks name: an environment's function, or a text in its arguments that may be such a name."""
    if not isinstance(tasks, Mapping):
        return []
    found: list[str] = []
    for task in cast("Mapping[str, Any]", tasks).values():
        if isinstance(task, Mapping):
            env, kwargs = (cast("Mapping[str, Any]", task).get(key) for key in ("env", "kwargs"))
            found += [text for text in _texts([env, kwargs]) if ":" in text and text not in _KNOWN]
    return found


def _texts(value: Any) -> Iterator[str]:
    # A stack, not recursion: a stranger's file may be nested as deep as it likes.
    left: list[Any] = [value]
    while left:
        found = left.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, Mapping):
            left += cast("Mapping[Any, Any]", found).values()
        elif isinstance(found, list):
            left += cast("list[Any]", found)


def refuse_named_code(config: Mapping[str, Any], where: str) -> None:
    """Refuse a config that names code."""
    names = named_code(config)
    if names:
        raise UsageError(
            f"The config of {where} names code to import: {', '.join(n[:80] for n in names)}. If you trust whoever "
            "wrote it, add --trust-code."
        )
