"""`recall campaign publish`, `clean` and `stop`: what is done with the folder of a campaign."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from recall_rl.cli.train import option

Folder = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")]


@dataclass(frozen=True)
class PublishCommand:
    """Copy config and journal of the finished runs that the plan asks for to a folder of small files.

    Such a folder can be committed; reports read it, and `--done` counts it. Running it again adds what is new.
    """

    folder: Folder
    """The campaign's folder."""
    to: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="TO")]
    """Where NAME.json and NAME.jsonl of each run go."""

    def run(self) -> int:
        """Copy and say how many."""
        from recall_rl.campaigns.campaign import Campaign
        from recall_rl.campaigns.publish import publish

        found = publish(Campaign.existing(self.folder), self.to)
        print(
            f"{found.new:,} runs published to {self.to}; {found.there:,} were there, "
            f"{found.unfinished:,} are not finished."
        )
        return 0


@dataclass(frozen=True)
class CleanCommand:
    """Remove rows and checkpoints of finished runs that no other run has to begin from.

    Config, journal, weights and policies stay, so reports, evaluations and videos work as before; such a run cannot be
    extended by hand any more.
    """

    folder: Folder
    """The campaign's folder."""
    dry_run: bool = False
    """Only say what would be freed."""

    def run(self) -> int:
        """Remove them and say how much room that makes."""
        from recall_rl.campaigns.campaign import Campaign
        from recall_rl.campaigns.clean import clean_done

        found = clean_done(Campaign.existing(self.folder), self.dry_run)
        what = "would be freed" if self.dry_run else "freed"
        print(f"{found.bytes / 1e6:,.1f} MB of {found.runs:,} runs {what}.")
        return 0


@dataclass(frozen=True)
class StopCommand:
    """Ask the processes that carry a campaign to save every run and end; the same `run` goes on."""

    folder: Folder
    """The campaign's folder."""
    wait: Annotated[float, option("SECONDS", "default: 90")] = 90.0
    """How long to wait until they are gone."""

    def run(self) -> int:
        """Ask, wait, and say what became of it."""
        from recall_rl.campaigns.campaign import Campaign
        from recall_rl.campaigns.stop import stop, workers

        campaign = Campaign.existing(self.folder)
        if not workers(campaign):
            print(f"No process carries {self.folder}.")
            return 0
        left = stop(campaign, self.wait)
        if left:
            print(f"{', '.join(left[:5])}: asked to stop, and still there; runs may be saving.")
            return 1
        print(f"{self.folder} has stopped; the same `recall campaign run` goes on.")
        return 0
