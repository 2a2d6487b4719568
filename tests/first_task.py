"""Run by test_contract.py in a process of its own, with the compiler set as it is for users.

Prints a digest of trunks and heads after one task of each method named, learnt from the same rows.
"""

import dataclasses
import hashlib
import os
import sys

os.environ.pop("XLA_FLAGS", None)

import jax
import numpy as np

from recall_rl.agent.config import AgentConfig, NetworkConfig
from recall_rl.agent.state import init_agent
from recall_rl.agent.update import make_update
from recall_rl.collect.row import Row
from recall_rl.memory.memory import Memory
from recall_rl.methods.find import method as find
from recall_rl.tasks.task import Stage

ROW, NET = Row(12, 4), NetworkConfig(width=128, trunk=2)


def digest(name: str, anchored: bool) -> str:
    method = find(name)
    config = method.agent(AgentConfig(actor=NET, critic=NET, batch=64))
    memory, rng = Memory(ROW, 2), np.random.default_rng(0)
    memory.open(0, 1000)
    memory.append(0, rng.standard_normal((1000, ROW.width), dtype=np.float32))
    state = init_agent(config, ROW, 2, 0, method.targets.init(), method.mask.extend)
    state = dataclasses.replace(state, anchor=method.anchor.init(state), mask=method.mask.init(state))
    batches = method.draw.batches(memory, Stage(new=(0,)), config, 50, 10**6, rng)
    after, _ = make_update(method, config, ROW)(state, batches, anchored)
    leaves = jax.tree.leaves((after.shared, after.heads))
    return hashlib.sha256(b"".join(np.asarray(x).tobytes() for x in leaves)).hexdigest()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name.removesuffix("+anchor"), digest(name.removesuffix("+anchor"), name.endswith("+anchor")))
