"""Finished runs as small files that can be committed: the config and journal of each, under one readable name."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from recall_rl.campaigns.campaign import Campaign
from recall_rl.campaigns.jobs import Job
from recall_rl.errors import UsageError
from recall_rl.runs.config import file_identity
from recall_rl.runs.directory import CONFIG, RunDirectory
from recall_rl.runs.files import replace_file
from recall_rl.runs.glance import glance


@dataclass(frozen=True)
class Published:
    """What became of the runs that a plan asks for."""

    new: int
    there: int
    """Published before."""
    unfinished: int


def publish(campaign: Campaign, to: Path) -> Published:
    """Copy what is finished and not there yet; nothing is ever replaced by another run."""
    named, wanted = names(campaign), [job for job in campaign.jobs if job.wanted]
    finished = [job for job in wanted if glance(campaign.folder(job)).state == "finished"]
    new = [job for job in finished if not _there(job, to / f"{named[job.place]}.json")]
    try:
        to.mkdir(parents=True, exist_ok=True)
        for job in new:
            folder, name = campaign.folder(job), named[job.place]
            replace_file(to / f"{name}.jsonl", RunDirectory(folder).journal_bytes())
            # Last: what has a config has its journal.
            replace_file(to / f"{name}.json", (folder / CONFIG).read_bytes())
    except OSError as error:
        raise UsageError(f"{to} cannot be written: {error.strerror}.") from error
    return Published(len(new), len(finished) - len(new), len(wanted) - len(finished))


def _there(job: Job, config: Path) -> bool:
    if not config.exists():
        return False
    if file_identity(config) != job.config.identity():
        raise UsageError(f"{config} is of another run, of another plan or setting. Choose another folder.")
    return config.with_suffix(".jsonl").exists()


def names(campaign: Campaign) -> dict[str, str]:
    """The published name of each wanted run: its folder with dashes, and its identity where two would be the same."""
    wanted = [job for job in campaign.jobs if job.wanted]
    flat = {job.place: job.name.replace("/", "-") for job in wanted}
    count = Counter(flat.values())
    return {
        job.place: flat[job.place] + (f"-{job.config.identity()[:8]}" if count[flat[job.place]] > 1 else "")
        for job in wanted
    }
