"""`recall push`: a policy on the Hugging Face Hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from recall_rl.cli.train import option


@dataclass(frozen=True)
class Push:
    """Publish the policy of a run on the Hugging Face Hub, with a card that says what it can do and how to load it.

    The results of the card are played anew. It needs: pip install 'recall-rl[hub]', and once `hf auth login`.
    """

    path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """A run folder, a policy file, or published:NAME."""
    repo: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="OWNER/NAME")]
    """The repository on the Hub; it is made if it is not there."""
    episodes: int = 50
    """Episodes of each task that are played for the card; 0 leaves its results out."""
    video: Annotated[Path | None, option("FILE", "optional")] = None
    """A video to show, as `recall video` makes it."""
    license: Annotated[str | None, option("NAME", "optional")] = None
    """The licence that the card names, as in apache-2.0."""
    private: bool = False
    """Make a new repository private."""
    dry_run: Annotated[Path | None, option("DIR", "optional")] = None
    """Write what would be uploaded to this folder, and upload nothing."""
    after: Annotated[int | None, option("STAGE", "default: the last")] = None
    """Take the policy that the run had after so many tasks."""
    workers: int = 1
    """Processes that play; their number changes nothing."""
    trust_code: bool = False
    """Import the code that the policy's tasks name."""

    def run(self) -> int:
        """Upload, or write the folder, and say where it is."""
        from recall_rl.reports.push import push

        where = push(
            self.path,
            self.repo,
            after=self.after,
            episodes=self.episodes,
            video=self.video,
            license=self.license,
            private=self.private,
            dry_run=self.dry_run,
            workers=self.workers,
            trust_code=self.trust_code,
            tell=lambda line: print(line, flush=True),
        )
        print(where if self.dry_run is None else f"What would be uploaded: {where}")
        return 0
