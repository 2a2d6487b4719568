"""Where tables lie: nowhere but in RAM, or in a folder of files, held in RAM or memory-mapped."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from recall_rl.memory.table import Kind, Table


@dataclass
class Store:
    """Makes tables; without a folder they end with the process."""

    root: Path | None = None
    """The run folder, to which names of files are relative."""
    folder: Path | None = None
    """Where new files are made."""
    mapped: bool = False
    """Whether records stay on disk and are mapped, instead of being held in RAM too."""
    _made: int = field(default=0, repr=False)

    def name(self, position: int) -> str:
        """A name for files of a position that was not given before in this folder."""
        self._made += 1
        # Files that another process began may lie here too.
        while self.folder is not None and any(self.folder.glob(f"{position:03d}-{self._made:04d}.*")):
            self._made += 1
        return f"{position:03d}-{self._made:04d}"

    def table(self, file: str, width: int, capacity: int, kind: Kind = "float32") -> Table:
        """A new, empty table."""
        path = None if self.folder is None else self.folder / file
        return Table(width, capacity, kind, path, self.mapped)
