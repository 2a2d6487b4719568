"""The runs of a campaign and what they share: runs that begin with the same tasks learn these once.

A shared beginning is a run of its own, and the others extend it; extending gives the bytes of having learnt all tasks
in one go, so sharing changes no result. Methods that look ahead share nothing.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from recall_rl.campaigns.plan import Member, Plan
from recall_rl.errors import UsageError
from recall_rl.runs.config import Config, resolve
from recall_rl.tasks.sequences import natural_protocol, sequence_name, task_names, used
from recall_rl.tasks.sequences import sequence as find_sequence

Tasks = tuple[str, ...]


@dataclass(frozen=True)
class Job:
    """One run of a campaign."""

    name: str
    """Its folder below `runs`, or below `shared` if only others need it."""
    config: Config
    tasks: Tasks
    wanted: bool
    """Whether the plan asks for it; else it is a beginning that wanted runs share."""
    parent: str | None = None
    """The run that it extends."""
    before: int = 0
    """Tasks that the parent has learnt."""

    @property
    def steps(self) -> int:
        """Environment steps of its own."""
        return (len(self.tasks) - self.before) * self.config.training.steps

    @property
    def place(self) -> str:
        """Its folder within the campaign's."""
        return f"{'runs' if self.wanted else 'shared'}/{self.name}"


def jobs(plan: Plan, share: bool = True) -> list[Job]:
    """All runs of a plan, beginnings before what extends them."""
    # By label and seed, not by member: a method may be there twice, and shares beginnings with itself.
    wanted: dict[tuple[str, int], dict[Tasks, Config]] = defaultdict(dict)
    shares: dict[str, bool] = {}
    for member in plan.methods:
        base = _configs(plan, member, _wanted(plan, member))
        first = next(iter(base.values()))
        label = _label(first, member)
        shares[label] = share and _shares(first)
        for seed in member.seeds or plan.seeds:
            for tasks, config in base.items():
                if tasks in wanted[label, seed]:
                    raise UsageError(f"The plan asks for {_name(label, tasks, seed)} twice.")
                wanted[label, seed][tasks] = dataclasses.replace(config, seed=seed)
    return [job for (label, _), configs in wanted.items() for job in _grow(label, configs, shares[label])]


def _wanted(plan: Plan, member: Member) -> list[Tasks]:
    sequences = [task_names(text) for text in member.sequences or plan.sequences]
    if len(set(sequences)) < len(sequences):
        raise UsageError(f"Two sequences of the plan {plan.name} are the same tasks.")
    return sequences


def _configs(plan: Plan, member: Member, wanted: list[Tasks]) -> dict[Tasks, Config]:
    """The config of each sequence: resolved once for each protocol, since nothing else in it depends on the tasks."""
    texts = {tasks: ",".join(tasks) for tasks in wanted}
    longest: dict[str, Tasks] = {}
    for tasks in sorted(wanted, key=len):
        longest[plan.protocol or natural_protocol(texts[tasks])] = tasks
    resolved = {name: _config(plan, member, texts[tasks]) for name, tasks in longest.items()}
    made: dict[Tasks, Config] = {}
    for tasks, text in texts.items():
        config = resolved[plan.protocol or natural_protocol(text)]
        own = used(plan.tasks, tasks)
        find_sequence(text, config.protocol, own)  # Refuses names that do not exist.
        made[tasks] = dataclasses.replace(config, sequence=text, tasks=own)
    return made


def _config(plan: Plan, member: Member, sequence: str) -> Config:
    settings = [f"{k}={'none' if v is None else v}" for k, v in {**plan.settings, **member.settings}.items()]
    return resolve(
        method=member.method,
        sequence=sequence,
        protocol_name=plan.protocol,
        budget_name=plan.budget,
        settings=settings,
        tasks=plan.tasks,
    )


def _label(config: Config, member: Member) -> str:
    """The method, and those of its settings that are no options, so that members of a plan have names of their own."""
    more = {k: v for k, v in member.settings.items() if not k.startswith("options.")}
    text = config.label() + "".join(f",{k.split('.', 1)[-1]}={v}" for k, v in more.items())
    return _file(text)


def _name(label: str, tasks: Tasks, seed: int) -> str:
    return f"{label}/{_file(sequence_name(tasks))}/seed{seed}"


def _file(text: str) -> str:
    """A name that any file system takes, and that is as unique as the text."""
    safe = "".join(c if c.isalnum() or c in "-+@._=," else "_" for c in text)
    if safe == text and len(safe) <= 80:
        return safe
    return f"{safe[:70]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _shares(config: Config) -> bool:
    """Whether what a method does with its first tasks does not depend on those that follow."""
    from recall_rl.methods.find import method

    chosen = method(config.method, config.options)
    if chosen.looks_ahead:
        return False
    tasks = find_sequence(config.sequence, config.protocol, config.tasks)
    return chosen.curriculum(tasks).stages == tasks.stages


def _grow(label: str, wanted: Mapping[Tasks, Config], shares: bool) -> list[Job]:
    """The runs of one method and seed: those wanted, and the beginnings that two or more of them have in common."""
    first = next(iter(wanted.values()))
    seed, own = first.seed, {name: task for config in wanted.values() for name, task in config.tasks.items()}

    def job(tasks: Tasks, parent: Job | None) -> Job:
        begun = dataclasses.replace(first, sequence=",".join(tasks), tasks=used(own, tasks))
        config = wanted.get(tasks) or begun
        name, before = _name(label, tasks, seed), len(parent.tasks) if parent else 0
        return Job(name, config, tasks, tasks in wanted, parent.place if parent else None, before)

    if not shares:
        return [job(tasks, None) for tasks in wanted]
    nodes = sorted({*wanted, *_branches(wanted)}, key=lambda t: (len(t), t))
    made: dict[Tasks, Job] = {}
    for tasks in nodes:
        parent = next((made[tasks[:n]] for n in range(len(tasks) - 1, 0, -1) if tasks[:n] in made), None)
        made[tasks] = job(tasks, parent)
    return list(made.values())


def _branches(wanted: Iterable[Tasks]) -> set[Tasks]:
    """Beginnings after which wanted runs go different ways."""
    next_tasks: dict[Tasks, set[str]] = defaultdict(set)
    for tasks in wanted:
        for n in range(1, len(tasks)):
            next_tasks[tasks[:n]].add(tasks[n])
    return {beginning for beginning, following in next_tasks.items() if len(following) > 1}


@dataclass(frozen=True)
class Size:
    """How much work a plan is."""

    runs: int
    """That the plan asks for."""
    shared: int
    """Beginnings that are learnt for others."""
    steps: int
    """Environment steps with sharing."""
    without: int
    """Environment steps if every run learnt all its tasks."""

    @property
    def saved(self) -> float:
        """Share of the steps that sharing saves."""
        return 1 - self.steps / self.without if self.without else 0.0


def size(found: Iterable[Job]) -> Size:
    """The work of these runs."""
    listed = list(found)
    whole = sum(len(job.tasks) * job.config.training.steps for job in listed if job.wanted)
    wanted = sum(job.wanted for job in listed)
    return Size(wanted, len(listed) - wanted, sum(job.steps for job in listed), whole)


def plan_identity(found: Iterable[Job]) -> str:
    """A hash of all that is to be run."""
    content = sorted((job.place, job.config.identity()) for job in found)
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
