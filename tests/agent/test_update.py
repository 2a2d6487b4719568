import dataclasses

import jax
import numpy as np
import pytest
from batches import learn_only

from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.agent.networks import forward, init_network
from recall_rl.agent.state import init_agent, reset_optimiser
from recall_rl.agent.update import make_update
from recall_rl.collect.play import Lane, Player
from recall_rl.collect.row import Row
from recall_rl.memory.sample import Shares
from recall_rl.methods.method import Method
from recall_rl.tasks.probes import Constant

ROW = Row(4, 2)
NET = NetworkConfig(width=16, trunk=1, head=1)
CONFIG = AgentConfig(actor=NET, critic=NET, batch=8)


def batches(slots, heads, updates=3, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((updates, len(slots), ROW.width)).astype(np.float32)
    rows[..., ROW.terminated] = 0
    slot = np.broadcast_to(np.array(slots, np.int32), (updates, len(slots)))
    return learn_only(ROW, rows, slot, heads)


def head(agent, i):
    """Everything that belongs to head i: weights, targets, moments, counts."""
    return [np.asarray(x)[i].tobytes() for x in jax.tree.leaves(agent.heads)]


def fresh(tasks, config=CONFIG):
    return init_agent(config, ROW, tasks, 0)


UPDATE = make_update(Method(), CONFIG, ROW)


def test_only_heads_present_in_a_batch_are_touched():
    before = fresh(5)
    after, _ = UPDATE(fresh(5), batches([0, 0, 1, 1, 0, 1, 0, 1], heads=[3, 1]))
    for i in range(6):
        assert (head(after, i) == head(before, i)) == (i not in (1, 3))


def test_a_slot_without_rows_does_not_age():
    """Momentum must not move a head that a batch has no row of."""
    after, _ = UPDATE(fresh(3), batches([0, 1] * 4, heads=[0, 2]))
    before = head(after, 2)
    counts = int(np.asarray(after.heads.optimiser[0].count)[2])
    then, _ = UPDATE(after, batches([0] * 8, heads=[0, 2]))
    assert head(then, 2) == before
    assert int(np.asarray(then.heads.optimiser[0].count)[2]) == counts == 3


def test_gradients_reach_only_the_head_of_the_rows_task():
    """One head's rows leave the other head's weights where they were, in one batch with it or alone."""
    start = fresh(2)
    mixed, _ = UPDATE(fresh(2), batches([1] * 8, heads=[0, 1]))
    assert head(mixed, 0) == head(start, 0)
    assert head(mixed, 1) != head(start, 1)


def test_nothing_depends_on_the_number_of_heads():
    small, _ = UPDATE(fresh(2), batches([0, 1] * 4, heads=[0, 1]))
    large, _ = UPDATE(fresh(50), batches([0, 1] * 4, heads=[0, 1]))
    for i in (0, 1):
        assert head(small, i) == head(large, i)
    same = jax.tree.map(lambda a, b: np.asarray(a).tobytes() == np.asarray(b).tobytes(), small.shared, large.shared)
    assert all(jax.tree.leaves(same))


def test_which_slot_a_head_sits_in_does_not_matter():
    one, _ = UPDATE(fresh(4), batches([0] * 8, heads=[2]))
    two, _ = UPDATE(fresh(4), batches([1] * 8, heads=[0, 2]))
    for a, b in zip(jax.tree.leaves(one.heads.params), jax.tree.leaves(two.heads.params), strict=True):
        np.testing.assert_allclose(a[2], b[2], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("slots", [[0, 0, 0, 0, 1, 2, 2, 1], [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2, 2, 2]])
def test_what_is_known_of_slots_changes_no_result(slots):
    heads, known = list(range(max(slots) + 1)), Shares((4,) if slots[2] == 0 else (2, 2))
    plain = batches(slots, heads)
    one, _ = UPDATE(fresh(3), plain)
    two, _ = UPDATE(fresh(3), plain._replace(learn=plain.learn._replace(shares=known)))
    for a, b in zip(jax.tree.leaves(one.heads), jax.tree.leaves(two.heads), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    for a, b in zip(jax.tree.leaves(one.shared.params), jax.tree.leaves(two.shared.params), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("trunk", [0, 2])
def test_depths_from_nothing_shared_to_a_linear_head(trunk):
    net = NetworkConfig(width=8, trunk=trunk, head=2 - trunk, first_norm=True)
    config = dataclasses.replace(CONFIG, actor=net, critic=net)
    before = fresh(2, config)
    after, metrics = make_update(Method(), config, ROW)(fresh(2, config), batches([0] * 8, heads=[0]))
    assert len(after.shared.params.actor) == trunk
    assert len(after.heads.params.actor) == 3 - trunk
    assert all(np.isfinite(m) for m in metrics.values())
    assert head(after, 1) == head(before, 1)


def test_a_chunk_is_its_updates_one_by_one_compiled_or_not():
    whole, _ = UPDATE(fresh(2), batches([0] * 8, heads=[0]))
    alone, step = fresh(2), batches([0] * 8, heads=[0])
    for k in range(3):
        one = learn_only(ROW, step.learn.rows[k : k + 1], step.learn.slot[k : k + 1], step.heads)
        alone, _ = make_update(Method(), CONFIG, ROW, compiled=False)(alone, one)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), whole.shared, alone.shared)


def test_clipping_bounds_each_group_and_changes_nothing_below_its_limit():
    def stepped(clip):
        # Plain Adam divides a gradient's size away; a large epsilon leaves it in the step.
        config = dataclasses.replace(CONFIG, clip=clip, adam_epsilon=1e3)
        return make_update(Method(), config, ROW)(fresh(1, config), batches([0] * 8, [0], updates=1))[0]

    def moved(agent):
        start = fresh(1)
        gap = jax.tree.map(lambda a, b: np.abs(a - b).sum(), agent.shared.params, start.shared.params)
        return sum(float(g) for g in jax.tree.leaves(gap.critics)), sum(float(g) for g in jax.tree.leaves(gap.actor))

    free, loose, tight = moved(stepped(None)), moved(stepped(1e9)), moved(stepped(1e-4))
    assert loose == pytest.approx(free, rel=1e-3)
    assert tight[0] < 0.01 * free[0]
    assert tight[1] < 0.1 * free[1]


def test_a_reset_optimiser_is_a_new_one():
    after, _ = UPDATE(fresh(2), batches([0] * 8, heads=[0]))
    reset, new = reset_optimiser(after, CONFIG), fresh(2)
    for a, b in zip(jax.tree.leaves(reset.shared.optimiser), jax.tree.leaves(new.shared.optimiser), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("terminates", "value"), [(True, 1.0), (False, 10.0)])
def test_termination_stops_bootstrapping_and_truncation_does_not(terminates, value):
    """Q of a one-step task that pays 1: 1 if it terminates, 1 / (1 - 0.9) if it is only cut short."""
    row, net = Row(2, 1), NetworkConfig(width=32, trunk=1)
    config = AgentConfig(actor=net, critic=net, gamma=0.9, learning_rate=3e-3, tau=0.05, initial_log_alpha=-20.0)
    rows, _ = Lane(Player("c", Constant(1.0, 1, terminates)), 0, 0, 0, 1).collect(100, None, lambda: None)
    rng = np.random.default_rng(0)
    agent, update = init_agent(config, row, 1, 0), make_update(Method(), config, row)
    for _ in range(30):
        picked = rows[rng.integers(0, 100, (50, 32))]
        agent, metrics = update(agent, learn_only(row, picked, np.zeros((50, 32), np.int32), [0]))
    assert float(metrics["q"]) == pytest.approx(value, rel=0.05)


@pytest.mark.parametrize("heads", [3, 20])
def test_each_row_goes_through_its_own_head_however_many_there_are(heads):
    rng = np.random.default_rng(0)
    trunk, own = init_network(NET, 4, 2, heads, (0,))
    x = rng.standard_normal((24, 4)).astype(np.float32)
    slot = rng.integers(1, heads, 24).astype(np.int32)
    slot[:8] = 0
    one_by_one = [
        forward(trunk, jax.tree.map(lambda w, k=k: w[k : k + 1], own), "relu", x[i : i + 1], np.zeros(1, np.int32))[0]
        for i, k in enumerate(slot)
    ]
    for shares in (Shares(), Shares((8,))):
        np.testing.assert_allclose(forward(trunk, own, "relu", x, slot, shares), one_by_one, rtol=1e-4, atol=1e-5)
