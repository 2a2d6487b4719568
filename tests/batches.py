"""Batches made by hand for tests of the update."""

import numpy as np

from recall_rl.memory.sample import Batches, Group


def no_lessons(row, updates):
    """A distil group without rows."""
    width = row.observation_size + 2 * row.action_size
    return Group(np.empty((updates, 0, width), np.float32), np.empty((updates, 0), np.int32))


def learn_only(row, rows, slot, heads):
    """Batches of transitions alone."""
    return Batches(Group(rows, slot), no_lessons(row, len(rows)), np.array(heads, np.int32))
