"""Damage a policy on purpose, to see the gate catch it: noise on the last layer of one of its tasks.

python examples/shake.py published:two-skills window-close 2 shaken.safetensors
recall gate published:two-skills shaken.safetensors
"""

import dataclasses
import sys
from pathlib import Path

import numpy as np

import recall_rl
from recall_rl.runs.policy import Policy, encode_policy


def shake(policy: Policy, task: str, size: float) -> Policy:
    """The policy with noise of `size` times the mean weight on the last layer of this task."""
    position, actors = policy.tasks.index(task), list(policy.actors)
    *layers, last = actors[position].layers
    noise = np.random.default_rng(0).standard_normal(last.w.shape) * size * np.abs(last.w).mean()
    shaken = last._replace(w=(last.w + noise).astype(np.float32))
    actors[position] = actors[position]._replace(layers=(*layers, shaken))
    return dataclasses.replace(policy, actors=tuple(actors))


if __name__ == "__main__":
    path, task, size, out = sys.argv[1:]
    Path(out).write_bytes(encode_policy(shake(recall_rl.load(path), task, float(size))))
