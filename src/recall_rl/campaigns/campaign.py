"""A campaign is its folder: the plan, the runs, and what failed; everything else is found by looking at the runs.

campaign.json       what is to be run, resolved
done.json           those of its runs whose results are published, and where
runs/, shared/      run folders: those wanted, and beginnings that they share
keep                there if finished runs are to keep their rows and checkpoints
drivers/, stop      processes that carry it, and the request that they leave (`stop.py`)
failures.jsonl      one line a failed attempt, with its reason
logs/               what each run's process printed
compiled/           programs that JAX compiled, for all runs
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from recall_rl.campaigns.done import count_as_done, read_done
from recall_rl.campaigns.jobs import Job, jobs, plan_identity
from recall_rl.campaigns.look import look
from recall_rl.campaigns.plan import Plan, parse
from recall_rl.campaigns.standing import ATTEMPTS, Standing, State, stand
from recall_rl.errors import RunError, UsageError
from recall_rl.runs.checkpoint import ends_finished
from recall_rl.runs.files import parse_json, replace_file

__all__ = ["ATTEMPTS", "Campaign", "Standing", "State"]

CAMPAIGN, FAILURES, KEEP = "campaign.json", "failures.jsonl", "keep"


class Campaign:
    """The folder of a campaign."""

    def __init__(self, path: Path, plan: Plan, share: bool):
        self.path, self.plan, self.share = path, plan, share
        self.jobs = jobs(plan, share)
        self.by_place = {job.place: job for job in self.jobs}
        self.children: dict[str, list[str]] = defaultdict(list)
        """The runs that begin from each."""
        for job in self.jobs:
            if job.parent:
                self.children[job.parent].append(job.place)

    @staticmethod
    def create(path: Path, plan: Plan, share: bool = True, done: Sequence[Path] = ()) -> Campaign:
        """The folder of this campaign: a new one, or one in which it has begun; any other is refused.

        Runs whose results are published at the paths `done` are not run again.
        """
        made = Campaign._folder_of(path, plan, share)
        if done:
            count_as_done(path, made.jobs, done)
        return made

    @staticmethod
    def _folder_of(path: Path, plan: Plan, share: bool) -> Campaign:
        made = Campaign(path, plan, share)
        if not Campaign.there(path):
            made.write()
        elif _read(path)["identity"] != made.identity:
            raise UsageError(
                f"{path} already holds another campaign. Choose another folder with --out, or change its plan with "
                f"--replan."
            )
        return made

    @staticmethod
    def there(path: Path) -> bool:
        """Whether a folder holds a campaign."""
        return (path / CAMPAIGN).exists()

    @staticmethod
    def existing(path: Path) -> Campaign:
        """The campaign of a folder."""
        content = _read(path)
        plan = content["plan"]
        return Campaign(
            path, parse(str(plan["name"]), {k: v for k, v in plan.items() if k != "name"}), content["share"]
        )

    @property
    def identity(self) -> str:
        """A hash of all that is to be run."""
        return plan_identity(self.jobs)

    def write(self) -> None:
        """Make this the campaign of its folder."""
        content = {"identity": self.identity, "share": self.share, "plan": asdict(self.plan)}
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            replace_file(self.path / CAMPAIGN, json.dumps(content, indent=1).encode())
        except OSError as error:
            raise UsageError(f"The campaign's folder {self.path} cannot be written: {error.strerror}.") from error

    def folder(self, job: Job) -> Path:
        """The run folder of a job."""
        return self.path / job.place

    @property
    def keeps(self) -> bool:
        """Whether finished runs keep their rows and checkpoints."""
        return (self.path / KEEP).exists()

    def set_keeping(self, keep: bool) -> None:
        """Let finished runs keep their rows and checkpoints, or not."""
        if keep:
            (self.path / KEEP).touch()
        else:
            (self.path / KEEP).unlink(missing_ok=True)

    def note_failure(self, job: Job, reason: str) -> None:
        """Remember that an attempt failed."""
        line = json.dumps({"run": job.place, "reason": reason[-500:]}) + "\n"
        with open(self.path / FAILURES, "a") as file:
            file.write(line)

    def failures(self) -> dict[str, list[str]]:
        """Reasons of failed attempts, by run."""
        found: dict[str, list[str]] = {}
        try:
            lines = (self.path / FAILURES).read_text().splitlines()
        except FileNotFoundError:
            return {}
        for line in lines:
            entry = json.loads(line) if line.endswith("}") else {}
            if "run" in entry:
                found.setdefault(entry["run"], []).append(str(entry["reason"]))
        return found

    def standings(self) -> list[Standing]:
        """Where every run is, found on the disk."""
        seen = look([self.folder(job) for job in self.jobs])
        looks = {job.place: glance for job, glance in zip(self.jobs, seen, strict=True)}
        return stand(
            self.jobs, looks, self.failures(), read_done(self.path), lambda job: ends_finished(self.folder(job))
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        content = parse_json((path / CAMPAIGN).read_bytes(), CAMPAIGN)
    except OSError as error:
        raise UsageError(f"There is no campaign in {path}: {error.strerror}.") from error
    if not isinstance(content, dict) or not {"identity", "share", "plan"} <= set(content):  # pyright: ignore
        raise RunError(f"{path / CAMPAIGN} is not what was written.")
    return content  # pyright: ignore[reportUnknownVariableType]
