"""What every method promises, checked for each entry of the catalogue and for one from outside, on a probe sequence."""

import dataclasses
import subprocess
import sys
from functools import cache
from pathlib import Path

import jax
import numpy as np
import pytest
from rounding import agree
from safetensors.numpy import load, save

from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.collect.row import Row
from recall_rl.methods.catalogue import CATALOGUE
from recall_rl.methods.find import method as find
from recall_rl.methods.method import new_agent
from recall_rl.runs.state import agent_arrays, restored
from recall_rl.tasks.protocol import PROTOCOLS
from recall_rl.tasks.sequences import sequence
from recall_rl.training import loop
from recall_rl.training.config import TrainingConfig
from recall_rl.training.team import MachineConfig, Team

OUTSIDE = "outside_methods:shy"
NAMES = [*CATALOGUE, OUTSIDE]
NET = NetworkConfig(width=16, trunk=2)
AGENT = AgentConfig(actor=NET, critic=NET, batch=16)
TRAINING = TrainingConfig(steps=120, start_steps=40, update_after=40, chunk=20, evaluate_every=60)
OWN = dataclasses.replace(PROTOCOLS["own"], episodes=2)
PAIR, TRIPLE = "reach-0,reach-180@100", "reach-0,reach-180@100,reach-90"

SAME_FIRST_TASK = {"fine-tuning", "ewc", "l2", "mas", "a-gem", "reservoir", OUTSIDE}
OTHER_FIRST_TASK = {
    "recall": "its critics normalise their targets",
    "recall-steady": "its critics normalise their targets",
    "recall-tn": "its critics normalise their targets",
    "recall-pd": "its critics have hidden layers of their own in each head",
    "naive-replay": "its critics have hidden layers of their own in each head",
    "recall-paper": "its critics normalise their targets, and it acts with the weights just learnt",
    "recall-as-released": "its critics normalise their targets, and it acts with the weights just learnt",
    "packnet": "its gradients are clipped",
    "clonex": "its gradients are clipped",
    "perfect-memory": "its batches are larger",
    "vcl": "its actor's weights are sampled",
    "mtl": "it has no first task",
    "mtl-popart": "it has no first task",
}


@dataclasses.dataclass
class Ran:
    """What is left of a run."""

    setup: loop.Setup
    after: list
    """Arrays of what was learnt, at the end of each stage."""
    first: list
    """Bytes of trunks and first head when the first task ended."""
    agent: object
    evaluations: list
    compilations: int


def arrays(tree):
    """Every array of a tree."""
    leaves = jax.tree.leaves(tree)
    return [
        np.asarray(jax.random.key_data(x) if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) else x) for x in leaves
    ]


def content(tree):
    """The bytes of every array of a tree."""
    return [x.tobytes() for x in arrays(tree)]


def learnt(agent, tasks):
    """What two agents of different numbers of tasks share: trunks, and the heads of the first tasks."""
    heads = jax.tree.map(lambda x: x[:tasks], agent.heads)
    return arrays((agent.shared, heads, agent.anchor, agent.updates))


def make(name, tasks):
    method = find(name)
    return loop.Setup(sequence(tasks, OWN), method, OWN, method.agent(AGENT), method.training(TRAINING), 0, Row(4, 2))


@cache
def ran(name, tasks, again=0):
    setup, after, evaluations, made, before, first = make(name, tasks), {}, [], [], [], []
    original = loop.make_update

    def counted(*args):
        made.append(original(*args))
        before.append(made[-1]._cache_size())
        return made[-1]

    loop.make_update = counted
    try:
        with Team(MachineConfig(), inline=True) as team:
            for progress in loop.learn(setup, team):
                after[progress.stage] = learnt(progress.agent, progress.stage + 1)
                if progress.step == TRAINING.steps and not first:
                    first = content((progress.agent.shared, jax.tree.map(lambda x: x[:1], progress.agent.heads)))
                evaluations += [progress.evaluation] if progress.evaluation else []
    finally:
        loop.make_update = original
    return Ran(setup, list(after.values()), first, progress.agent, evaluations, made[0]._cache_size() - before[0])


def test_every_method_is_named_in_this_contract():
    assert {*SAME_FIRST_TASK, *OTHER_FIRST_TASK} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_all_numbers_stay_finite(name):
    run = ran(name, PAIR)
    for leaf in jax.tree.leaves((run.agent.shared, run.agent.heads, run.agent.anchor, run.agent.mask)):
        assert np.isfinite(np.asarray(leaf)).all()
    assert {s.position for s in run.evaluations[-1].scores} == {0, 1}


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_bits(name):
    one, two = ran(name, PAIR), ran(name, PAIR, again=1)
    assert content(one.agent) == content(two.agent)
    assert one.evaluations == two.evaluations


@pytest.mark.parametrize("name", NAMES)
def test_the_update_is_compiled_at_most_twice_a_run(name):
    assert 1 <= ran(name, TRIPLE).compilations <= 2


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_survives_being_saved_and_loaded(name):
    run = ran(name, PAIR)
    new = new_agent(run.setup.method, run.setup.agent, run.setup.row, 2, seed=1)
    assert content(new) != content(run.agent)
    assert content(restored(new, load(save(dict(agent_arrays(run.agent)))))) == content(run.agent)


@pytest.mark.parametrize("name", NAMES)
def test_the_first_task_is_that_of_fine_tuning_where_it_should_be(name):
    """Trunks and heads, at XLA's optimisation level 0, at which tests compile."""
    if "mtl" in name:
        assert len(ran(name, PAIR).after) == 1
        return
    same = ran(name, PAIR).first == ran("fine-tuning", PAIR).first
    assert same == (name in SAME_FIRST_TASK), OTHER_FIRST_TASK.get(name, "it should be the same")


@pytest.mark.parametrize("name", NAMES)
def test_the_state_after_task_two_does_not_depend_on_what_follows(name):
    """But for three: PackNet shares its weights out among all tasks, the authors' code copies columns with a stride
    that depends on their number, and mtl has one stage."""
    if name in ("packnet", "recall-as-released", "mtl", "mtl-popart"):
        assert not agree(ran(name, PAIR).after[-1], ran(name, TRIPLE).after[-1])
    else:
        assert agree(ran(name, PAIR).after[1], ran(name, TRIPLE).after[1])


def test_the_first_task_is_that_of_fine_tuning_as_users_compile_it():
    """A term that is zero in value still changes how the compiler rounds, as the last line of the script shows."""
    script = Path(__file__).parents[1] / "first_task.py"
    names = ("fine-tuning", "l2", "ewc", "mas", "ewc+anchor")
    out = subprocess.run([sys.executable, script, *names], check=True, capture_output=True, text=True).stdout
    *same, other = [line.split()[1] for line in out.splitlines()]
    assert len(same) == 4
    assert len(set(same)) == 1
    assert other != same[0]
