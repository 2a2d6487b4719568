"""The examples of the page about methods of one's own, run as a user runs them."""

import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

import recall_rl

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))
own_methods = pytest.importorskip("own_methods")
NAMES = [name for name, f in inspect.getmembers(own_methods, inspect.isfunction) if f.__module__ == "own_methods"]
SHORT = {
    "training.steps": 300,
    "training.start_steps": 50,
    "training.update_after": 50,
    "training.evaluate_every": 100,
    "agent.batch": 16,
    "agent.actor.width": 16,
    "agent.critic.width": 16,
}


def test_there_is_one_example_a_part():
    assert len(NAMES) == 5


@pytest.mark.parametrize("name", NAMES)
def test_an_example_trains_and_does_what_it_says(name, tmp_path):
    run = recall_rl.train("probe", f"own_methods:{name}", budget="smoke", out=tmp_path / "run", settings=SHORT)
    assert len(list(run.evaluations())) == 6
    from safetensors.numpy import load_file

    weights = load_file(tmp_path / "run" / "weights.safetensors")
    assert all(np.isfinite(w).all() for w in weights.values())
