import json
import signal

import pytest
from processes import SMALL, kill
from waiting import step, until

import recall_rl
from recall_rl.errors import UsageError

LINES = []


class Listing:
    """A writer of a user's own."""

    def __init__(self, run, config, step):
        LINES.append(("opened", run.name, config["method"], step))

    def write(self, event):
        LINES.append(event)

    def close(self):
        LINES.append("closed")


QUICK = {**SMALL, "training.steps": 120}


def test_a_writer_gets_every_line_and_changes_nothing(tmp_path):
    LINES.clear()
    plain = recall_rl.train("reach-0", budget="smoke", out=tmp_path / "plain", settings=QUICK)
    heard = recall_rl.train(
        "reach-0", budget="smoke", out=tmp_path / "heard", settings={**QUICK, "machine.writer": "test_writer:Listing"}
    )
    assert LINES[0] == ("opened", "heard", "fine-tuning", 0)
    assert LINES[-1] == "closed"
    assert LINES[1:-1] == heard.journal() == plain.journal()


def test_tensorboard_gets_each_point_once_though_the_run_was_killed(recall, tmp_path):
    run = tmp_path / "run"
    more = {"machine.checkpoint_seconds": 0, "machine.writer": "tensorboard"}
    words = ("train", "--sequence", "reach-0,reach-90", "--budget=smoke", "--out", run)
    process = recall.start(*words, **SMALL, **more)
    until(lambda: step(run) >= 200)
    kill(process, signal.SIGKILL)
    recall("resume", run)
    evaluations = list(recall_rl.RunDirectory(run).evaluations())
    points = scalars(run / "tensorboard")
    assert points["average performance"] == {e["step"]: pytest.approx(e["average"]) for e in evaluations}
    assert set(points["success/2 reach-90"]) == {e["step"] for e in evaluations if len(e["scores"]) == 2}
    assert "learning/critic_loss" in points


def scalars(folder):
    """Tag → step → value, as TensorBoard reads its files: later ones win, and a restart hides what it repeats."""
    from tensorboardX.proto.event_pb2 import Event, SessionLog

    found = {}
    for file in sorted(folder.iterdir()):
        content, at = file.read_bytes(), 0
        while at < len(content):
            length = int.from_bytes(content[at : at + 8], "little")
            event = Event.FromString(content[at + 12 : at + 12 + length])
            at += 16 + length
            if event.session_log.status == SessionLog.START:
                found = {t: {s: v for s, v in by.items() if s < event.step} for t, by in found.items()}
            for value in event.summary.value:
                found.setdefault(value.tag.replace("_", " "), {})[event.step] = value.simple_value
    return {tag.replace("critic loss", "critic_loss"): by for tag, by in found.items()}


def test_a_writer_that_a_config_names_is_code(tmp_path):
    run = recall_rl.train("reach-0", budget="smoke", out=tmp_path / "run", settings=QUICK)
    config = json.loads((run.path / "config.json").read_text())
    config["machine"]["writer"] = "antigravity:fly"
    (run.path / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match=r"antigravity:fly.*--trust-code"):
        recall_rl.RunDirectory(run.path).config()


def test_wrong_writers_get_a_sentence(tmp_path):
    for name, words in (
        ("tensorbored", "no writer"),
        ("nowhere:x", "cannot be loaded"),
        ("json:x", "cannot be loaded"),
    ):
        with pytest.raises(UsageError, match=words):
            recall_rl.train(
                "reach-0", budget="smoke", out=tmp_path / name[:4], settings={**QUICK, "machine.writer": name}
            )
