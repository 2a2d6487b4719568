import jax
import jax.numpy as jnp
import numpy as np
import pytest
from shaken import shaken

from recall_rl.agent import sac
from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.agent.state import init_agent
from recall_rl.collect.row import Row
from recall_rl.methods.targets import Statistics, popart

ROW = Row(4, 2)
NET = NetworkConfig(width=16, trunk=1, head=1)
CONFIG = AgentConfig(actor=NET, critic=NET)


def outputs(part, statistics, shared, heads, s, a, slot):
    """Unnormalised outputs of two critics, in the reward's units."""
    raw = [sac.value(CONFIG, shared[k], heads[k], s, a, slot) for k in (0, 1)]
    return [np.asarray(part.unnormalise(statistics, q, slot)) for q in raw]


@pytest.mark.parametrize("corrected", [True, False])
@pytest.mark.parametrize("jump", [1e-3, 1.0, 1e3, 1e6])
def test_rescaling_leaves_every_unnormalised_output_as_it_was(jump, corrected):
    """Of both critics and both targets, for every head, present or not."""
    part, rng = popart(beta=0.5, corrected=corrected), np.random.default_rng(0)
    agent = shaken(init_agent(CONFIG, ROW, 2, 0, part.init()), 0.3)
    statistics = Statistics(jnp.array([3.0, -50.0, 0.0]), jnp.array([4.0, 1e4, 1.0]), jnp.ones(3))
    s, a = rng.standard_normal((9, 4)).astype(np.float32), rng.standard_normal((9, 2)).astype(np.float32)
    slot = jnp.asarray(rng.integers(0, 3, 9))
    y = jnp.asarray(jump * rng.standard_normal(9) + jump, jnp.float32)
    new, critics, targets = part.adapt(
        statistics, agent.heads.params.critics, agent.heads.targets, y, jnp.zeros(9, jnp.int32)
    )
    assert float(new.variance[0]) != 4.0
    assert [float(v) for v in new.variance[1:]] == [1e4, 1.0], "heads without rows keep their statistics"
    for shared, before, after in (
        (agent.shared.params.critics, agent.heads.params.critics, critics),
        (agent.shared.targets, agent.heads.targets, targets),
    ):
        old = outputs(part, statistics, shared, before, s, a, slot)
        now = outputs(part, new, shared, after, s, a, slot)
        for o, n in zip(old, now, strict=True):
            scale = np.abs(o).max() + np.sqrt(float(new.variance.max()))
            np.testing.assert_allclose(n, o, atol=2e-6 * scale)


def follow(part, batches):
    layers = init_agent(CONFIG, ROW, 0, 0).heads.params.critics
    statistics = jax.tree.map(lambda x: x[None], part.init())
    adapt = jax.jit(lambda s, y: part.adapt(s, layers, layers, y, jnp.zeros(len(y), jnp.int32))[0])
    for y in batches:
        statistics = adapt(statistics, jnp.asarray(y, jnp.float32))
        assert all(np.isfinite(x).all() for x in jax.tree.leaves(statistics))
    return float(statistics.mu[0]), float(jnp.sqrt(statistics.variance)[0])


@pytest.mark.parametrize("deviation", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("mean_over_deviation", [0.0, -10.0, 1e4])
def test_statistics_converge_to_the_true_mean_and_deviation(deviation, mean_over_deviation):
    rng = np.random.default_rng(0)
    mean = mean_over_deviation * deviation
    batches = [mean + deviation * rng.standard_normal(128) for _ in range(3000)]
    mu, sigma = follow(popart(beta=3e-3), batches)
    assert mu == pytest.approx(mean, abs=0.05 * deviation)
    assert sigma == pytest.approx(deviation, rel=0.1)


def test_constant_targets_never_divide_by_zero():
    part = popart()
    mu, sigma = follow(part, [np.full(16, 7.0)] * 50)
    assert mu == pytest.approx(7.0)
    assert sigma == pytest.approx(0.0, abs=1e-3)
    flat = Statistics(jnp.array([7.0]), jnp.array([0.0]), jnp.array([50.0]))
    assert np.isfinite(part.normalise(flat, jnp.array([8.0]), jnp.array([0]))).all()


def test_the_centred_form_is_the_papers_second_moment():
    """Equation 6 as printed, in float64, against ours."""
    rng, beta, mu, nu = np.random.default_rng(0), 0.1, 0.0, 1.0
    batches = [5 + 2 * rng.standard_normal(8) for _ in range(40)]
    for y in batches:
        mu, nu = mu + beta * (y.mean() - mu), nu + beta * ((y**2).mean() - nu)
    found = follow(popart(beta=beta, corrected=False), batches)
    np.testing.assert_allclose(found, (mu, np.sqrt(nu - mu**2)), rtol=1e-4)


def test_normalise_and_unnormalise_are_inverse():
    part = popart()
    statistics = Statistics(jnp.array([5.0, -3.0]), jnp.array([4.0, 1e8]), jnp.ones(2))
    y, slot = jnp.array([1.0, 2.0, 3e4]), jnp.array([0, 0, 1])
    back = part.unnormalise(statistics, part.normalise(statistics, y, slot), slot)
    np.testing.assert_allclose(back, y, rtol=1e-5)
