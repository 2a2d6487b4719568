"""What a run's numbers may be compared with: the protocol, budget and results version they were made under.

A config is compared with what its method promises for its budget. Settings of training and of the protocol that were
changed belong to the budget and the protocol; those of the agent, and a method's options, belong to the method's name.
So figures of different sizes never meet, and a method whose networks were changed stands beside the others under a name
that says so. No code that a config names is imported.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, cast

from recall_rl.tasks.protocol import PROTOCOLS
from recall_rl.training.config import BUDGETS

Tree = Mapping[str, Any]


class Setting(NamedTuple):
    """Figures are compared, and averaged, only within one of these."""

    protocol: str
    budget: str
    results_version: int

    def describe(self) -> str:
        """As people read it."""
        return f"protocol {self.protocol} · budget {self.budget} · results version {self.results_version}"


def setting(config: Tree) -> Setting:
    """The setting of a run."""
    name = str(config["budget"]).removesuffix("+changed")
    promised, given = _promise(config), _tree(config, "training")
    changed = _listing(_differences(promised[1], given)) if promised else _mark(config, "training")
    return Setting(_protocol(_tree(config, "protocol")), name + changed, int(config.get("results_version", 0)))


def method_name(config: Tree) -> str:
    """The method with the options and settings of the agent that are not its usual ones."""
    method, options, usual = str(config["method"]), _tree(config, "options"), _usual_options(str(config["method"]))
    changed = [f"{k}={v}" for k, v in options.items() if usual is None or (k in usual and usual[k] != v)]
    promised = _promise(config)
    agent = _listing(_differences(promised[0], _tree(config, "agent"))) if promised else _mark(config, "agent")
    return method + (f"({','.join(changed)})" if changed else "") + agent


def _tree(config: Tree, name: str) -> Tree:
    found = config.get(name)
    return cast("Tree", found) if isinstance(found, Mapping) else {}


def _known(method: str) -> bool:
    from recall_rl.methods.catalogue import CATALOGUE

    return method in CATALOGUE


@cache
def _usual_options(method: str) -> dict[str, Any] | None:
    from recall_rl.methods.find import options

    return options(method) if _known(method) else None


def _promise(config: Tree) -> tuple[Tree, Tree] | None:
    """What the method makes of the budget; None for methods and budgets that are not ours."""
    method, budget = str(config["method"]), str(config["budget"]).removesuffix("+changed")
    if not _known(method) or budget not in BUDGETS:
        return None
    usual = _usual_options(method) or {}
    options = {k: v for k, v in _tree(config, "options").items() if k in usual}
    return _made(method, json.dumps(options, sort_keys=True), budget)


@cache
def _made(method: str, options: str, budget: str) -> tuple[Tree, Tree]:
    from recall_rl.methods.find import method as find

    made, size = find(method, json.loads(options)), BUDGETS[budget]
    return dataclasses.asdict(made.agent(size.agent)), dataclasses.asdict(made.training(size.training))


def _differences(promised: Tree, given: Tree, path: str = "") -> list[str]:
    """The settings that differ; one that the config does not have was not there yet, and is at its default."""
    found: list[str] = []
    for name, usual in promised.items():
        value = given.get(name, usual)
        if isinstance(usual, Mapping):
            inner = cast("Tree", value) if isinstance(value, Mapping) else {}
            found += _differences(cast("Tree", usual), inner, f"{path}{name}.")
        elif value != usual:
            found.append(f"{path}{name}={value}")
    return found


def _listing(changed: list[str]) -> str:
    return f" [{', '.join(changed)}]" if changed else ""


def _mark(config: Tree, part: str) -> str:
    """Of a method that is not ours only a digest of its settings tells whether two runs have the same."""
    text = json.dumps(config.get(part), sort_keys=True)
    return f" [{part} {hashlib.sha256(text.encode()).hexdigest()[:8]}]"


def _protocol(given: Tree) -> str:
    base = str(given.get("name")).removesuffix("+changed")
    if base not in PROTOCOLS:
        return base + _mark({"protocol": given}, "protocol")
    usual = {k: v for k, v in dataclasses.asdict(PROTOCOLS[base]).items() if k not in ("name", "sentence")}
    return base + _listing(_differences(usual, given))
