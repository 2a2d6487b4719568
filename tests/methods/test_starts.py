import jax
import numpy as np
import pytest
from shaken import shaken

from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.agent.state import init_agent
from recall_rl.collect.row import Row
from recall_rl.methods.starts import best_return, copy_head
from recall_rl.methods.targets import popart
from recall_rl.tasks.task import Stage

NET = NetworkConfig(width=8, trunk=1, head=1)
CONFIG = AgentConfig(actor=NET, critic=NET)


def agent(tasks=4):
    return shaken(init_agent(CONFIG, Row(3, 2), tasks, 0, popart().init()), 0.5)


def head(part, i):
    return [np.asarray(x)[i].tobytes() for x in jax.tree.leaves(part)]


@pytest.mark.parametrize("critic", [True, False])
@pytest.mark.parametrize("temperature", [True, False])
def test_copying_a_head_leaves_every_other_head_bit_identical(critic, temperature):
    before = agent()
    after = copy_head(before, 1, 3, critic, temperature)
    for i in (0, 1, 2, 4):
        assert head(after.heads, i) == head(before.heads, i)
    assert head(after.heads.params.actor, 3) == head(before.heads.params.actor, 1)
    for part in (lambda h: h.params.critics, lambda h: h.targets, lambda h: h.statistics):
        assert (head(part(after.heads), 3) == head(part(before.heads), 1)) == critic
        assert (head(part(after.heads), 3) == head(part(before.heads), 3)) != critic
    assert (float(after.heads.params.log_alpha[3]) == float(before.heads.params.log_alpha[1])) == temperature
    same = jax.tree.map(lambda a, b: np.array_equal(a, b), after.shared, before.shared)
    assert all(jax.tree.leaves(same))


def test_the_head_with_the_best_return_is_taken():
    start, before = best_return(), agent()
    assert start.candidates(before, Stage(new=(0,))) == ()
    assert start.candidates(before, Stage(new=(3,))) == (0, 1, 2)
    after = start.begin(before, Stage(new=(3,)), {0: -5.0, 1: 2.0, 2: 1.0})
    assert head(after.heads.params, 3) == head(before.heads.params, 1)
    assert start.begin(before, Stage(new=(0,)), {}) is before
