"""One run of a campaign, done by a process of its own: python -m recall_rl.campaigns.work FOLDER RUN."""

from __future__ import annotations

import sys
from pathlib import Path

from recall_rl.campaigns.campaign import Campaign
from recall_rl.errors import RunError, UsageError, unknown
from recall_rl.runs.directory import RunDirectory
from recall_rl.runs.generation import HeldError
from recall_rl.runs.stop import StoppedError

HELD = 75
"""Exit code where another process holds the run, as one that outlived its campaign does."""


def work(campaign: Campaign, place: str) -> None:
    """Begin a run, or go on with it, to its end."""
    from recall_rl.runs.extend import begin_extension
    from recall_rl.runs.train import finished, run

    if place not in campaign.by_place:
        raise unknown("run of the campaign", place, campaign.by_place, "")
    job = campaign.by_place[place]
    folder = campaign.folder(job)
    if job.parent is None:
        config, directory = job.config, RunDirectory.create(folder, job.config)
    else:
        # The plan asked for what the config names, so it may be imported.
        added = ",".join(job.tasks[job.before :])
        config, directory = begin_extension(
            campaign.path / job.parent, added, folder, trust_code=True, tasks=job.config.tasks
        )
    if config.identity() != job.config.identity():
        raise RunError(f"{folder} holds another run than the plan asks for.")
    if not finished(directory):
        for _ in run(config, directory):
            pass


def main(arguments: list[str]) -> int:
    """What the process does; the last line that it prints says why it failed."""
    folder, place = arguments
    try:
        work(Campaign.existing(Path(folder)), place)
    except StoppedError as stop:
        print(stop, file=sys.stderr)
        return 128 + stop.number
    except HeldError as error:
        print(error, file=sys.stderr)
        return HELD
    except (UsageError, RunError) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    return 0


if __name__ == "__main__":
    from recall_rl.cli.main import leave

    leave(main(sys.argv[1:]))
