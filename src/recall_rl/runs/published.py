"""Where results lie that come with the package: journals of runs, and a policy to play with."""

from __future__ import annotations

from pathlib import Path

from recall_rl.errors import unknown

PREFIX = "published:"
_INSTALLED = Path(__file__).parents[1] / "published"
_REPOSITORY = Path(__file__).parents[3] / "results"


def root() -> Path:
    """The folder of all of them: within the installed package, or in the repository."""
    return _INSTALLED if _INSTALLED.is_dir() else _REPOSITORY


def policy_path(name: str) -> Path:
    """The file of the published policy of this name."""
    known = {path.stem: path for path in sorted((root() / "policies").glob("*.safetensors"))}
    if name not in known:
        raise unknown("published policy", name, known, f"There are: {', '.join(known)}.")
    return known[name]
