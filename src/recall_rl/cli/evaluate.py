"""`recall evaluate`: play a kept policy and count its successes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from recall_rl.cli.train import option


@dataclass(frozen=True)
class Evaluate:
    """Play the policy of a run on the tasks it knows: success rate with its 90% interval, return, length.

    A run keeps its policy after every task. Nothing of the run is changed, and it may still be going on.
    """

    path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """A run folder, a policy file, or published:two-skills, which comes with the package."""
    episodes: int = 50
    """Episodes of each task."""
    task: Annotated[list[str], option("TASK", "default: all"), tyro.conf.UseAppendAction] = field(
        default_factory=list[str]
    )
    """Play this task only; may be given several times."""
    after: Annotated[int | None, option("STAGE", "default: the last")] = None
    """Take the policy that the run had after so many tasks."""
    workers: int = 1
    """Processes that play; their number changes nothing."""
    json: bool = False
    """Print one JSON object a task instead of a table."""
    trust_code: bool = False
    """Import the code that the policy's tasks name."""

    def run(self) -> int:
        """Play and print."""
        from rich.table import Table

        from recall_rl.cli.console import console
        from recall_rl.runs.evaluate import evaluate

        scores = evaluate(
            self.path,
            self.episodes,
            tasks=self.task,
            after=self.after,
            workers=self.workers,
            trust_code=self.trust_code,
        )
        if self.json:
            for score in scores:
                print(json.dumps(asdict(score)))
            return 0
        table = Table(box=None, pad_edge=False, header_style="dim")
        for name in ("", "task", "success", "90% interval", "return", "steps"):
            table.add_column(name, justify="left" if name == "task" else "right", no_wrap=True)
        for s in scores:
            table.add_row(
                str(s.position + 1),
                s.task,
                f"{s.success:.2f}",
                f"{s.low:.2f} to {s.high:.2f}",
                f"{s.total:,.1f}",
                f"{s.length:.0f}",
            )
        console().print(table, highlight=False)
        print(f"{self.episodes} episodes a task.")
        return 0
