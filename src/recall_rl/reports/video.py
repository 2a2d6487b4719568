"""A kept policy at work: an episode of each task it knows, tile by tile, as an MP4 or a GIF.

Episodes are played first, one after another, and their pictures kept in a temporary file, so that a grid of many tiles
needs neither many simulators at once nor much RAM; then all tiles are shown in step.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recall_rl.collect.episode import Address, Purpose
from recall_rl.collect.play import Player
from recall_rl.collect.policy import Actor
from recall_rl.errors import RunError, UsageError
from recall_rl.reports.backend import choose_backend
from recall_rl.runs.config import read_file
from recall_rl.runs.directory import CONFIG
from recall_rl.runs.evaluate import positions
from recall_rl.runs.policy import About, Policy, kept, read_policy
from recall_rl.runs.published import PREFIX as PUBLISHED
from recall_rl.tasks.environment import Environment, Picture
from recall_rl.tasks.gymnasium import OWN_FACTORY, PREFIX, with_pictures
from recall_rl.tasks.metaworld import CW10
from recall_rl.tasks.sequences import task, task_names
from recall_rl.tasks.task import Task

SUFFIXES = (".mp4", ".gif")
LARGEST, SMALLEST, WIDEST = 320, 128, 1600
"""Bounds of a tile's side, and the width up to which a grid has tiles of the largest size."""
GAP = 4
"""Pixels between tiles."""
FASTEST, SLOWEST, SECONDS = 30, 5, 5
"""Bounds of the pictures a second, and how long an episode is to last between them."""

UNMET = "not met yet"

