"""How figures are drawn: colours, axes, curves with their intervals, boundaries between tasks, and files."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator, SymmetricalLogLocator

from recall_rl.analysis import metrics
from recall_rl.analysis.bootstrap import FEWEST, band
from recall_rl.analysis.metrics import Rates, Steps
from recall_rl.analysis.read import Result
from recall_rl.reports.study import plain

INK = "#010203"
"""Lines and letters; the page shows this colour as the text's own, light or dark."""
GREY = "#808080"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6bc1", "#999933")
"""Okabe and Ito's, told apart by people with any colour vision; black and yellow replaced for a dark page."""
LINES = ("-", "--", "-.", ":")
MOST_POINTS = 100
"""Of a curve; longer ones are averaged in bins, which bounds the page."""
FEW_METHODS = 5
"""Up to which single runs are drawn too; with more they would hide the means."""
MOST_METHODS = 12
"""In one figure; the tables have all."""

_STYLE: dict[str, Any] = {
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "figure.constrained_layout.use": True,
    "font.size": 8.5,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "text.color": INK,
    # A name with dollars in it is a name.
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
}


def style() -> Any:
    """A context in which figures have the report's letters, colours and layout."""
    return mpl.rc_context(_STYLE)  # pyright: ignore[reportArgumentType]


Looks = dict[str, dict[str, Any]]
"""Colour, line and label of each method that is drawn."""


