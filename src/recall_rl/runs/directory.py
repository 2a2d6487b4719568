"""A run is its folder: config.json, and a numbered folder for every process that worked on it.

The names journal.jsonl, times.jsonl, weights.safetensors and workers.log at the top are links into the newest of
these, for people; programs ask `RunDirectory`, which follows no links.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from recall_rl.errors import RunError, UsageError
from recall_rl.runs.config import Config, read_file, resolve
from recall_rl.runs.files import parse_json, replace_file
from recall_rl.runs.generation import Generation, current, generations
from recall_rl.runs.journal import JOURNAL, TIMES
from recall_rl.runs.trust import refuse_named_code

CONFIG, WEIGHTS, LOG = "config.json", "weights.safetensors", "workers.log"


class RunDirectory:
    """The folder of one run."""

    def __init__(self, path: Path):
        self.path = path

    @staticmethod
    def create(path: Path, config: Config) -> RunDirectory:
        """The folder of this run: a new one, or one in which this very run has begun; any other is refused."""
        made = RunDirectory(path)
        if made.begun() or made.held():
            made.refuse_earlier_format()
            # The command line asked for this very config, so what it names may be imported.
            if made.config(trust_code=True).identity() != config.identity():
                raise UsageError(f"{path} already holds another run. Choose another folder with --out, or remove it.")
            return made
        try:
            path.mkdir(parents=True, exist_ok=True)
            replace_file(path / CONFIG, config.to_json().encode())
        except OSError as error:
            raise UsageError(f"The run folder {path} cannot be written: {error.strerror}.") from error
        return made

    @staticmethod
    def existing(path: Path) -> RunDirectory:
        """The folder of a run that has begun."""
        made = RunDirectory(path)
        if not (path / CONFIG).is_file():
            raise UsageError(f"There is no run in {path}: it has no {CONFIG}.")
        made.refuse_earlier_format()
        return made

    def begun(self) -> bool:
        """Whether a run was ever started here."""
        return self.earlier_format() or current(self.path) is not None

    def held(self) -> bool:
        """Whether a process holds the run, which may be about to begin."""
        return any(generation.held() for generation in generations(self.path)[:1])

    def earlier_format(self) -> bool:
        """Whether the run was written before there were checkpoints."""
        journal = self.path / JOURNAL
        return not generations(self.path) and journal.is_file() and journal.stat().st_size > 0

    def refuse_earlier_format(self) -> None:
        """A run without checkpoints can be read, but not gone on with."""
        if self.earlier_format():
            raise UsageError(
                f"{self.path} was written by an earlier version of recall-rl, which kept no checkpoints: its journal "
                f"and weights can be read, but it cannot go on. Train it anew with: recall train --config "
                f"{self.path / CONFIG} --out NEW"
            )

    def generation(self) -> Generation:
        """The part of the run that counts: what the newest process that worked on it wrote."""
        found = current(self.path)
        if found is None:
            raise UsageError(f"No run has begun in {self.path}.")
        return found

    def _file(self, name: str) -> Path:
        return self.path / name if self.earlier_format() else self.generation().path / name

    @property
    def weights(self) -> Path:
        """The parameters of a finished run."""
        return self._file(WEIGHTS)

    @property
    def log(self) -> Path:
        """What workers wrote."""
        return self._file(LOG)

    def config(self, trust_code: bool = False, settings: Sequence[str] = ()) -> Config:
        """The resolved config of the run; code that it names is imported only if it is trusted."""
        content = read_file(self.path / CONFIG)
        if not trust_code:
            refuse_named_code(content, str(self.path))
        odd = next((s for s in settings if not s.startswith("machine.")), None)
        if odd is not None:
            raise UsageError(f"{odd.split('=')[0]} cannot change within a run; only machine.* can.")
        return resolve(file=content, settings=settings)

    def journal_bytes(self) -> bytes:
        """The journal as it stands; its last line may not be finished."""
        try:
            try:
                return self._file(JOURNAL).read_bytes()
            except FileNotFoundError:
                return self._file(JOURNAL).read_bytes()  # A newer generation may just have replaced it.
        except OSError as error:
            raise UsageError(f"{self.path} holds no journal: {error.strerror}.") from error

    def times_bytes(self) -> bytes:
        """When each line of the journal was written."""
        return self._file(TIMES).read_bytes()

    def journal(self) -> list[dict[str, Any]]:
        """Everything the run has noted so far, in order; a last line that was not finished is left out."""
        lines = self.journal_bytes().split(b"\n")[:-1]
        found = [parse_json(line, f"{JOURNAL}, line {k + 1},") for k, line in enumerate(lines)]
        if not all(isinstance(entry, dict) for entry in found):
            raise RunError(f"{self.path / JOURNAL} holds a line that is no event.")
        return found

    def evaluations(self) -> Iterator[dict[str, Any]]:
        """The evaluations of the run, in order."""
        return (entry for entry in self.journal() if entry["event"] == "evaluation")

    def link(self, generation: Generation) -> None:
        """Let the names at the top lead to this generation, for people who look."""
        for name in (JOURNAL, TIMES, WEIGHTS, LOG):
            aside = self.path / f".{name}.{generation.number}"
            with contextlib.suppress(OSError):  # Some file systems have no links.
                aside.unlink(missing_ok=True)
                os.symlink(f"{generation.path.name}/{name}", aside)
                aside.replace(self.path / name)
