"""Where a run's journal goes besides its folder: TensorBoard, or a service of the user's own."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from recall_rl.errors import UsageError

TENSORBOARD = "tensorboard"


class Writer(Protocol):
    """Receives every line of the journal as it is written.

    It is made by a function of the run's folder, its config and the step it begins or goes on at; lines of later steps
    that were sent before an interruption come again.
    """

    def write(self, event: Mapping[str, Any]) -> None:
        """Take one line: its `event`, and what goes with it (docs/runs.md)."""
        ...

    def close(self) -> None:
        """Nothing more will come."""
        ...


class TensorBoard:
    """Writes scalars that TensorBoard shows, to a folder `tensorboard` in the run's."""

    def __init__(self, run: Path, config: Mapping[str, Any], step: int):
        try:
            from tensorboardX import SummaryWriter
        except ImportError as error:
            raise UsageError(
                "machine.writer=tensorboard needs a package that is missing: pip install 'recall-rl[tensorboard]'."
            ) from error
        # What was written after the step at which the run goes on is hidden, for it comes again.
        self._writer: Any = SummaryWriter(str(run / TENSORBOARD), purge_step=step + 1 if step else None)

    def write(self, event: Mapping[str, Any]) -> None:
        """Success and return of every task, their average, and losses."""
        step = event.get("step")
        if event["event"] == "evaluation":
            self._writer.add_scalar("average performance", event["average"], step)
            for score in event["scores"]:
                name = f"{score['position'] + 1} {score['task']}"
                self._writer.add_scalar(f"success/{name}", score["success"], step)
                self._writer.add_scalar(f"return/{name}", score["total"], step)
        elif event["event"] == "training":
            for name, value in event["learning"].items():
                self._writer.add_scalar(f"learning/{name}", value, step)
            if event["total"] is not None:
                self._writer.add_scalar("training/return", event["total"], step)
                self._writer.add_scalar("training/success", event["success"], step)
        self._writer.flush()

    def close(self) -> None:
        """Close its file."""
        self._writer.close()


def open_writer(name: str, run: Path, config: Mapping[str, Any], step: int) -> Writer:
    """The writer of this name: `tensorboard`, or `package.module:function` of the user's own."""
    if name == TENSORBOARD:
        return TensorBoard(run, config, step)
    module, colon, function = name.partition(":")
    if not colon:
        raise UsageError(f"There is no writer {name!r}: tensorboard, or package.module:function of your own.")
    try:
        made = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"The writer {name!r} cannot be loaded: {error}.") from error
    return made(run, config, step)
