"""`recall campaign`: many runs from one plan; what is left to do is found on the disk."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro

from recall_rl.cli.campaign_files import CleanCommand, PublishCommand, StopCommand
from recall_rl.cli.campaign_plan import Done, PlanCommand, Seeds, Settings
from recall_rl.cli.campaign_status import StatusCommand
from recall_rl.cli.train import option


@dataclass(frozen=True)
class RunCommand:
    """Carry a campaign to its end, on this machine or a cluster; the same command goes on after anything."""

    plan: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PLAN")]
    """A name of `recall list plans`, or a TOML file."""
    out: Annotated[Path, option("DIR", "required")]
    """The campaign's folder."""
    slots: Annotated[int | None, option("N", "default: as many as there are cores for")] = None
    """Runs side by side, each with its workers on cores of its own."""
    cores: Annotated[int | None, option("N", "default: 1")] = None
    """Cores of a run. One is best for many runs; with two a single run ends earlier, to the same bytes."""
    seed: Seeds = field(default_factory=list[int])
    """A seed; may be given several times."""
    budget: Annotated[str | None, option("NAME", "default: the plan's")] = None
    """The budget of all runs."""
    settings: Settings = field(default_factory=list[str])
    """Set a field of all runs' configs."""
    no_sharing: bool = False
    """Let every run learn all its tasks itself, instead of sharing beginnings; it changes no result."""
    done: Done = field(default_factory=list[Path])
    """Published results that need not be run again, as `recall campaign publish` writes them; may be given several
    times."""
    keep: bool = False
    """Keep rows and checkpoints of finished runs, so that they can be extended by hand; else they go once no run of the
    campaign begins from them."""
    replan: bool = False
    """Change the plan of a campaign that has begun: runs that both plans ask for are kept, those that only the old one
    asked for stay as they are."""
    engine: Literal["local", "ray", "slurm"] = "local"
    """Who does the work: processes of this machine, a Ray cluster, or a Slurm job array."""
    address: Annotated[str | None, option("HOST:PORT", "default: a cluster of this machine")] = None
    """With ray: the head of the cluster."""
    cpus: Annotated[float, option("N", "default: 1")] = 1.0
    """With ray: CPUs of a run."""
    gpus: Annotated[float, option("N", "default: 0")] = 0.0
    """With ray: GPUs of a run, or the share of one, as 0.25."""
    memory: Annotated[str | None, option("BYTES", "default: not counted")] = None
    """With ray: main memory of a run, as 4G."""
    slurm: Annotated[list[str], tyro.conf.arg(metavar="OPTION=VALUE"), tyro.conf.UseAppendAction] = field(
        default_factory=list[str]
    )
    """With slurm: an option of sbatch, as partition=cpu; may be given several times."""
    show: bool = False
    """With slurm: print what sbatch would be given, and submit nothing."""

    def run(self) -> int:
        """Run it, a line an event."""
        from recall_rl.campaigns.clean import clean_done
        from recall_rl.campaigns.plan import find_plan
        from recall_rl.campaigns.stop import heeding
        from recall_rl.cli.engine import begin, check, engine, side_by_side, submit
        from recall_rl.runs.stop import StoppedError

        check(self)
        plan = find_plan(self.plan, self.seed, self.budget, self.settings)
        if self.engine == "slurm":
            return submit(self, plan)
        campaign = begin(self, plan, side_by_side(self))
        try:
            with heeding(self.out):
                ended = engine(self, campaign).go()
        except StoppedError as stopped:
            print(f"recall: {stopped}", file=sys.stderr)
            return 128 + stopped.number
        if not self.keep:
            clean_done(campaign, found=ended)
        aside = [s for s in ended if s.state == "set aside"]
        done = sum(s.state == "done" and s.job.wanted for s in ended)
        where = " ".join(str(path) for path in (self.out / "runs", *self.done) if path.exists())
        print(f"{done} of {sum(s.job.wanted for s in ended)} runs done: recall report {where}")
        for standing in aside:
            print(f"set aside: {standing.job.place}: {standing.reason or 'what it extends was set aside'}")
        return 1 if aside else 0


Action = (
    Annotated[PlanCommand, tyro.conf.subcommand("plan")]
    | Annotated[RunCommand, tyro.conf.subcommand("run")]
    | Annotated[StatusCommand, tyro.conf.subcommand("status")]
    | Annotated[StopCommand, tyro.conf.subcommand("stop")]
    | Annotated[PublishCommand, tyro.conf.subcommand("publish")]
    | Annotated[CleanCommand, tyro.conf.subcommand("clean")]
)


@dataclass(frozen=True)
class Campaign:
    """Many runs from one plan: every experiment of the paper by name, or your own as a TOML file."""

    action: tyro.conf.OmitSubcommandPrefixes[Action]

    def run(self) -> int:
        """Do what was asked."""
        return self.action.run()
