"""Whether programs of different shapes agree: bit for bit with the JAX that CI installs, else to within rounding."""

from pathlib import Path

import jax
import numpy as np

PINNED = f"jax=={jax.__version__}" in (Path(__file__).parents[1] / "constraints.txt").read_text().split()


def agree(one, other):
    """Whether two lists of arrays are the same; some versions of XLA round the same sums otherwise in other shapes."""
    if [x.shape for x in one] != [y.shape for y in other]:
        return False
    if PINNED:
        return all(x.tobytes() == y.tobytes() for x, y in zip(one, other, strict=True))
    return all(np.abs(x - y).max(initial=0) <= 1e-4 * np.abs(x).max(initial=0) for x, y in zip(one, other, strict=True))
