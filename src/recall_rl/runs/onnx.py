"""A policy as an ONNX graph: observations and the number of a task in, actions out, for runtimes without Python."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import numpy as np

from recall_rl.collect.policy import LEAK, LOG_STD_MAX, LOG_STD_MIN, NORM_EPSILON, Array, Dense, distribution
from recall_rl.errors import RunError, UsageError
from recall_rl.runs.policy import Policy

OPSET, IR_VERSION = 17, 8
"""Old enough for every runtime of the last years; 17 is the first with layer normalisation."""
TOLERANCE = 1e-5
"""How far the graph's actions may be from ours, which are summed in another order."""
_CHECKED = 32
"""Random observations of every task that a new graph is checked with."""


def needs_onnx() -> UsageError:
    """What is said where the packages of the extra are missing."""
    return UsageError("ONNX needs packages that are not installed: pip install 'recall-rl[onnx]'.")


class _Graph:
    """Nodes and weights of a graph under construction."""

    def __init__(self, onnx: Any):
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def constant(self, name: str, array: Any) -> str:
        """Add weights of this name."""
        self.weights.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Add a node and return the name of what it computes."""
        self.nodes.append(self._onnx.helper.make_node(kind, inputs, [output], **attributes))
        return output

    def choose(self, name: str, arrays: list[Array]) -> str:
        """Weights that all tasks share, or else those of the task asked for."""
        if all(np.array_equal(arrays[0], other) for other in arrays[1:]):
            return self.constant(name, arrays[0])
        return self.node("Gather", [self.constant(f"{name}.all", np.stack(arrays)), "task"], name, axis=0)


def _layer(graph: _Graph, i: int, layers: tuple[Dense, ...], h: str, activation: str | None) -> str:
    w, b = (graph.choose(f"{i}.{kind}", [layer[k] for layer in layers]) for k, kind in enumerate("wb"))  # pyright: ignore[reportArgumentType]
    h = graph.node("Add", [graph.node("MatMul", [h, w], f"{i}.product"), b], f"{i}.sum")
    scales, offsets = (
        [x.scale for x in layers if x.scale is not None],
        [x.offset for x in layers if x.offset is not None],
    )
    if scales:
        inputs = [h, graph.choose(f"{i}.scale", scales), graph.choose(f"{i}.offset", offsets)]
        h = graph.node("LayerNormalization", inputs, f"{i}.norm", axis=-1, epsilon=NORM_EPSILON)
        return graph.node("Tanh", [h], f"{i}.out")
    if activation == "leaky_relu":
        return graph.node("LeakyRelu", [h], f"{i}.out", alpha=LEAK)
    return h if activation is None else graph.node({"relu": "Relu", "tanh": "Tanh"}[activation], [h], f"{i}.out")


def _heads(graph: _Graph, onnx: Any, h: str, count: int) -> None:
    """What comes out: the mean, the bounded log deviation, and the most likely action."""
    halves = graph.constant("halves", np.array([count, count], np.int64))
    graph.nodes.append(onnx.helper.make_node("Split", [h, halves], ["mean", "deviation"], axis=-1))
    bounds = [graph.constant(n, np.float32(x)) for n, x in (("least", LOG_STD_MIN), ("most", LOG_STD_MAX))]
    graph.node("Clip", ["deviation", *bounds], "log_std")
    graph.node("Tanh", ["mean"], "action")


def _model(policy: Policy, onnx: Any) -> Any:
    helper, number = onnx.helper, onnx.TensorProto
    graph, h = _Graph(onnx), "observation"
    stacked = list(zip(*(actor.layers for actor in policy.actors), strict=True))
    for i, layers in enumerate(stacked):
        h = _layer(graph, i, layers, h, policy.about.activation if i < len(stacked) - 1 else None)
    size, count = stacked[0][0].w.shape[0], stacked[-1][0].w.shape[1] // 2
    _heads(graph, onnx, h, count)
    inputs = [
        helper.make_tensor_value_info("observation", number.FLOAT, ["batch", size]),
        helper.make_tensor_value_info("task", number.INT64, []),
    ]
    outputs = [helper.make_tensor_value_info(n, number.FLOAT, ["batch", count]) for n in ("action", "mean", "log_std")]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "policy", inputs, outputs, graph.weights),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="recall-rl",
    )
    about = json.dumps(msgspec.to_builtins(policy.about), sort_keys=True)
    helper.set_model_props(model, {"tasks": json.dumps(policy.tasks), "policy": about})
    return model


def encode_onnx(policy: Policy) -> bytes:
    """The graph as a file; its answers are compared with ours before it is returned."""
    try:
        import onnx
    except ImportError as error:
        raise needs_onnx() from error
    model = _model(policy, onnx)
    onnx.checker.check_model(model, full_check=True)
    content: bytes = model.SerializeToString()
    worst = difference(policy, content)
    if not worst <= TOLERANCE:
        raise RunError(f"The ONNX graph's actions differ from the policy's by up to {worst:.1e}.")
    return content


def difference(policy: Policy, content: bytes, observations: int = _CHECKED, seed: int = 0) -> float:
    """How far the actions of the graph are from the policy's at most, over random observations of all tasks."""
    try:
        import onnxruntime
    except ImportError as error:
        raise needs_onnx() from error
    session: Any = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    size = policy.actors[0].layers[0].w.shape[0]
    seen = np.random.default_rng(seed).standard_normal((observations, size), np.float32)
    worst = 0.0
    for position, actor in enumerate(policy.actors):
        found = session.run(["action"], {"observation": seen, "task": np.array(position, np.int64)})[0]
        ours = np.tanh([distribution(actor, row)[0] for row in seen])
        worst = max(worst, float(np.abs(found - ours).max()))
    return worst
