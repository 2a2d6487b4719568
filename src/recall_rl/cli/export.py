"""`recall export`: a policy as one file to act with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from recall_rl.cli.train import option


@dataclass(frozen=True)
class Export:
    """Write the policy of a run as one file: safetensors for recall_rl.load, or an ONNX graph for other runtimes.

    An ONNX graph takes `observation` (batch x numbers) and `task` (a number) and gives `action`; it is compared with
    the policy before it is written. It needs: pip install 'recall-rl[onnx]'.
    """

    path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """A run folder, a policy file, published:NAME or hf:OWNER/NAME."""
    format: Literal["safetensors", "onnx"] = "safetensors"
    """What to write."""
    out: Annotated[Path | None, option("FILE", "default: policy.safetensors or policy.onnx, in this folder")] = None
    """The file; one that is there already is replaced."""
    after: Annotated[int | None, option("STAGE", "default: the last")] = None
    """Take the policy that the run had after so many tasks."""

    def run(self) -> int:
        """Write the file and say what is in it."""
        from recall_rl.runs.export import export
        from recall_rl.runs.policy import load

        tasks = load(self.path, self.after).tasks
        made = export(self.path, self.out, self.format, after=self.after)
        print(
            f"{made}: {made.stat().st_size / 1000:,.0f} kB, for {', '.join(f'{k} {t}' for k, t in enumerate(tasks))}."
        )
        return 0
