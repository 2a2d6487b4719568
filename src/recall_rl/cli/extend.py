"""`recall extend`: a finished run continues with more tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from recall_rl.cli.train import option


@dataclass(frozen=True)
class Extend:
    """Continue a finished run with tasks that were unknown when it began, in a folder of its own.

    The new folder holds the run that would have learnt all tasks in one go. Remembered rows are linked, not copied;
    the old run stays as it is.
    """

    run_folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The finished run."""
    out: Annotated[Path, option("NEW", "required")]
    """The new run folder, on the same disk."""
    sequence: Annotated[str | None, option("TASK[,TASK…]", "required, unless --tasks says it")] = None
    """The tasks to add, or a name of `recall list sequences`."""
    tasks: Annotated[Path | None, option("FILE", "optional")] = None
    """A TOML file of tasks of your own, which --sequence may name; without it, those that the run has not met."""
    to_old_head: bool = False
    """Let a task that returns begin with a copy of the head it had when last met, instead of a new one."""
    settings: Annotated[list[str], tyro.conf.arg(name="set", metavar="FIELD=VALUE"), tyro.conf.UseAppendAction] = field(
        default_factory=list[str]
    )
    """Set how the work is spread, as in --set machine.workers=4; nothing else of a run can change."""
    trust_code: bool = False
    """Import the code that the run's config names: a method or environments of someone's own."""

    def run(self) -> int:
        """Extend, then train like `recall resume`."""
        from recall_rl.cli.follow import follow
        from recall_rl.runs.extend import begin_extension
        from recall_rl.runs.tasks import read_tasks

        config, directory = begin_extension(
            self.run_folder,
            self.sequence,
            self.out,
            self.to_old_head,
            self.trust_code,
            tuple(self.settings),
            tasks=read_tasks(self.tasks) if self.tasks else None,
        )
        return follow(config, directory)
