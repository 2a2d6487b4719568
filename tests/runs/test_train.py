import json

import numpy as np
import pytest
from safetensors.numpy import load_file

import recall_rl
from recall_rl.errors import RunError, UsageError
from recall_rl.runs.directory import RunDirectory
from recall_rl.runs.journal import Journal

QUICK = {
    "training.steps": 200,
    "training.start_steps": 100,
    "training.update_after": 100,
    "training.evaluate_every": 100,
    "agent.actor.width": 16,
    "agent.critic.width": 16,
}


def train(path, sequence="probe", **more):
    return recall_rl.train(sequence, budget="smoke", out=path, settings={**QUICK, **more})


def test_the_same_command_twice_gives_the_same_bytes(tmp_path):
    first, second = train(tmp_path / "a"), train(tmp_path / "b")
    for name in ("config.json", "journal.jsonl", "weights.safetensors"):
        assert (first.path / name).read_bytes() == (second.path / name).read_bytes(), name


def test_the_number_of_workers_leaves_no_trace_in_the_results(tmp_path):
    lanes = {"training.lanes": 2}
    one = train(tmp_path / "a", **lanes)
    two = train(tmp_path / "b", **lanes, **{"machine.workers": 2, "machine.evaluation_workers": 2})
    for name in ("journal.jsonl", "weights.safetensors"):
        assert (one.path / name).read_bytes() == (two.path / name).read_bytes(), name


def test_a_run_folder_tells_everything(tmp_path):
    run = train(tmp_path / "run")
    events = [entry["event"] for entry in run.journal()]
    assert events[0] == "run"
    assert events[-1] == "end"
    assert events.count("evaluation") == events.count("training") == 4
    head = run.journal()[0]
    assert head["identity"] == run.config().identity()
    assert head["tasks"] == ["reach-0", "reach-180"]
    assert head["reproducible"] is True
    assert head["fingerprint"]["threads"] == 1
    assert len((run.path / "times.jsonl").read_text().splitlines()) == len(events)
    weights = load_file(run.path / "weights.safetensors")
    assert weights["actor.head.0.w"].shape == (2, 16, 4), "one head a task; the scratch head stays behind"
    assert weights["critic2.trunk.0.w"].shape == (6, 16)
    assert weights["log_alpha"].shape == (2,)
    assert all(np.isfinite(array).all() for array in weights.values())


def test_debug_runs_in_this_process_and_uncompiled(tmp_path):
    short = {**QUICK, "training.steps": 100, "training.start_steps": 0, "training.updates_per_step": 0.1}
    run = recall_rl.train("reach-0", budget="smoke", out=tmp_path / "run", settings=short, debug=True)
    assert run.journal()[-1] == {"event": "end", "step": 100}
    assert not run.log.exists()


def test_a_folder_that_holds_a_run_is_not_overwritten(tmp_path):
    run = train(tmp_path / "run")
    journal = (run.path / "journal.jsonl").read_bytes()
    with pytest.raises(UsageError, match="already holds another run"):
        train(tmp_path / "run", **{"training.start_steps": 50})
    train(tmp_path / "run")  # The same one is finished, so there is nothing to do.
    assert (run.path / "journal.jsonl").read_bytes() == journal


def test_a_run_of_an_earlier_format_can_be_read_but_not_gone_on_with(tmp_path):
    run = train(tmp_path / "run")
    old = tmp_path / "old"
    old.mkdir()
    for name in ("config.json", "journal.jsonl", "weights.safetensors"):
        (old / name).write_bytes((run.path / name).read_bytes())
    earlier = RunDirectory(old)
    assert earlier.journal() == run.journal()
    assert load_file(earlier.weights).keys() == load_file(run.weights).keys()
    for refused in (lambda: train(old), lambda: recall_rl.resume(old), lambda: recall_rl.extend(old, "reach-0", "new")):
        with pytest.raises(UsageError, match=r"earlier version.*recall train --config"):
            refused()


def test_an_environment_that_cannot_be_seeded_is_stamped(tmp_path):
    run = train(tmp_path / "run", "gym:broken_envs:Unseeded-v0")
    assert run.journal()[0]["reproducible"] is False


def test_a_run_that_fails_notes_why(tmp_path):
    with pytest.raises(RunError, match="on fire"):
        train(tmp_path / "run", "gym:broken_envs:Raises-v0")
    assert not (tmp_path / "run" / "weights.safetensors").exists()
    last = RunDirectory(tmp_path / "run").journal()[-1]
    assert last["event"] == "failed"
    assert "on fire" in last["reason"]


def test_tasks_of_different_sizes_are_refused(tmp_path):
    with pytest.raises(UsageError, match="must agree"):
        train(tmp_path / "run", "reach-0,gym:broken_envs:Sound-v0")
    train(tmp_path / "run", "reach-0")  # Nothing had begun, so the folder is free.


def test_values_that_are_not_finite_end_the_run_with_a_sentence(tmp_path):
    path = tmp_path / "run"
    path.mkdir()
    journal = Journal(path)
    with pytest.raises(RunError, match="diverged"):
        journal.write("training", loss=float("nan"))
    journal.write("end", step=1)
    journal.close()
    assert [json.loads(line)["event"] for line in (path / "journal.jsonl").read_text().splitlines()] == ["end"]
