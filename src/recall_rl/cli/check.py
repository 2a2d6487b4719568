"""`recall check`: tells whether an environment or a method of one's own is fit for training."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from recall_rl.cli.train import option

if TYPE_CHECKING:
    from recall_rl.checks.finding import Finding
    from recall_rl.tasks.task import Task


@dataclass(frozen=True)
class Check:
    """Try environments or a method of your own the way training will use them, and say what is wrong.

    Environments are played in processes of their own, so one that hangs or crashes is told in a sentence. Exit code 1
    if anything has to be mended, 0 if not.
    """

    env: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="ENV", help_behavior_hint="(optional)")] = (
        None
    )
    """A name of gymnasium.make, package.module:function of your own, or a task of `recall list tasks`."""
    tasks: Annotated[Path | None, option("FILE", "optional")] = None
    """A TOML file of tasks of your own: each of them is tried; with ENV, only the one of this name."""
    method: Annotated[str | None, option("package.module:function", "optional")] = None
    """A method of your own: it learns two tiny tasks."""
    seconds: float = 10.0
    """How long an environment is played, at most."""
    patience: float = 30.0
    """Seconds without a finished step after which an environment counts as hanging."""
    least_speed: float = 30.0
    """Steps a second below which an environment counts as too slow; 0: however slow."""
    json: bool = False
    """Print one JSON object for each thing tried."""

    def run(self) -> int:
        """Try everything asked for, and print what was found."""
        from recall_rl.checks.finding import all_well
        from recall_rl.errors import UsageError

        if self.env is None and self.tasks is None and self.method is None:
            raise UsageError("Say what to check: an environment, --tasks FILE, or --method package.module:function.")
        found: dict[str, list[Finding]] = {}
        for task in self._tasks():
            found[task.name] = self._environment(task)
            self._print(task.name, found[task.name])
        if self.method is not None:
            from recall_rl.checks.method import check_method

            found[self.method] = check_method(self.method)
            self._print(self.method, found[self.method])
        return 0 if all(map(all_well, found.values())) else 1

    def _environment(self, task: Task) -> list[Finding]:
        from recall_rl.checks.environment import check_environment

        return check_environment(task, self.seconds, self.patience, self.least_speed)

    def _tasks(self) -> list[Task]:
        from recall_rl.errors import unknown
        from recall_rl.runs.tasks import read_tasks
        from recall_rl.tasks.own import own_task

        if self.tasks is None:
            return [] if self.env is None else [_task(self.env)]
        own = read_tasks(self.tasks)
        if self.env is not None and self.env not in own:
            raise unknown("task", self.env, own, f"{self.tasks} has: {', '.join(own)}.")
        return [own_task(task) for name, task in own.items() if self.env in (None, name)]

    def _print(self, name: str, findings: list[Finding]) -> None:
        if self.json:
            print(json.dumps({"checked": name, "findings": [asdict(f) for f in findings]}, ensure_ascii=False))
            return
        print(name)
        for f in findings:
            print(f"  {f.level:5}  {f.sentence}")
            if f.advice:
                print(f"         {f.advice}")


def _task(text: str) -> Task:
    """What ENV names: a task of ours, one of Gymnasium's, or a function."""
    from recall_rl.tasks.gymnasium import PREFIX
    from recall_rl.tasks.metaworld import CW10
    from recall_rl.tasks.own import OwnTask, own_task
    from recall_rl.tasks.probes import probe_task
    from recall_rl.tasks.protocol import protocol
    from recall_rl.tasks.sequences import task

    if text in CW10:
        return task(text, protocol("cw"))
    return probe_task(text) or own_task(OwnTask(text.removeprefix(PREFIX)))
