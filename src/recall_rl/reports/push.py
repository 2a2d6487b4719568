"""Publishing a policy on the Hugging Face Hub: a folder with the policy, its card, its results and a video."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from recall_rl.errors import RunError, UsageError
from recall_rl.reports.card import card
from recall_rl.runs.evaluate import Score, evaluate
from recall_rl.runs.hub import POLICY_FILE, needs_hub, reason, repository
from recall_rl.runs.policy import Policy, encode_policy, read_policy

CARD, RESULTS = "README.md", "results.json"
VIDEOS = (".mp4", ".gif", ".webm")


def _write(
    folder: Path, policy: Policy, repo: str, scores: Sequence[Score], video: Path | None, license: str | None
) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / POLICY_FILE).write_bytes(encode_policy(policy))
        (folder / CARD).write_text(card(policy, repo, scores, video, license))
        if scores:
            (folder / RESULTS).write_text(json.dumps([asdict(score) for score in scores], indent=1) + "\n")
        if video is not None:
            shutil.copyfile(video, folder / f"video{video.suffix}")
    except OSError as error:
        raise UsageError(f"{error.filename or folder} cannot be written: {error.strerror}.") from error


def _upload(folder: Path, repo: str, private: bool) -> str:
    try:
        import huggingface_hub as hub
    except ImportError as error:
        raise needs_hub() from error
    api = hub.HfApi()
    try:
        address = str(api.create_repo(repo, exist_ok=True, private=private or None))
        api.upload_folder(repo_id=repo, folder_path=folder, commit_message="A policy of recall-rl")
    except Exception as error:  # The library's errors are of many kinds, some of them its own libraries'.
        raise RunError(
            f"The Hub did not take the upload to {repo}: {reason(error)} Check the network, and that `hf auth login` "
            "was done with a token that may write there."
        ) from error
    return address


def push(
    path: str | Path,
    repo: str,
    *,
    after: int | None = None,
    episodes: int = 50,
    video: str | Path | None = None,
    license: str | None = None,
    private: bool = False,
    dry_run: str | Path | None = None,
    workers: int = 1,
    trust_code: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> str:
    """Publish the policy of a run as `recall push` does, and return where it is; `dry_run` only writes the folder."""
    repository(repo)
    shown = None if video is None else Path(video)
    if shown is not None and (shown.suffix not in VIDEOS or not shown.is_file()):
        raise UsageError(f"{shown} is not a video: a file that ends in {', '.join(VIDEOS)} is asked for.")
    if episodes < 0:
        raise UsageError("--episodes must not be negative; 0 leaves the results out of the card.")
    policy = read_policy(Path(path), after, trust_code or not episodes)
    scores: list[Score] = []
    if episodes:
        tell(f"Playing {episodes} episodes of each task for the card …")
        scores = evaluate(path, episodes, after=after, workers=workers, trust_code=trust_code)
    if dry_run is not None:
        _write(Path(dry_run), policy, repo, scores, shown, license)
        return str(dry_run)
    with tempfile.TemporaryDirectory(prefix="recall-push-") as folder:
        _write(Path(folder), policy, repo, scores, shown, license)
        tell("Uploading …")
        return _upload(Path(folder), repo, private)