_BAR, _TEXT, _FAINT, _SUCCESS = (24, 26, 30), (236, 236, 232), (156, 158, 162), (112, 214, 122)
_SMALLEST_FONT = 7
_H264 = ("-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "26", "-preset", "slow", "-movflags", "+faststart")
_GIF = ("-vf", "split[a][b];[a]palettegen=max_colors=96[p];[b][p]paletteuse=dither=none", "-loop", "0")


@dataclass(frozen=True)
class Video:
    """What was written."""

    path: Path
    width: int
    height: int
    frames: int
    fps: int
    """Pictures a second."""


@dataclass(frozen=True)
class Clip:
    """One episode in pictures."""

    pictures: Picture
    """(steps + 1, side, side, 3): the start, and the state after each step."""
    success: int | None
    """The step at which the goal was first reached."""

    @property
    def steps(self) -> int:
        """The length of the episode."""
        return len(self.pictures) - 1


@dataclass(frozen=True)
class Tile:
    """One place of the grid: a task, and a policy's episodes on it."""

    task: str
    stage: str
    clips: tuple[Clip, ...]
    met: bool = True
    """Whether the policy knows the task; if not, only the first picture is shown, dimmed."""

    def draw(self, episode: int, step: int) -> Picture:
        """The picture after so many steps of an episode, with its caption; (side + bar, side, 3)."""
        clip = self.clips[episode]
        if not self.met:
            return _captioned(_dimmed(clip.pictures[0], UNMET), self.task, "", (UNMET, _FAINT), self.stage)
        step = min(step, clip.steps)
        done = clip.success is not None and step >= clip.success
        status = ("success", _SUCCESS) if done else ("no success yet", _FAINT)
        return _captioned(clip.pictures[step], self.task, f"step {step}", status, self.stage)


def video(
    path: str | Path,
    out: str | Path | None = None,
    *,
    tasks: Sequence[str] = (),
    after: int | None = None,
    episodes: int = 1,
    stages: bool = False,
    trust_code: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> Video:
    """Show a run's policy, or that of a policy file, on the tasks it knows, as `recall video` does.

    The episodes are the first ones of the run's own evaluation at that policy; with `stages`, where each row is one of
    the run's policies, those of the last one, so that a column shows the same start and goal in every row.
    """
    _need_extra()
    path = Path(path)
    target = _target(path, out)
    if episodes < 1:
        raise UsageError("--episodes must be positive.")
    if stages and (after is not None or not path.is_dir()):
        raise UsageError("--stages shows all policies of a run folder; leave out --after, and name no policy file.")
    last = read_policy(path, after, trust_code)
    rows = [read_policy(path, stage, trust_code) for stage in sorted(kept(path))] if stages else [last]
    columns = positions(last, tasks)
    posed = {p: with_pictures(task(last.about.tasks[p], last.about.protocol, last.about.own)) for p in columns}
    _prepare(posed.values())
    total = len(task_names(str(read_file(path / CONFIG).get("sequence")))) if path.is_dir() else None
    captioned = [(_stage(policy, total), policy) for policy in rows]
    wide = len(columns) if stages else layout(len(columns))[1]
    side = max(SMALLEST, min(LARGEST, WIDEST // wide)) // 2 * 2
    # What simulators warn of while they are made and played belongs in no video.
    with tempfile.TemporaryDirectory(prefix="recall-video-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        studio = _Studio(Path(folder), side, episodes, last.about)
        by_column = [_column(studio, posed[p], p, _label(last, p), captioned, tell) for p in columns]
        if stages:
            grid = [[column[r] for column in by_column] for r in range(len(rows))]
        else:
            flat = [column[0] for column in by_column]
            grid = [flat[i : i + wide] for i in range(0, len(flat), wide)]
        return _write(target, grid, episodes)


def layout(n: int) -> tuple[int, int]:
    """Rows and columns for n tiles, about twice as wide as high."""
    rows = max(1, round(math.sqrt(n / 2)))
    return rows, math.ceil(n / rows)


def _need_extra() -> None:
    for name in ("PIL", "imageio_ffmpeg"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise UsageError(f"`recall video` needs {name}: pip install 'recall-rl[video]'.") from error


def _target(path: Path, out: str | Path | None) -> Path:
    resolved = Path(path.name.removeprefix(PUBLISHED)) if path.name.startswith(PUBLISHED) else path.resolve()
    target = Path(f"{resolved.name if path.is_dir() else resolved.stem}.mp4") if out is None else Path(out)
    if target.suffix.lower() not in SUFFIXES:
        raise UsageError(f"--out is an .mp4 or a .gif file, not {target.name!r}.")
    if not target.parent.is_dir():
        raise UsageError(f"The folder {target.parent} of --out does not exist.")
    if target.is_dir():
        raise UsageError(f"{target} is a folder; --out is a file.")
    return target


def _prepare(tasks: Iterable[Task]) -> None:
    """Choose what MuJoCo draws with, where a task may need it."""
    posed = list(tasks)
    if any(task.name in CW10 for task in posed):
        choose_backend()
    elif any(task.name.startswith(PREFIX) or task.factory == OWN_FACTORY for task in posed):
        try:
            choose_backend()
        except UsageError:
            return  # Most Gymnasium environments draw without MuJoCo; one that does not will say so itself.


def _label(policy: Policy, position: int) -> str:
    name = policy.about.tasks[position]
    return f"{name} ({position + 1})" if policy.about.tasks.count(name) > 1 else name


def _stage(policy: Policy, total: int | None) -> str:
    met = len(policy.about.tasks)
    return f"after task {met}" if total is None else f"after task {met} of {total}"


@dataclass
class _Studio:
    """Where episodes are played and their pictures kept."""

    folder: Path
    side: int
    episodes: int
    about: About
    """The policy whose evaluation the episodes are from."""
    made: int = 0

    def record(self, player: Player, position: int, actor: Actor | None) -> tuple[Clip, ...]:
        """Play the episodes of a tile."""
        return tuple(self._episode(player, position, number, actor) for number in range(self.episodes))

    def _episode(self, player: Player, position: int, number: int, actor: Actor | None) -> Clip:
        """One episode of the evaluation; without an actor, its first picture only."""
        self.made += 1
        file, success = self.folder / f"{self.made}", None
        player.begin(Address(self.about.seed, Purpose.EVALUATE, self.about.step, position, number))
        protocol = self.about.protocol
        with file.open("wb") as pictures:
            pictures.write(self._picture(player).tobytes())
            over = actor is None
            while not over:
                _, _, outcome = player.step(actor, protocol.stochastic)
                pictures.write(self._picture(player).tobytes())
                if player.success and success is None:
                    success = player.t
                over = outcome.terminated or outcome.truncated or (protocol.stop_at_success and player.success)
        return Clip(np.memmap(file, np.uint8, "r", shape=(player.t + 1, self.side, self.side, 3)), success)

    def _picture(self, player: Player) -> Picture:
        """The environment's picture, whole, in a tile."""
        from PIL import Image, ImageOps

        try:
            found = player.environment.render()
        except UsageError:
            raise
        except Exception as error:
            raise UsageError(f"The task {player.task!r} cannot be rendered: {_first_line(error)}") from error
        side = (self.side, self.side)
        return np.asarray(ImageOps.pad(Image.fromarray(found), side, Image.Resampling.LANCZOS, color=_BAR))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _make(posed: Task) -> Environment:
    try:
        return posed.make()
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"The task {posed.name!r} cannot be made for rendering: {_first_line(error)}") from error


def _column(
    studio: _Studio,
    posed: Task,
    position: int,
    label: str,
    policies: Sequence[tuple[str, Policy]],
    tell: Callable[[str], None],
) -> list[Tile]:
    """One task, played by each policy."""
    environment = _make(posed)
    try:
        player, tiles = Player(posed.name, environment), list[Tile]()
        for stage, policy in policies:
            actor = policy.actors[position] if position < len(policy.actors) else None
            if actor is not None:
                _check_fit(actor, environment, posed.name)
            clips = studio.record(player, position, actor)
            tiles.append(Tile(label, stage, clips, met=actor is not None))
            if actor is not None:
                tell(f"{label} {stage}: {_outcome(clips)}")
    finally:
        environment.close()
    return tiles


def _outcome(clips: Sequence[Clip]) -> str:
    found = [clip.success for clip in clips]
    if len(found) > 1:
        return f"success in {sum(step is not None for step in found)} of {len(found)} episodes"
    return "no success" if found[0] is None else f"success at step {found[0]}"


def _check_fit(actor: Actor, environment: Environment, name: str) -> None:
    sizes = actor.layers[0].w.shape[0], actor.layers[-1].b.shape[0] // 2
    if sizes != (environment.observation_size, environment.action_size):
        raise RunError(
            f"The policy takes {sizes[0]} numbers and gives {sizes[1]}; the task {name!r} has observations of "
            f"{environment.observation_size} and actions of {environment.action_size}."
        )


@functools.cache
def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size=size)


def _fitting(text: str, width: float, size: int) -> tuple[str, Any]:
    """The text, cut if need be, and the largest font in which it is no wider than this."""
    while size > _SMALLEST_FONT and _font(size).getlength(text) > width:
        size -= 1
    font = _font(size)
    while len(text) > 1 and font.getlength(text) > width:
        text = text[:-2] + "…"
    return text, font


def bar_height(side: int) -> int:
    """The height of a tile's caption."""
    return max(24, side * 7 // 50) // 2 * 2


def _dimmed(picture: Picture, text: str) -> Picture:
    """The picture in the dark, with a text across it."""
    from PIL import Image, ImageDraw

    side = picture.shape[1]
    image = Image.fromarray(picture // 5)
    text, font = _fitting(text, side * 0.8, side // 14)
    ImageDraw.Draw(image).text((side / 2, side / 2), text, fill=_FAINT, font=font, anchor="mm")
    return np.asarray(image)


def _captioned(picture: Picture, task: str, step: str, status: tuple[str, tuple[int, int, int]], stage: str) -> Picture:
    """The picture above two lines: task and step; status and stage."""
    from PIL import Image, ImageDraw

    side, bar = picture.shape[1], bar_height(picture.shape[1])
    image = Image.new("RGB", (side, side + bar), _BAR)
    image.paste(Image.fromarray(picture))
    draw, margin, size = ImageDraw.Draw(image), side // 40, bar * 2 // 5
    room = side - 2 * margin
    upper, lower = side + bar * 0.29, side + bar * 0.71
    # How much of a line its left text may take.
    lines = (((task, _TEXT), (step, _FAINT), upper, 0.7), (status, (stage, _FAINT), lower, 0.42))
    for (left, colour), (right, other), y, share in lines:
        text, font = _fitting(left, room * share, size)
        draw.text((margin, y), text, fill=colour, font=font, anchor="lm")
        text, font = _fitting(right, room * (0.97 - share), size)
        draw.text((side - margin, y), text, fill=other, font=font, anchor="rm")
    return np.asarray(image)


def _frames(grid: Sequence[Sequence[Tile]], episodes: int, stride: int, hold: int) -> Iterator[Picture]:
    """The whole grid, step by step; a tile whose episode is over waits for the others."""
    first = grid[0][0].draw(0, 0)
    height, width = first.shape[0] + GAP, first.shape[1] + GAP
    canvas = np.empty((len(grid) * height - GAP, len(grid[0]) * width - GAP, 3), np.uint8)
    canvas[:] = _BAR
    for episode in range(episodes):
        longest = max(tile.clips[episode].steps for row in grid for tile in row)
        # The last step is always shown, and for a moment longer.
        for step in (*range(0, longest, stride), *[longest] * (1 + hold)):
            for r, row in enumerate(grid):
                for c, tile in enumerate(row):
                    y, x = r * height, c * width
                    canvas[y : y + first.shape[0], x : x + first.shape[1]] = tile.draw(episode, step)
            yield canvas


def _write(target: Path, grid: Sequence[Sequence[Tile]], episodes: int) -> Video:
    longest = max(clip.steps for row in grid for tile in row for clip in tile.clips)
    fps, stride, coding = max(SLOWEST, min(FASTEST, longest // SECONDS)), 1, _H264
    if target.suffix.lower() == ".gif":
        # A GIF has no motion compensation: half the pictures are half the bytes.
        stride = 2 if fps > FASTEST // 2 else 1
        fps, coding = fps // stride, _GIF
    frames = _frames(grid, episodes, stride, hold=fps)
    first, count = next(frames), 1
    height, width = first.shape[:2]
    with _encoder(target, width, height, fps, coding) as encoder:
        assert encoder.stdin is not None
        # A pipe that breaks is an encoder that gave up; it says why.
        with contextlib.suppress(BrokenPipeError):
            encoder.stdin.write(first.tobytes())
            for frame in frames:
                encoder.stdin.write(frame.tobytes())
                count += 1
        said = encoder.communicate()[1].decode(errors="replace").strip().splitlines()
    if encoder.returncode:
        raise UsageError(f"The video {target} cannot be written: {said[-1] if said else 'ffmpeg failed'}.")
    return Video(target, width, height, count, fps)


def _encoder(target: Path, width: int, height: int, fps: int, coding: Sequence[str]) -> subprocess.Popen[bytes]:
    """An ffmpeg that writes the pictures it is sent."""
    from imageio_ffmpeg import get_ffmpeg_exe

    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(fps), "-i", "-"]
    # With `file:` no name is taken for an option or an address.
    command = [get_ffmpeg_exe(), "-y", "-v", "error", *given, *coding, f"file:{target}"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
