"""Environments that break in the middle of a run, are mended, and the run goes on."""

import pytest
from processes import SMALL, results
from waiting import step

TASKS = "gym:broken_envs:Breaks-v0,gym:broken_envs:Breaks-v0"
SETTINGS = SMALL | {"machine.checkpoint_seconds": 0, "machine.patience": 5, "machine.workers": 2}
FAULTS = {
    "raises": "the gripper is on fire",
    "hangs": "hangs",
    "nan": "non-finite reward",
    "inf": "non-finite observation",
    "text": "must be real numbers, not <U3",
    "complex": "must be real numbers, not complex128",
    "shape": "of shape (2,) instead of (3,)",
}
SHORT = ("text",)


@pytest.fixture(scope="module")
def train(recall):
    def train(path, code=0, breaks="never@-1"):
        recall.environment["BREAKS"] = breaks
        words = ("train", "--sequence", TASKS, "--method=recall", "--budget=smoke", "--out", path)
        return recall(*words, code=code, **SETTINGS)

    yield train
    recall.environment.pop("BREAKS", None)


@pytest.fixture(scope="module")
def whole(train, tmp_path_factory):
    """The run whose environment never broke."""
    path = tmp_path_factory.mktemp("runs") / "whole"
    train(path)
    return path


@pytest.mark.parametrize("how", [pytest.param(how, marks=() if how in SHORT else pytest.mark.faults) for how in FAULTS])
def test_a_run_whose_environment_broke_and_was_mended_ends_as_if_nothing_had_happened(train, whole, tmp_path, how):
    run = tmp_path / "run"
    for when in (70, 140):
        assert FAULTS[how] in train(run, code=1, breaks=f"{how}@{when}")
        assert step(run) > 0, "it broke in the middle"
    train(run)
    assert results(run) == results(whole), "no row wrong, missing or twice"


def test_a_simulator_that_crashed_once_is_started_anew_and_leaves_no_trace(train, whole, tmp_path):
    run = tmp_path / "run"
    train(run, breaks="crashes@70")
    assert results(run) == results(whole)
