"""Our faster step and reset against Meta-World's own code, number by number."""

import warnings

import numpy as np
import pytest

pytest.importorskip("metaworld")
warnings.filterwarnings("ignore", message="Constant.s. may be too high")

import mujoco  # noqa: E402
from metaworld.env_dict import ALL_V3_ENVIRONMENTS  # noqa: E402
from metaworld.utils import reward_utils  # noqa: E402
from scipy.spatial.transform import Rotation  # noqa: E402

from recall_rl.tasks import fast_helpers, fast_metaworld  # noqa: E402
from recall_rl.tasks.metaworld import CW10, MetaWorld, metaworld_task, with_own_code  # noqa: E402
from recall_rl.tasks.probes import probe_task  # noqa: E402
from recall_rl.tasks.protocol import PROTOCOLS  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

OTHERS = tuple(sorted(name.removesuffix("-v3") for name in ALL_V3_ENVIRONMENTS if name.removesuffix("-v3") not in CW10))


def pair(name, reward):
    """The same task stepped by Meta-World's code and by ours."""
    observation = "cw12" if reward == "v1" else "mw39"
    return [MetaWorld(name, reward, observation, 200, fast=fast) for fast in (False, True)]


def expert(name):
    import metaworld.policies as policies

    words = "".join(w.capitalize() for w in name.split("-"))
    return getattr(policies, f"Sawyer{words}V3Policy".replace("PegInsertSide", "PegInsertionSide"))()


def bits(value):
    """What is compared: the bytes of a number, whatever its type."""
    return np.asarray(value, np.float64).tobytes()


def episode(name, own, ours, seed, noise, steps=200):
    """Play one episode on both and compare all that a step returns; whether it succeeded."""
    rng, policy = np.random.default_rng(seed), expert(name)
    begun = []
    for env in (own.env, ours.env):
        env.seed(seed)
        begun.append(env.reset()[0])
    assert begun[0].tobytes() == begun[1].tobytes()
    full, success = begun[0], False
    for t in range(steps):
        wanted = np.asarray(policy.get_action(full), np.float64) if noise < 1 else np.zeros(4)
        action = np.clip(wanted + noise * rng.standard_normal(4), -1, 1).astype(np.float32)
        full, reward, _, late, info = own.env.step(action)
        again, paid, _, over, told = ours.env.step(action)
        assert again.tobytes() == full.tobytes(), f"observation of step {t} at {np.nonzero(again != full)[0]}"
        assert bits(paid) == bits(reward), f"reward of step {t}"
        assert over == late
        assert told.keys() == info.keys()
        assert all(bits(told[k]) == bits(info[k]) for k in info), f"info of step {t}: {told} for {info}"
        success = success or info["success"] > 0
    return success


@pytest.mark.parametrize("reward", ["v1", "v2"])
@pytest.mark.parametrize("name", CW10)
def test_every_number_of_an_episode_is_metaworlds_own(name, reward):
    own, ours = pair(name, reward)
    assert type(own.env) is not type(ours.env)
    assert episode(name, own, ours, 1 if name == "stick-pull" else 0, noise=0), (
        "the expert solves this start, so all branches of the reward are seen"
    )
    # A second reset: after an episode, and of a hand that was brought to its place before.
    episode(name, own, ours, 10, noise=2, steps=40)


@pytest.mark.slow
@pytest.mark.parametrize("reward", ["v1", "v2"])
@pytest.mark.parametrize("name", CW10)
def test_every_number_of_many_episodes_is_metaworlds_own(name, reward):
    own, ours = pair(name, reward)
    for seed in range(100, 116):
        episode(name, own, ours, seed, noise=(0, 0.3, 1, 2)[seed % 4])


