"""A simulated cluster: the same seed tells the same story, no run is lost, and losses cost what they must."""

import importlib.util
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "simulate.py"


@pytest.fixture(scope="module")
def told():
    """The outcome of a simulation of one of the paper's plans, with these options."""
    spec = importlib.util.spec_from_file_location("simulate", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["simulate"] = module  # Dataclasses look their module up.
    spec.loader.exec_module(module)

    def call(*words):
        return module.main(["--plans", "lambda", "--cores", "2", *words])

    return call


def test_without_losses_a_campaign_takes_what_its_work_takes(told):
    (calm,) = told("--nodes", "3", "--life-hours", "0", "--head-hours", "0", "--latency", "0")
    assert (calm.runs, calm.attempts, calm.lost_hours, calm.nodes_lost) == (25, 25, 0, 0)
    # 25 runs alike on 6 cores: in five rounds, where four and a bit would do.
    assert calm.hours == pytest.approx(calm.core_hours / 25 * 5, rel=0.01)


def test_losses_cost_at_most_what_was_not_saved_and_no_run(told):
    first, again = (told("--nodes", "3", "--life-hours", "2", "--head-hours", "24")[0] for _ in range(2))
    assert first == again
    assert first.nodes_lost > 100
    assert first.heads_lost > 0
    assert first.attempts > 25
    assert 0 < first.lost_hours < first.attempts * 300 / 3600
    (other,) = told("--nodes", "3", "--life-hours", "2", "--head-hours", "24", "--seed", "1")
    assert other != first


def test_more_nodes_are_faster_until_the_longest_run_is_all_that_is_left(told):
    few, many, most = told("--nodes", "2", "10", "100", "--head-hours", "0")
    assert few.hours > 2 * many.hours
    assert most.hours < 1.2 * many.hours
    assert few.bottleneck == "cores"
    assert most.bottleneck == "the longest chain of runs"
