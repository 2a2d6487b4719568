"""`recall completion`: what a shell needs to complete commands and options of `recall` with the tab key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class Completion:
    """Print a script that lets your shell complete `recall` commands with the tab key.

    For bash, put `eval "$(recall completion bash)"` into ~/.bashrc.
    """

    shell: Annotated[Literal["bash", "zsh", "fish"], tyro.conf.Positional]
    """The shell to print it for."""

    def run(self) -> int:
        """Print it."""
        from recall_rl.cli.main import parse

        try:
            parse(["--tyro-write-completion", self.shell, "-"])
        except SystemExit as left:
            return int(left.code or 0)
        return 0
