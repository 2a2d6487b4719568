"""`recall train`: learn a sequence of tasks into a run folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro


def option(metavar: str, hint: str) -> Any:
    """How an option is shown in the help."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint=f"({hint})")


@dataclass(frozen=True)
class Train:
    """Learn a sequence of tasks, one after another, into a run folder.

    The folder holds config.json (every setting, itself a valid --config), journal.jsonl (evaluations and training)
    and weights.safetensors. If it holds this very run already, the run goes on from its last checkpoint.
    """

    sequence: Annotated[str | None, option("NAME", "required, unless --tasks says it")] = None
    """What to learn: a name of `recall list sequences`, or task names with commas between them; Gymnasium
    environments are gym:ID, as in gym:Hopper-v5."""
    tasks: Annotated[Path | None, option("FILE", "optional")] = None
    """A TOML file of tasks of your own, which --sequence may name; without it, all of them in the file's order."""
    method: Annotated[str | None, option("NAME", "default: fine-tuning")] = None
    """How to learn it: a name of `recall list methods`, or package.module:function of your own."""
    protocol: Annotated[str | None, option("NAME", "default: cw for Meta-World tasks, own for others")] = None
    """How tasks are posed and measured: a name of `recall list protocols`."""
    budget: Annotated[str | None, option("NAME", "default: laptop")] = None
    """How large: smoke, laptop or paper."""
    seed: Annotated[int | None, option("INT", "default: 0")] = None
    """Every random number of the run follows from it."""
    out: Annotated[Path | None, option("DIR", "default: runs/NAME")] = None
    """The run folder."""
    config: Annotated[Path | None, option("FILE", "optional")] = None
    """A JSON or TOML file of settings; a run's config.json is one."""
    settings: Annotated[list[str], tyro.conf.arg(name="set", metavar="FIELD=VALUE"), tyro.conf.UseAppendAction] = field(
        default_factory=list[str]
    )
    """Set one field of the config, as in --set training.steps=50000, or an option of the method, as in
    --set options.lam=10."""
    trust_code: bool = False
    """Import the code that a --config file names; what the command line or a --tasks file names is imported anyway."""
    take_over: bool = False
    """Go on even if another process seems to hold the run; what that one writes from now on does not count."""
    debug: bool = False
    """Run in one process, uncompiled and slow, so that breakpoint() works anywhere."""

    def run(self) -> int:
        """Train, with a live display on a terminal and plain lines elsewhere."""
        from recall_rl.cli.follow import follow
        from recall_rl.runs.config import read_file, resolve
        from recall_rl.runs.directory import RunDirectory
        from recall_rl.runs.tasks import read_tasks
        from recall_rl.runs.train import default_path
        from recall_rl.runs.trust import refuse_named_code

        file = read_file(self.config) if self.config else None
        if file and not self.trust_code:
            asked = {"method": self.method, "sequence": self.sequence}
            refuse_named_code({k: v for k, v in file.items() if not asked.get(k)}, str(self.config))
        config = resolve(
            method=self.method,
            sequence=self.sequence,
            protocol_name=self.protocol,
            budget_name=self.budget,
            seed=self.seed,
            file=file,
            settings=self.settings,
            tasks=read_tasks(self.tasks) if self.tasks else None,
        )
        return follow(config, RunDirectory.create(self.out or default_path(config), config), self.debug, self.take_over)
