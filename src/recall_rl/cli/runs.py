"""`recall runs`: which runs there are, how far they are, and when each was last seen alive."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class Runs:
    """List the runs below a folder: state, progress and last sign of life.

    A run is running, stopped (it can go on), finished, failed (it gave a reason), or damaged.
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")] = Path("runs")
    """Where to look; a run itself will do."""
    json: bool = False
    """Print one JSON object a run instead of a table."""

    def run(self) -> int:
        """Print them."""
        from rich.table import Table

        from recall_rl.cli.console import console
        from recall_rl.cli.display import duration
        from recall_rl.runs.status import statuses

        found = statuses(self.folder)
        if self.json:
            for status in found:
                print(json.dumps(asdict(status)))
            return 0
        if not found:
            print(f"There is no run below {self.folder}.")
            return 0
        table = Table(box=None, pad_edge=False, header_style="dim")
        for name in ("run", "state", "steps", "", "average", "last seen"):
            right = name in ("steps", "average", "last seen")
            table.add_column(name, justify="right" if right else "left", overflow="fold", no_wrap=name != "run")
        colours = {"running": "cyan", "finished": "green", "failed": "red", "damaged": "red"}
        for s in found:
            share = f"{100 * s.step / s.steps:.0f}%" if s.steps else ""
            seen = "" if s.last_seen is None else f"{duration(max(0.0, time.time() - s.last_seen))} ago"
            average = "" if s.average is None else f"{s.average:.2f}"
            state = f"[{colours[s.state]}]{s.state}[/]" if s.state in colours else s.state
            name = s.run if Path(s.run) == self.folder else str(Path(s.run).relative_to(self.folder))
            table.add_row(name, state, f"{s.step:,}", share, average, seen)
        out = console()
        out.print(table, highlight=False)
        for s in found:
            if s.reason:
                out.print(f"{s.run}: {s.reason}", highlight=False, markup=False)
        return 0
