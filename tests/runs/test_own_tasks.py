"""Runs over tasks of one's own, from Python, from a file and from a plan."""

import json
import os
from pathlib import Path

import pytest
from processes import SMALL

import recall_rl
from recall_rl.campaigns.jobs import jobs
from recall_rl.campaigns.plan import find_plan
from recall_rl.cli.main import main
from recall_rl.errors import UsageError
from recall_rl.runs.config import read_file, resolve
from recall_rl.runs.policy import read_policy
from recall_rl.runs.tasks import read_tasks
from recall_rl.runs.trust import named_code
from recall_rl.tasks.own import OwnTask

FILE = """
[tasks.far]
env = "broken_envs:Ends"
kwargs = {break_at = 9}
observation_size = 4
action_size = 3

[tasks.near]
env = "broken_envs:Ends-v0"
horizon = 6
reward_scale = 1000.0
success_return = 6.0
observation_size = 4
action_size = 3
"""
FAR = OwnTask("broken_envs:Ends", "far", {"break_at": 9}, observation_size=4, action_size=3)
NEAR = OwnTask(
    "broken_envs:Ends-v0",
    "near",
    horizon=6,
    reward_scale=1000.0,
    success_return=6.0,
    observation_size=4,
    action_size=3,
)
SETTINGS = SMALL | {"training.steps": 120}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Both tasks, learnt from Python in one go."""
    path = tmp_path_factory.mktemp("own") / "run"
    return recall_rl.train(tasks=[FAR, NEAR], method="recall", budget="smoke", out=path, settings=SETTINGS)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    return path


def words(settings):
    return [f"--set={k}={v}" for k, v in settings.items()]


def test_a_run_names_its_tasks_and_measures_them(run):
    first, *_ = run.journal()
    assert first["tasks"] == ["far", "near"]
    assert first["reproducible"]
    last = run.journal()[-2] if run.journal()[-1]["event"] == "end" else run.journal()[-1]
    scores = {s["task"]: s for s in last["scores"]}
    assert (scores["far"]["length"], scores["far"]["total"]) == (9, 9)
    assert (scores["near"]["length"], scores["near"]["total"], scores["near"]["success"]) == (6, 6000, 1)


def test_a_run_stands_by_itself(run, tmp_path, capsys):
    config = run.config(trust_code=True)
    assert config.tasks == {"far": FAR, "near": NEAR}
    assert config.sequence == "far,near"
    with pytest.raises(UsageError, match="names code to import: broken_envs:Ends, broken_envs:Ends-v0"):
        run.config()
    assert main(["resume", str(run.path)]) == 2
    assert main(["resume", str(run.path), "--trust-code"]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(run.path), "--trust-code", "--episodes=3", "--json"]) == 0
    totals = [json.loads(line)["total"] for line in capsys.readouterr().out.splitlines()]
    assert totals == [9, 6000]
    assert read_policy(run.path, after=1, trust_code=True).about.own == {"far": FAR}
    with pytest.raises(UsageError, match="names code"):
        read_policy(run.path)


def test_a_file_gives_the_same_run_and_extending_gives_it_too(run, file, tmp_path, capsys):
    begun, longer = tmp_path / "begun", tmp_path / "longer"
    given = ["--tasks", str(file)]
    train = ["train", *given, "--sequence=far", "--method=recall", "--budget=smoke", "--out", str(begun)]
    assert main([*train, *words(SETTINGS)]) == 0
    assert list(json.loads((begun / "config.json").read_text())["tasks"]) == ["far"]
    assert main(["extend", str(begun), *given, "--out", str(longer), "--trust-code"]) == 0
    assert (longer / "config.json").read_bytes() == (run.path / "config.json").read_bytes()
    assert (longer / "journal.jsonl").read_bytes() == (run.path / "journal.jsonl").read_bytes()
    assert (longer / "weights.safetensors").read_bytes() == run.weights.read_bytes()
    for stage in (1, 2):
        one, two = (next(p.glob(f"g*/policies/after-{stage}.safetensors")) for p in (longer, run.path))
        assert one.read_bytes() == two.read_bytes()
    capsys.readouterr()
    assert main(["extend", str(longer), *given, "--out", str(tmp_path / "more"), "--trust-code"]) == 2
    assert "tasks that the run has not met" in capsys.readouterr().err


def test_a_config_without_own_tasks_says_nothing_of_them():
    assert "tasks" not in json.loads(resolve(sequence="probe").to_json())


def test_a_task_is_part_of_what_a_run_is():
    def identity(**changed):
        return resolve(tasks={"near": OwnTask(**{"env": "A-v0", "name": "near", **changed})}).identity()

    kinds = [{}, {"reward_scale": 10.0}, {"horizon": 7}, {"kwargs": {"a": [1, {"b": 2}]}}, {"success_return": 1.0}]
    assert len({identity(**changed) for changed in kinds}) == len(kinds)
    unused = {"near": OwnTask("A-v0", "near"), "far": FAR}
    assert resolve(tasks=unused, sequence="near").identity() == identity()
    config = resolve(tasks=unused)
    assert resolve(file=json.loads(config.to_json())) == config


def test_no_name_stands_for_two_tasks():
    config = json.loads(resolve(tasks={"far": FAR}).to_json())
    with pytest.raises(UsageError, match="Two tasks are called 'far'"):
        resolve(file=config, tasks={"far": OwnTask("A-v0", "far")})
    with pytest.raises(UsageError, match="Two tasks are called 'far'"):
        recall_rl.train(tasks=[FAR, OwnTask("A-v0", "far")])


def test_sizes_that_differ_are_told_with_what_to_declare(tmp_path):
    short = OwnTask("broken_envs:Sound", "short", horizon=5)
    with pytest.raises(UsageError, match="observation_size = 4, action_size = 3"):
        recall_rl.train(tasks=[FAR, short], budget="smoke", out=tmp_path / "run", settings=SETTINGS, debug=True)


def test_code_in_arguments_counts_as_named():
    def named(**task):
        return named_code({"tasks": {"x": task}})

    assert named(env="HalfCheetah-v5", kwargs={"a": 1}) == []
    assert named(env="recall_rl.tasks.metaworld:MetaWorld", kwargs={"name": "push"}) == []
    assert named(env="recall_rl.cli.main:main") == ["recall_rl.cli.main:main"]
    assert named(env="A-v0", kwargs={"deep": [{"er": "os:system"}]}) == ["os:system"]
    deep = []
    for _ in range(5_000):
        deep = [deep]
    assert named(env="A-v0", kwargs={"deep": deep}) == []
    with pytest.raises(UsageError, match="nested deeper than 16 levels"):
        resolve(file={"sequence": "x", "tasks": {"x": {"env": "A-v0", "kwargs": {"deep": deep}}}})
    assert named_code({"tasks": {"x": 3}}) == named_code({"tasks": 3}) == []


def test_a_plan_may_hold_tasks_and_is_a_file_of_tasks(tmp_path):
    plan = tmp_path / "plan.toml"
    head = 'methods = ["recall"]\nsequences = ["far,near", "far,reach-0"]\nseeds = [0]\nbudget = "smoke"\n'
    plan.write_text(head + FILE)
    found = {job.place: job for job in jobs(find_plan(str(plan)))}
    assert list(found) == ["shared/recall/far/seed0", "runs/recall/far,near/seed0", "runs/recall/far,reach-0/seed0"]
    assert [list(job.config.tasks) for job in found.values()] == [["far"], ["far", "near"], ["far"]]
    assert read_tasks(plan) == {"far": FAR, "near": NEAR}


def test_the_examples_are_files_of_tasks(monkeypatch):
    examples = Path(__file__).parents[2] / "examples"
    for name in ("cheetah.toml", "walkers.toml", "drawers.toml", "pendulums.toml"):
        tasks = read_tasks(examples / name)
        config = resolve(tasks=tasks)
        assert list(config.tasks) == list(tasks)
        assert config.protocol.name == "own"
    assert find_plan(str(examples / "cheetah.toml")).tasks == read_tasks(examples / "cheetah.toml")
    assert "sequences" in read_file(examples / "cheetah.toml")
    assert os.path.exists(examples / "own_envs.py")