def looks(methods: Sequence[str]) -> Looks:
    """How each method looks, the same in every figure of a setting."""
    return {
        m: {"color": COLOURS[k % len(COLOURS)], "linestyle": LINES[(k // len(COLOURS)) % len(LINES)], "label": m}
        for k, m in enumerate(methods)
    }


def named(look: Looks, methods: Sequence[str]) -> Looks:
    """The looks of these methods, each called as shortly as it can be told from the others."""
    short = [plain(m) for m in methods]
    return {m: {**look[m], "label": plain(m) if short.count(plain(m)) == 1 else m} for m in methods if m in look}


def thinned(at: Steps, curves: Rates, steps: int) -> tuple[Rates, Rates]:
    """The same curves with no more points than are drawn of a whole run: means over bins of equal width."""
    _, first, count = np.unique((at - 1) * MOST_POINTS // steps, return_index=True, return_counts=True)
    return np.add.reduceat(at.astype(float), first) / count, np.add.reduceat(curves, first, axis=1) / count


def draw(axis: Axes, at: Steps, curves: Rates, look: Mapping[str, Any], run: Result, each: bool = True) -> None:
    """The mean of runs with its interval; with few runs the runs themselves, thin, if each is wanted."""
    x, y = thinned(at, curves, run.steps)
    options: dict[str, Any] = dict(look)
    axis.plot(x, y.mean(axis=0), linewidth=1.6, **options)
    if len(y) >= FEWEST:
        low, high = band(y, resamples=1000)
        axis.fill_between(x, low, high, color=look["color"], alpha=0.18, linewidth=0)
    elif len(y) > 1 and each:
        for curve in y:
            options["label"] = "_"
            axis.plot(x, curve, linewidth=0.6, alpha=0.5, **options)


def together(runs: Sequence[Result], curve: Callable[[Result], tuple[Steps, Rates]]) -> tuple[Steps, Rates] | None:
    """The curves of several runs as far as all of them have come; None if nothing is common."""
    made = [(at, y) for at, y in map(curve, runs) if len(at)]
    if not made:
        return None
    n = min(len(at) for at, _ in made)
    same = [(at[:n], y[:n]) for at, y in made if np.array_equal(at[:n], made[0][0][:n])]
    return same[0][0], np.stack([y for _, y in same])


def grid(panels: int, columns: int, width: float, height: float, share_y: bool = True) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels, in at most so many columns."""
    columns = min(columns, panels)
    rows = -(-panels // columns)
    figure = Figure(figsize=(width * columns, height * rows + 0.5))
    made = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=share_y)
    for axis in made.flat[panels:]:
        axis.set_visible(False)
    return figure, list(made.flat[:panels])


def label(axes: Sequence[Axes], y: str | None = None) -> None:
    """Say what the axes are, at the left and at the bottom of a grid only."""
    for axis in axes:
        place = axis.get_subplotspec()
        if y and (place is None or place.is_first_col()):
            axis.set_ylabel(y)
        if place is None or place.is_last_row():
            axis.set_xlabel("environment steps")


def step_axis(axis: Axes, run: Result) -> None:
    """Label an axis of environment steps, with ticks where tasks end."""
    each, n = run.steps / len(run.tasks), len(run.tasks)
    stride = -(-n // 5)
    ticks = [each * k for k in range(0, n + 1, stride)] if n > 1 else [run.steps * k / 4 for k in range(5)]
    axis.set_xlim(0, run.steps)
    axis.set_xticks(ticks, [f"{x / 1e6:g}M" if x >= 1e6 else f"{x / 1e3:g}k" if x else "0" for x in ticks])


def boundaries(result: Result) -> list[int]:
    """Steps at which another task began."""
    firsts = {s.first for s in metrics.spans(result.success) if 0 < s.first < len(result.at)}
    return [int(result.at[first - 1]) for first in sorted(firsts)]


def legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """The methods of a figure, above it, in as many columns as fit; the figure grows by what they need."""
    handles, labels = max((a.get_legend_handles_labels() for a in axes), key=lambda found: len(found[0]))
    if not handles:
        return
    width, height = figure.get_size_inches()
    columns = max(1, min(len(labels), int(width * 12 / (7 + max(map(len, labels))))))
    figure.set_size_inches(width, height + 0.19 * -(-len(labels) // columns))
    figure.legend(handles, labels, loc="outside upper left", ncols=columns, borderaxespad=0.2)


def plain_number(x: float, _: object = None) -> str:
    """A tick without typesetting, which would take more time than all else."""
    return f"{x:g}" if abs(x) < 1e4 else f"{x:.0e}".replace("e+0", "e")


def value_axis(axis: Axes) -> None:
    """Values of any scale and sign: linear up to one, logarithmic beyond, with a few ticks."""
    seen = np.concatenate([np.asarray(line.get_ydata(), float) for line in axis.get_lines()[:200]] or [np.zeros(1)])
    low, high = float(np.nanmin(seen)), float(np.nanmax(seen))
    if max(abs(low), abs(high)) > 50:
        axis.set_yscale("symlog", linthresh=1.0)
        ticks = SymmetricalLogLocator(base=10, linthresh=1.0)
        ticks.set_params(numticks=5)
        axis.yaxis.set_major_locator(ticks)
        axis.yaxis.set_major_formatter(plain_number)
        axis.yaxis.set_minor_locator(NullLocator())
    else:
        axis.yaxis.set_major_locator(MaxNLocator(4))
    axis.set_ylim(low * (2 if low < -1 else 1) - (0.1 if low > -1 else 0), high * (2 if high > 1 else 1) + 0.1)


LARGEST_SVG = 250_000
"""Characters of a figure on the page; a larger one stands there as pixels."""


def save(figure: Figure, folder: Path, name: str) -> str:
    """Write a figure as PNG, SVG and PDF; returns it as a page shows it.

    The canvases are used directly: `savefig` draws everything twice for each format.
    """
    png, svg, pdf = (folder / f"{name}.{kind}" for kind in ("png", "svg", "pdf"))
    figure.set_dpi(150)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # It has done its work, and would do it again for every format.
    figure.set_facecolor("white")
    FigureCanvasAgg(figure).print_png(png)
    figure.set_dpi(72)
    FigureCanvasPdf(figure).print_pdf(pdf, metadata={"CreationDate": None})
    figure.set_facecolor("none")
    with mpl.rc_context({"svg.hashsalt": name}):
        FigureCanvasSVG(figure).print_svg(svg, metadata={"Date": None})
    shown = inlined(svg.read_text())
    if len(shown) <= LARGEST_SVG:
        return shown
    return f'<img src="data:image/png;base64,{b64encode(png.read_bytes()).decode()}" alt="" loading="lazy">'


def inlined(svg: str) -> str:
    """An SVG to stand within a page: no prolog, as wide as its place, in the page's colour of text and font."""
    head, body = svg[svg.index("<svg") :].split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    body = re.sub(r"<metadata>.*?</metadata>", "", body, count=1, flags=re.S)
    # A tenth of a point is enough for coordinates; what stands between tags is text, and stays.
    body = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d\.\d)\d+", r"\1", tag[0]), body)
    return f"{head}>{body}".replace(INK, "currentColor").replace("'DejaVu Sans'", "sans-serif")
