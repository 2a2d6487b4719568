"""One run of a campaign, done by a process of its own: python -m recall_rl.campaigns.work FOLDER RUN."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from recall_rl.campaigns.campaign import Campaign
from recall_rl.campaigns.clean import clean_after, needed_again
from recall_rl.campaigns.process import leave_with_parent
from recall_rl.campaigns.queue import HELD
from recall_rl.errors import RunError, UsageError, unknown
from recall_rl.runs.clean import make_anew
from recall_rl.runs.directory import RunDirectory
from recall_rl.runs.generation import HeldError
from recall_rl.runs.stop import StoppedError


def work(campaign: Campaign, place: str, take_over: bool = False) -> None:
    """Begin a run, or go on with it, to its end."""
    from recall_rl.runs.extend import begin_extension
    from recall_rl.runs.train import finished, run

    if place not in campaign.by_place:
        raise unknown("run of the campaign", place, campaign.by_place, "")
    job = campaign.by_place[place]
    folder = campaign.folder(job)
    if job.parent is None or RunDirectory(folder).begun():
        config, directory = job.config, RunDirectory.create(folder, job.config)
    else:
        # The plan asked for what the config names, so it may be imported.
        added = ",".join(job.tasks[job.before :])
        config, directory = begin_extension(
            campaign.path / job.parent, added, folder, trust_code=True, take_over=take_over
        )
    if config.identity() != job.config.identity():
        raise RunError(f"{folder} holds another run than the plan asks for.")
    if needed_again(campaign, job):
        make_anew(folder)
    elif finished(directory):
        return
    for _ in run(config, directory, take_over=take_over):
        pass


def main(arguments: list[str]) -> int:
    """What the process does; the last line that it prints says why it failed."""
    folder, place, *options = arguments
    # Slurm announces a time limit to all processes of a job with this one, which would end ours unsaved.
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    if "--bound" in options:
        leave_with_parent()
    try:
        campaign = Campaign.existing(Path(folder))
        work(campaign, place, "--take-over" in options)
        if not campaign.keeps:
            clean_after(campaign, campaign.by_place[place])
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
