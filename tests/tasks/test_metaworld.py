"""The ten tasks on the real simulator, with Meta-World's scripted experts as oracle."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("metaworld")
warnings.filterwarnings("ignore", message="Constant.s. may be too high")

from recall_rl.collect.episode import Address, Dice, Purpose  # noqa: E402
from recall_rl.errors import UsageError  # noqa: E402
from recall_rl.tasks.metaworld import CW10, CW12, MetaWorld, metaworld_task, with_own_code  # noqa: E402
from recall_rl.tasks.protocol import PROTOCOLS  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def make(name, protocol="cw") -> MetaWorld:
    return metaworld_task(name, PROTOCOLS[protocol]).make()


def expert(name):
    import metaworld.policies as policies

    return getattr(policies, "Sawyer" + "".join(w.capitalize() for w in name.split("-")) + "V3Policy")()


def play(env, seed, act):
    """(return, success) of an episode; `act` sees Meta-World's own 39 numbers."""
    env.reset(seed)
    full, total, success = env.env._get_obs(), 0.0, False
    full[18:36] = full[:18]
    while True:
        step = env.step(act(full))
        full, total, success = env.env._last_stable_obs, total + step.reward, success or step.success
        if step.truncated or step.terminated:
            return total, success


def with_expert(name, protocol, episodes):
    env, policy = make(name, protocol), expert(name)
    played = [play(env, seed, lambda o: np.clip(policy.get_action(o), -1, 1).astype(np.float32)) for seed in episodes]
    return np.mean([t for t, _ in played]), np.mean([s for _, s in played])


def with_random(name, protocol, episodes):
    env, rng = make(name, protocol), np.random.default_rng(0)
    played = [play(env, seed, lambda o: rng.uniform(-1, 1, 4).astype(np.float32)) for seed in episodes]
    return np.mean([s for _, s in played])


@pytest.mark.parametrize("protocol", ["cw", "mw3"])
@pytest.mark.parametrize("name", CW10)
def test_shapes_horizon_and_no_end_on_success(name, protocol):
    env = make(name, protocol)
    first = env.reset(0)
    size = 12 if protocol == "cw" else 39
    assert first.shape == (size,)
    assert first.dtype == np.float32
    goal = first[-3:]
    assert np.abs(goal).sum() > 0, "the goal is visible"
    steps = [env.step(np.zeros(4, np.float32)) for _ in range(200)]
    assert not any(s.terminated for s in steps)
    assert [s.truncated for s in steps] == [False] * 199 + [True]
    assert all(np.isfinite(s.observation).all() and np.isfinite(s.reward) for s in steps)
    starts = {env.reset(seed).tobytes() for seed in range(5)}
    assert len(starts) == 5, "a new start and goal at every episode"


@pytest.mark.parametrize("name", CW10)
def test_the_papers_numbers_are_hand_objects_and_goal(name):
    cw, mw = make(name, "cw"), make(name, "mw3")
    np.testing.assert_array_equal(cw.reset(3), mw.reset(3)[CW12])


@pytest.mark.parametrize("name", ["faucet-close", "handle-press-side", "window-close"])
def test_experts_succeed_and_chance_does_not_briefly(name):
    for protocol in ("cw", "mw3"):
        assert with_expert(name, protocol, range(3))[1] == 1.0
    assert with_random(name, "cw", range(3)) <= 1 / 3


def test_the_stick_pull_reward_is_corrected_briefly():
    total, success = with_expert("stick-pull", "cw", range(3))
    assert success > 0
    assert total >= 1e4


def test_the_stick_pull_reward_reads_the_second_object_where_it_is_now():
    ours, rng = make("stick-pull", "cw"), np.random.default_rng(1)
    uncorrected = type(ours.env).__mro__[1]
    ours.reset(1)
    for _ in range(20):
        action = rng.uniform(-1, 1, 4).astype(np.float32)
        ours.step(action)
        full, goal = ours.env._last_stable_obs, ours.env._target_pos[:2]
        pull_distance = ours.env.compute_reward(action, full)[3]
        assert pull_distance == np.linalg.norm(full[11:13] - goal)
        assert uncorrected.compute_reward(ours.env, action, full)[3] != pull_distance


def test_only_that_reward_is_touched():
    from metaworld.env_dict import ALL_V3_ENVIRONMENTS

    for name in CW10:
        for protocol in ("cw", "mw3"):
            made = with_own_code(metaworld_task(name, PROTOCOLS[protocol])).make()
            own = type(made.env) is ALL_V3_ENVIRONMENTS[f"{name}-v3"]
            assert own == ((name, protocol) != ("stick-pull", "cw"))


DIGEST = """
import hashlib, sys
import numpy as np
from recall_rl.collect.episode import Address, Dice, Purpose
from recall_rl.tasks.metaworld import CW10, metaworld_task
from recall_rl.tasks.protocol import PROTOCOLS

def digest(name, protocol):
    env = metaworld_task(name, PROTOCOLS[protocol]).make()
    if sys.argv[1] == "used":
        env.reset(99)
        for _ in range(37):
            env.step(np.ones(4, np.float32))
    dice = Dice(Address(7, Purpose.TRAIN, 0, 3, 11), 4)
    h = hashlib.sha256(env.reset(dice.environment_seed).tobytes())
    for _ in range(200):
        step = env.step(np.tanh(dice.noise()))
        h.update(step.observation.tobytes() + np.float64(step.reward).tobytes() + bytes([step.success]))
    return h.hexdigest()

for protocol in ("cw", "mw3"):
    for name in CW10:
        print(protocol, name, digest(name, protocol))
"""


def test_an_episode_is_a_function_of_its_address_in_any_process():
    """Bit for bit in two processes, one of which has played before."""
    runs = [
        subprocess.Popen([sys.executable, "-W", "ignore", "-c", DIGEST, how], stdout=subprocess.PIPE)
        for how in ("new", "used")
    ]
    new, used = (run.communicate()[0] for run in runs)
    assert len(new.splitlines()) == 20
    assert new == used


def test_dice_differ_by_every_part_of_the_address():
    base = Address(1, Purpose.TRAIN, 0, 0, 0)
    others = [
        base._replace(run_seed=2),
        base._replace(purpose=Purpose.EVALUATE),
        base._replace(moment=1),
        base._replace(position=1),
        base._replace(number=1),
    ]
    seen = {(Dice(a, 4).environment_seed, Dice(a, 4).noise().tobytes()) for a in [base, *others]}
    assert len(seen) == 6


def test_a_horizon_beyond_metaworlds_is_refused():
    with pytest.raises(UsageError, match="500 steps"):
        MetaWorld("push", "v1", "cw12", 501)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["cw", "mw3"])
@pytest.mark.parametrize("name", CW10)
def test_experts_succeed_and_chance_does_not(name, protocol):
    total, success = with_expert(name, protocol, range(50))
    chance = with_random(name, protocol, range(50))
    print(f"\n{name} {protocol}: expert success {success:.2f} return {total:,.0f}, random success {chance:.2f}")
    assert success >= (0.5 if name == "push-back" else 0.8)
    assert chance <= 0.2
    if (name, protocol) == ("stick-pull", "cw"):
        assert total >= 1e4
