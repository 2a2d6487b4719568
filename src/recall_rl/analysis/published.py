"""Results that come with the package, to put one's own beside."""

from __future__ import annotations

from pathlib import Path

from recall_rl.analysis.read import Result, read
from recall_rl.errors import UsageError, unknown
from recall_rl.runs.published import root


def names() -> dict[str, Path]:
    """Published studies by name: folders of journals, such as methods/pair."""
    return {
        str(folder.relative_to(root())): folder
        for folder in sorted(root().rglob("*"))
        if folder.is_dir() and any(folder.glob("*.jsonl")) and any(folder.glob("*.json"))
    }


def beside(name: str, own: list[Result]) -> list[Result]:
    """The runs of a published study; refused if protocol, budget or results version are not those of one's own."""
    known = names()
    if name not in known:
        raise unknown("published study", name, known, f"There are: {', '.join(known)}.")
    found = read([known[name]]).results
    theirs, ours = {r.setting for r in found}, {r.setting for r in own}
    if not ours & theirs:
        mine = "; ".join(sorted(s.describe() for s in ours)) or "no readable run"
        raise UsageError(
            f"The runs cannot stand beside {name}: theirs are of {'; '.join(sorted(s.describe() for s in theirs))}, "
            f"yours of {mine}."
        )
    seen = {r.identity for r in own}
    return [r for r in found if r.setting in ours and r.identity not in seen]
