import jax
import jax.numpy as jnp
import numpy as np
from batches import groups
from shaken import shaken

from recall_rl.agent import sac
from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.agent.state import init_agent
from recall_rl.agent.update import make_update
from recall_rl.collect.row import Row
from recall_rl.memory.memory import Memory
from recall_rl.methods.anchors import distil, divergence
from recall_rl.methods.method import Ended, Method
from recall_rl.tasks.task import Stage

ROW = Row(3, 2)
NET = NetworkConfig(width=16, trunk=1)
CONFIG = AgentConfig(actor=NET, critic=NET, batch=8)


def test_the_divergence_matches_numerical_integration_after_tanh():
    """KL(pi, pi_old) of the squashed policies, integrated over actions in (-1, 1)."""
    pi = sac.Gaussian(jnp.array([[0.4]]), jnp.array([[-0.3]]))
    old = sac.Gaussian(jnp.array([[-0.2]]), jnp.array([[0.1]]))
    u = np.linspace(-9, 9, 200_001)

    def log_density(g):
        normal = -0.5 * ((u - float(g.mean[0, 0])) / np.exp(float(g.log_std[0, 0]))) ** 2
        return normal - float(g.log_std[0, 0]) - 0.5 * np.log(2 * np.pi) - np.log1p(-(np.tanh(u) ** 2) + 1e-300)

    p, q, a = log_density(pi), log_density(old), np.tanh(u)
    integral = np.trapezoid(np.exp(p) * (p - q), a)
    assert abs(integral - float(divergence(pi, old)[0, 0])) < 1e-3
    np.testing.assert_allclose(divergence(pi, pi), 0.0, atol=1e-7)


def remembered(agent, anchor, rows=500):
    memory = Memory(ROW, 2)
    memory.open(0, rows)
    memory.append(0, np.random.default_rng(0).standard_normal((rows, ROW.width)).astype(np.float32))
    view = lambda position: (agent.shared.params, agent.heads.params)  # noqa: E731
    anchor.consolidate(agent, Ended(memory, Stage(new=(0,)), CONFIG, view, np.random.default_rng(1)))
    return memory


def test_a_lesson_is_the_policy_at_the_end_of_its_task():
    agent = shaken(init_agent(CONFIG, ROW, 2, 0), 0.3)
    for states in (None, 50):
        memory = remembered(agent, distil(1.0, states))
        lesson = memory.lessons[0]
        assert len(lesson) == (states or 500)
        numbers = np.arange(0, len(lesson), 7)
        s = lesson.take(numbers)[:, :3]
        pi = sac.policy(CONFIG, agent.shared.params, agent.heads.params, s, np.zeros(len(s), np.int32))
        np.testing.assert_allclose(lesson.outputs.take(numbers), np.concatenate(pi, axis=1), rtol=1e-4, atol=1e-5)


def test_distillation_is_zero_at_the_old_policy_and_brings_a_moved_one_back():
    agent, anchor = shaken(init_agent(CONFIG, ROW, 2, 0), 0.3), distil(1.0)
    memory = remembered(agent, anchor)
    lesson = memory.lessons[0]
    s, outputs = np.split(lesson.take(np.arange(64)), [3], axis=1)
    slot = jnp.zeros(64, jnp.int32)
    given = sac.Groups(None, None, sac.Lessons(s, sac.Gaussian(outputs[:, :2], outputs[:, 2:]), slot))

    def loss(params):
        return anchor.loss(None, CONFIG, params, params, given)

    there = (agent.shared.params, agent.heads.params)
    assert float(loss(there)) < 1e-6
    moved = shaken(agent, 0.1)
    params = (moved.shared.params, moved.heads.params)
    start = float(loss(params))
    step = jax.jit(lambda p: jax.tree.map(lambda x, g: x - 0.003 * g, p, jax.grad(loss)(p)))
    for _ in range(300):
        params = step(params)
    assert float(loss(params)) < 0.2 * start


def test_a_lesson_touches_the_actor_of_its_head_and_no_critic():
    """Not even by stale momentum."""
    method = Method(anchor=distil(10.0))
    update = make_update(method, CONFIG, ROW)
    rng = np.random.default_rng(0)

    def batches(slots):
        rows = rng.standard_normal((2, 8, ROW.width)).astype(np.float32)
        lessons = rng.standard_normal((2, 8, 3 + 4)).astype(np.float32)
        slot = np.broadcast_to(np.array(slots, np.int32), (2, 8))
        return groups(ROW, rows, slot, [0, 1], distil=(lessons, np.ones((2, 8), np.int32)))

    agent, _ = update(init_agent(CONFIG, ROW, 2, 0), batches([0, 1] * 4))
    before = jax.tree.map(np.array, agent.heads)
    after, _ = update(agent, batches([0] * 8))

    def head(part, i):
        return [np.asarray(x)[i].tobytes() for x in jax.tree.leaves(part)]

    assert head(after.heads.params.actor, 1) != head(before.params.actor, 1)
    assert head(after.heads.params.critics, 1) == head(before.params.critics, 1)
    assert head(after.heads.targets, 1) == head(before.targets, 1)
    assert head(after.heads.params.log_alpha, 1) == head(before.params.log_alpha, 1)
