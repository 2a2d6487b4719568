"""Batches made by hand for tests of the update."""

import numpy as np

from recall_rl.memory.sample import Batches, Group
from recall_rl.methods.draws import nothing


def groups(row, rows, slot, heads, reference=None, distil=None, weight=None):
    """Batches of transitions and, if given, of (rows, slot) to refer to and to distil."""

    def group(given, width):
        return Group(*given) if given else nothing(len(rows), width)

    width = row.observation_size + 2 * row.action_size
    return Batches(
        Group(rows, slot, weight), group(reference, row.width), group(distil, width), np.array(heads, np.int32)
    )


def learn_only(row, rows, slot, heads):
    """Batches of transitions alone."""
    return groups(row, rows, slot, heads)
