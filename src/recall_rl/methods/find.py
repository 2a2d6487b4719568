"""A method by its name: in the catalogue, announced by an installed package, or `package.module:function`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any, get_type_hints

import msgspec

from recall_rl.errors import UsageError, unknown
from recall_rl.loading import load
from recall_rl.methods.catalogue import CATALOGUE, Entry
from recall_rl.methods.method import Method

GROUP = "recall_rl.methods"
"""The entry-point group in which an installed package announces its methods."""

Option = bool | int | float | str | None


def announced() -> dict[str, Entry]:
    """The methods that installed packages announce; their code is not loaded before it is used."""

    def entry(value: str) -> Entry:
        return Entry("A method of an installed package.", value, lambda **options: _load(value)(**options))

    return {point.name: entry(point.value) for point in entry_points(group=GROUP)}


def _load(path: str) -> Any:
    """The function that `package.module:function` names."""
    return load(path, "method", "that makes a method")


def _builder(name: str) -> Any:
    if name in CATALOGUE:
        return CATALOGUE[name].build
    if ":" in name:
        return _load(name)
    for point in entry_points(group=GROUP):
        if point.name == name:
            return _load(point.value)
    known = [*CATALOGUE, *announced()]
    raise unknown("method", name, known, "`recall list methods` shows them all; your own is package.module:function.")


def options(name: str) -> dict[str, Option]:
    """The options of a method with their defaults."""
    parameters = inspect.signature(_builder(name)).parameters.values()
    missing = [p.name for p in parameters if p.default is inspect.Parameter.empty]
    if missing:
        raise UsageError(f"Every option of the method {name!r} needs a default; {', '.join(missing)} has none.")
    return {p.name: p.default for p in parameters}


def method(name: str, chosen: Mapping[str, Any] | None = None) -> Method:
    """The method of this name with these options; texts, as from a command line, become what an option needs."""
    build, typed = _builder(name), typed_options(name, chosen or {})
    made = _made(build, **typed)
    if not isinstance(made, Method):
        raise UsageError(f"{name!r} must return a recall_rl.methods.method.Method; it returned {type(made).__name__}.")
    return made


@lru_cache(maxsize=32, typed=True)
def _made(build: Callable[..., Any], /, **chosen: Option) -> Any:
    """One record for the same options, so that what is compiled for it serves again."""
    return build(**chosen)


def typed_options(name: str, chosen: Mapping[str, Any]) -> dict[str, Option]:
    """All options of a method: those chosen, in the type that the method declares, and the defaults of the others."""
    defaults, hints = options(name), get_type_hints(_builder(name))
    for key in chosen:
        if key not in defaults:
            raise unknown(f"option of {name}", key, defaults, _listing(name, defaults))
    try:
        return {
            key: msgspec.convert(chosen[key], hints.get(key, Any), strict=False) if key in chosen else default
            for key, default in defaults.items()
        }
    except msgspec.ValidationError as error:
        raise UsageError(f"An option of {name} has a value of the wrong kind: {error}.") from error


def _listing(name: str, defaults: Mapping[str, Option]) -> str:
    if not defaults:
        return f"{name} has no options."
    return "Its options: " + ", ".join(f"{key} ({default})" for key, default in defaults.items()) + "."
