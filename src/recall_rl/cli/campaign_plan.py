"""`recall campaign plan`: what a plan runs and what it needs, before anything starts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from recall_rl.cli.train import option
from recall_rl.runs.cores import cores

if TYPE_CHECKING:
    from recall_rl.campaigns.estimate import Need
    from recall_rl.campaigns.jobs import Job
    from recall_rl.campaigns.measure import Measured
    from recall_rl.campaigns.plan import Plan

Settings = Annotated[list[str], tyro.conf.arg(name="set", metavar="FIELD=VALUE"), tyro.conf.UseAppendAction]
Seeds = Annotated[list[int], option("N", "default: the plan's"), tyro.conf.UseAppendAction]
Done = Annotated[list[Path], option("PATH", "optional"), tyro.conf.UseAppendAction]


@dataclass(frozen=True)
class PlanCommand:
    """Say what a plan runs and what it needs, before anything starts.

    Short runs of its first method are measured on this machine, one a slot, which takes some twenty seconds.
    """

    plan: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PLAN")]
    """A name of `recall list plans`, or a TOML file."""
    seed: Seeds = field(default_factory=list[int])
    """A seed; may be given several times."""
    budget: Annotated[str | None, option("NAME", "default: the plan's")] = None
    """The budget of all runs."""
    settings: Settings = field(default_factory=list[str])
    """Set a field of all runs' configs."""
    slots: Annotated[int | None, option("N", "default: one a core")] = None
    """Runs side by side."""
    done: Done = field(default_factory=list[Path])
    """Published results that need not be run again; may be given several times."""
    no_measure: bool = False
    """Do not measure; hours are not estimated then."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Print it."""
        from recall_rl.campaigns.done import Left, left
        from recall_rl.campaigns.estimate import need
        from recall_rl.campaigns.jobs import jobs, size
        from recall_rl.campaigns.measure import measure
        from recall_rl.campaigns.plan import find_plan
        from recall_rl.errors import UsageError

        if self.slots is not None and self.slots < 1:
            raise UsageError("--slots must be positive.")
        plan = find_plan(self.plan, self.seed, self.budget, self.settings)
        asked, slots = jobs(plan), self.slots or cores()
        remaining = left(asked, self.done) if self.done else Left(asked)
        listed, again = remaining.jobs, remaining.again
        side_by_side = min(slots, cores(), len(listed))
        measured = None if self.no_measure or not listed else measure(_longest(listed).config, side_by_side)
        found, needed, wanted = size(listed), need(listed, slots, measured), size(asked).runs
        if self.json:
            content = {**asdict(found), "asked": wanted, "again": again, "saved": found.saved, "slots": slots}
            content |= {"need": asdict(needed), "measured": measured and asdict(measured), "plan": asdict(plan)}
            print(json.dumps(content))
        elif not listed:
            print(f"All {wanted:,} runs are published: nothing is left to run.")
        else:
            _table(plan, listed, wanted, needed, slots, measured)
            if again:
                print("Runs that are published and yet learnt again, because longer ones begin from them and no")
                print(f"checkpoint is published: {again:,}.")
            if measured is None and not self.no_measure:
                print("Speed could not be measured: a short run of the first method did not come to an end.")
            elif needed.hours is None and not self.no_measure:
                print("Speed could not be measured: a short run had not learnt enough when its time was over. If this")
                print("machine is busy with something else, ask again when it is not.")
            elif measured is not None and not measured.alone:
                print("Every core has a run of a campaign, beside which this was measured: hours are too many.")
        return 0


def _longest(listed: list[Job]) -> Job:
    """A run of the first method that has as many tasks as any of it."""
    return max(listed, key=lambda job: (job.config.method == listed[0].config.method, len(job.tasks)))


def _table(plan: Plan, listed: list[Job], asked: int, needed: Need, slots: int, measured: Measured | None) -> None:
    from rich.table import Table

    from recall_rl.campaigns.estimate import shown
    from recall_rl.campaigns.jobs import size
    from recall_rl.cli.console import console

    found, wanted = size(listed), [job for job in listed if job.wanted]
    methods, seeds = {job.name.split("/")[0] for job in wanted}, {job.config.seed for job in wanted}
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    kinds = f"methods {len(methods)}, sequences {len({job.tasks for job in wanted})}, seeds {len(seeds)}"
    of = f" of {asked:,}" if found.runs < asked else ""
    table.add_row("runs", f"{found.runs:,}{of} with budget {plan.budget}: {kinds}")
    saved = f"{found.shared:,} shared beginnings save {100 * found.saved:.0f}% of {found.without:,}"
    table.add_row("environment steps", f"{found.steps:,}; {saved}")
    if needed.hours is not None and measured is not None and measured.first is not None:
        told = f"{1 / measured.first:,.0f} steps/s in the first task"
        if measured.later:
            told += f", {1 / measured.later:,.0f} in later ones"
        in_all = f"{needed.hours / slots:,.1f} with {slots} slots, {needed.hours:,.1f} core-hours"
        table.add_row("hours", f"{in_all} ({told})")
    elif needed.hours is None:
        table.add_row("hours", "not measured")
    results = f"{shown(needed.disk_results)} of it results; {shown(needed.disk_kept)} with --keep"
    table.add_row("disk, at most", f"{shown(needed.disk)}, {results}")
    each = f"{shown(needed.memory)} for the largest run"
    table.add_row("memory, at most", f"{shown(needed.memory * min(slots, found.runs))} with {slots} slots, {each}")
    if plan.sentence:
        print(plan.sentence)
    console().print(table, highlight=False, markup=False)
