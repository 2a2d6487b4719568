import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.agent.state import init_agent
from recall_rl.collect.row import Row
from recall_rl.methods.variational import divergence, sampled_weights, stay_likely

ROW = Row(3, 2)
NET = NetworkConfig(width=16, trunk=2)
CONFIG = AgentConfig(actor=NET, critic=NET)
MASK = sampled_weights(initial=-2.0)


def agent():
    return init_agent(CONFIG, ROW, 2, 0, extend=MASK.extend)


def test_the_divergence_of_weights_matches_numerical_integration():
    x = np.linspace(-12, 12, 200_001)

    def density(mean, log_variance):
        return np.exp(-0.5 * (x - mean) ** 2 / np.exp(log_variance)) / np.sqrt(2 * np.pi * np.exp(log_variance))

    p, q = density(0.3, -0.5), density(-0.4, 0.6)
    exact = np.trapezoid(p * np.log(p / q), x)
    found = divergence(*(jnp.array([v]) for v in (0.3, -0.5, -0.4, 0.6)))
    assert float(found) == pytest.approx(exact, rel=1e-4)


def test_sampled_weights_have_the_learnt_mean_and_variance_and_the_means_act():
    given = agent()
    shared, heads = given.shared.params, given.heads.params
    assert MASK.view(None, 0, shared, heads, None) == (shared, heads)
    draw = jax.jit(jax.vmap(lambda key: MASK.view(None, 0, shared, heads, key)[0].actor[0].w))
    drawn = np.asarray(draw(jax.random.split(jax.random.key(0), 4000)))
    np.testing.assert_allclose(drawn.mean(0), shared.actor[0].w, atol=0.04)
    np.testing.assert_allclose(drawn.var(0), np.exp(-2.0), rtol=0.2)


def test_weights_are_held_near_their_last_distribution():
    anchor, given = stay_likely(1.0), agent()
    params = given.shared.params, given.heads.params
    wider = dataclasses.replace(params[0], extra=jax.tree.map(lambda v: v + 1.0, params[0].extra))
    given = dataclasses.replace(given, anchor=anchor.init(given))
    given = anchor.consolidate(given, None)
    assert float(anchor.loss(given.anchor, CONFIG, params, None, None)) == pytest.approx(0.0, abs=1e-4)
    assert float(anchor.loss(given.anchor, CONFIG, (wider, params[1]), None, None)) > 1.0


def test_normalisation_is_fixed_after_the_first_task():
    given = agent().shared.params
    first, later = (MASK.restrict(None, position, given, None)[0].actor[0] for position in (0, 1))
    np.testing.assert_array_equal(first.norm.scale, given.actor[0].norm.scale)
    np.testing.assert_array_equal(later.norm.scale, 0.0)
    np.testing.assert_array_equal(later.w, given.actor[0].w)
