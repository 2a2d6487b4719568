"""Learning with normalised targets does not depend on the scale of the rewards: exactly, for powers of two."""

import dataclasses

import jax
import numpy as np
import pytest

from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.collect.row import Row
from recall_rl.methods.find import method as find
from recall_rl.tasks.protocol import PROTOCOLS
from recall_rl.tasks.sequences import sequence
from recall_rl.training.config import TrainingConfig
from recall_rl.training.loop import Setup, learn
from recall_rl.training.team import MachineConfig, Team

NET = NetworkConfig(width=16, trunk=2)
AGENT = AgentConfig(actor=NET, critic=NET, batch=16)
TRAINING = TrainingConfig(steps=300, start_steps=40, update_after=40, chunk=20, evaluate_every=100)
OWN = dataclasses.replace(PROTOCOLS["own"], episodes=2)


def parameters(name, scale):
    """Every parameter after a short run on two probes with rewards times the scale."""
    method, tasks = find(name), sequence(f"reach-0@{scale},reach-180@{scale}", OWN)
    setup = Setup(tasks, method, OWN, method.agent(AGENT), TRAINING, 0, Row(4, 2))
    with Team(MachineConfig(), inline=True) as team:
        *_, last = learn(setup, team)
    agent = last.agent
    return [np.asarray(x).tobytes() for x in jax.tree.leaves((agent.shared.params, agent.heads.params))]


@pytest.mark.parametrize("scale", [0.0078125, 131072])
def test_rewards_times_a_power_of_two_change_no_bit_of_recall(scale):
    assert parameters("recall", scale) == parameters("recall", 1)


@pytest.mark.parametrize("name", ["recall-pd", "recall-paper"])
def test_raw_targets_and_the_printed_equations_depend_on_the_scale(name):
    assert parameters(name, 131072) != parameters(name, 1)
