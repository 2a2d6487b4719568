"""A run's config: resolved from a budget, a method, a file and single settings; itself a valid file."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import msgspec

from recall_rl.agent.config import AgentConfig
from recall_rl.errors import UsageError, unknown
from recall_rl.tasks.own import OwnTask, joined, parse_tasks
from recall_rl.tasks.protocol import Protocol, honest_name, protocol
from recall_rl.tasks.sequences import natural_protocol, task_names, used
from recall_rl.tasks.sequences import sequence as find_sequence
from recall_rl.training.config import Budget, TrainingConfig, budget
from recall_rl.training.team import MachineConfig

RESULTS_VERSION = 2
"""Rises with any change that alters numbers; results of different versions are not compared."""


_LATER = (("protocol", "recipe", "full"), ("options", "old_tasks", None))
"""Settings that came after runs had identities, as (part, name, value): left out of the hash at this value."""


def identity_of(content: Mapping[str, Any]) -> str:
    """The identity of a config as it stands in a file."""
    kept = {k: dict(v) if isinstance(v, dict) else v for k, v in content.items() if k != "machine"}  # pyright: ignore
    for part, name, usual in _LATER:
        if name in kept.get(part, {}) and kept[part][name] == usual:
            del kept[part][name]
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Config:
    """Everything that determines a run, and how its work is spread over the machine."""

    method: str
    """A name of `recall list methods`, or package.module:function of your own."""
    sequence: str
    """A name of `recall list sequences`, or task names with commas between them."""
    seed: int
    """The run's seed: every random number follows from it."""
    budget: str
    """The budget the sizes below came from; `+changed` if any was set otherwise."""
    protocol: Protocol
    agent: AgentConfig
    training: TrainingConfig
    options: dict[str, bool | int | float | str | None] = field(default_factory=dict[str, Any])
    """The method's options, such as recall's `lam`."""
    machine: MachineConfig = field(default_factory=MachineConfig)
    results_version: int = RESULTS_VERSION
    """Version of the numbers this software makes."""
    tasks: dict[str, OwnTask] = field(default_factory=dict[str, OwnTask])
    """Tasks of one's own that the sequence names, so that a run stands by itself."""

    def identity(self) -> str:
        """A hash of all that determines the result; how the work is spread does not."""
        return identity_of(self._plain())

    def label(self) -> str:
        """The method with those of its options that are not at their defaults."""
        from recall_rl.methods.find import options

        usual = options(self.method)
        changed = [f"{name}={value}" for name, value in self.options.items() if value != usual.get(name)]
        return self.method + (f"({','.join(changed)})" if changed else "")

    def to_json(self) -> str:
        """The file form."""
        return json.dumps(self._plain(), indent=2) + "\n"

    def _plain(self) -> dict[str, Any]:
        """The content; a run without tasks of its own says nothing of them."""
        content = msgspec.to_builtins(self)
        return content if self.tasks else {k: v for k, v in content.items() if k != "tasks"}


_LARGEST_FILE = 1 << 20


def read_file(path: Path) -> dict[str, Any]:
    """The content of a JSON or TOML config file."""
    try:
        with open(path, "rb") as file:
            text = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise UsageError(f"The config file {path} cannot be read: {error.strerror}.") from error
    if len(text) > _LARGEST_FILE:
        raise UsageError(f"The config file {path} is larger than {_LARGEST_FILE:,} bytes.")
    try:
        content: object = tomllib.loads(text.decode()) if path.suffix == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"The config file {path} is not valid {path.suffix[1:].upper() or 'JSON'}: {error}."
        ) from error
    if not isinstance(content, dict):
        raise UsageError(f"The config file {path} must hold a table of settings.")
    return cast("dict[str, Any]", content)


def file_identity(path: Path) -> str:
    """The identity of the config in a file."""
    return identity_of(read_file(path))


