"""A campaign as data: methods, sequences and seeds under one budget and protocol; the paper's experiments by name."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from recall_rl.analysis import paper
from recall_rl.errors import UsageError, unknown
from recall_rl.tasks.metaworld import CW10
from recall_rl.tasks.own import OwnTask, parse_tasks

Value = bool | int | float | str | None


@dataclass(frozen=True)
class Member:
    """A method of a campaign, with settings of its own and, if it likes, sequences and seeds of its own."""

    method: str
    settings: dict[str, Value] = field(default_factory=dict[str, Value])
    """As in `--set`: options.lam, agent.critic.trunk …"""
    sequences: tuple[str, ...] | None = None
    """None: the plan's."""
    seeds: tuple[int, ...] | None = None
    """None: the plan's."""


@dataclass(frozen=True)
class Plan:
    """What a campaign runs: every method on every sequence with every seed, if it has none of its own."""

    name: str
    methods: tuple[Member, ...]
    sequences: tuple[str, ...] = ()
    """Of methods that have none of their own."""
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    budget: str = "laptop"
    protocol: str | None = None
    """None: that which is natural to the tasks."""
    settings: dict[str, Value] = field(default_factory=dict[str, Value])
    """Of all runs."""
    sentence: str = ""
    slurm: dict[str, Value | list[str]] = field(default_factory=dict[str, "Value | list[str]"])
    """Options of `--engine slurm`."""
    tasks: dict[str, OwnTask] = field(default_factory=dict[str, OwnTask])
    """Tasks of one's own that the sequences may name."""


def _members(*names: str) -> tuple[Member, ...]:
    return tuple(Member(name) for name in names)


_PAPER = _members("fine-tuning", "ewc", "packnet", "clonex", "perfect-memory", "recall")
_SHAPES = {
    part: {f"agent.{part}.trunk": trunk, f"agent.{part}.head": head}
    for part, trunk, head in (("actor", 0, 2), ("critic", 0, 2))
}
_FORGOTTEN = tuple(sorted({pair for pair, _ in paper.ONLINE_REPLAY}))


def _plans() -> dict[str, Plan]:
    every = (
        Plan(
            "pairs",
            _members("perfect-memory", "recall"),
            tuple(f"pair-{i}-{j}" for i in range(10) for j in range(10)),
            sentence="All 100 pairs of tasks with Perfect Memory and RECALL (figures 1 and 4).",
        ),
        Plan("cw3", _PAPER, tuple(f"cw3-{i}" for i in range(1, 9)), sentence="The eight triplets (table 1)."),
        Plan("cw6", _PAPER, tuple(f"cw6-{i}" for i in range(1, 9)), sentence="The triplets twice in a row (table 2)."),
        Plan("cw10", _PAPER, ("cw10",), sentence="The ten tasks in a row (table 3)."),
        Plan("cw20", _PAPER, ("cw20",), sentence="The ten tasks twice in a row (table 3)."),
        Plan(
            "ablation",
            _members("naive-replay", "recall-tn", "recall-pd", "recall"),
            tuple(f"cw6-{i}" for i in range(1, 9)),
            sentence="Target normalisation and policy distillation, alone and together (figure 6).",
        ),
        Plan(
            "lambda",
            tuple(Member("recall", {"options.lam": lam}) for lam in (0.01, 0.1, 1.0, 10.0, 100.0)),
            ("cw6-1",),
            sentence="The weight of distillation (appendix).",
        ),
        Plan(
            "sharing",
            tuple(
                Member("perfect-memory", {**(_SHAPES["actor"] if a else {}), **(_SHAPES["critic"] if c else {})})
                for a in (False, True)
                for c in (False, True)
            ),
            ("pair-5-8",),
            sentence="Actor and critic shared between tasks or each task's own (appendix).",
        ),
        Plan(
            "offline-online",
            tuple(Member("perfect-memory", {"training.revisit": online}) for online in (False, True)),
            _FORGOTTEN,
            sentence="Old tasks replayed, or met again, on the 13 pairs whose first task is forgotten (appendix).",
        ),
        Plan(
            "references",
            _members("fine-tuning"),
            CW10,
            sentence="Every task alone, from scratch: what forward transfer is measured against.",
        ),
    )
    return {plan.name: plan for plan in every}


PLANS = _plans()
"""Every experiment of the paper."""


def find_plan(name: str, seeds: Sequence[int] = (), budget: str | None = None, settings: Sequence[str] = ()) -> Plan:
    """A named plan, or that of a TOML file, with what the command line changes."""
    if name.endswith(".toml") or "/" in name:
        plan = _read(Path(name))
    elif name in PLANS:
        plan = PLANS[name]
    else:
        raise unknown("plan", name, PLANS, "`recall list plans` shows them all; your own is a TOML file.")
    changed = dict(plan.settings)
    for setting in settings:
        path, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"--set takes path.to.field=value; {setting!r} has no '='.")
        changed[path.strip()] = value.strip()
    if seeds:
        members = tuple(dataclasses.replace(member, seeds=None) for member in plan.methods)
        plan = dataclasses.replace(plan, methods=members, seeds=tuple(seeds))
    return dataclasses.replace(plan, budget=budget or plan.budget, settings=changed)


def _read(path: Path) -> Plan:
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"The plan {path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"The plan {path} is not valid TOML: {error}.") from error
    return parse(path.stem, content)


def parse(name: str, content: Mapping[str, Any]) -> Plan:
    """A plan from a table: methods are names, or tables with `method` and what is their own."""
    methods = content.get("methods")
    if not isinstance(methods, list) or not methods:
        raise UsageError(f'The plan {name} needs methods, as in methods = ["recall", "fine-tuning"].')
    listed = [{"method": m} if isinstance(m, str) else m for m in methods]  # pyright: ignore[reportUnknownVariableType]
    tasks = parse_tasks(content.get("tasks", {}), f"the plan {name}")
    try:
        plan = msgspec.convert({"name": name, **content, "methods": listed, "tasks": {}}, Plan)
    except msgspec.ValidationError as error:
        raise UsageError(f"The plan {name} has a wrong field: {str(error).replace('$.', '')}.") from error
    _refuse_odd("field of a plan", content, Plan)
    for member, given in zip(plan.methods, listed, strict=True):
        _refuse_odd("field of a method in a plan", given, Member)
        _refuse_empty(f"{member.method} in the plan {name}", member.sequences, member.seeds)
    lacking = any(member.sequences is None for member in plan.methods)
    _refuse_empty(f"the plan {name}", plan.sequences if plan.sequences or lacking else None, plan.seeds)
    return dataclasses.replace(plan, tasks=tasks)


def _refuse_odd(what: str, content: Mapping[str, Any], kind: type[Plan] | type[Member]) -> None:
    fields = [f.name for f in dataclasses.fields(kind)]
    if odd := set(content) - set(fields):
        raise unknown(what, min(odd), fields, "docs/campaigns.md shows a plan.")


def _refuse_empty(whose: str, sequences: tuple[str, ...] | None, seeds: tuple[int, ...] | None) -> None:
    for what, values in (("sequences", sequences), ("seeds", seeds)):
        if values is not None and (not values or len(set(values)) < len(values)):
            raise UsageError(f"The {what} of {whose} must be at least one, each once.")