@pytest.mark.slow
@pytest.mark.parametrize("reward", ["v1", "v2"])
@pytest.mark.parametrize("name", OTHERS)
def test_the_other_forty_tasks_too(name, reward):
    try:
        own, ours = pair(name, reward)
        own.reset(0)
        own.step(np.zeros(4, np.float32))
    except Exception as error:
        pytest.skip(f"Meta-World's own code raises {error!r}")
    for seed in range(4):
        episode(name, own, ours, seed, noise=(0, 2)[seed % 2])


def test_steps_through_the_task_are_the_same():
    """What a worker sees, through `Task.make`, with the setting that chooses between the two."""
    task = metaworld_task("push", PROTOCOLS["cw"])
    envs = [task.make(), with_own_code(task).make()]
    firsts = [env.reset(5) for env in envs]
    assert firsts[0].tobytes() == firsts[1].tobytes()
    for action in np.random.default_rng(0).uniform(-1, 1, (20, 4)).astype(np.float32):
        a, b = (env.step(action) for env in envs)
        assert a.observation.tobytes() == b.observation.tobytes()
        assert a[1:] == b[1:]
    reach = probe_task("reach-0")
    assert reach is not None
    assert with_own_code(reach) == reach


def test_a_version_that_is_not_known_runs_its_own_code(monkeypatch):
    monkeypatch.setattr(fast_metaworld, "KNOWN", ("0.0",))
    fast_metaworld.hastened.cache_clear()
    original = ALL_V3_ENVIRONMENTS["push-v3"]
    assert fast_metaworld.hastened(original) is original
    fast_metaworld.hastened.cache_clear()


def test_metaworlds_own_classes_stay_as_they_were():
    original = ALL_V3_ENVIRONMENTS["push-v3"]
    before = dict(vars(original))
    assert fast_metaworld.hastened(original).compute_reward is not original.compute_reward
    assert dict(vars(original)) == before


def test_quaternions_are_scipys():
    rng = np.random.default_rng(0)
    turns = [*rng.standard_normal((3000, 4)), *np.eye(4), *(rng.integers(-1, 2, (200, 4)) + 1e-9)]
    for turn in turns:
        matrix = np.empty(9)
        mujoco.mju_quat2Mat(matrix, turn / np.linalg.norm(turn))
        matrix = matrix.reshape(3, 3)
        assert fast_helpers.quaternion(matrix).tobytes() == Rotation.from_matrix(matrix).as_quat().tobytes()
    bent = np.eye(3) + 1e-6 * rng.standard_normal((3, 3))
    assert fast_helpers.quaternion(bent).tobytes() == Rotation.from_matrix(bent).as_quat().tobytes()


def test_tolerances_are_metaworlds():
    rng = np.random.default_rng(0)
    for x, low, width, margin in rng.uniform(-0.1, 0.4, (3000, 4)):
        bounds, margin = (low, low + abs(width)), abs(margin)
        for sigmoid in ("long_tail", "gaussian"):
            ask = {"bounds": bounds, "margin": margin, "sigmoid": sigmoid}
            assert bits(fast_helpers.tolerance(x, **ask)) == bits(reward_utils.tolerance(x, **ask))
    assert fast_helpers.tolerance(0.5, (0, 0.1), 0.0, "long_tail") == 0.0
    with pytest.raises(ValueError, match="Lower bound"):
        fast_helpers.tolerance(0.5, (1, 0), 0.1, "long_tail")


def test_lengths_and_stacks_are_numpys():
    rng = np.random.default_rng(0)
    for x in rng.standard_normal((2000, 3)):
        assert bits(fast_helpers.norm(x)) == bits(np.linalg.norm(x))
    for odd in (0.3, np.float64(-0.2), [3.0, 4.0], np.ones(3, np.float32), np.ones((2, 2))):
        assert bits(fast_helpers.norm(odd)) == bits(np.linalg.norm(odd))
    for parts in ((np.ones(2), np.zeros(3)), (1.0, 2.0), (np.float64(0.1), np.float64(0.2)), (np.ones(2), 3.0)):
        assert np.array_equal(fast_helpers.hstack(parts), np.hstack(parts))
