"""Runs as a Slurm job array, through submitit: each task of the array takes ready runs until none is left.

The table `[slurm]` of a plan and `--slurm KEY=VALUE` hold options of sbatch. Those that submitit knows are its own,
any other goes to sbatch as it is; `executor = "local"` runs the array as processes of this machine, to try it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recall_rl.campaigns.campaign import Campaign
from recall_rl.campaigns.slurm_task import ArrayTask
from recall_rl.campaigns.stop import STOP
from recall_rl.errors import RunError, UsageError
from recall_rl.runs.files import parse_json, replace_file

FOLDER, JOBS = "slurm", "jobs.json"
_TIMEOUTS = 100_000
"""A run may be longer than any time limit; submitit by itself requeues three times."""
_OURS = {"array", "output", "error", "signal", "open_mode", "ntasks", "ntasks_per_node", "nodes", "requeue"}


@dataclass(frozen=True)
class SlurmOptions:
    """How the array is submitted."""

    minutes: int = 24 * 60
    """Time limit of a task, after which it goes on in a new one."""
    parallel: int = 64
    """Tasks of the array at a time, and at most."""
    setup: tuple[str, ...] = ()
    """Shell lines before anything else, such as `module load` or `source …/activate`."""
    local: bool = False
    """Processes of this machine instead of Slurm."""
    more: dict[str, Any] = field(default_factory=dict[str, Any])
    """Options of sbatch."""

    def parameters(self) -> dict[str, Any]:
        """As submitit calls them."""
        return {
            "job_name": "recall",
            "time": self.minutes,
            "array_parallelism": self.parallel,
            "setup": list(self.setup) or None,
            "wckey": None,
            "additional_parameters": {k.replace("_", "-"): v for k, v in self.more.items()},
        }


def slurm_options(table: Mapping[str, Any], settings: Sequence[str] = ()) -> SlurmOptions:
    """Options from the table of a plan and from the command line, which wins."""
    given = dict(table)
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"--slurm takes option=value; {setting!r} has no '='.")
        given[name.strip()] = value.strip()
    given = {name.replace("-", "_").lstrip("_"): value for name, value in given.items()}
    if odd := _OURS & set(given):
        raise UsageError(f"The slurm option {min(odd)} is set by the engine and cannot be given.")
    executor, setup = given.pop("executor", "slurm"), given.pop("setup", ())
    if executor not in ("slurm", "local"):
        raise UsageError(f"The slurm option executor is slurm or local, not {executor!r}.")
    parallel = given.pop("array_parallelism", SlurmOptions.parallel)
    if not str(parallel).isdigit() or int(parallel) < 1:
        raise UsageError(f"The slurm option array_parallelism is a positive number, not {parallel!r}.")
    for name, value in given.items():
        if not name.replace("_", "").isalnum() or "\n" in str(value) or isinstance(value, list):
            raise UsageError(f"The slurm option {name} is not one that sbatch could take.")
    return SlurmOptions(
        minutes=_minutes(given.pop("time", SlurmOptions.minutes)),
        parallel=int(parallel),
        setup=(setup,) if isinstance(setup, str) else tuple(setup),
        local=executor == "local",
        more={name: value for name, value in given.items() if value is not False and value is not None},
    )


def _minutes(text: str | int) -> int:
    """A time limit as sbatch takes it: minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS."""
    days, dash, rest = str(text).rpartition("-")
    parts = rest.split(":")
    if len(parts) > 3 or not all(p.isdigit() for p in (*parts, *([days] if dash else []))):
        raise UsageError(f"The slurm option time is minutes, HH:MM:SS or D-HH:MM:SS, not {text!r}.")
    numbers = [int(p) for p in parts]
    if dash:
        hours, minutes, seconds = (*numbers, 0, 0)[:3]
    else:
        hours, minutes, seconds = {1: (0, *numbers, 0), 2: (0, *numbers), 3: tuple(numbers)}[len(numbers)]
    found = int(days or 0) * 1440 + hours * 60 + minutes + (seconds > 0)
    if found < 1:
        raise UsageError("The slurm option time must be at least a minute.")
    return found


def script(campaign: Path, tasks: int, options: SlurmOptions) -> str:
    """What sbatch would be given."""
    _check()
    import sys

    from submitit.slurm.slurm import _make_sbatch_string

    folder = campaign.resolve() / FOLDER
    command = f"{sys.executable} -u -m submitit.core._submit {folder}"
    return _make_sbatch_string(command, folder, map_count=tasks, **options.parameters())


def _check() -> None:
    if importlib.util.find_spec("submitit") is None:
        raise UsageError("--engine slurm needs submitit: pip install 'recall-rl[slurm]'")


class Slurm:
    """Submits a campaign; whatever happens, the same call submits what is left."""

    def __init__(self, campaign: Campaign, options: SlurmOptions, tell: Callable[[str], None]):
        _check()
        self.campaign, self.options, self.tell = campaign, options, tell
        self.folder = campaign.path.resolve() / FOLDER

    def tasks(self) -> int:
        """Tasks of the array: one for every run that is left, as far as they may be at work at a time."""
        left = sum(s.state != "done" for s in self.campaign.standings())
        return min(left, self.options.parallel)

    def submit(self) -> list[Any]:
        """Submit the array, unless one is still at work; returns submitit's jobs."""
        if active := self._active():
            self.tell(f"Job {active} still works on this campaign: recall campaign status {self.campaign.path}")
            return []
        count = self.tasks()
        if count == 0:
            self.tell("Nothing is left to do.")
            return []
        (self.campaign.path / STOP).unlink(missing_ok=True)
        jobs = self._submit(count)
        ids = sorted({str(job.job_id).split("_")[0] for job in jobs})
        replace_file(self.folder / JOBS, json.dumps({"jobs": ids, "local": self.options.local}).encode())
        self.tell(f"Submitted {count} tasks as job {', '.join(ids)}: recall campaign status {self.campaign.path}")
        return jobs

    def _submit(self, count: int) -> list[Any]:
        import submitit
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        kind: Any = submitit.LocalExecutor if self.options.local else submitit.SlurmExecutor
        try:
            executor = kind(self.folder, max_num_timeout=_TIMEOUTS)
            if self.options.local:
                executor.update_parameters(timeout_min=self.options.minutes, setup=list(self.options.setup))
            else:
                executor.update_parameters(**self.options.parameters())
            with executor.batch():
                jobs = [executor.submit(ArrayTask(str(self.campaign.path.resolve()), k)) for k in range(count)]
        except (FailedJobError, FailedSubmissionError, subprocess.CalledProcessError, OSError) as error:
            said = [line for line in str(error).splitlines() if line.strip()]
            raise RunError(f"Slurm refused the job: {said[-1] if said else error!r}") from error
        except RuntimeError as error:
            raise UsageError("Slurm's commands are not on this machine: submit from a login node.") from error
        return jobs

    def _active(self) -> str | None:
        """The job that was submitted last, if any of it is still queued or at work."""
        try:
            found: Any = parse_json((self.folder / JOBS).read_bytes(), JOBS)
            jobs, local = [str(job) for job in found["jobs"]], bool(found["local"])
        except (OSError, RunError, KeyError, TypeError):
            return None
        left = [job for job in jobs if (_process_alive(job) if local else _queued(job))]
        return ", ".join(left) or None


def _queued(job: str) -> bool:
    if shutil.which("squeue") is None:
        return False
    asked = subprocess.run(["squeue", "--noheader", "--jobs", job], capture_output=True, text=True)
    return asked.returncode == 0 and bool(asked.stdout.strip())


def _process_alive(job: str) -> bool:
    try:
        os.kill(int(job), 0)
    except (OSError, ValueError):
        return False
    return True
