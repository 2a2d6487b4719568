"""Policies from the Hugging Face Hub: one file of a repository, of bounded size, and never any code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from recall_rl.errors import RunError, UsageError

HUB = "hf:"
"""What names of repositories on the Hub begin with: hf:OWNER/NAME, or hf:OWNER/NAME@REVISION."""
POLICY_FILE = "policy.safetensors"
"""The file of a repository that holds its policy; no other is ever fetched."""
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_REVISION = re.compile(r"[\w][\w./-]{0,127}", re.ASCII)


def needs_hub() -> UsageError:
    """What is said where the package of the extra is missing."""
    return UsageError("The Hugging Face Hub needs a package that is not installed: pip install 'recall-rl[hub]'.")


def repository(name: str) -> str:
    """The name, if a repository can have it."""
    if not _REPOSITORY.fullmatch(name) or ".." in name or "--" in name:
        raise UsageError(f"A repository of the Hub is called OWNER/NAME, not {name[:80]!r}.")
    return name


def reason(error: Exception) -> str:
    """The first line of what a library said, as a sentence."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return re.sub(r"^\[Errno \d+\] ", "", lines[0] if lines else type(error).__name__)[:200].rstrip(".:") + "."


def fetched(name: str, most: int) -> Path:
    """The local copy of a repository's policy, fetched if it is new and no larger than `most` bytes."""
    repo, _, revision = name.removeprefix(HUB).partition("@")
    repository(repo)
    if revision and not _REVISION.fullmatch(revision):
        raise UsageError(f"A revision of the Hub is a branch, tag or commit, not {revision[:80]!r}.")
    try:
        import huggingface_hub as hub
    except ImportError as error:
        raise needs_hub() from error
    where: dict[str, Any] = {"repo_id": repo, "filename": POLICY_FILE, "revision": revision or None}
    try:
        size = hub.get_hf_file_metadata(hub.hf_hub_url(**where)).size
    except Exception as error:  # The library's errors are of many kinds, some of them its own libraries'.
        return _cached(hub, where, f"{HUB}{repo} cannot be fetched: {reason(error)}")
    if size is None or size > most:
        raise RunError(f"{POLICY_FILE} of {repo} is larger than {most:,} bytes, more than such a file can need.")
    try:
        return Path(hub.hf_hub_download(**where)).resolve()
    except Exception as error:
        raise RunError(f"{HUB}{repo} cannot be fetched: {reason(error)}") from error


def _cached(hub: Any, where: dict[str, Any], otherwise: str) -> Path:
    """What was fetched before, for machines without a network."""
    try:
        # The cache holds links to its files; files are read without following any.
        return Path(hub.hf_hub_download(**where, local_files_only=True)).resolve()
    except Exception as error:
        raise RunError(otherwise) from error
