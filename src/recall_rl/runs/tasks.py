"""Tasks of one's own from a TOML file: a table [tasks.NAME] each."""

from __future__ import annotations

from pathlib import Path

from recall_rl.errors import UsageError
from recall_rl.runs.config import read_file
from recall_rl.tasks.own import OwnTask, parse_tasks


def read_tasks(path: Path) -> dict[str, OwnTask]:
    """The own tasks of a file, in its order; a plan of a campaign or a run's config is such a file too."""
    content = read_file(path)
    if not content.get("tasks"):
        raise UsageError(f"{path} holds no tasks: write a table [tasks.NAME] with env = ... for each.")
    return parse_tasks(content["tasks"], str(path))
