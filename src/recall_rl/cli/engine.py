"""Which engine carries a campaign, from the options of `recall campaign run`; what cannot work is refused first."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from recall_rl.errors import UsageError
from recall_rl.runs.cores import cores

if TYPE_CHECKING:
    from recall_rl.campaigns.campaign import Campaign
    from recall_rl.campaigns.local import Local
    from recall_rl.campaigns.plan import Plan
    from recall_rl.campaigns.ray import Ray, RayOptions
    from recall_rl.cli.campaign import RunCommand


def check(command: RunCommand) -> None:
    """Refuse options that do not belong to the engine, and a cluster that is not there."""
    if command.slots is not None and command.slots < 1:
        raise UsageError("--slots must be positive.")
    if command.cores is not None and not 1 <= command.cores <= cores():
        raise UsageError(f"--cores must be from 1 to {cores()}, the cores of this machine.")
    given = {
        "local": {"--slots": command.slots is not None, "--cores": command.cores is not None},
        "ray": {
            "--address": command.address is not None,
            "--cpus": command.cpus != 1.0,
            "--gpus": command.gpus != 0.0,
            "--memory": command.memory is not None,
        },
        "slurm": {"--slurm": bool(command.slurm), "--show": command.show},
    }
    for owner, options in given.items():
        odd = next((name for name, there in options.items() if there), None)
        if odd is not None and owner != command.engine:
            raise UsageError(f"{odd} is an option of --engine {owner}.")
    if command.engine == "ray":
        from recall_rl.campaigns.ray import check_ray

        check_ray(ray_options(command))


def ray_options(command: RunCommand) -> RayOptions:
    """What was asked of Ray."""
    from recall_rl.campaigns.ray import RayOptions, parse_bytes

    memory = None if command.memory is None else parse_bytes(command.memory)
    return RayOptions(command.address, command.cpus, command.gpus, memory)


def side_by_side(command: RunCommand) -> int:
    """How many runs this machine carries side by side."""
    return command.slots or cores() // (command.cores or 1)


def begin(command: RunCommand, plan: Plan, slots: int) -> Campaign:
    """The campaign's folder, new or gone on with; refused if the disk has no room for what is left."""
    from recall_rl.campaigns.campaign import Campaign
    from recall_rl.campaigns.estimate import refuse_without_room
    from recall_rl.campaigns.replan import replan

    if command.replan and (changed := replan(command.out, plan, not command.no_sharing)):
        _tell(f"new plan, runs: {changed.kept} kept, {changed.new} new, {changed.dropped} no longer asked for")
    campaign = Campaign.create(command.out, plan, not command.no_sharing, command.done)
    campaign.set_keeping(command.keep)
    left = [s.job for s in campaign.standings() if s.state not in ("done", "set aside")]
    refuse_without_room(command.out, left, slots, command.keep)
    return campaign


def engine(command: RunCommand, campaign: Campaign) -> Local | Ray:
    """The engine that was asked for."""
    if command.engine == "ray":
        from recall_rl.campaigns.ray import Ray

        return Ray(campaign, ray_options(command), _tell)
    from recall_rl.campaigns.local import Local

    return Local(campaign, side_by_side(command), _tell, cores=command.cores or 1)


def submit(command: RunCommand, plan: Plan) -> int:
    """Submit to Slurm and return, or show what would be submitted."""
    from recall_rl.campaigns.campaign import Campaign
    from recall_rl.campaigns.slurm import Slurm, script, slurm_options

    options = slurm_options(plan.slurm, command.slurm)
    if not (command.show or options.local or shutil.which("sbatch")):
        raise UsageError("Slurm's commands are not on this machine: submit from a login node, or add --show.")
    if command.show:
        runs = len(Campaign(command.out, plan, not command.no_sharing).jobs)
        print(script(command.out, min(runs, options.parallel), options))
        return 0
    Slurm(begin(command, plan, options.parallel), options, _tell).submit()
    return 0


def _tell(line: str) -> None:
    print(line, flush=True)
