"""The two kinds of failure a user meets, each carrying one helpful sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UsageError(Exception):
    """What the user asked for cannot be done as asked; the command line ends with code 2."""


class RunError(Exception):
    """A run that was well asked for could not go on; the command line ends with code 1."""


def unknown(kind: str, name: str, known: Iterable[str], hint: str) -> UsageError:
    """The error for a name that does not exist, with the nearest names that do."""
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    guess = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    return UsageError(f"There is no {kind} {name!r}.{guess} {hint}")
