"""The gate on policies that really play: a policy of one's own making that knows how to reach, whole and damaged."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import recall_rl
from recall_rl.cli.main import main
from recall_rl.collect.policy import Actor, Dense
from recall_rl.errors import UsageError
from recall_rl.runs.policy import About, Policy, encode_policy
from recall_rl.tasks.protocol import protocol

TURNS = {
    "reach-0": [[1, 0], [0, 1]],
    "reach-90": [[0, -1], [1, 0]],
    "reach-180": [[-1, 0], [0, -1]],
    "reach-270": [[0, 1], [-1, 0]],
}


def reacher(*tasks, lazy=(), posed="own", size=4):
    """A policy that goes straight to the goal in each of these tasks, or, in a lazy one, nowhere.

    The controls of `reach-T` turn actions by T degrees; the policy turns (goal - position) back.
    """

    def actor(task):
        turn = np.array(TURNS[task.partition("@")[0]], np.float32)
        aim = np.zeros((size, 4), np.float32)
        aim[2:4, :2], aim[0:2, :2] = 20 * turn, -20 * turn
        if task in lazy:
            aim[:] = 0
        return Actor((Dense(aim, np.array([0, 0, -6, -6], np.float32)),), "relu")

    about = About("by hand", 0, 0, len(tasks), "none", protocol(posed), tasks, "relu", 2)
    return Policy(about, tuple(actor(task) for task in tasks))


@pytest.fixture
def file(tmp_path):
    """Writes a policy to a file of this name."""

    def write(name, policy):
        path = tmp_path / f"{name}.safetensors"
        path.write_bytes(encode_policy(policy))
        return path

    return write


def test_the_same_policy_passes_long_before_the_last_episode(file):
    old = file("old", reacher("reach-0", "reach-90"))
    found = recall_rl.gate(old, old, workers=1)
    assert found.verdict == "pass"
    assert [(s.task, s.verdict, s.pairs, s.lost, s.gained) for s in found.skills] == [
        ("reach-0", "pass", 80, 0, 0),
        ("reach-90", "pass", 80, 0, 0),
    ]
    assert all(s.old == s.new > 0.9 and s.high < 0.05 for s in found.skills)


def test_a_lost_skill_is_found_at_once_and_the_others_still_get_their_answer(file):
    old, new = reacher("reach-0", "reach-90"), reacher("reach-0", "reach-90", "reach-180", lazy=("reach-90",))
    found = recall_rl.gate(file("old", old), file("new", new), workers=1)
    assert found.verdict == "fail"
    assert [s.verdict for s in found.skills] == ["pass", "fail"]
    assert found.skills[1].pairs <= 20
    assert found.skills[1].low > 0.05
    assert "reach-90" in found.sentence()
    # What is new is no old skill, and the other way round the new one lacks nothing.
    assert recall_rl.gate(file("new", new), file("old", old), tasks=["reach-0"], workers=1).verdict == "pass"


def test_the_number_of_workers_changes_nothing(file):
    old = file("old", reacher("reach-0", "reach-90"))
    new = file("new", reacher("reach-0", "reach-90", lazy=("reach-90",)))
    assert recall_rl.gate(old, new, episodes=20, workers=1) == recall_rl.gate(old, new, episodes=20, workers=3)


def test_too_few_episodes_leave_it_undecided_and_unpassed(file, capsys):
    old = file("old", reacher("reach-0"))
    assert main(["gate", str(old), str(old), "--episodes", "25", "--workers", "1"]) == 1
    out = capsys.readouterr().out
    assert "UNDECIDED, which does not pass" in out
    assert " 25 " in out


def test_a_task_met_twice_is_compared_with_its_like(file):
    whole = reacher("reach-0", "reach-90", "reach-0")
    spoilt = dataclasses.replace(whole, actors=(whole.actors[0], whole.actors[1], whole.actors[1]))
    found = recall_rl.gate(file("old", whole), file("new", spoilt), workers=1)
    assert [(s.position, s.verdict) for s in found.skills] == [(0, "pass"), (1, "pass"), (2, "fail")]


def test_the_command_ends_with_the_answer_and_writes_a_page(file, tmp_path, capsys):
    old, new = file("old", reacher("reach-0")), file("new", reacher("reach-0", lazy=("reach-0",)))
    page = tmp_path / "pages" / "gate.html"
    assert main(["gate", str(old), str(new), "--workers", "1", "--json", "--page", str(page)]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == answer["skills"][0]["verdict"] == "fail"
    assert answer["played"] == answer["skills"][0]["pairs"] <= 20
    text = page.read_text()
    assert "FAIL: more than 0.05 was lost on reach-0" in text
    assert "--paper" in text
    assert "{{" not in text
    assert "src=" not in text
    assert "href=" not in text


def test_names_on_the_page_are_escaped(file, tmp_path):
    from recall_rl.reports.gate import write_page

    old = file("old", reacher("reach-0"))
    found = dataclasses.replace(recall_rl.gate(old, old, workers=1, episodes=10), old="<script>alert(1)</script>")
    write_page(found, tmp_path / "page.html")
    assert "<script>" not in (tmp_path / "page.html").read_text()


def test_old_skills_that_were_none_are_said_to_be_none(file):
    old = file("old", reacher("reach-0", "reach-90", lazy=("reach-90",)))
    found = recall_rl.gate(old, old, workers=1)
    assert found.verdict == "pass"
    assert [s.note != "" for s in found.skills] == [found.skills[0].old == 0, found.skills[1].old == 0]


def test_wrong_questions_get_a_sentence(file):
    one, two = file("one", reacher("reach-0")), file("two", reacher("reach-0", "reach-90"))
    with pytest.raises(UsageError, match="does not know the old task 'reach-90'"):
        recall_rl.gate(two, one)
    with pytest.raises(UsageError, match="different count"):
        recall_rl.gate(one, file("wide", reacher("reach-0", size=5)))
    with pytest.raises(UsageError, match="different protocols"):
        recall_rl.gate(one, file("posed", reacher("reach-0", posed="cw")))
    with pytest.raises(UsageError, match="more than 0"):
        recall_rl.gate(one, one, 0.0)
    with pytest.raises(UsageError, match="probability"):
        recall_rl.gate(one, one, alpha=0.0)
    with pytest.raises(UsageError, match="positive"):
        recall_rl.gate(one, one, episodes=0)
    with pytest.raises(UsageError, match="hammer"):
        recall_rl.gate(one, one, tasks=["hammer"])


def test_tasks_that_report_no_success_are_refused(file):
    """Pendulum has no `info["success"]`."""
    about = dataclasses.replace(reacher("reach-0").about, tasks=("gym:Pendulum-v1",))
    still = Actor((Dense(np.zeros((3, 2), np.float32), np.zeros(2, np.float32)),), "relu")
    path = file("pendulum", Policy(about, (still,)))
    with pytest.raises(UsageError, match="no success to compare"):
        recall_rl.gate(path, path, episodes=1, workers=1)


def test_no_jax_is_needed(file):
    old = file("old", reacher("reach-0"))
    code = f"import sys, recall_rl; recall_rl.gate({str(old)!r}, {str(old)!r}, episodes=1); print('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


@pytest.mark.slow
def test_on_robot_tasks_the_same_policy_passes_and_a_damaged_one_is_caught(tmp_path):
    """The figures of docs/gate.md; about half a minute."""
    shaken = tmp_path / "shaken.safetensors"
    script = Path(__file__).parents[2] / "examples" / "shake.py"
    subprocess.run([sys.executable, script, "published:two-skills", "window-close", "2", shaken], check=True)
    same = recall_rl.gate("published:two-skills", "published:two-skills")
    assert (same.verdict, [s.pairs for s in same.skills]) == ("pass", [80, 80])
    caught = recall_rl.gate("published:two-skills", shaken)
    assert (caught.verdict, [(s.verdict, s.pairs) for s in caught.skills]) == ("fail", [("pass", 80), ("fail", 10)])
