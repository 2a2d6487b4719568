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
    and weights.safetensors.
    """

    sequence: Annotated[str | None, option("NAME", "required")] = None
    """What to learn: a name of `recall list sequences`, or task names with commas between them; Gymnasium
    environments are gym:ID, as in gym:Hopper-v5."""
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
    debug: bool = False
    """Run in one process, uncompiled and slow, so that breakpoint() works anywhere."""

    def run(self) -> int:
        """Train, with a live display on a terminal and plain lines elsewhere."""
        from recall_rl.cli.display import watch
        from recall_rl.runs.config import read_file, resolve
        from recall_rl.runs.directory import RunDirectory
        from recall_rl.runs.train import default_path, run

        config = resolve(
            method=self.method,
            sequence=self.sequence,
            protocol_name=self.protocol,
            budget_name=self.budget,
            seed=self.seed,
            file=read_file(self.config) if self.config else None,
            settings=self.settings,
        )
        directory = RunDirectory.create(self.out or default_path(config), config)
        watch(config, directory, run(config, directory, self.debug))
        return 0
