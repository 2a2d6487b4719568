import broken_envs  # noqa: F401  (registers)
import numpy as np
import pytest

from recall_rl.errors import UsageError
from recall_rl.tasks.gymnasium import Gymnasium, gymnasium_task


def test_actions_are_scaled_to_the_bounds():
    env = Gymnasium("Sound-v0")
    assert (env.observation_size, env.action_size) == (3, 2)
    env.reset(0)
    for action, sent in [((-1, -1), (-2, 0)), ((1, 1), (4, 10)), ((0, 0), (1, 5))]:
        env.step(np.array(action, np.float32))
        np.testing.assert_allclose(env.env.unwrapped.last_action, sent)


def test_termination_truncation_and_the_final_observation():
    ends = Gymnasium("Sound-v0", break_at=3)
    ends.reset(0)
    steps = [ends.step(np.zeros(2, np.float32)) for _ in range(3)]
    assert (steps[-1].terminated, steps[-1].truncated) == (True, False)
    assert steps[-1].observation[1] == 3, "the observation after the last action, not of the next episode"

    lasts = Gymnasium("Sound-v0", break_at=1000)
    lasts.reset(0)
    steps = [lasts.step(np.zeros(2, np.float32)) for _ in range(40)]
    assert (steps[-1].terminated, steps[-1].truncated) == (False, True)
    assert not any(s.truncated for s in steps[:-1])

    cut = Gymnasium("Sound-v0", horizon=5, break_at=1000)
    cut.reset(0)
    assert [cut.step(np.zeros(2, np.float32)).truncated for _ in range(5)] == [False] * 4 + [True]


def test_an_episode_is_a_function_of_its_seed():
    env = Gymnasium("Sound-v0")
    first = env.reset(5)
    env.step(np.ones(2, np.float32))
    assert env.reset(6)[0] != first[0]
    assert env.reset(5).tobytes() == first.tobytes()


@pytest.mark.parametrize(
    ("identity", "helps"),
    [
        ("DiscreteActions-v0", "Box spaces only"),
        ("Unbounded-v0", "infinite bounds"),
        ("NoSuchEnv-v0", "cannot make"),
        ("no_such_module:Env-v0", "cannot make"),
    ],
)
def test_environments_that_do_not_fit_are_explained(identity, helps):
    with pytest.raises(UsageError, match=helps):
        gymnasium_task(identity).make()
