"""recall-rl: continual reinforcement learning with replay, target normalisation and distillation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recall_rl.analysis.store import results as results
    from recall_rl.reports.push import push as push
    from recall_rl.runs.directory import RunDirectory as RunDirectory
    from recall_rl.runs.evaluate import evaluate as evaluate
    from recall_rl.runs.export import export as export
    from recall_rl.runs.extend import extend as extend
    from recall_rl.runs.gate import gate as gate
    from recall_rl.runs.policy import load as load
    from recall_rl.runs.train import resume as resume
    from recall_rl.runs.train import train as train
    from recall_rl.tasks.own import OwnTask as OwnTask

__version__ = "0.1.0"

_PUBLIC = {
    "OwnTask": "recall_rl.tasks.own",
    "RunDirectory": "recall_rl.runs.directory",
    "evaluate": "recall_rl.runs.evaluate",
    "export": "recall_rl.runs.export",
    "extend": "recall_rl.runs.extend",
    "gate": "recall_rl.runs.gate",
    "load": "recall_rl.runs.policy",
    "push": "recall_rl.reports.push",
    "results": "recall_rl.analysis.store",
    "resume": "recall_rl.runs.train",
    "train": "recall_rl.runs.train",
}


def __getattr__(name: str) -> Any:
    """Public names are loaded on first use, so that workers start without JAX."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'recall_rl' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    """The public names."""
    return [*_PUBLIC, "__version__"]
