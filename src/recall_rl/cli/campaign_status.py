"""`recall campaign status`: how far a campaign is, found by looking at its runs."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    from recall_rl.campaigns.standing import Standing
    from recall_rl.campaigns.summary import Summary

_MOST_ROWS = 50


@dataclass(frozen=True)
class StatusCommand:
    """Show how far a campaign is, found by looking at its runs."""

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")]
    """The campaign's folder."""
    follow: bool = False
    """Show it again every few seconds until nothing is left to do."""
    summary: bool = False
    """Only counts, steps a second and the time left."""
    json: bool = False
    """Print one JSON object a run; with --summary, one of the counts."""

    def run(self) -> int:
        """Print it."""
        from recall_rl.campaigns.campaign import Campaign
        from recall_rl.campaigns.summary import summary

        campaign = Campaign.existing(self.folder)
        while True:
            found = campaign.standings()
            if self.json and not self.summary:
                _lines(found)
            elif self.json:
                print(json.dumps({"plan": campaign.plan.name, **asdict(summary(found))}), flush=True)
            else:
                print(sentence(campaign.plan.name, summary(found)), flush=True)
                if not self.summary:
                    _table(found)
            if not self.follow or all(s.state in ("done", "set aside") for s in found):
                return 0
            time.sleep(5)


def _lines(found: Sequence[Standing]) -> None:
    for s in found:
        told = {"state": s.state, "step": s.step, "steps": s.job.steps, "average": s.average}
        print(json.dumps({"run": s.job.place, **told, "failures": s.failures, "reason": s.reason}))


def sentence(name: str, found: Summary) -> str:
    """A campaign in one line."""
    from recall_rl.cli.display import duration

    counts = {
        "done": found.done,
        "running": found.running,
        "ready": found.ready,
        "waiting": found.waiting,
        "set aside": found.set_aside,
    }
    told = ", ".join(f"{count:,} {state}" for state, count in counts.items())
    told += f"; {100 * found.steps / max(1, found.whole):.0f}% of {found.whole:,} steps"
    if found.steps_per_second is not None:
        told += f"; {found.steps_per_second:,.0f} steps/s"
    if found.seconds_left is not None:
        told += f", about {duration(found.seconds_left)} left"
    if found.failed_attempts:
        told += f"; {found.failed_attempts:,} failed attempts"
    return f"{name}: {told}"


def _table(found: Sequence[Standing]) -> None:
    from rich.table import Table

    from recall_rl.cli.console import console

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("run", "state", "steps", "average"):
        table.add_column(column, justify="right" if column in ("steps", "average") else "left", overflow="fold")
    shown = [s for s in found if s.state in ("running", "set aside") or s.failures]
    shown.sort(key=lambda s: not s.failures)
    for s in shown[:_MOST_ROWS]:
        average = "" if s.average is None else f"{s.average:.2f}"
        table.add_row(s.job.place, s.state, f"{s.step:,} of {s.job.steps:,}", average)
        if s.reason:
            table.add_row(f"  {s.reason}", "", "", "")
    if table.row_count:
        console().print(table, highlight=False, markup=False)
    if len(shown) > _MOST_ROWS:
        print(f"and {len(shown) - _MOST_ROWS:,} more; --json lists all")
