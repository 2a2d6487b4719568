"""The losses against a second, plain NumPy writing of the equations."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from shaken import shaken

from recall_rl.agent import sac
from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.agent.state import init_agent
from recall_rl.agent.update import Rules, _loss, _targets
from recall_rl.collect.row import Row
from recall_rl.memory.sample import Group
from recall_rl.methods.method import Method

ROW, CONFIG = (
    Row(5, 2),
    AgentConfig(
        actor=NetworkConfig(width=16, trunk=2, first_norm=False),
        critic=NetworkConfig(width=16, trunk=1, head=1, first_norm=False),
        gamma=0.9,
    ),
)

RULES = Rules(Method(), CONFIG, ROW)


@pytest.fixture
def agent():
    return shaken(init_agent(CONFIG, ROW, 2, 3), 0.2)


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((12, ROW.width)).astype(np.float32)
    rows[:, ROW.action] = np.tanh(rows[:, ROW.action])
    rows[:, ROW.terminated] = rng.integers(0, 2, 12)
    learn = Group(jnp.asarray(rows), jnp.asarray(rng.integers(0, 2, 12)))
    none = jnp.zeros(0, jnp.int32)
    reference, distil = Group(jnp.zeros((0, ROW.width)), none), Group(jnp.zeros((0, 9)), none)
    return sac.columns(learn, reference, distil, ROW)


def mlp(trunk, heads, x, head):
    """One row through trunk and head, by hand, in float64."""
    layers = [(np.float64(layer.w), np.float64(layer.b)) for layer in trunk]
    layers += [(np.float64(layer.w)[head], np.float64(layer.b)[head]) for layer in heads]
    for k, (w, b) in enumerate(layers):
        x = x @ w + b
        if k < len(layers) - 1:
            x = np.maximum(x, 0)
    return x


def by_hand(agent, batch, eps_next, eps):
    """(y, L_Q, L_pi, L_alpha) of the batch as loops over rows."""
    shared, heads = agent.shared, agent.heads
    columns = [np.float64(c) for c in batch[:5]]
    ys, errors, pis, temps = [], [], [], []
    entropy = 2 * math.log(0.089 * math.sqrt(2 * math.pi * math.e))
    for i, head in enumerate(np.asarray(batch.slot)):
        s, a, r, terminated, s_next = (c[i] for c in columns)
        log_alpha = float(heads.params.log_alpha[head])
        alpha = math.exp(log_alpha)

        def pi(s, eps, head=head):
            out = mlp(shared.params.actor, heads.params.actor, s, head)
            mean, log_std = out[:2], np.clip(out[2:], -20, 2)
            u = mean + np.exp(log_std) * eps
            density = np.exp(-0.5 * ((u - mean) / np.exp(log_std)) ** 2) / (np.exp(log_std) * math.sqrt(2 * math.pi))
            return np.tanh(u), float(np.sum(np.log(density) - np.log(1 - np.tanh(u) ** 2)))

        def q(trunks, own, s, a, head=head):
            return [mlp(trunks[k], own[k], np.concatenate([s, a]), head)[0] for k in (0, 1)]

        a_next, log_next = pi(s_next, np.float64(eps_next[i]))
        v = min(q(shared.targets, heads.targets, s_next, a_next)) - alpha * log_next
        y = r + 0.9 * (1 - terminated) * v
        ys.append(y)
        errors.append(sum((value - y) ** 2 for value in q(shared.params.critics, heads.params.critics, s, a)))
        a_pi, log_pi = pi(s, np.float64(eps[i]))
        pis.append(alpha * log_pi - min(q(shared.params.critics, heads.params.critics, s, a_pi)))
        temps.append(-log_alpha * (log_pi + entropy))
    return np.array(ys), 0.5 * np.mean(errors), np.mean(pis), np.mean(temps)


def test_targets_and_losses_are_the_equations(agent, batch):
    noise = np.asarray(jax.random.normal(jax.random.key(5), (2, 12, 2)))
    y, l_q, l_pi, l_alpha = by_hand(agent, batch.learn, noise[0], noise[1])
    ours = _targets(RULES, agent, batch.learn, jnp.array(0), jax.random.key(5), noise[0])
    np.testing.assert_allclose(ours, y, rtol=2e-4, atol=1e-4)
    params = (agent.shared.params, agent.heads.params)
    total, metrics = _loss(RULES, params, batch.learn, jnp.asarray(y, jnp.float32), noise[1])
    np.testing.assert_allclose(metrics["critic_loss"], l_q, rtol=1e-4)
    np.testing.assert_allclose(metrics["actor_loss"], l_pi, rtol=1e-4)
    np.testing.assert_allclose(total, l_q + l_pi + l_alpha, rtol=1e-4)


def test_each_loss_reaches_only_its_own_parameters(agent, batch):
    """The joint gradient equals the three gradients taken apart."""
    noise = jax.random.normal(jax.random.key(5), (12, 2))
    y = _targets(RULES, agent, batch.learn, jnp.array(0), jax.random.key(5), noise)

    def part(params, name):
        _, metrics = _loss(RULES, params, batch.learn, y, noise)
        return metrics[name]

    params = (agent.shared.params, agent.heads.params)
    joint = jax.grad(lambda p: _loss(RULES, p, batch.learn, y, noise)[0])(params)
    critic = jax.grad(lambda p: part(p, "critic_loss"))(params)
    actor = jax.grad(lambda p: part(p, "actor_loss"))(params)
    for k in (0, 1):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), joint[k].critics, critic[k].critics)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), joint[k].actor, actor[k].actor)
        assert all(not np.any(leaf) for leaf in jax.tree.leaves(actor[k].critics))
        assert all(not np.any(leaf) for leaf in jax.tree.leaves(critic[k].actor))


def test_target_entropy_is_about_minus_the_action_size():
    assert sac.target_entropy(AgentConfig(), 4) == pytest.approx(-4, abs=0.01)


def test_log_density_integrates_to_one():
    """exp(log pi) of the squashed Gaussian over (-1, 1), and its tails stay finite."""
    mean, log_std = jnp.array([[0.3]]), jnp.array([[-0.5]])
    u = jnp.linspace(-8, 8, 40_001)
    noise = ((u - 0.3) / jnp.exp(-0.5))[:, None]
    a, log_pi = jax.vmap(lambda n: sac.sample(sac.Gaussian(mean, log_std), n[None]))(noise)
    total = np.trapezoid(np.exp(np.float64(log_pi[:, 0])), np.float64(a[:, 0, 0]))
    assert total == pytest.approx(1.0, abs=1e-3)
    _, far = sac.sample(sac.Gaussian(jnp.array([[50.0]]), jnp.array([[2.0]])), jnp.array([[3.0]]))
    assert np.isfinite(far).all()