def _leaves(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(cast("Mapping[str, Any]", value), f"{path}{name}.")
        else:
            yield path + name, value


def _put(tree: dict[str, Any], path: str, value: Any) -> None:
    """Set one field of a nested table; the field must exist."""
    *groups, name = path.split(".")
    node: Any = tree
    for group in groups:
        node = node.get(group) if isinstance(node, dict) else None  # pyright: ignore[reportUnknownMemberType]
    if not isinstance(node, dict) or name not in node:
        known = [p for p, _ in _leaves(tree)]
        raise unknown("setting", path, known, "A run's config.json shows every setting.")
    if isinstance(node[name], dict):
        fields = ", ".join(f"{path}.{inner}" for inner in cast("dict[str, Any]", node[name]))
        raise UsageError(f"{path!r} is a group of settings: {fields}.")
    node[name] = value


def resolve(
    *,
    method: str | None = None,
    sequence: str | None = None,
    protocol_name: str | None = None,
    budget_name: str | None = None,
    seed: int | None = None,
    file: Mapping[str, Any] | None = None,
    settings: Sequence[str] = (),
    tasks: Mapping[str, OwnTask] | None = None,
) -> Config:
    """The config of a run; what comes later in this list wins: budget, method, file, named options, settings.

    Own tasks may stand in the file and be given; without a sequence, those given are met in their order.
    """
    given = dict(file or {})
    method = method or str(given.get("method", "fine-tuning"))
    own = joined(parse_tasks(given.get("tasks", {}), "the config"), tasks or {})
    sequence = sequence or (",".join(tasks) if tasks else given.get("sequence"))
    if not isinstance(sequence, str):
        raise UsageError("Say what to learn: --sequence NAME or --sequence task,task,… (`recall list sequences`).")
    own = used(own, task_names(sequence))
    chosen = (budget_name or str(given.get("budget", "laptop"))).removesuffix("+changed")
    size = budget(chosen)
    tree = _defaults(method, sequence, size, chosen, protocol_name, given)
    leaves = _leaves({k: v for k, v in given.items() if k not in _TOP})
    wanted = {path: value for path, value in leaves if not (protocol_name and path.startswith("protocol."))}
    for setting in settings:
        path, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"--set takes path.to.field=value; {setting!r} has no '='.")
        wanted[path.strip()] = None if value.strip().lower() == "none" else value.strip()
    promised, most_tasks = _apply_method(tree, method, size, wanted)
    tree["seed"] = seed if seed is not None else given.get("seed", 0)
    tree["tasks"] = {name: dataclasses.asdict(task) for name, task in own.items()}
    for path, value in wanted.items():
        _put(tree, path, value)
    return _finish(tree, chosen, promised, most_tasks)


_TOP = ("method", "sequence", "budget", "seed", "results_version", "tasks")


def _defaults(
    method: str, sequence: str, size: Budget, chosen: str, protocol_name: str | None, given: Mapping[str, Any]
) -> dict[str, Any]:
    from recall_rl.methods.find import options

    in_file = given.get("protocol")
    named = in_file.get("name") if isinstance(in_file, Mapping) else None  # pyright: ignore
    name = protocol_name or (str(named).removesuffix("+changed") if named else natural_protocol(sequence))
    return dataclasses.asdict(
        Config(
            method=method,
            sequence=sequence,
            seed=0,
            budget=chosen,
            protocol=protocol(name),
            agent=size.agent,
            training=size.training,
            options=options(method),
        )
    )


def _apply_method(
    tree: dict[str, Any], method: str, size: Budget, wanted: dict[str, Any]
) -> tuple[tuple[AgentConfig, TrainingConfig], int | None]:
    """Take the options out of what is wanted, and put what the method then makes of the budget in the tree."""
    from recall_rl.methods.find import method as find_method
    from recall_rl.methods.find import typed_options

    chosen = {p.removeprefix("options."): wanted.pop(p) for p in list(wanted) if p.startswith("options.")}
    tree["options"] = typed_options(method, chosen)
    made = find_method(method, tree["options"])
    promised = made.agent(size.agent), made.training(size.training)
    tree["agent"], tree["training"] = map(dataclasses.asdict, promised)
    return promised, made.most_tasks


