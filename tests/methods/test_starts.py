import jax
import numpy as np
import pytest
from shaken import shaken

from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.agent.state import init_agent
from recall_rl.collect.row import Row
from recall_rl.methods.starts import Inherited, best_return, best_return_as_released, copy_head
from recall_rl.methods.targets import popart
from recall_rl.tasks.task import Stage

NET = NetworkConfig(width=8, trunk=1, head=1)
CONFIG = AgentConfig(actor=NET, critic=NET)


def agent(tasks=4):
    return shaken(init_agent(CONFIG, Row(3, 2), tasks, 0, popart().init()), 0.5)


def head(part, i):
    return [np.asarray(x)[i].tobytes() for x in jax.tree.leaves(part)]


@pytest.mark.parametrize("critic", [True, False])
@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("temperature", [True, False])
def test_copying_a_head_leaves_every_other_head_bit_identical(critic, statistics, temperature):
    before = agent()
    after = copy_head(before, 1, 3, Inherited(critic, statistics, temperature))
    for i in (0, 1, 2, 4):
        assert head(after.heads, i) == head(before.heads, i)
    assert head(after.heads.params.actor, 3) == head(before.heads.params.actor, 1)
    for part, taken in (
        (lambda h: h.params.critics, critic),
        (lambda h: h.targets, critic),
        (lambda h: h.statistics, statistics),
    ):
        assert (head(part(after.heads), 3) == head(part(before.heads), 1)) == taken
        assert (head(part(after.heads), 3) == head(part(before.heads), 3)) != taken
    assert (float(after.heads.params.log_alpha[3]) == float(before.heads.params.log_alpha[1])) == temperature
    same = jax.tree.map(lambda a, b: np.array_equal(a, b), after.shared, before.shared)
    assert all(jax.tree.leaves(same))


def test_the_head_with_the_best_return_is_taken():
    start, before = best_return(), agent()
    assert start.candidates(before, Stage(new=(0,))) == {}
    tried = start.candidates(before, Stage(new=(3,)))
    assert list(tried) == [0, 1, 2]
    for k in tried:
        np.testing.assert_array_equal(tried[k][-1].w, before.heads.params.actor[-1].w[k])
    after = start.begin(before, Stage(new=(3,)), {0: -5.0, 1: 2.0, 2: 1.0})
    assert head(after.heads.params, 3) == head(before.heads.params, 1)
    assert start.begin(before, Stage(new=(0,)), {}) is before


def test_target_critics_may_start_equal_to_the_copied_critics():
    after = copy_head(agent(), 1, 3, Inherited(targets_follow=False))
    assert head(after.heads.targets, 3) == head(after.heads.params.critics, 3)


def test_as_released_a_candidate_is_the_sum_of_the_heads_up_to_it():
    before = agent()
    tried = best_return_as_released().candidates(before, Stage(new=(3,)))
    w = np.asarray(before.heads.params.actor[-1].w)
    np.testing.assert_allclose(tried[2][-1].w, w[:3].sum(0), rtol=1e-5, atol=1e-6)
    alone = best_return_as_released(summed=False).candidates(before, Stage(new=(3,)))
    np.testing.assert_array_equal(alone[2][-1].w, w[2])


def test_as_released_columns_are_copied_with_the_wrong_stride():
    """In a matrix whose column a * N + h is action a of head h, columns A * best.. land on A * new..."""
    before, n, actions = agent(), 4, 2
    after = best_return_as_released().begin(before, Stage(new=(3,)), {0: 0.0, 1: 5.0, 2: 1.0})
    old, new = (np.asarray(x.heads.params.actor[-1].w) for x in (before, after))
    for half in (slice(0, actions), slice(actions, 2 * actions)):
        flat = np.stack([old[h, :, half][:, a] for a in range(actions) for h in range(n)], axis=1)
        flat[:, actions * 3 : actions * 4] = flat[:, actions * 1 : actions * 2]
        for a in range(actions):
            for h in range(n):
                np.testing.assert_array_equal(new[h, :, half][:, a], flat[:, a * n + h])
    assert any(head(after.heads.params.actor, i) != head(before.heads.params.actor, i) for i in (0, 1, 2))
    tidy = best_return_as_released(strided=False).begin(before, Stage(new=(3,)), {0: 0.0, 1: 5.0, 2: 1.0})
    assert head(tidy.heads.params.actor, 3) == head(before.heads.params.actor, 1)
    assert all(head(tidy.heads.params, i) == head(before.heads.params, i) for i in (0, 1, 2))
