"""Where commands print their tables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_UNFOLDED = 10_000
"""Columns of a file or pipe, in which a line is a row so that `grep` finds all of it."""


def console() -> Console:
    """A console that folds rows at the width of a terminal, or at COLUMNS, and not at all in a file or pipe."""
    from rich.console import Console

    found = Console()
    return found if found.is_terminal or "COLUMNS" in os.environ else Console(width=_UNFOLDED)
