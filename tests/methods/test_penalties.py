import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from shaken import shaken

from recall_rl.agent import sac
from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.agent.state import init_agent
from recall_rl.collect.row import Row
from recall_rl.memory.memory import Memory
from recall_rl.methods.method import Ended
from recall_rl.methods.penalties import fisher, fisher_penalty, near, sensitivity, sensitivity_penalty
from recall_rl.tasks.task import Stage

ROW = Row(3, 2)
NET = NetworkConfig(width=6, trunk=1, first_norm=False)
CONFIG = AgentConfig(actor=NET, critic=NET)


def agent():
    return shaken(init_agent(CONFIG, ROW, 2, 0), 0.3)


def seen(agent):
    return agent.shared.params, agent.heads.params


def ended(agent, position=0, states=None):
    memory = Memory(ROW, 2)
    rows = np.random.default_rng(0).standard_normal((400, ROW.width)).astype(np.float32)
    if states is not None:
        rows[:, ROW.observation] = states
    memory.open(position, 400)
    memory.append(position, rows)
    view = lambda position: seen(agent)  # noqa: E731
    return Ended(memory, Stage(new=(position,)), CONFIG, view, np.random.default_rng(1))


def test_the_fisher_information_matches_a_monte_carlo_estimate():
    """E[(d log pi(a | s) / dw)^2] over actions drawn from the policy."""
    given, s = agent(), jnp.array([0.5, -1.0, 0.3])
    exact = fisher(CONFIG, given.shared.params.actor, seen(given), 0, s)

    def log_density(trunk, u):
        shared = dataclasses.replace(given.shared.params, actor=trunk)
        heads = jax.tree.map(lambda x: x[:1], given.heads.params)
        pi = sac.policy(CONFIG, shared, heads, s[None], jnp.zeros(1, jnp.int32))
        return jnp.sum(-0.5 * ((u - pi.mean[0]) / jnp.exp(pi.log_std[0])) ** 2 - pi.log_std[0])

    heads = jax.tree.map(lambda x: x[:1], given.heads.params)
    pi = sac.policy(CONFIG, given.shared.params, heads, s[None], jnp.zeros(1, jnp.int32))
    u = pi.mean + jnp.exp(pi.log_std) * jax.random.normal(jax.random.key(0), (40_000, 2))
    scores = jax.jit(jax.vmap(jax.grad(log_density), in_axes=(None, 0)))(given.shared.params.actor, u)
    for found, score in zip(jax.tree.leaves(exact), jax.tree.leaves(scores), strict=True):
        estimate = np.mean(np.asarray(score) ** 2, axis=0)
        np.testing.assert_allclose(found, np.maximum(estimate, 1e-5), rtol=0.06, atol=2e-5)


def test_sensitivity_is_the_slope_of_the_outputs_squared_length():
    given, s, step = agent(), jnp.array([0.5, -1.0, 0.3]), 1e-2
    found = sensitivity(CONFIG, given.shared.params.actor, seen(given), 0, s)

    def length(w):
        trunk = (dataclasses.replace(given.shared.params.actor[0], w=w),)
        shared = dataclasses.replace(given.shared.params, actor=trunk)
        heads = jax.tree.map(lambda x: x[:1], given.heads.params)
        pi = sac.policy(CONFIG, shared, heads, s[None], jnp.zeros(1, jnp.int32))
        return float(jnp.sum(pi.mean**2) + jnp.sum(pi.log_std**2))

    w = given.shared.params.actor[0].w
    for i, j in ((0, 0), (1, 3), (2, 5)):
        slope = (length(w.at[i, j].add(step)) - length(w.at[i, j].add(-step))) / (2 * step)
        assert float(found[0].w[i, j]) == pytest.approx(abs(slope), rel=0.05, abs=1e-3)


@pytest.mark.parametrize("make", [near, fisher_penalty, sensitivity_penalty])
def test_a_penalty_is_zero_before_and_at_the_end_of_a_task_and_holds_the_actors_trunk(make):
    anchor, given = make(10.0), agent()
    given = dataclasses.replace(given, anchor=anchor.init(given))
    moved = shaken(given, 0.1)
    assert float(anchor.loss(given.anchor, CONFIG, seen(moved), None, None)) == 0.0
    given = anchor.consolidate(given, ended(given))
    assert float(anchor.loss(given.anchor, CONFIG, seen(given), None, None)) == 0.0
    loss = lambda params: anchor.loss(given.anchor, CONFIG, params, None, None)  # noqa: E731
    grads = jax.grad(loss)(seen(moved))
    assert float(loss(seen(moved))) > 0
    assert all(np.any(g) for g in jax.tree.leaves(grads[0].actor))
    assert not any(np.any(g) for g in jax.tree.leaves((grads[0].critics, grads[1])))


def test_importance_adds_up_over_tasks_and_old_weights_are_the_latest():
    anchor, first = near(1.0), agent()
    first = dataclasses.replace(first, anchor=anchor.init(first))
    first = anchor.consolidate(first, ended(first))
    later = dataclasses.replace(shaken(first, 0.1), anchor=first.anchor)
    later = anchor.consolidate(later, ended(later, position=1))
    np.testing.assert_array_equal(later.anchor.importance[0].w, 2.0)
    np.testing.assert_array_equal(later.anchor.old[0].w, later.shared.params.actor[0].w)


def test_the_mean_importance_of_one_repeated_state_is_its_own():
    anchor, given, s = fisher_penalty(1.0), agent(), np.array([0.5, -1.0, 0.3], np.float32)
    given = dataclasses.replace(given, anchor=anchor.init(given))
    found = anchor.consolidate(given, ended(given, states=s)).anchor.importance
    alone = fisher(CONFIG, given.shared.params.actor, seen(given), 0, jnp.asarray(s))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-7), found, alone)
