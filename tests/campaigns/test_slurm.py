"""Job arrays as submitit makes them: the script that Slurm would get, and tasks of submitit's own small cluster."""

import os
import signal
import sys
from pathlib import Path

import pytest
from small_campaign import results, write_plan
from waiting import until

from recall_rl.campaigns.campaign import Campaign
from recall_rl.campaigns.plan import find_plan
from recall_rl.campaigns.slurm import Slurm, slurm_options
from recall_rl.errors import UsageError

pytest.importorskip("submitit")

TABLE = """
[slurm]
partition = "cpu"
time = "1-12:30:00"
array_parallelism = 2
setup = ["module load python"]
nice = 100
requires-something-new = true
"""


def test_the_script_holds_what_the_plan_says(recall, plan, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(plan.read_text() + TABLE)
    words = ("campaign", "run", path, "--out", tmp_path / "out", "--engine", "slurm")
    said = recall(*words, "--slurm", "account=lab", "--slurm", "partition=gpu", "--show")
    for line in (
        "#SBATCH --partition=gpu",
        "#SBATCH --account=lab",
        "#SBATCH --time=2190",
        "#SBATCH --array=0-1%2",
        "#SBATCH --nice=100",
        "#SBATCH --requires-something-new",
        "#SBATCH --signal=USR2@90",
        "module load python",
    ):
        assert line in said.splitlines()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("90", 90), ("10:30", 11), ("02:00:00", 120), ("1-0", 1440), ("1-02", 1560), ("2-00:30", 2910), (5, 5)],
)
def test_time_limits_are_read_as_sbatch_reads_them(text, minutes):
    assert slurm_options({"time": text}).minutes == minutes


@pytest.mark.parametrize(
    "wrong",
    [
        {"time": "soon"},
        {"time": 0},
        {"array_parallelism": 0},
        {"array": "0-7"},
        {"open-mode": "append"},
        {"executor": "pbs"},
        {"bad option": 1},
        {"comment": "two\nlines"},
    ],
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(UsageError, match="slurm option"):
        slurm_options(wrong)


def test_without_slurm_the_command_says_so_and_makes_nothing(recall, plan, tmp_path):
    words = ("campaign", "run", plan, "--out", tmp_path / "out", "--engine", "slurm")
    assert "not on this machine" in recall(*words, code=2)
    assert "has no '='" in recall(*words, "--slurm", "partition", code=2)
    assert "an option of --engine ray" in recall(*words, "--gpus", "1", code=2)
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
@pytest.mark.parametrize("preempted", [False, pytest.param(True, marks=pytest.mark.faults)])
def test_an_array_goes_on_to_the_same_bytes_even_if_preempted(recall, plan, shared, tmp_path, monkeypatch, preempted):
    for name, value in recall.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    campaign = Campaign.create(tmp_path / "out", find_plan(str(plan)))
    said = []
    engine = Slurm(campaign, slurm_options({"executor": "local", "array_parallelism": 2, "time": 30}), said.append)
    jobs = engine.submit()
    assert len(jobs) == 2
    # A second submission while the first is at work does nothing.
    assert Slurm(campaign, engine.options, said.append).submit() == []
    assert "still works" in said[-1]
    if preempted:
        until(lambda: list(campaign.path.glob("*/*/*/*/g*/checkpoint-*")))
    for job in jobs if preempted else ():
        if "started" in (job.stdout() or ""):  # One that is not yet there would not hear it.
            for task in Path(f"/proc/{job.job_id}/task/{job.job_id}/children").read_text().split():
                os.kill(int(task), signal.SIGUSR2)
    until(lambda: all(job.done() for job in jobs), 400)
    said.append("".join((job.stdout() or "") + (job.stderr() or "") for job in jobs))
    assert ("Calling checkpoint method" in said[-1]) == preempted
    assert results(campaign.path) == results(shared)
    assert Slurm(campaign, engine.options, said.append).submit() == []
    assert said[-1] == "Nothing is left to do."


def test_a_plan_without_runs_left_submits_nothing_new(plan, tmp_path):
    campaign = Campaign.create(tmp_path / "out", find_plan(str(write_plan(tmp_path / "one.toml"))))
    assert Slurm(campaign, slurm_options({"array_parallelism": 1}), print).tasks() == 1
    assert Slurm(campaign, slurm_options({}), print).tasks() == 3
