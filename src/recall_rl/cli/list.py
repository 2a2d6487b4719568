"""`recall list`: what there is to choose from, with a sentence each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

Kind = Literal["methods", "tasks", "sequences", "protocols", "budgets", "plans"]
KINDS: tuple[Kind, ...] = ("methods", "tasks", "sequences", "protocols", "budgets", "plans")


def rows(kind: Kind) -> list[dict[str, str]]:
    """The entries of one kind, each with a name and a sentence."""
    if kind == "methods":
        from recall_rl.methods.catalogue import CATALOGUE
        from recall_rl.methods.find import announced, options

        ours = [
            {"name": n, "sentence": e.sentence, "options": _options(options(n)), "reference": e.reference}
            for n, e in CATALOGUE.items()
        ]
        return ours + [{"name": n, "sentence": e.sentence, "reference": e.reference} for n, e in announced().items()]
    if kind == "tasks":
        return _tasks()
    if kind == "sequences":
        return _sequences()
    if kind == "protocols":
        from recall_rl.tasks.protocol import PROTOCOLS

        return [{"name": n, "sentence": p.sentence} for n, p in PROTOCOLS.items()]
    if kind == "plans":
        from recall_rl.campaigns.plan import PLANS

        return [{"name": n, "sentence": p.sentence} for n, p in PLANS.items()]
    from recall_rl.training.config import BUDGETS

    return [{"name": n, "sentence": b.sentence} for n, b in BUDGETS.items()]


def _options(defaults: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in defaults.items())


def _tasks() -> list[dict[str, str]]:
    from recall_rl.tasks.metaworld import CW10

    return [
        *({"name": n, "sentence": f"Meta-World's {n}, position {i} of cw10."} for i, n in enumerate(CW10)),
        {
            "name": "reach-TURN@SCALE",
            "sentence": "A probe: a point moves to a goal with controls turned by 0, 90, 180 or 270 degrees and "
            "rewards times SCALE (1 to 1e5); needs no simulator.",
        },
        {"name": "gym:ID", "sentence": "Any Gymnasium environment with box observations and actions."},
        {"name": "NAME of --tasks FILE", "sentence": "A task of your own: docs/own-tasks.md."},
    ]


def _sequences() -> list[dict[str, str]]:
    from recall_rl.tasks.probes import PROBE_SEQUENCES
    from recall_rl.tasks.sequences import PAPER_SEQUENCES

    named = {n: " → ".join(tasks) for n, tasks in PAPER_SEQUENCES.items() if not n.startswith(("pair", "cw6", "cw20"))}
    return [
        *({"name": n, "sentence": tasks.replace(",", " → ")} for n, tasks in PROBE_SEQUENCES.items()),
        *({"name": n, "sentence": text} for n, text in named.items()),
        {"name": "cw6-1 … cw6-8", "sentence": "cw3-1 … cw3-8, each twice in a row."},
        {"name": "cw20", "sentence": "cw10 twice in a row."},
        {"name": "pair-I-J", "sentence": "Task I of cw10, then task J, for I and J from 0 to 9."},
        {"name": "task,task,…", "sentence": "Any tasks of `recall list tasks`, in this order."},
    ]


@dataclass(frozen=True)
class List:
    """Show methods, tasks, sequences, protocols, budgets and plans, with a sentence each."""

    kind: Annotated[Kind | None, tyro.conf.Positional, tyro.conf.arg(help_behavior_hint="(default: all)")] = None
    """What to show."""
    json: bool = False
    """Print JSON instead of tables."""

    def run(self) -> int:
        """Print the chosen lists."""
        kinds = KINDS if self.kind is None else (self.kind,)
        found: dict[Kind, list[dict[str, str]]] = {kind: rows(kind) for kind in kinds}
        if self.json:
            print(json.dumps(found, indent=2, ensure_ascii=False))
        else:
            _print(found)
        return 0


def _print(found: dict[Kind, list[dict[str, str]]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for kind, entries in found.items():
        table = Table(box=box.SIMPLE, title=kind, title_justify="left", title_style="bold", show_header=False)
        table.add_column(style="cyan", no_wrap=True)
        table.add_column()
        for entry in entries:
            more = [f"options: {entry['options']}"] if entry.get("options") else []
            more += [entry["reference"]] if "reference" in entry else []
            table.add_row(entry["name"], "\n".join([entry["sentence"], *(f"[dim]{line}[/dim]" for line in more)]))
        console.print(table)
