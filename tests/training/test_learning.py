"""Does it learn? Short versions here; long ones on the real simulator with -m slow."""

import numpy as np
import pytest

import recall_rl


def success(run, position, last):
    found = [s["success"] for e in run.evaluations() for s in e["scores"] if s["position"] == position]
    return float(np.mean(found[-last:]))


def test_a_probe_is_learnt_and_then_forgotten(tmp_path):
    run = recall_rl.train("probe", budget="smoke", out=tmp_path / "run")
    scores = {e["step"]: {s["task"]: s["success"] for s in e["scores"]} for e in run.evaluations()}
    assert scores[4000]["reach-0"] >= 0.8
    assert scores[8000]["reach-180"] >= 0.8
    assert scores[8000]["reach-0"] <= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_handle_press_side_is_learnt_within_the_laptop_budget(tmp_path, seed):
    pytest.importorskip("metaworld")
    run = recall_rl.train("handle-press-side", protocol="cw", budget="laptop", seed=seed, out=tmp_path / "run")
    assert success(run, 0, last=3) >= 0.9
