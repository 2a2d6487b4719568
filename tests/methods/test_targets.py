import jax
import jax.numpy as jnp
import numpy as np
import pytest
from shaken import shaken

from recall_rl.agent import sac
from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.agent.state import init_agent
from recall_rl.collect.row import Row
from recall_rl.methods.targets import Statistics, bounded, even_handed, popart

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


def test_a_bound_follows_each_heads_own_rewards_and_counts_nothing_after_an_end():
    part = bounded(popart())
    statistics = jax.tree.map(lambda x: jnp.stack([x, x]), part.init())
    y, r, slot = jnp.array([-1e6, 1e6, -7.0, -1e6]), jnp.array([2.0, 1.0, -3.0, -1.0]), jnp.array([0, 0, 1, 1])
    statistics, first = part.bound(statistics, y, r, slot, 0.9)
    np.testing.assert_allclose(first, [0.0, 20.0, -7.0, -30.0], rtol=1e-5)
    _, later = part.bound(statistics, y, jnp.zeros(4), slot, 0.9)
    np.testing.assert_array_equal(later, first)


def test_a_bound_leaves_the_statistics_to_the_part_it_is_about():
    """Targets within the bound: the same statistics and the same layers, to the bit."""
    rng, plain, part = np.random.default_rng(0), popart(), bounded(popart())
    layers, slot = init_agent(CONFIG, ROW, 0, 0).heads.params.critics, jnp.zeros(16, jnp.int32)
    old, new = (jax.tree.map(lambda x: x[None], p.init()) for p in (plain, part))
    for _ in range(5):
        r = jnp.asarray(rng.standard_normal(16), jnp.float32)
        new, y = part.bound(new, r, r, slot, 0.99)
        old, *expected = plain.adapt(old, layers, layers, r, slot)
        new, *found = part.adapt(new, layers, layers, y, slot)
        assert [x.tobytes() for x in jax.tree.leaves((new.of, found))] == [
            x.tobytes() for x in jax.tree.leaves((old, expected))
        ]
        np.testing.assert_array_equal(part.normalise(new, y, slot), plain.normalise(old, y, slot))
        np.testing.assert_array_equal(part.unnormalise(new, y, slot), plain.unnormalise(old, y, slot))


@pytest.mark.parametrize(("part", "runs_away"), [(popart(), True), (bounded(popart()), False)])
def test_values_wrong_by_a_lasting_share_of_sigma_run_away_without_a_bound(part, runs_away):
    """More than 1 - gamma of sigma is enough, as where a critic judges actions that a held policy never tried."""
    rng, gamma, n = np.random.default_rng(0), 0.99, 64
    layers, slot = init_agent(CONFIG, ROW, 0, 0).heads.params.critics, jnp.zeros(n, jnp.int32)
    wrong = jnp.asarray(-0.05 * rng.random(n), jnp.float32)
    statistics, values, r = jax.tree.map(lambda x: x[None], part.init()), jnp.zeros(n), jnp.ones(n)

    def backup(_, carry):
        statistics, values = carry
        seen = part.normalise(statistics, values, slot)
        y = r + gamma * part.unnormalise(statistics, seen + wrong, slot)
        statistics, y = part.bound(statistics, y, r, slot, gamma)
        statistics, _, _ = part.adapt(statistics, layers, layers, y, slot)
        return statistics, values + 0.5 * (y - values)

    statistics, values = jax.lax.fori_loop(0, 20_000, backup, (statistics, values))
    worst = float(jnp.abs(values).max())
    assert worst > 1e4 if runs_away else worst <= 100.0 + 1e-3


def test_old_tasks_are_judged_by_the_mean_and_new_ones_by_the_smaller():
    part, first, second = even_handed(popart()), jnp.array([1.0, 1.0, 4.0]), jnp.array([3.0, 3.0, 0.0])
    slot = jnp.array([0, 1, 2])
    np.testing.assert_array_equal(part.judge(first, second, slot, 1), [1.0, 2.0, 2.0])
    np.testing.assert_array_equal(part.judge(first, second, slot, 2), [1.0, 1.0, 2.0])
    np.testing.assert_array_equal(popart().judge(first, second, slot, 1), [1.0, 1.0, 0.0])
