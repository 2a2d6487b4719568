"""`recall resume`: go on with a run that was interrupted."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class Resume:
    """Go on with a run from its last checkpoint, exactly as if it had never stopped.

    Every file of the run is verified first; if the newest checkpoint is damaged, the one before it is used.
    """

    run_folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    settings: Annotated[list[str], tyro.conf.arg(name="set", metavar="FIELD=VALUE"), tyro.conf.UseAppendAction] = field(
        default_factory=list[str]
    )
    """Set how the work is spread, as in --set machine.workers=4; nothing else of a run can change."""
    trust_code: bool = False
    """Import the code that the run's config names: a method or environments of someone's own."""
    take_over: bool = False
    """Go on even if another process seems to hold the run; what that one writes from now on does not count."""
    debug: bool = False
    """Run in one process, uncompiled and slow, so that breakpoint() works anywhere."""

    def run(self) -> int:
        """Go on, with a live display on a terminal and plain lines elsewhere."""
        from recall_rl.cli.follow import follow
        from recall_rl.runs.directory import RunDirectory

        directory = RunDirectory.existing(self.run_folder)
        config = directory.config(self.trust_code, self.settings)
        return follow(config, directory, self.debug, self.take_over)
