"""`recall video`: see a kept policy at work."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from recall_rl.cli.train import option


@dataclass(frozen=True)
class Video:
    """Show the policy of a run on the tasks it knows, side by side, as an MP4 or a GIF.

    Each tile says which task it is, whether and when it succeeds, and after which task the policy was kept. Nothing of
    the run is changed, and it may still be going on. It needs: pip install 'recall-rl[video]'.
    """

    path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """A run folder, a policy file, or published:two-skills, which comes with the package."""
    task: Annotated[list[str], option("TASK", "default: all"), tyro.conf.UseAppendAction] = field(
        default_factory=list[str]
    )
    """Show this task only; may be given several times."""
    after: Annotated[int | None, option("STAGE", "default: the last")] = None
    """Take the policy that the run had after so many tasks."""
    stages: bool = False
    """Show all policies of the run: a row for each, a column for each task."""
    episodes: int = 1
    """Episodes of each task, one after another."""
    out: Annotated[Path | None, option("FILE", "default: the run's name with .mp4, in this folder")] = None
    """The file to write, .mp4 or .gif; one that is there already is replaced."""
    trust_code: bool = False
    """Import the code that the policy's tasks name."""

    def run(self) -> int:
        """Play, write the file and say what is in it."""
        from recall_rl.reports.video import video

        made = video(
            self.path,
            self.out,
            tasks=self.task,
            after=self.after,
            episodes=self.episodes,
            stages=self.stages,
            trust_code=self.trust_code,
            tell=lambda line: print(line, flush=True),
        )
        size, seconds = made.path.stat().st_size / 1000, made.frames / made.fps
        print(f"{made.path}: {made.width} x {made.height} pixels, {seconds:.0f} seconds, {size:,.0f} kB.")
        return 0
