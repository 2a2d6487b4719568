"""What a person sees while a run goes on: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from recall_rl.runs.config import Config
from recall_rl.runs.directory import RunDirectory
from recall_rl.tasks.sequences import task_names

if TYPE_CHECKING:
    from recall_rl.training.evaluate import Evaluation, TaskScore
    from recall_rl.training.loop import Progress, Report

_BLOCKS = "▁▂▃▄▅▆▇█"
_WINDOW_SECONDS = 20.0


def spark(values: Iterable[float | None], width: int = 32) -> str:
    """The last values between 0 and 1 as a row of blocks, blank where there is none."""
    return "".join(" " if v is None else _BLOCKS[round(min(max(v, 0.0), 1.0) * 7)] for v in list(values)[-width:])


def duration(seconds: float) -> str:
    """A time span in words: 42s, 3m 05s, 2h 14m."""
    minutes, s = divmod(round(seconds), 60)
    hours, m = divmod(minutes, 60)
    return f"{hours}h {m:02d}m" if hours else f"{m}m {s:02d}s" if minutes else f"{s}s"


@dataclass
class View:
    """What is known of the run so far, in the form in which it is shown."""

    config: Config
    tasks: tuple[str, ...]
    began: float = field(default_factory=time.monotonic)
    step: int = 0
    steps: int = 0
    new: tuple[int, ...] = (0,)
    evaluations: list[Evaluation] = field(default_factory=list["Evaluation"])
    report: Report | None = None
    marks: deque[tuple[float, int]] = field(default_factory=deque[tuple[float, int]])

    def see(self, progress: Progress) -> None:
        """Take in what became known."""
        self.step, self.steps, self.new = progress.step, progress.steps, progress.new
        self.report = progress.report or self.report
        now = time.monotonic()
        self.marks.append((now, progress.step))
        while self.marks[0][0] < now - _WINDOW_SECONDS and len(self.marks) > 2:
            self.marks.popleft()
        if progress.evaluation is not None:
            self.evaluations.append(progress.evaluation)

    def recall(self, directory: RunDirectory, first: Progress) -> None:
        """Take in what a run that goes on had found before."""
        from recall_rl.training.evaluate import Evaluation, TaskScore

        before = first.evaluation.step if first.evaluation else first.step + 1
        for entry in directory.evaluations():
            if entry["step"] < before:
                scores = tuple(TaskScore(**score) for score in entry["scores"])
                self.evaluations.append(Evaluation(entry["step"], scores, entry["average"]))

    def scores(self, position: int) -> list[TaskScore | None]:
        """What each evaluation found on one task; None where it was not played."""
        return [next((s for s in e.scores if s.position == position), None) for e in self.evaluations]

    def average(self) -> str:
        """The average success that was last found."""
        return f"{self.evaluations[-1].average:.2f}" if self.evaluations else "–"

    def speed(self) -> float | None:
        """Environment steps a second, lately."""
        (t0, s0), (t1, s1) = (self.marks[0], self.marks[-1]) if self.marks else ((0.0, 0), (0.0, 0))
        return (s1 - s0) / (t1 - t0) if t1 > t0 else None

    def pace(self) -> str:
        """Speed and time left, in words."""
        speed = self.speed()
        if self.steps and self.step == self.steps:
            ended = bool(self.evaluations) and self.evaluations[-1].step == self.steps
            return f"in {duration(time.monotonic() - self.began)}" if ended else "finishing the last evaluation"
        if not speed:
            return "measuring speed"
        return f"{speed:,.0f} steps/s, {duration((self.steps - self.step) / speed)} left"


def _title(config: Config) -> str:
    return f"{config.label()} · {config.sequence} · {config.protocol.name} · {config.budget} · seed {config.seed}"


def _phase(view: View) -> str:
    training, inside = view.config.training, view.step - min(view.new) * view.config.training.steps
    if view.step == 0:
        return "starting workers and making tasks"
    if inside < training.update_after * len(view.new):
        return "gathering the first steps at random"
    if view.report is None or not view.report.learning:
        return "learning (the first update compiles for some seconds)"
    learning = view.report.learning
    names = {"critic_loss": "critic loss", "q": "value", "alpha": "temperature", "entropy": "entropy"}
    return "  ".join(f"{label} {learning[key]:,.3g}" for key, label in names.items())


def render(view: View) -> RenderableType:
    """The live table."""
    table = Table.grid(padding=(0, 2))
    for justify in ("right", "left", "right", "left", "right"):
        table.add_column(justify=justify)  # pyright: ignore[reportArgumentType]
    table.add_row(*(Text(t, style="dim") for t in ("", "task", "success", "so far", "return")))
    first, shown = _visible(len(view.tasks), min(view.new))
    for position in range(first, first + shown):
        current = position in view.new and view.step < view.steps
        scores = view.scores(position)
        last = next((s for s in reversed(scores) if s is not None), None)
        style = "bold cyan" if current else "" if position <= max(view.new) else "dim"
        table.add_row(
            Text("▶" if current else str(position + 1), style=style),
            Text(view.tasks[position], style=style),
            Text(f"{last.success:.2f}" if last else "–", style="bold green" if last and last.success >= 0.8 else style),
            Text(spark(s and s.success for s in scores), style="green"),
            Text(f"{last.total:,.0f}" if last else "", style="dim"),
        )
    line = Table.grid(padding=(0, 1))
    line.add_row(
        ProgressBar(total=max(view.steps, 1), completed=view.step, width=32),
        Text(f"{100 * view.step / max(view.steps, 1):3.0f}%  {view.step:,} of {view.steps:,} steps  {view.pace()}"),
    )
    return Group(
        Text(_title(view.config), style="bold"),
        line if view.step else Spinner("dots", _phase(view)),
        Text(""),
        table,
        Text(f"\naverage success over all {len(view.tasks)} tasks: {view.average()}"),
        Text(_phase(view) if view.step else "", style="dim"),
    )


def _visible(tasks: int, stage: int, most: int = 12) -> tuple[int, int]:
    """Which rows of a long sequence are shown: those around the present one."""
    first = min(max(0, stage - most + 3), max(0, tasks - most))
    return first, min(tasks, most)


def _line(view: View, step: int) -> str:
    scores = ", ".join(f"{s.task} {s.success:.2f}" for s in view.evaluations[-1].scores)
    return f"{step:>9,} of {view.steps:,} steps: average {view.average()}, {scores} ({view.pace()})"


def watch(config: Config, directory: RunDirectory, progress: Iterable[Progress]) -> None:
    """Follow a run to its end and say where it lies."""
    view = View(config, task_names(config.sequence))
    console = Console()

    def seen() -> Iterator[Progress]:
        for number, item in enumerate(progress):
            if number == 0:
                view.recall(directory, item)
            view.see(item)
            yield item

    if console.is_terminal:
        with Live(console=console, refresh_per_second=4, get_renderable=lambda: render(view)):
            for _ in seen():
                pass
    else:
        print(_title(config), flush=True)
        print(_phase(view), flush=True)
        for item in seen():
            if item.evaluation is not None:
                print(_line(view, item.evaluation.step), flush=True)
    console.print(
        f"Done in {duration(time.monotonic() - view.began)}. Everything is in {directory.path}", highlight=False
    )
