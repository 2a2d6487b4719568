import jax
import numpy as np
import pytest
from shaken import shaken

from recall_rl.agent import sac
from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.agent.export import actors
from recall_rl.agent.state import init_agent
from recall_rl.collect.policy import act, distribution
from recall_rl.collect.row import Row
from recall_rl.methods.method import Method

SHAPES = [
    NetworkConfig(width=32, trunk=2),
    NetworkConfig(width=32, trunk=1, head=2, activation="leaky_relu", first_norm=True),
    NetworkConfig(width=16, trunk=0, head=2, activation="tanh", first_norm=True),
    NetworkConfig(width=16, trunk=0, head=0),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_numpy_actor_is_the_jax_actor(shape):
    config, row = AgentConfig(actor=shape), Row(6, 3)
    agent = shaken(init_agent(config, row, 3, 1), 0.3)
    rng = np.random.default_rng(0)
    observations = rng.standard_normal((20, 6)).astype(np.float32)
    noise = rng.standard_normal((20, 3)).astype(np.float32)
    for position, actor in enumerate(actors(agent, Method(), config, range(3))):
        slot = np.full(20, position)
        pi = sac.policy(config, agent.shared.params, agent.heads.params, observations, slot)
        actions, _ = sac.sample(pi, noise)
        for k, observation in enumerate(observations):
            mean, log_std = distribution(actor, observation)
            np.testing.assert_allclose(mean, pi.mean[k], rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(log_std, pi.log_std[k], rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(act(actor, observation, noise[k]), actions[k], rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(act(actor, observation, None), np.tanh(pi.mean[k]), rtol=1e-4, atol=1e-5)


def test_the_log_deviation_is_bounded():
    config, row = AgentConfig(actor=NetworkConfig(width=8, trunk=1)), Row(2, 1)
    agent = init_agent(config, row, 1, 0)
    agent = jax.tree.map(lambda x: 1e4 * x if x.dtype == np.float32 else x, agent)
    (actor,) = actors(agent, Method(), config, [0])
    for observation in np.random.default_rng(0).standard_normal((20, 2)).astype(np.float32):
        _, log_std = distribution(actor, observation)
        assert -20 <= log_std[0] <= 2
