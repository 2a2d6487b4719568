"""`recall doctor`: what this machine has, and the sentence that mends each trouble."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class Doctor:
    """Look at packages, devices, simulator, rendering, memory and disk, and say how to mend what is wrong.

    Ends with code 1 if there is trouble; what only some uses need is named, and is no trouble.
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")] = Path()
    """Where runs are to be written."""
    json: bool = False
    """Print one JSON object a line."""

    def run(self) -> int:
        """Print findings as they are made."""
        from rich.console import Console

        from recall_rl.errors import UsageError
        from recall_rl.runs.health import examine

        if not self.folder.is_dir():
            raise UsageError(f"There is no folder {str(self.folder)!r} to look at.")
        console, counts = Console(), {"fine": 0, "absent": 0, "trouble": 0}
        signs = {"fine": "[green]fine   [/]", "absent": "[yellow]absent [/]", "trouble": "[red]trouble[/]"}
        for finding in examine(self.folder.resolve()):
            counts[finding.state] += 1
            if self.json:
                print(json.dumps(asdict(finding)))
                continue
            console.print(f"{signs[finding.state]} {finding.name:11} ", end="", highlight=False)
            console.print(finding.found, highlight=False, markup=False, soft_wrap=True)
            if finding.mend:
                console.print(f"{'':20}{finding.mend}", highlight=False, markup=False, soft_wrap=True)
        if not self.json:
            console.print(_summary(counts["absent"], counts["trouble"]), highlight=False)
        return 1 if counts["trouble"] else 0


def _summary(absent: int, trouble: int) -> str:
    if trouble:
        return f"{trouble} to mend before you go on."
    return "Everything is there." if not absent else "Ready; what is absent is needed for some uses only."
