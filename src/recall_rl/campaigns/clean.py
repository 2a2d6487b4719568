"""Room on the disk: rows and checkpoints of a campaign's runs go once no other run has to begin from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from recall_rl.campaigns.campaign import Campaign
from recall_rl.campaigns.done import read_done
from recall_rl.campaigns.jobs import Job
from recall_rl.campaigns.standing import Standing
from recall_rl.runs.clean import Freed, clean_run, cleaned
from recall_rl.runs.glance import glance


@dataclass(frozen=True)
class Cleaning:
    """What was removed, or would be."""

    runs: int
    bytes: int


def clean_done(campaign: Campaign, dry: bool = False, found: Iterable[Standing] | None = None) -> Cleaning:
    """Clean every finished run all of whose children are done; a campaign that goes on misses nothing."""
    standings = campaign.standings() if found is None else list(found)
    # What is on the disk: a beginning that nobody needs may never have been learnt, or not to its end.
    done = {s.job.place for s in standings if s.state == "done"}
    whole = {s.job.place for s in standings if s.glance.state == "finished"}
    return _clean(campaign, (job for job in campaign.jobs if job.place in done & whole), done.__contains__, dry)


def clean_after(campaign: Campaign, job: Job) -> Cleaning:
    """Clean, after a run has ended, this run and the one it began from, as far as all that need them are done."""
    published = read_done(campaign.path)

    def done(place: str) -> bool:
        """A published run may have to be learnt again, from this one, for those that begin from it."""
        if glance(campaign.path / place).state == "finished":
            return True
        return place in published and all(map(done, campaign.children.get(place, ())))

    family = [job, *([campaign.by_place[job.parent]] if job.parent else [])]
    return _clean(campaign, family, done, dry=False)


def needed_again(campaign: Campaign, job: Job) -> bool:
    """Whether a run of which only the results are left has to be learnt again, for another to begin from it."""
    if not cleaned(campaign.folder(job)):
        return False
    return any(s.job.place == job.place and s.state != "done" for s in campaign.standings())


def _clean(campaign: Campaign, candidates: Iterable[Job], done: Callable[[str], bool], dry: bool) -> Cleaning:
    freed, runs = Freed(), 0
    for job in candidates:
        if all(done(child) for child in campaign.children.get(job.place, ())):
            runs += clean_run(campaign.folder(job), freed, dry)
    return Cleaning(runs, freed.bytes)
