import numpy as np
import pytest

from recall_rl.errors import UsageError
from recall_rl.tasks.gymnasium import with_pictures
from recall_rl.tasks.own import OwnTask, own_task, parse_tasks
from recall_rl.tasks.protocol import protocol
from recall_rl.tasks.sequences import sequence, used


def steps(task, count=100):
    """The first episode with actions of zero."""
    env = task.make()
    env.reset(0)
    found = []
    for _ in range(count):
        found.append(env.step(np.zeros(env.action_size, np.float32)))
        if found[-1].terminated or found[-1].truncated:
            return env, found
    return env, found


def test_rewards_are_scaled_and_success_is_by_the_unscaled_return_at_the_end():
    # Twelve steps of reward 1, then it terminates.
    for threshold, succeeds in [(12.0, True), (12.5, False)]:
        _, found = steps(own_task(OwnTask("broken_envs:Sound", reward_scale=1000.0, success_return=threshold)))
        assert [step.reward for step in found] == [1000.0] * 12
        assert [step.success for step in found] == [False] * 11 + [succeeds]
        assert (found[-1].terminated, found[-1].truncated) == (True, False)


def test_a_horizon_cuts_and_lengthens():
    _, found = steps(own_task(OwnTask("broken_envs:Sound", horizon=5)))
    assert [step.truncated for step in found] == [False] * 4 + [True]
    # Gymnasium's own limit of it is 40.
    _, found = steps(own_task(OwnTask("broken_envs:Sound-v0", kwargs={"break_at": -1}, horizon=60)))
    assert len(found) == 60
    _, found = steps(own_task(OwnTask("broken_envs:Sound-v0", kwargs={"break_at": -1})))
    assert len(found) == 40
    assert own_task(OwnTask("a:b"), horizon=7).options["horizon"] == 7


def test_success_of_the_environment_itself_counts_where_no_return_is_named():
    _, found = steps(own_task(OwnTask("broken_envs:AlwaysDone")))
    assert all(step.success for step in found)


def test_sizes_are_filled_up():
    env, found = steps(own_task(OwnTask("broken_envs:Sound", observation_size=5, action_size=4)))
    assert (env.observation_size, env.action_size) == (5, 4)
    plain = steps(own_task(OwnTask("broken_envs:Sound")))[1]
    for step, same in zip(found, plain, strict=True):
        assert step.observation.dtype == np.float32
        np.testing.assert_array_equal(step.observation, [*same.observation, 0, 0])
    env.step(np.array([1, -1, 1, 1], np.float32))
    np.testing.assert_allclose(env.inner.env.last_action, [4, 0])
    with pytest.raises(UsageError, match="has 3 numbers of observation; observation_size = 2 is too small"):
        own_task(OwnTask("broken_envs:Sound", observation_size=2)).make()


@pytest.mark.parametrize("env", ["broken_envs:Pictured", "broken_envs:Pictured-v0"])
def test_a_task_is_made_to_draw_where_pictures_are_asked_for(env):
    plain = own_task(OwnTask(env))
    with pytest.raises(UsageError, match="cannot be rendered"):
        plain.make().render()
    drawing = with_pictures(plain).make()
    drawing.reset(0)
    assert drawing.render().shape == (8, 8, 3)


@pytest.mark.parametrize(
    ("given", "helps"),
    [
        ({"env": "A-v0", "name": "two words"}, "is no name for a task"),
        ({"env": "A-v0", "reward_scale": 0.0}, "must be positive"),
        ({"env": "A-v0", "horizon": -5}, "must be positive"),
        ({"env": "A-v0", "success_return": float("nan")}, "finite"),
        ({"env": ""}, "needs an env"),
    ],
)
def test_what_cannot_work_is_refused_with_a_sentence(given, helps):
    with pytest.raises(UsageError, match=helps):
        OwnTask(**given)
    with pytest.raises(UsageError, match=helps):
        parse_tasks({given.get("name", "x"): given}, "mine.toml")


@pytest.mark.parametrize(
    ("table", "helps"),
    [
        ([1], "must be tables"),
        ({"run": 3}, "must be a table"),
        ({"run": {"env": "A-v0", "rewardscale": 2}}, "Did you mean 'reward_scale'"),
        ({"run": {"env": "A-v0", "horizon": "long"}}, "wrong field: .*horizon"),
        ({"run": {}}, "env"),
        ({"run": {"env": "A-v0", "name": "walk"}}, "calls itself 'walk'"),
    ],
)
def test_a_table_that_is_not_one_of_tasks_is_refused(table, helps):
    with pytest.raises(UsageError, match=helps):
        parse_tasks(table, "mine.toml")


def test_names():
    assert OwnTask("HalfCheetah-v5").name == "HalfCheetah-v5"
    assert OwnTask("my_pkg.mine:make").name == "make"
    assert OwnTask("Meta-World/MT1").name == "MT1"
    own = {"b": OwnTask("B-v0", "b"), "a": OwnTask("A-v0", "a")}
    assert list(used(own, ("a", "reach-0"))) == ["a"]
    for taken in ("hammer", "cw10", "reach-90", "probe"):
        with pytest.raises(UsageError, match="that name is taken"):
            used({taken: OwnTask("A-v0", taken)}, ("reach-0",))
    with pytest.raises(UsageError, match="run it with --protocol own"):
        sequence("a", protocol("cw"), own)
    with pytest.raises(UsageError, match="Did you mean 'stroll'"):
        sequence("strol", protocol("own"), {"stroll": OwnTask("A-v0", "stroll")})


def test_meta_worlds_other_tasks_are_a_line_each():
    task = OwnTask(
        "recall_rl.tasks.metaworld:MetaWorld",
        "drawer-open",
        {"name": "drawer-open", "reward": "v2", "observation": "mw39", "horizon": 200},
    )
    pytest.importorskip("metaworld")
    env = own_task(task).make()
    assert (env.observation_size, env.action_size) == (39, 4)
    first = env.reset(3)
    assert env.step(np.zeros(4, np.float32)).reward >= 0
    assert env.reset(4).tobytes() != first.tobytes()
    assert env.reset(3).tobytes() == first.tobytes()
    with pytest.raises(UsageError, match="Did you mean 'drawer-open'"):
        own_task(OwnTask(task.env, "x", {**task.kwargs, "name": "drawer-opn"})).make()
