"""Environments that are broken in the ways users' environments are, and what is said of each."""

import pytest

from recall_rl.checks.environment import check_environment
from recall_rl.cli.main import main
from recall_rl.collect.worker import InlineWorker
from recall_rl.tasks.own import OwnTask, own_task
from recall_rl.tasks.probes import probe_task

BROKEN = {
    "NanReward": "gave a non-finite reward at step 11",
    "InfObservation": "gave a non-finite observation",
    "WrongType": "must be real numbers, not <U3",
    "Unseeded": "gave different numbers the second time, from the first observation on",
    "Remembers": "gave different numbers the second time, from step 12 on",
    "Endless": "No episode ended in 5,000 steps, and there is no time limit",
    "WrongShape": "an observation of shape (5,) instead of (3,)",
    "Sluggish": "It is slow",
    "Raises": "the gripper is on fire",
    "DiscreteActions": "recall-rl learns on Box spaces only",
    "Unbounded": "infinite bounds",
    "OddFlag": "neither true nor false: 'False'",
    "AlwaysDone": "Random actions succeed in every one of",
    "AtOnce": "Every episode ended at its first step",
    "CannotBeMade": "no licence for the simulator",
    "NoEnvironment": "it returned NoEnvironment",
    "NotThere": "has no function 'NotThere'",
}


def check(task, **more):
    return check_environment(task, worker=lambda patience: InlineWorker(), **more)


def wrongs(findings):
    return [finding for finding in findings if finding.level == "wrong"]


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_environment_is_told_from_all_others(name):
    given = OwnTask(f"broken_envs:{name}", horizon=None if name == "Endless" else 40)
    found = wrongs(check(own_task(given), seconds=1.0 if name == "Sluggish" else 30.0))
    assert len(found) == 1, found
    assert BROKEN[name] in found[0].sentence
    assert found[0].advice or name in ("DiscreteActions", "Unbounded", "CannotBeMade", "NoEnvironment", "NotThere"), (
        "what to do about it is said in the sentence, or after it"
    )


@pytest.mark.parametrize("task", [own_task(OwnTask("broken_envs:Ends-v0")), probe_task("reach-90@100")])
def test_nothing_is_wrong_with_a_sound_one(task):
    found = check(task)
    assert all(finding.level == "good" for finding in found), found


def test_what_training_does_not_mind_is_a_note():
    found = check(own_task(OwnTask("broken_envs:Promises", horizon=40)))
    assert not wrongs(found)
    notes = " ".join(finding.sentence for finding in found if finding.level == "note")
    assert "come as float64; their space says float32" in notes
    assert "outside their space" in notes
    assert 'no info["success"]' in notes


def test_what_the_task_declares_counts():
    slow = own_task(OwnTask("broken_envs:Sluggish", horizon=40))
    assert not wrongs(check(slow, seconds=1.0, least_speed=0.0))
    reached = own_task(OwnTask("broken_envs:Ends-v0", success_return=5.0))
    assert "success_return is reached" in wrongs(check(reached))[0].sentence
    assert not wrongs(check(own_task(OwnTask("broken_envs:Endless", horizon=30))))


def test_processes_that_differ_hang_or_die_are_told():
    for name, told in [("ByProcess", "in another process"), ("Dies", "was killed by SIGSEGV")]:
        assert told in wrongs(check_environment(own_task(OwnTask(f"broken_envs:{name}", horizon=40))))[0].sentence
    hanging = check_environment(own_task(OwnTask("broken_envs:Hangs", horizon=40)), patience=8.0)
    assert "hangs: no step was finished in 8 s" in wrongs(hanging)[0].sentence


def test_the_command_tries_what_it_is_asked_to(tmp_path, capsys):
    file = tmp_path / "mine.toml"
    file.write_text(
        '[tasks.fine]\nenv = "broken_envs:Ends-v0"\n[tasks.mad]\nenv = "broken_envs:Raises"\nhorizon = 20\n'
    )
    assert main(["check", "--tasks", str(file)]) == 1
    out = capsys.readouterr().out
    assert out.index("fine\n  good") < out.index("mad\n")
    assert "wrong  Task 'mad' raised ValueError('the gripper is on fire')" in out
    assert main(["check", "fine", "--tasks", str(file), "--json"]) == 0
    assert '"level": "good"' in capsys.readouterr().out
    assert main(["check"]) == 2
    assert main(["check", "fone", "--tasks", str(file)]) == 2
    assert "Did you mean 'fine'?" in capsys.readouterr().err