def _finish(
    tree: dict[str, Any], chosen: str, promised: tuple[AgentConfig, TrainingConfig], most_tasks: int | None
) -> Config:
    try:
        config = msgspec.convert(tree, Config, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"A setting has a value of the wrong kind: {str(error).replace('$.', '')}.") from error
    changed = (config.agent, config.training) != promised
    config = dataclasses.replace(config, budget=chosen + "+changed" * changed, protocol=honest_name(config.protocol))
    _check(config)
    tasks = len(find_sequence(config.sequence, config.protocol, config.tasks))  # Refuses names that do not exist.
    if most_tasks is not None and tasks > most_tasks:
        raise UsageError(f"{config.label()} has room for {most_tasks} tasks, and the sequence has {tasks}.")
    return config


_WIDEST, _DEEPEST = 8_192, 32
"""A file from a stranger cannot ask for networks that no memory holds."""


def _depths(agent: AgentConfig) -> tuple[int, ...]:
    return agent.actor.trunk, agent.actor.head, agent.critic.trunk, agent.critic.head


def _check(config: Config) -> None:
    """Refuse settings that cannot work together, each with its reason."""
    t, m, a = config.training, config.machine, config.agent
    rules = [
        (t.steps > 0 and t.chunk > 0, "training.steps and training.chunk must be positive."),
        (t.steps % t.chunk == 0, f"training.steps ({t.steps}) must be a multiple of training.chunk ({t.chunk})."),
        (
            t.evaluate_every >= t.chunk and t.evaluate_every % t.chunk == 0,
            f"training.evaluate_every ({t.evaluate_every}) must be a multiple of training.chunk ({t.chunk}).",
        ),
        (
            t.start_steps % t.chunk == 0,
            f"training.start_steps ({t.start_steps}) must be a multiple of training.chunk ({t.chunk}).",
        ),
        (
            t.lanes > 0 and t.chunk % t.lanes == 0,
            f"training.chunk ({t.chunk}) must be a multiple of training.lanes ({t.lanes}).",
        ),
        (t.lag in (0, 1), "training.lag must be 0 or 1."),
        (0 <= t.anneal <= 1, "training.anneal must be in [0, 1]."),
        (t.updates > 0, "training.updates_per_step must give at least one update a chunk."),
        (
            m.workers > 0 and m.evaluation_workers > 0,
            "machine.workers and machine.evaluation_workers must be positive.",
        ),
        (m.threads > 0 and m.patience > 0, "machine.threads and machine.patience must be positive."),
        (a.batch > 0 and a.learning_rate > 0, "agent.batch and agent.learning_rate must be positive."),
        (0 <= a.gamma <= 1 and 0 < a.tau <= 1, "agent.gamma must be in [0, 1] and agent.tau in (0, 1]."),
        (min(a.actor.width, a.critic.width) > 0, "agent.actor.width and agent.critic.width must be positive."),
        (
            min(_depths(a)) >= 0,
            "Depths of trunks and heads cannot be negative.",
        ),
        (config.seed >= 0, "The seed must not be negative."),
        (config.protocol.episodes > 0, "protocol.episodes must be positive."),
        (m.checkpoint_seconds >= 0, "machine.checkpoint_seconds cannot be negative."),
        (t.memory_bytes is None or t.memory_bytes > 0, "training.memory_bytes must be positive, or none."),
        (
            max(a.actor.width, a.critic.width) <= _WIDEST and max(_depths(a)) <= _DEEPEST,
            f"Networks wider than {_WIDEST:,} or deeper than {_DEEPEST} are refused.",
        ),
    ]
    for holds, sentence in rules:
        if not holds:
            raise UsageError(sentence)
