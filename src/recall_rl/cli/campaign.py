"""`recall campaign`: many runs from one plan; what is left to do is found on the disk."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from recall_rl.cli.train import option

Settings = Annotated[list[str], tyro.conf.arg(name="set", metavar="FIELD=VALUE"), tyro.conf.UseAppendAction]
Seeds = Annotated[list[int], option("N", "default: the plan's"), tyro.conf.UseAppendAction]


@dataclass(frozen=True)
class PlanCommand:
    """Say what a plan runs and how much work it is, before anything starts."""

    plan: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PLAN")]
    """A name of `recall list plans`, or a TOML file."""
    seed: Seeds = field(default_factory=list[int])
    """A seed; may be given several times."""
    budget: Annotated[str | None, option("NAME", "default: the plan's")] = None
    """The budget of all runs."""
    settings: Settings = field(default_factory=list[str])
    """Set a field of all runs' configs."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Print it."""
        from recall_rl.campaigns.jobs import jobs, size
        from recall_rl.campaigns.plan import find_plan

        plan = find_plan(self.plan, self.seed, self.budget, self.settings)
        found = size(jobs(plan))
        if self.json:
            print(json.dumps({**asdict(found), "saved": found.saved, "plan": asdict(plan)}))
            return 0
        if plan.sentence:
            print(plan.sentence)
        print(
            f"{found.runs:,} runs with budget {plan.budget}: "
            f"methods {len(plan.methods)}, sequences {len(plan.sequences)}, seeds {len(plan.seeds)}."
        )
        print(
            f"{found.steps:,} environment steps; {found.shared:,} shared beginnings save {100 * found.saved:.0f}% of "
            f"{found.without:,}."
        )
        return 0


@dataclass(frozen=True)
class RunCommand:
    """Carry a campaign to its end, on this machine or a cluster; the same command goes on after anything."""

    plan: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PLAN")]
    """A name of `recall list plans`, or a TOML file."""
    out: Annotated[Path, option("DIR", "required")]
    """The campaign's folder."""
    slots: Annotated[int | None, option("N", "default: one a core")] = None
    """Runs side by side, each with its workers on a core of its own."""
    seed: Seeds = field(default_factory=list[int])
    """A seed; may be given several times."""
    budget: Annotated[str | None, option("NAME", "default: the plan's")] = None
    """The budget of all runs."""
    settings: Settings = field(default_factory=list[str])
    """Set a field of all runs' configs."""
    no_sharing: bool = False
    """Let every run learn all its tasks itself, instead of sharing beginnings; it changes no result."""
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
        from recall_rl.campaigns.campaign import Campaign
        from recall_rl.campaigns.plan import find_plan
        from recall_rl.cli.engine import check, engine, submit
        from recall_rl.runs.stop import StoppedError

        check(self)
        plan = find_plan(self.plan, self.seed, self.budget, self.settings)
        if self.engine == "slurm":
            return submit(self, plan)
        campaign = Campaign.create(self.out, plan, not self.no_sharing)
        try:
            ended = engine(self, campaign).go()
        except StoppedError as stopped:
            print(f"recall: {stopped}", file=sys.stderr)
            return 128 + stopped.number
        aside = [s for s in ended if s.state == "set aside"]
        done = sum(s.state == "done" and s.job.wanted for s in ended)
        print(f"{done} of {sum(s.job.wanted for s in ended)} runs done: recall report {self.out / 'runs'}")
        for standing in aside:
            print(f"set aside: {standing.job.place}: {standing.reason or 'what it extends was set aside'}")
        return 1 if aside else 0


@dataclass(frozen=True)
class StatusCommand:
    """Show how far a campaign is, found by looking at its runs."""

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")]
    """The campaign's folder."""
    follow: bool = False
    """Show it again every few seconds until nothing is left to do."""
    json: bool = False
    """Print one JSON object a run."""

    def run(self) -> int:
        """Print it."""
        from recall_rl.campaigns.campaign import Campaign

        campaign = Campaign.existing(self.folder)
        while True:
            found = campaign.standings()
            if self.json:
                for s in found:
                    told = {"state": s.state, "step": s.step, "steps": s.job.steps, "average": s.average}
                    print(json.dumps({"run": s.job.place, **told, "failures": s.failures, "reason": s.reason}))
            else:
                _table(campaign.plan.name, found)
            if not self.follow or all(s.state in ("done", "set aside") for s in found):
                return 0
            time.sleep(5)


def _table(name: str, found: list[Any]) -> None:
    from collections import Counter

    from rich.console import Console
    from rich.table import Table

    count = Counter(s.state for s in found)
    steps, whole = sum(s.job.steps if s.state == "done" else s.step for s in found), sum(s.job.steps for s in found)
    console = Console()
    listed = ", ".join(f"{count[state]} {state}" for state in ("done", "running", "ready", "waiting", "set aside"))
    console.print(f"{name}: {listed}; {100 * steps / max(1, whole):.0f}% of {whole:,} steps", highlight=False)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("run", "state", "steps", "average"):
        table.add_column(column, justify="right" if column in ("steps", "average") else "left", overflow="fold")
    for s in found:
        if s.state in ("running", "set aside") or s.failures:
            average = "" if s.average is None else f"{s.average:.2f}"
            table.add_row(s.job.place, s.state, f"{s.step:,} of {s.job.steps:,}", average)
            if s.reason:
                table.add_row(f"  {s.reason}", "", "", "")
    if table.row_count:
        console.print(table, highlight=False, markup=False)


Action = (
    Annotated[PlanCommand, tyro.conf.subcommand("plan")]
    | Annotated[RunCommand, tyro.conf.subcommand("run")]
    | Annotated[StatusCommand, tyro.conf.subcommand("status")]
)


@dataclass(frozen=True)
class Campaign:
    """Many runs from one plan: every experiment of the paper by name, or your own as a TOML file."""

    action: tyro.conf.OmitSubcommandPrefixes[Action]

    def run(self) -> int:
        """Do what was asked."""
        return self.action.run()
