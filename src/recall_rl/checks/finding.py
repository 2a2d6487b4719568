"""What a check found, in plain words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    level: Literal["good", "note", "wrong"]
    """note: training works, but you may want to know."""
    sentence: str
    """What was found."""
    advice: str = ""
    """What to do about it."""


def good(sentence: str) -> Finding:
    """All is well."""
    return Finding("good", sentence)


def note(sentence: str, advice: str = "") -> Finding:
    """Training works, but you may want to know."""
    return Finding("note", sentence, advice)


def wrong(sentence: str, advice: str) -> Finding:
    """Something has to be mended."""
    return Finding("wrong", sentence, advice)


def all_well(findings: Iterable[Finding]) -> bool:
    """Whether nothing has to be mended."""
    return all(finding.level != "wrong" for finding in findings)
