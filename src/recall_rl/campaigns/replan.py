"""A campaign whose plan changes: what both plans ask for is kept, what only the old one asked for stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from recall_rl.campaigns.campaign import Campaign
from recall_rl.campaigns.done import recount
from recall_rl.campaigns.jobs import Job
from recall_rl.campaigns.plan import Plan
from recall_rl.campaigns.stop import drivers
from recall_rl.errors import UsageError
from recall_rl.runs.config import file_identity
from recall_rl.runs.directory import CONFIG, RunDirectory


@dataclass(frozen=True)
class Replanned:
    """How the new plan differs from the old, in runs that are asked for."""

    kept: int
    new: int
    dropped: int


def replan(path: Path, plan: Plan, share: bool = True) -> Replanned | None:
    """Give the campaign of a folder this plan; None where nothing changes or there is no campaign yet."""
    if not Campaign.there(path):
        return None
    old, new = Campaign.existing(path), Campaign(path, plan, share)
    if old.identity == new.identity:
        return None
    _refuse_carried(old)
    found = {job.place: _found(new, job) for job in new.jobs}  # All are looked at before anything is moved.
    for job in new.jobs:
        lies, belongs = found[job.place], new.folder(job)
        if lies is not None and lies != belongs:
            belongs.parent.mkdir(parents=True, exist_ok=True)
            lies.rename(belongs)
    recount(path, new.jobs)
    new.write()
    before, after = ({job.config.identity() for job in c.jobs if job.wanted} for c in (old, new))
    return Replanned(len(before & after), len(after - before), len(before - after))


def _refuse_carried(campaign: Campaign) -> None:
    if carried := drivers(campaign.path):
        raise UsageError(
            f"{campaign.path} is being carried ({carried[0]}), so its plan cannot change: recall campaign stop "
            f"{campaign.path}"
        )
    if running := [s.job.place for s in campaign.standings() if s.state == "running"]:
        raise UsageError(
            f"{campaign.path / running[0]} is still running, though nobody carries the campaign any more, so its plan "
            "cannot change: wait until this run has ended."
        )


def _found(campaign: Campaign, job: Job) -> Path | None:
    """Where this very run has begun: a run that is asked for may have been a shared beginning, or the reverse."""
    here, identity = campaign.folder(job), job.config.identity()
    beside = campaign.path / ("shared" if job.wanted else "runs") / job.name
    if RunDirectory(here).begun():
        if file_identity(here / CONFIG) != identity:
            raise UsageError(
                f"{here} was begun with other settings than the new plan's. Choose another folder with --out."
            )
        return here
    return beside if RunDirectory(beside).begun() and file_identity(beside / CONFIG) == identity else None
