"""Draws the small pictures of docs/concepts.md: python docs/pictures.py.

Each stands on a card of its own, so that it reads alike on a light and a dark page; letters stay legible on a phone.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

WIDTH = 480
INK, FAINT, CARD, LINE = "#1f2933", "#5b6672", "#fbfaf6", "#b9c0c7"
BLUE, ORANGE, GREEN, PLAIN = "#d6e6f5", "#fbe0c8", "#d5ecd9", "#eceae3"


def text(
    x: float, y: float, words: str, size: int = 15, colour: str = INK, weight: str = "400", at: str = "middle"
) -> str:
    """A line of words; `y` is its base line."""
    style = f'font-size="{size}" fill="{colour}" font-weight="{weight}" text-anchor="{at}"'
    return f'<text x="{x}" y="{y}" {style}>{escape(words)}</text>'


def box(x: float, y: float, w: float, h: float, colour: str, *lines: str, size: int = 15) -> str:
    """A rounded box with lines of words in its middle, the first of them strong."""
    first = y + h / 2 - (len(lines) - 1) * (size + 3) / 2 + size * 0.35
    words = "".join(
        text(x + w / 2, first + i * (size + 3), line, size if i == 0 else size - 2, weight="600" if i == 0 else "400")
        for i, line in enumerate(lines)
    )
    return f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="7" fill="{colour}" stroke="{LINE}"/>{words}'


def arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    """A line with a head at its second end."""
    return (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{FAINT}" stroke-width="1.6" marker-end="url(#head)"/>'
    )


def picture(height: int, said: str, *parts: str) -> str:
    """A whole picture; `said` is what a screen reader says."""
    head = (
        '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 8 4 0 8z" fill="{FAINT}"/></marker>'
    )
    body = "\n  ".join(parts)
    fonts = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    said = escape(said)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{said}" font-family="{fonts}">
  <defs>{head}</defs>
  <rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="10" fill="{CARD}" stroke="{LINE}"/>
  {body}
</svg>
"""


def task() -> str:
    """An agent and a task exchange actions for observations, rewards and success."""
    return picture(
        150,
        "An agent acts; the task answers with an observation, a reward and whether the goal is reached.",
        box(24, 36, 120, 74, BLUE, "agent", "one policy"),
        box(336, 36, 120, 74, ORANGE, "task", "window-close"),
        arrow(148, 56, 332, 56),
        text(240, 48, "action"),
        arrow(332, 92, 148, 92),
        text(240, 84, "observation, reward,"),
        text(240, 110, "success"),
        text(240, 136, "an episode: at most 200 such steps from a new start", 13, FAINT),
    )


def stage() -> str:
    """A sequence is learnt stage by stage, and every task gets heads of its own."""
    names, colours = ("push", "hammer", "window-close"), (BLUE, ORANGE, GREEN)
    parts = [arrow(24, 34, 456, 34), text(24, 24, "time", 13, FAINT, at="start")]
    for i, (name, colour) in enumerate(zip(names, colours, strict=True)):
        x = 24 + i * 146
        parts += [box(x, 46, 140, 54, colour, name, f"stage {i + 1}"), arrow(x + 70, 102, x + 70, 122)]
        parts.append(box(x + 25, 126, 90, 30, colour, f"head {i}", size=14))
    parts.append(box(24, 162, 432, 32, PLAIN, "trunk: layers that all tasks share", size=14))
    parts.append(text(240, 216, "multi-task learning is one stage with all tasks", 13, FAINT))
    return picture(230, "Three tasks are learnt in three stages; each owns a head, all share the trunk.", *parts)


def method() -> str:
    """A method answers five questions about every update."""
    asked = (
        ("draw", "which rows make a batch?", BLUE),
        ("targets", "how are values scaled?", ORANGE),
        ("anchor", "what holds old behaviour?", GREEN),
        ("mask", "which weights may change?", BLUE),
        ("start", "how does a new task begin?", ORANGE),
    )
    parts = []
    for i, (name, question, colour) in enumerate(asked):
        y = 20 + i * 42
        parts += [box(24, y, 84, 34, colour, name), text(120, y + 22, question, 14, at="start")]
        parts.append(arrow(336, y + 17, 364, 125 + (i - 2) * 14))
    parts.append(box(368, 84, 96, 82, PLAIN, "update", "soft", "actor-critic"))
    parts.append(text(240, 252, "a part that is not given does nothing", 13, FAINT))
    return picture(268, "A method is five parts: draw, targets, anchor, mask and start.", *parts)


def run() -> str:
    """A run is a folder that commands write and read."""
    files = ("config.json", "journal.jsonl", "checkpoints", "remembered rows", "policies")
    parts = [box(170, 20, 140, 186, PLAIN), text(240, 42, "run folder", 15, weight="600")]
    parts += [text(240, 70 + i * 30, name, 14) for i, name in enumerate(files)]
    for i, name in enumerate(("train", "resume", "extend")):
        y = 34 + i * 58
        parts += [box(20, y, 96, 42, BLUE, name), arrow(118, y + 21, 166, y + 21)]
    for i, name in enumerate(("report", "evaluate", "video")):
        y = 34 + i * 58
        parts += [arrow(314, y + 21, 362, y + 21), box(364, y, 96, 42, GREEN, name)]
    parts.append(text(240, 230, "stopped at any moment, it goes on to the same bytes", 13, FAINT))
    return picture(246, "train, resume and extend write a run folder; report, evaluate and video read it.", *parts)


def campaign() -> str:
    """A plan makes a grid of runs, and a report of them."""
    parts = [
        box(20, 40, 124, 118, BLUE, "plan", "2 methods", "× 3 sequences", "× 4 seeds"),
        arrow(148, 99, 182, 99),
    ]
    for i in range(24):
        colour = (GREEN, ORANGE, PLAIN)[0 if i < 13 else 1 if i < 16 else 2]
        parts.append(box(188 + i % 6 * 24, 52 + i // 6 * 24, 20, 20, colour))
    parts += [arrow(334, 99, 364, 99), box(368, 64, 94, 70, GREEN, "report", "one page")]
    parts.append(text(240, 28, "24 runs: done, running, still to do", 14))
    parts.append(text(240, 182, "the same command again goes on with what is left", 13, FAINT))
    return picture(198, "A plan of methods, sequences and seeds becomes a grid of runs and one report.", *parts)


def protocol() -> str:
    """Only results with the same stamp are compared."""
    return picture(
        226,
        "Results carry their protocol, budget and results version; only equal ones meet in a table.",
        box(20, 20, 208, 84, BLUE, "posed", "rewards, observation,", "horizon, start and goal"),
        box(252, 20, 208, 84, ORANGE, "measured", "10 episodes a task,", "success at any step"),
        text(240, 130, "is stamped on every result", 14),
        box(20, 146, 94, 40, GREEN, "cw"),
        text(126, 172, "+", 18),
        box(138, 146, 94, 40, GREEN, "cw"),
        box(252, 146, 94, 40, GREEN, "cw"),
        text(358, 172, "|", 22),
        box(370, 146, 90, 40, PLAIN, "mw3"),
        text(126, 208, "one table", 13, FAINT),
        text(358, 208, "never in one table", 13, FAINT),
    )


def drawn() -> dict[str, str]:
    """Every picture by the name of its file."""
    return {f"concept-{f.__name__}.svg": f() for f in (task, stage, method, run, campaign, protocol)}


if __name__ == "__main__":
    for name, svg in drawn().items():
        (Path(__file__).parent / "_static" / name).write_text(svg)
