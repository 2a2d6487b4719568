"""`recall report`: runs as a page that people look at, with figures, tables and numbers beside it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from recall_rl.cli.train import option


@dataclass(frozen=True)
class Report:
    """Make a page of runs: learning curves, the paper's measures with intervals, and its numbers beside yours.

    The folder holds index.html (self-contained), figures (PNG, SVG, PDF), tables (Markdown, LaTeX, CSV), report.json
    with every number, and results.parquet with every evaluation. Runs may be finished, under way, or published ones.
    """

    paths: Annotated[list[Path], tyro.conf.Positional, tyro.conf.arg(metavar="PATH")]
    """Run folders, folders of them, or published journals."""
    out: Annotated[Path, option("DIR", "default: report")] = Path("report")
    """Where to write."""
    window: Annotated[int, option("N", "default: 1")] = 1
    """Last evaluations that are averaged for "the end": 1 in the paper's text, 10 in its code, 5 in Continual World."""
    reference: Annotated[str, option("METHOD", "default: fine-tuning")] = "fine-tuning"
    """The method whose training from scratch forward transfer is measured against."""
    beside: Annotated[str | None, option("NAME", "optional")] = None
    """Put results that come with the package beside yours, such as methods/pair."""
    json: bool = False
    """Print every number as JSON and write nothing."""
    follow: bool = False
    """Make the page again every half minute until all runs are finished; it reloads itself."""

    def run(self) -> int:
        """Make the page and say where it is."""
        from recall_rl.errors import UsageError
        from recall_rl.reports.report import gather, write_report
        from recall_rl.reports.study import to_json

        if self.window < 1:
            raise UsageError("--window must be positive.")
        while True:
            made = gather(self.paths, self.window, self.reference, self.beside)
            if self.json:
                print(json.dumps(to_json(made), indent=1))
                return 0
            page = write_report(made, self.out, self.follow)
            waiting = sum(not r.finished for r in made.found.results)
            count = len(made.found.results)
            print(f"{count} run{'' if count == 1 else 's'} ({waiting} not finished): {page}", flush=True)
            for problem in made.found.problems[:5]:
                print(f"  not counted: {problem.name}: {problem.reason}")
            if len(made.found.problems) > 5:
                print(f"  and {len(made.found.problems) - 5} more; the page names them.")
            if not (self.follow and waiting):
                return 0
            time.sleep(30)
