"""Quicker versions of the helpers that Meta-World's rewards and observations call, which give the same bits."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

rewards: Any = importlib.import_module("metaworld.utils.reward_utils")
rotations: Any = importlib.import_module("scipy.spatial.transform")


def norm(x: Any, *more: Any, **options: Any) -> Any:
    """`np.linalg.norm`: a vector's length is computed as NumPy does it, without the questions before."""
    if more or options or not isinstance(x, np.ndarray) or x.ndim != 1 or x.dtype != np.float64:
        return np.linalg.norm(x, *more, **options)
    return np.sqrt(x.dot(x))


def hstack(parts: Sequence[Any]) -> Any:
    """`np.hstack` of vectors, or of numbers."""
    if all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts):
        return np.concatenate(parts)
    return np.array(parts) if all(isinstance(part, float) for part in parts) else np.hstack(parts)


def tolerance(
    x: Any, bounds: Any = (0.0, 0.0), margin: Any = 0.0, sigmoid: str = "gaussian", value_at_margin: float = 0.1
) -> Any:
    """Meta-World's `tolerance` of one number with a long tail; everything else is left to Meta-World."""
    lower, upper = bounds
    if not (isinstance(x, float) and sigmoid == "long_tail" and margin > 0 and lower <= upper and x == x):
        return rewards.tolerance(x, bounds, margin, sigmoid, value_at_margin)
    if lower <= x <= upper:
        return 1.0
    d = float(lower - x if x < lower else x - upper) / float(margin)
    return 1 / ((d * math.sqrt(1 / value_at_margin - 1)) ** 2 + 1)


def quaternion(m: Any) -> Any:
    """SciPy's quaternion of a rotation matrix; one that is not quite orthogonal is left to SciPy."""
    (a, b, c), (d, e, f), (g, h, i) = m.tolist()
    wrong = max(
        abs(a * a + b * b + c * c - 1),
        abs(d * d + e * e + f * f - 1),
        abs(g * g + h * h + i * i - 1),
        abs(a * d + b * e + c * f),
        abs(a * g + b * h + c * i),
        abs(d * g + e * h + f * i),
    )
    if not wrong < 1e-13:
        return rotations.Rotation.from_matrix(m).as_quat()
    trace = a + e + i
    largest = max(a, e, i, trace)
    # In SciPy's order, so that of equal ones the same is chosen.
    if largest == a:
        q = (1 - trace + 2 * a, d + b, g + c, h - f)
    elif largest == e:
        q = (b + d, 1 - trace + 2 * e, h + f, c - g)
    elif largest == i:
        q = (c + g, f + h, 1 - trace + 2 * i, d - b)
    else:
        q = (h - f, c - g, d - b, 1 + trace)
    length = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return np.array(q) / length


class _Rotation:
    """As much of SciPy's `Rotation` as Meta-World asks for."""

    def __init__(self, matrix: Any):
        self._matrix = matrix

    @staticmethod
    def from_matrix(matrix: Any) -> _Rotation:
        return _Rotation(matrix)

    def as_quat(self) -> Any:
        return quaternion(self._matrix)


_QUICKER: Mapping[str, Any] = {
    "np": SimpleNamespace(
        **{
            **vars(np),
            "hstack": hstack,
            "linalg": SimpleNamespace(**{**vars(np.linalg), "norm": norm}),
        }
    ),
    "reward_utils": SimpleNamespace(**{**vars(rewards), "tolerance": tolerance}),
    "Rotation": _Rotation,
}
"""What stands for these names in Meta-World's own functions."""


def rebound(function: Any) -> Any:
    """The same compiled function, which finds the quicker helpers under their usual names."""
    names = function.__globals__ | {k: v for k, v in _QUICKER.items() if k in function.__globals__}
    made = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made
