"""`recall doctor` and `recall completion`, as a user runs them."""

import json
import os
import subprocess
import sys

import pytest


def recall(*arguments, cwd=None, **variables):
    return subprocess.run(
        [sys.executable, "-m", "recall_rl", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "TERM": "dumb", **variables},
        timeout=240,
    )


def test_a_machine_that_runs_the_tests_has_no_trouble(tmp_path):
    done = recall("doctor", "--json", str(tmp_path), MUJOCO_GL="")
    found = {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}
    troubles = {line["name"] for line in found.values() if line["state"] == "trouble"}
    assert troubles <= {"memory", "disk"}, "these depend on what else the machine does"
    assert done.returncode == bool(troubles), done.stdout + done.stderr
    assert {"Python", "packages", "JAX", "Meta-World", "rendering", "cores", "disk", "folder"} <= set(found)
    assert found["JAX"]["state"] == found["folder"]["state"] == "fine"
    assert all(line["mend"] for line in found.values() if line["state"] != "fine")
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_each_trouble_comes_with_what_mends_it(tmp_path):
    done = recall("doctor", cwd=tmp_path, JAX_PLATFORMS="nonesuch", MUJOCO_GL="")
    assert done.returncode == 1
    assert "trouble JAX" in done.stdout
    assert "JAX_PLATFORMS=cpu recall doctor" in done.stdout
    assert "to mend before you go on" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    wrong = recall("doctor", str(tmp_path / "none"))
    assert wrong.returncode == 2
    assert "no folder" in wrong.stderr


def test_a_folder_that_cannot_be_written_is_trouble(tmp_path, monkeypatch):
    from recall_rl.runs.health import _disk, _extra, _folder

    assert _folder(tmp_path).state == "fine"
    assert _folder(tmp_path / "none").state == "trouble"
    assert "local disk" in _folder(tmp_path / "none").mend
    assert _disk(tmp_path).state == "fine"
    monkeypatch.setattr("recall_rl.runs.health.EXTRAS", {"cluster": ("no_such_module",)})
    assert _extra("cluster").state == "absent"
    assert "recall-rl[cluster]" in _extra("cluster").mend


def test_bash_accepts_the_completion_and_completes():
    done = recall("completion", "bash")
    assert done.returncode == 0, done.stderr
    asked = (
        done.stdout
        + """
COMP_WORDS=(recall res); COMP_CWORD=1; COMP_LINE="recall res"; COMP_POINT=10
"$(complete -p recall | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
echo "completed: ${COMPREPLY[*]}"
"""
    )
    shell = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, timeout=60)
    assert shell.returncode == 0, shell.stderr
    assert "completed: resume" in shell.stdout


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script_too(shell):
    done = recall("completion", shell)
    assert done.returncode == 0, done.stderr
    assert "resume" in done.stdout
