import numpy as np
import pytest

from recall_rl.tasks.probes import Constant, Reach


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
@pytest.mark.parametrize("scale", [1.0, 1e5])
def test_a_greedy_player_gets_the_best_return_and_succeeds(turn, scale):
    env = Reach(turn, scale)
    for seed in range(20):
        observation = env.reset(seed)
        best, total, success = env.best_return(), 0.0, False
        angle = np.deg2rad(turn)
        turn_back = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        while True:
            gap = (observation[2:] - observation[:2]).astype(np.float64)
            step = env.step(turn_back @ np.clip(gap / env.SPEED, -1, 1))
            total, success, observation = total + step.reward, success or step.success, step.observation
            if step.truncated:
                break
        assert success
        assert total == pytest.approx(best, rel=1e-5)
        assert best <= scale * env.HORIZON


def test_random_play_seldom_succeeds_and_never_beats_the_best():
    env, rng, wins = Reach(), np.random.default_rng(0), 0
    for seed in range(50):
        env.reset(seed)
        best, total, won = env.best_return(), 0.0, False
        for _ in range(env.HORIZON):
            step = env.step(rng.uniform(-1, 1, 2).astype(np.float32))
            total, won = total + step.reward, won or step.success
        wins += won
        assert total <= best + 1e-9
    assert wins <= 10


@pytest.mark.parametrize("terminates", [True, False])
def test_constant_ends_as_told(terminates):
    env = Constant(reward=2.0, length=3, terminates=terminates)
    env.reset(0)
    steps = [env.step(np.zeros(1, np.float32)) for _ in range(3)]
    assert [s.terminated for s in steps] == [False, False, terminates]
    assert [s.truncated for s in steps] == [False, False, not terminates]
    assert sum(s.reward for s in steps) == 6.0
