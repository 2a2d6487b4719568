"""The gate's answer as one self-contained page."""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from recall_rl import __version__
from recall_rl.analysis.store import needs_report
from recall_rl.errors import UsageError
from recall_rl.runs.gate import Gate, Skill

_WIDTH, _HEIGHT, _MARGIN = 640, 40, 20
"""Of a task's drawing, and the margin at its sides, in units of its own."""


@dataclass(frozen=True)
class Bar:
    """Where a task's interval lies in its drawing."""

    low: float
    high: float
    drop: float


@dataclass(frozen=True)
class Scale:
    """From drops of success to places in a drawing, the same for all tasks."""

    low: float
    high: float

    def at(self, drop: float) -> float:
        """The place of a drop."""
        inner = _WIDTH - 2 * _MARGIN
        return round(_MARGIN + inner * (min(max(drop, self.low), self.high) - self.low) / (self.high - self.low), 1)

    def bar(self, skill: Skill) -> Bar:
        """The places of a task's interval."""
        return Bar(self.at(skill.low), self.at(skill.high), self.at(skill.drop))


def _scale(found: Gate) -> Scale:
    ends = [end for s in found.skills for end in (s.low, s.high)]
    return Scale(min(-2 * found.max_drop, *ends), max(2 * found.max_drop, *ends))


def _style() -> str:
    """The look of the report, from its own page."""
    text = files("recall_rl.reports").joinpath("page.html").read_text()
    return text.partition("<style>")[2].partition("</style>")[0]


def write_page(found: Gate, path: Path) -> None:
    """Write the page; a file that is there is replaced."""
    try:
        import jinja2
    except ImportError as error:
        raise needs_report() from error
    scale = _scale(found)
    template = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        files("recall_rl.reports").joinpath("gate.html").read_text()
    )
    page = template.render(
        gate=found,
        rows=[(skill, scale.bar(skill)) for skill in found.skills],
        zero=scale.at(0.0),
        limit=scale.at(found.max_drop),
        width=_WIDTH,
        height=_HEIGHT,
        style=_style(),
        version=__version__,
        made=time.strftime("%Y-%m-%d %H:%M"),
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page)
    except OSError as error:
        raise UsageError(f"The page cannot be written to {path}: {error.strerror}.") from error
