"""Which rows a full memory keeps: those whose random rank is smallest, a function of position and row number alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def ranks(position: int, numbers: NDArray[np.int64], seed: int = 0) -> NDArray[np.float64]:
    """A random number in [0, 1) for each row of a position (splitmix64 of both numbers, and of a seed).

    Keeping the rows whose rank is below capacity / rows seen is reservoir sampling without a state: every row seen so
    far is kept with the same chance, and a row once let go of never returns.
    """
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) + (np.uint64(position) << np.uint64(40)) + np.uint64(1)
        z *= np.uint64(0x9E3779B97F4A7C15)
        z ^= np.uint64(seed * 0xD1B54A32D192ED03 % 2**64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53
