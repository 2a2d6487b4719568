"""`recall gate`: whether a new policy kept what an old one could do."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from recall_rl.cli.train import option

if TYPE_CHECKING:
    from recall_rl.runs.gate import Gate as Answer

_COLOURS = {"pass": "green", "fail": "red", "undecided": "yellow"}


@dataclass(frozen=True)
class Gate:
    """Check that a new policy kept the skills of an old one, before it ships.

    Both play the same episodes (same starts, goals and noise) of every task that the old one knows; a task stops as
    soon as its answer is clear. Exit code 0: passed; 1: failed or undecided; 2: wrongly asked.
    """

    old: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OLD")]
    """The policy in use: a run folder, a policy file, published:NAME or hf:OWNER/NAME."""
    new: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="NEW")]
    """The policy that is to replace it, likewise."""
    max_drop: float = 0.05
    """The drop of a task's success rate that must not be reached."""
    episodes: int = 500
    """Most pairs of episodes a task; one that is not clear by then is undecided, which does not pass."""
    task: Annotated[list[str], option("TASK", "default: all"), tyro.conf.UseAppendAction] = field(
        default_factory=list[str]
    )
    """Test this task only; may be given several times."""
    alpha: float = 0.05
    """Probability of a wrong pass, and of a wrong fail, at most."""
    deterministic: bool = False
    """Play the policies' most likely actions instead of sampling as the protocol says."""
    seed: int = 0
    """Chooses the episodes."""
    workers: Annotated[int | None, option("INT", "default: as many as there are cores")] = None
    """Processes that play; their number changes nothing."""
    json: bool = False
    """Print the answer as one JSON object."""
    page: Annotated[Path | None, option("FILE", "optional")] = None
    """Write the answer as a self-contained HTML page."""
    trust_code: bool = False
    """Import the code that the policies' tasks name."""

    def run(self) -> int:
        """Play, say the answer, and end with it."""
        from rich.console import Console

        from recall_rl.runs.gate import gate

        with Console(stderr=True).status("Playing …") as status:
            found = gate(
                self.old,
                self.new,
                self.max_drop,
                episodes=self.episodes,
                tasks=self.task,
                alpha=self.alpha,
                seed=self.seed,
                deterministic=self.deterministic,
                workers=self.workers,
                trust_code=self.trust_code,
                tell=status.update,
            )
        if self.page is not None:
            from recall_rl.reports.gate import write_page

            write_page(found, self.page)
        if self.json:
            print(json.dumps({**asdict(found), "played": found.played}))
        else:
            _show(found)
            if self.page is not None:
                print(f"The page: {self.page}")
        return 0 if found.verdict == "pass" else 1


def _show(found: Answer) -> None:
    from rich.table import Table

    from recall_rl.cli.console import console

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("", "task", "old", "new", "drop", "between", "pairs", "verdict"):
        table.add_column(name, justify="left" if name in ("task", "verdict") else "right", no_wrap=True)
    for s in found.skills:
        verdict = f"[{_COLOURS[s.verdict]}]{s.verdict}[/]" + (f" ({s.note})" if s.note else "")
        between = f"{s.low:.3f} and {s.high:.3f}"
        row = (s.task, f"{s.old:.2f}", f"{s.new:.2f}", f"{s.drop:+.2f}", between, str(s.pairs), verdict)
        table.add_row(str(s.position + 1), *row)
    console().print(table, highlight=False)
    print(found.sentence())
