import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from batches import groups
from shaken import shaken

from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.agent.export import actors
from recall_rl.agent.state import Params, init_agent
from recall_rl.agent.update import make_update
from recall_rl.collect.policy import act
from recall_rl.collect.row import Row
from recall_rl.methods.draws import with_reference
from recall_rl.methods.masks import ownership, projection, prune
from recall_rl.methods.method import Method
from recall_rl.tasks.task import Stage

ROW = Row(3, 2)
NET = NetworkConfig(width=16, trunk=2)
CONFIG = AgentConfig(actor=NET, critic=NET, batch=8)
PACKNET = Method(mask=ownership())


def rows(updates, seed):
    return np.random.default_rng(seed).standard_normal((updates, 8, ROW.width)).astype(np.float32)


def trained(agent, update, position, seed):
    slot = np.zeros((5, 8), np.int32)
    return update(agent, groups(ROW, rows(5, seed), slot, [position]))[0]


def owned(agent, position):
    """The weights of the actor's trunk that a position owns."""
    return [
        np.asarray(layer.w)[np.asarray(owner) == position].tobytes()
        for owner, layer in zip(agent.mask.owner, agent.shared.params.actor, strict=True)
    ]


def test_packnet_shares_the_weights_out_and_never_touches_those_of_earlier_tasks():
    update = make_update(PACKNET, CONFIG, ROW)
    agent = shaken(init_agent(CONFIG, ROW, 3, 0), 0.1)
    agent = dataclasses.replace(agent, mask=PACKNET.mask.init(agent))
    kept, outputs, s = {}, {}, np.array([0.1, -0.4, 0.7])
    for position in range(3):
        agent = trained(agent, update, position, seed=position)
        agent = prune(agent, Stage(new=(position,)), CONFIG)
        agent = trained(agent, update, position, seed=10 + position)
        kept[position] = owned(agent, position)
        outputs[position] = act(actors(agent, PACKNET, CONFIG, [position])[0], s, None).tobytes()
        fixed = [layer.b for layer in agent.shared.params.actor]
        if position == 0:
            biases = jax.tree.map(np.asarray, fixed)
    for position in range(3):
        assert owned(agent, position) == kept[position]
        assert act(actors(agent, PACKNET, CONFIG, [position])[0], s, None).tobytes() == outputs[position]
    jax.tree.map(np.testing.assert_array_equal, fixed, biases)
    for owner in agent.mask.owner:
        shares = [(np.asarray(owner) == p).mean() for p in range(3)]
        np.testing.assert_allclose(shares, 1 / 3, atol=0.02)


def test_pruning_keeps_the_largest_weights_and_hands_on_zeros():
    agent = shaken(init_agent(CONFIG, ROW, 4, 0), 0.1)
    agent = dataclasses.replace(agent, mask=PACKNET.mask.init(agent))
    before = np.asarray(agent.shared.params.actor[0].w)
    after = prune(agent, Stage(new=(0,)), CONFIG)
    w, owner = np.asarray(after.shared.params.actor[0].w), np.asarray(after.mask.owner[0])
    assert (owner == 0).sum() == round(before.size / 4)
    assert np.abs(before[owner == 0]).min() >= np.abs(before[owner == 1]).max()
    np.testing.assert_array_equal(w[owner == 0], before[owner == 0])
    np.testing.assert_array_equal(w[owner == 1], 0.0)


def test_the_last_task_keeps_all_that_is_left_and_a_capacity_may_be_larger():
    agent = shaken(init_agent(CONFIG, ROW, 1, 0), 0.1)
    alone = dataclasses.replace(agent, mask=ownership().init(agent))
    assert prune(alone, Stage(new=(0,)), CONFIG) is alone
    more = prune(dataclasses.replace(agent, mask=ownership(4).init(agent)), Stage(new=(0,)), CONFIG)
    assert abs((np.asarray(more.mask.owner[1]) == 0).mean() - 0.25) < 0.01


def vector(x):
    return Params((), ((), ()), None, jnp.asarray(x)), Params((), ((), ()), jnp.array([7.0]), None)


def test_a_gradient_against_the_reference_loses_that_part_and_no_other():
    combine = projection().combine
    along = combine(None, 0, vector([1.0, 2.0]), vector([1.0, 0.0]))
    np.testing.assert_array_equal(along[0].extra, [1.0, 2.0])
    against = combine(None, 0, vector([-1.0, 2.0]), vector([2.0, 0.0]))
    np.testing.assert_allclose(against[0].extra, [0.0, 2.0], atol=1e-6)
    np.testing.assert_array_equal(against[1].log_alpha, [7.0])


def test_a_gem_steps_against_no_old_task():
    """The combined gradient never points against the gradient of the reference rows."""
    seen = []
    mask = projection()

    def combine(kept, position, grads, reference):
        made = mask.combine(kept, position, grads, reference)

        def dot(a, b):
            pairs = zip(jax.tree.leaves((a.actor, a.critics)), jax.tree.leaves((b.actor, b.critics)), strict=True)
            return sum(jnp.vdot(x, y) for x, y in pairs)

        jax.debug.callback(lambda *x: seen.append(x), sum(map(dot, grads, reference)), sum(map(dot, made, reference)))
        return made

    method = Method(draw=with_reference(10), mask=dataclasses.replace(mask, combine=combine))
    slot = np.zeros((20, 8), np.int32)
    batches = groups(ROW, rows(20, 1), slot, [0, 1], reference=(rows(20, 2), slot + 1))
    make_update(method, CONFIG, ROW)(init_agent(CONFIG, ROW, 2, 0), batches)
    jax.effects_barrier()
    assert len(seen) == 20
    assert any(before < 0 for before, _ in seen)
    assert all(after >= -1e-3 * abs(before) for before, after in seen)
