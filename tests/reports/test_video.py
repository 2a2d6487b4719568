"""Videos of real policies, written by the real encoder and read back."""

import os
import shutil
import subprocess
import sys
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box
from processes import SMALL

import recall_rl
from recall_rl.cli.main import main
from recall_rl.collect.episode import Address, Purpose
from recall_rl.collect.play import Player
from recall_rl.collect.policy import Actor, Dense
from recall_rl.errors import RunError, UsageError
from recall_rl.runs.policy import About, Policy, encode_policy, kept
from recall_rl.tasks.gymnasium import gymnasium_task, with_pictures
from recall_rl.tasks.metaworld import metaworld_task
from recall_rl.tasks.probes import Constant, probe_task
from recall_rl.tasks.protocol import PROTOCOLS

iio = pytest.importorskip("imageio.v3")
pytest.importorskip("imageio_ffmpeg")

from recall_rl.reports import backend  # noqa: E402
from recall_rl.reports.video import GAP, LARGEST, bar_height, layout, video  # noqa: E402

HORIZON, FPS = 20, 5
"""Of the probes, and of a video of them."""
SIDE, BAR = LARGEST, bar_height(LARGEST)


class Drawn(gym.Env):
    """Moves by its own random numbers and draws where it is."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012
    observation_space = Box(-np.inf, np.inf, (2,), np.float64)
    action_space = Box(-1.0, 1.0, (1,), np.float64)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.at = self.np_random.uniform(size=2)
        return self.at.copy(), {}

    def step(self, action):
        self.at += 0.1 * self.np_random.normal(size=2) + 0.1 * action
        return self.at.copy(), 1.0, False, False, {"success": bool(self.at[0] > 1)}

    def render(self):
        return np.full((40, 60, 3), int(255 * np.clip(self.at[0], 0, 1)), np.uint8)


class Blind(Drawn):
    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self):
        super().__init__()


class Refusing(Drawn):
    def render(self):
        return None


class Failing(Drawn):
    def render(self):
        raise RuntimeError("pygame is not installed")


for kind in (Drawn, Blind, Refusing, Failing):
    gym.register(f"{kind.__name__}-v0", kind, max_episode_steps=12)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    quick = {**SMALL, "training.steps": 120, "protocol.episodes": 1, "training.evaluate_every": 120}
    out = tmp_path_factory.mktemp("video") / "two"
    return recall_rl.train("reach-0,reach-180", "fine-tuning", budget="smoke", out=out, settings=quick).path


def policy_file(folder, *tasks, observation=4, action=2):
    """A policy that has learnt nothing, of tasks with observations and actions of these sizes."""
    rng = np.random.default_rng(0)
    layer = Dense(rng.normal(size=(observation, 2 * action)).astype(np.float32), np.zeros(2 * action, np.float32))
    about = About("none", 0, 0, len(tasks), "smoke", PROTOCOLS["own"], tasks, "relu", 2)
    path = folder / "policy.safetensors"
    path.write_bytes(encode_policy(Policy(about, tuple(Actor((layer,), "relu") for _ in tasks))))
    return path


def read(path):
    """All frames of a file."""
    with warnings.catch_warnings():
        # The reader forks, of which JAX warns.
        warnings.simplefilter("ignore")
        return iio.imread(path)


def metadata(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return iio.immeta(path)


def tile(frame, row, column):
    """(picture, caption) of one place of the grid."""
    y, x = row * (SIDE + BAR + GAP), column * (SIDE + GAP)
    return frame[y : y + SIDE, x : x + SIDE], frame[y + SIDE : y + SIDE + BAR, x : x + SIDE]


def has_green(caption):
    red, green, blue = np.moveaxis(caption.astype(int), -1, 0)
    return bool(((green > red + 50) & (green > blue + 40)).any())


@pytest.mark.parametrize(("n", "shape"), [(1, (1, 1)), (2, (1, 2)), (5, (2, 3)), (10, (2, 5)), (20, (3, 7))])
def test_a_grid_is_about_twice_as_wide_as_high(n, shape):
    rows, columns = layout(n)
    assert (rows, columns) == shape
    assert (rows - 1) * columns < n <= rows * columns


def test_an_mp4_shows_every_step_of_every_task(run, tmp_path):
    made = video(run, tmp_path / "two.mp4")
    frames = read(made.path)
    assert frames.shape == (HORIZON + 1 + FPS, SIDE + BAR, 2 * SIDE + GAP, 3)
    assert frames.shape == (made.frames, made.height, made.width, 3)
    assert frames.shape[1] % 2 == frames.shape[2] % 2 == 0
    assert metadata(made.path)["fps"] == made.fps == FPS
    assert metadata(made.path)["codec"] == "h264"
    assert made.path.stat().st_size < 100_000
    for column in range(2):
        for half in (slice(None, SIDE // 2), slice(SIDE // 2, None)):
            for line in (slice(None, BAR // 2), slice(BAR // 2, None)):
                assert tile(frames[0], 0, column)[1][line, half].std() > 10, "text in all four corners of a caption"
        first, last = (tile(frames[i], 0, column)[0].astype(int) for i in (0, HORIZON))
        assert np.abs(first - last).max() > 60, "the point has moved"


def test_a_gif_has_the_same_pictures(run, tmp_path):
    made = video(run, tmp_path / "two.gif", tasks=["reach-180"])
    frames = read(made.path)
    assert frames.shape[1:] == (SIDE + BAR, SIDE, 3)
    assert len(frames) == made.frames == HORIZON + 1 + FPS
    as_mp4 = read(video(run, tmp_path / "two.mp4", tasks=["reach-180"]).path)
    assert np.abs(frames.astype(int) - as_mp4.astype(int)).mean() < 5


def test_episodes_follow_one_another(run, tmp_path):
    made = video(run, tmp_path / "two.mp4", tasks=["reach-0"], episodes=2)
    assert made.frames == 2 * (HORIZON + 1 + FPS)
    first, second = (tile(read(made.path)[i], 0, 0)[0].astype(int) for i in (0, HORIZON + 1 + FPS))
    assert np.abs(first - second).max() > 60, "another start"


def test_stages_are_rows_and_tasks_not_yet_met_are_dimmed(run, tmp_path, capsys):
    out = tmp_path / "stages.mp4"
    assert main(["video", str(run), "--stages", "--out", str(out)]) == 0
    frames = read(out)
    assert frames.shape[1:] == (2 * (SIDE + BAR) + GAP, 2 * SIDE + GAP, 3)
    bright = [[tile(frames[0], r, c)[0].mean() for c in range(2)] for r in range(2)]
    assert bright[0][1] < 80 < 150 < min(bright[0][0], bright[1][0], bright[1][1])
    unmet = [tile(frame, 0, 1)[0].astype(int) for frame in (frames[0], frames[HORIZON])]
    assert np.abs(unmet[0] - unmet[1]).mean() < 1, "nobody acts there"
    above, below = (tile(frames[0], r, 0)[0].astype(int) for r in range(2))
    assert np.abs(above - below).mean() < 1, "the same start in every row"
    said = capsys.readouterr().out
    assert "reach-0 after task 1 of 2" in said
    assert "reach-180 after task 1" not in said


def test_the_caption_turns_when_the_task_succeeds(run, tmp_path, monkeypatch):
    from recall_rl.tasks.probes import Reach

    step = Reach.step
    monkeypatch.setattr(Reach, "step", lambda self, a: step(self, a)._replace(success=self._t == 7))
    lines = []
    made = video(run, tmp_path / "two.mp4", tasks=["reach-0"], tell=lines.append)
    turned = [has_green(tile(frame, 0, 0)[1]) for frame in read(made.path)]
    assert turned == [False] * 7 + [True] * (len(turned) - 7)
    assert lines == ["reach-0 after task 2 of 2: success at step 7"]


def test_the_default_file_has_the_runs_name(run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["video", str(run), "--task", "reach-0", "--after", "1"]) == 0
    assert (tmp_path / "two.mp4").is_file()
    assert "two.mp4: 320 x 364 pixels, 5 seconds" in capsys.readouterr().out
    file = kept(run)[1]
    assert main(["video", str(file)]) == 0
    assert "reach-0 after task 1:" in capsys.readouterr().out
    assert (tmp_path / "after-1.mp4").is_file()


def test_many_tasks_make_rows(tmp_path):
    names = ("reach-0", "reach-90", "reach-180", "reach-270", "reach-0")
    lines = []
    made = video(policy_file(tmp_path, *names), tmp_path / "five.mp4", tell=lines.append)
    frame = read(made.path)[0]
    assert frame.shape == (2 * (SIDE + BAR) + GAP, 3 * SIDE + 2 * GAP, 3)
    shown = [tile(frame, r, c)[0].mean() > 150 for r in range(2) for c in range(3)]
    assert shown == [True] * 5 + [False], "the last place is empty"
    assert [line.split(" after")[0] for line in lines] == ["reach-0 (1)", *names[1:4], "reach-0 (5)"]


def test_tiles_shrink_where_there_are_many(tmp_path):
    made = video(policy_file(tmp_path, *["reach-0"] * 11), tmp_path / "eleven.mp4")
    assert made.width <= 1700
    assert made.width % 2 == made.height % 2 == 0
    assert read(made.path).shape == (made.frames, made.height, made.width, 3)


def test_a_gymnasium_task_draws_itself_whole(tmp_path):
    made = video(policy_file(tmp_path, "gym:Drawn-v0", observation=2, action=1), tmp_path / "drawn.mp4")
    picture, _ = tile(read(made.path)[0], 0, 0)
    # 60 x 40 in a square: bands above and below.
    assert picture[: SIDE // 8].max() < 60
    assert picture[-SIDE // 8 :].max() < 60
    assert picture[SIDE // 3 : -SIDE // 3].std() < 10


def test_tasks_that_cannot_be_drawn_are_named(tmp_path, monkeypatch):
    for name, sentence in (
        ("Blind-v0", "cannot be made for rendering"),
        ("Refusing-v0", "cannot be rendered: it draws no pictures"),
        ("Failing-v0", "cannot be rendered: pygame is not installed"),
    ):
        file = policy_file(tmp_path, f"gym:{name}", observation=2, action=1)
        with pytest.raises(UsageError, match=f"gym:{name}' {sentence}"):
            video(file, tmp_path / "x.mp4")
    assert not (tmp_path / "x.mp4").exists()


def test_a_policy_that_does_not_fit_its_task_is_refused(tmp_path):
    with pytest.raises(RunError, match=r"takes 2 numbers.*'reach-0' has observations of 4"):
        video(policy_file(tmp_path, "reach-0", observation=2), tmp_path / "x.mp4")


def test_wrong_questions_get_a_sentence(run, tmp_path, capsys):
    out = tmp_path / "x.mp4"
    for words, helps in [
        ([run, "--out", tmp_path / "x.avi"], "an .mp4 or a .gif"),
        ([run, "--out", tmp_path / "none" / "x.mp4"], "does not exist"),
        ([run, "--task", "hammer"], "no task 'hammer'"),
        ([run, "--after", "3"], "after stages 1, 2, not 3"),
        ([run, "--stages", "--after", "1"], "leave out --after"),
        ([kept(run)[1], "--stages"], "all policies of a run folder"),
        ([run, "--episodes", "0"], "positive"),
        ([tmp_path], "no run"),
        ([tmp_path / "none"], "cannot be read"),
    ]:
        given = [str(word) for word in words]
        assert main(["video", *given, *([] if "--out" in given else ["--out", str(out)])]) == 2
        err = capsys.readouterr().err
        assert helps in err
        assert len(err.splitlines()) == 1
    (tmp_path / "full.mp4").symlink_to("/dev/full")
    if os.path.exists("/dev/full"):
        with pytest.raises(UsageError, match="cannot be written"):
            video(run, tmp_path / "full.mp4")
    assert not out.exists()


def test_a_run_without_a_policy_gets_a_sentence(run, tmp_path):
    early = tmp_path / "early"
    shutil.copytree(run, early, symlinks=True)
    for policy in kept(early).values():
        policy.unlink()
    with pytest.raises(UsageError, match="holds no policy yet"):
        video(early, tmp_path / "x.mp4")


def test_the_missing_extra_is_named(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(UsageError, match=r"pip install 'recall-rl\[video\]'"):
        video(run, tmp_path / "x.mp4")


def episode(posed, rendered, steps=1000):
    """All numbers of an episode under random actions."""
    environment = posed.make()
    player = Player(posed.name, environment)
    player.begin(Address(3, Purpose.EVALUATE, 5, 0, 1))
    seen = [player.observation.tobytes()]
    for _ in range(steps):
        if rendered:
            environment.render()
        _, action, outcome = player.step(None)
        seen.append((action.tobytes(), outcome.observation.tobytes(), *outcome[1:]))
        if outcome.terminated or outcome.truncated:
            break
    environment.close()
    return seen, player.result()


@pytest.mark.parametrize(
    "posed", [probe_task("reach-90"), gymnasium_task("Drawn-v0")], ids=["reach-90", "gym:Drawn-v0"]
)
def test_rendering_changes_nothing(posed):
    assert episode(posed, False) == episode(with_pictures(posed), True)


def test_probes_draw_themselves():
    reach = probe_task("reach-0").make()
    reach.reset(0)
    reach._position, reach._goal = np.array([0.5, 0.5]), np.array([-0.5, -0.5])
    picture = reach.render()
    assert picture.dtype == np.uint8
    n = len(picture)
    dark = np.argwhere(picture[20:-20, 20:-20, 0] < 60).mean(0) + 20
    assert dark[0] < n / 2 < dark[1], "the point is above, right of the middle"
    clock = Constant(length=4)
    clock.reset(0)
    over = []
    for _ in range(4):
        clock.step(np.zeros(1, np.float32))
        over.append((clock.render()[:, :, 0] < 60).sum())
    assert over == sorted(set(over))


# Meta-World, where a backend works.


@pytest.fixture(scope="module")
def drawing():
    """MuJoCo draws, or the reason why it does not."""
    pytest.importorskip("metaworld")
    with pytest.MonkeyPatch.context() as patch:
        # What is chosen for these tests must not stay for others.
        patch.setitem(os.environ, backend.VARIABLE, os.environ.get(backend.VARIABLE, ""))
        patch.setitem(os.environ, "PYOPENGL_PLATFORM", os.environ.get("PYOPENGL_PLATFORM", ""))
        try:
            backend.choose_backend()
        except UsageError as error:
            pytest.skip(str(error))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield


@pytest.fixture
def press(drawing):
    return metaworld_task("handle-press-side", PROTOCOLS["cw"])


@pytest.mark.filterwarnings("ignore")
def test_rendering_changes_nothing_of_metaworld(press):
    assert episode(press, False, 20) == episode(press, True, 20)


@pytest.mark.filterwarnings("ignore")
def test_a_picture_of_metaworld_is_the_right_way_up(drawing):
    environment = metaworld_task("window-close", PROTOCOLS["cw"]).make()
    environment.reset(0)
    picture = environment.render()
    assert picture.shape == (320, 320, 3)
    assert picture.std() > 20
    red, green, blue = np.moveaxis(picture.astype(int), -1, 0)
    wood = (red > green + 8) & (green > blue + 4) & (red < 200) & (green > 50)
    wall = (abs(red - green) < 6) & (abs(green - blue) < 8) & (abs(red - 128) < 12)
    half = len(picture) // 2
    assert wood[half:].mean() > 0.3 > 0.15 > wood[:half].mean(), "the table is below"
    assert wall[:half].mean() > 0.3 > 0.1 > wall[half:].mean(), "the wall is above"
    # The reset opens the window; Meta-World itself moves it in the first step.
    environment.step(np.zeros(4, np.float32))
    assert np.abs(picture.astype(int) - environment.render()).mean() < 2
    environment.close()


@pytest.mark.parametrize("asked", ["egl", "osmesa", "nonsense"])
def test_a_backend_that_was_asked_for_is_taken_or_refused(asked, monkeypatch):
    pytest.importorskip("mujoco")
    monkeypatch.setenv(backend.VARIABLE, asked)
    assert backend.candidates() == (asked,)
    works = backend.works(asked)
    assert not (works and asked == "nonsense")
    if not works:
        with pytest.raises(UsageError, match=f"MUJOCO_GL={asked}.*apt install"):
            backend.choose_backend()


def test_backends_are_tried_in_order(monkeypatch):
    monkeypatch.delenv(backend.VARIABLE, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    assert backend.candidates() == ("egl", "osmesa")
    monkeypatch.setenv("DISPLAY", ":0")
    assert backend.candidates() == ("", "egl", "osmesa")


def test_without_any_backend_the_packages_are_named(monkeypatch):
    pytest.importorskip("mujoco")
    monkeypatch.delenv(backend.VARIABLE, raising=False)
    monkeypatch.setattr(backend, "works", lambda name: False)
    with pytest.raises(UsageError, match=r"libegl1 libgl1.*libosmesa6"):
        backend.choose_backend()


def test_importing_reports_imports_no_simulator():
    code = "import sys, recall_rl.reports.video; sys.exit('mujoco' in sys.modules or 'PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
