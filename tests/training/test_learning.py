"""Does it learn? Short versions here; long ones on the real simulator with -m slow."""

import numpy as np
import pytest

import recall_rl


def success(run, position, last):
    found = [s["success"] for e in run.evaluations() for s in e["scores"] if s["position"] == position]
    return float(np.mean(found[-last:]))


def test_a_probe_is_learnt_and_then_forgotten(tmp_path):
    run = recall_rl.train("probe", budget="smoke", out=tmp_path / "run")
    first = [e["scores"][0]["success"] for e in run.evaluations()]
    learnt, left = np.mean(first[3:6]), np.mean(first[-3:])
    assert learnt >= 0.7
    assert success(run, 1, last=3) >= 0.8
    assert left <= learnt - 0.15


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_handle_press_side_is_learnt_within_the_laptop_budget(tmp_path, seed):
    pytest.importorskip("metaworld")
    run = recall_rl.train("handle-press-side", protocol="cw", budget="laptop", seed=seed, out=tmp_path / "run")
    assert success(run, 0, last=3) >= 0.9


def returns(tmp_path, method, scale):
    """Mean return over the last two evaluations of a probe whose rewards are multiplied, divided by the scale."""
    run = recall_rl.train(f"reach-0@{scale:g}", method, budget="smoke", out=tmp_path / f"{method}-{scale:g}")
    found = [e["scores"][0]["total"] / scale for e in run.evaluations()]
    return float(np.mean(found[-2:]))


@pytest.mark.parametrize("scale", [1e-2, 1e5])
def test_normalised_targets_make_learning_independent_of_the_reward_scale_briefly(tmp_path, scale):
    assert returns(tmp_path, "recall", scale) == pytest.approx(returns(tmp_path, "recall", 1.0), abs=1.5)


SCALES = [("recall", power) for power in range(-2, 6)] + [("recall-paper", 1), ("recall-paper", 2)]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "power"), SCALES)
def test_learning_is_independent_of_the_reward_scale(tmp_path, method, power):
    """The printed equations add entropy in the reward's units, so for them the promise begins at 10."""
    assert returns(tmp_path, method, 10.0**power) == pytest.approx(returns(tmp_path, method, 10.0), abs=1.5)


@pytest.mark.slow
@pytest.mark.parametrize("power", [3, 4, 5])
def test_the_printed_order_does_not_hold_for_large_rewards(tmp_path, power):
    """Statistics that follow the step let first gradients be as large as the rewards, and Adam remembers them."""
    assert returns(tmp_path, "recall-paper", 10.0**power) < returns(tmp_path, "recall-paper", 10.0) - 1.5


def test_without_normalisation_the_reward_scale_decides(tmp_path):
    """Random play earns about 8 of 20; tiny rewards drown in entropy."""
    assert returns(tmp_path, "naive-replay", 1e-2) < returns(tmp_path, "recall", 1e-2) - 3


def test_replay_keeps_the_first_probe(tmp_path):
    run = recall_rl.train("probe", "naive-replay", budget="smoke", out=tmp_path / "run")
    assert success(run, 0, last=1) >= 0.7
    assert success(run, 1, last=1) >= 0.7


@pytest.mark.slow
def test_on_the_robot_recall_learns_the_second_task_and_keeps_the_first_where_naive_replay_does_not(tmp_path):
    """Means over three seeds."""
    pytest.importorskip("metaworld")
    shape = {"agent.critic.trunk": 2, "agent.critic.head": 0}
    pair = "handle-press-side,window-close"
    found = {(method, position): [] for method in ("recall", "naive-replay") for position in (0, 1)}
    for seed in range(3):
        for method in ("recall", "naive-replay"):
            out = tmp_path / f"{method}-{seed}"
            run = recall_rl.train(pair, method, protocol="cw", seed=seed, out=out, settings=shape)
            for position in (0, 1):
                found[method, position].append(success(run, position, last=3))
    assert np.mean(found["recall", 0]) >= 0.9, found
    assert np.mean(found["recall", 1]) >= 0.85, found
    assert np.mean(found["naive-replay", 1]) <= 0.2, found
