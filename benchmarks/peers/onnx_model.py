"""The problem as an ONNX model, for the runtimes that read one."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.peers import Unsupported

_OPS = {"lstm": "LSTM", "gru": "GRU", "tanh": "RNN", "relu": "RNN"}
# For each gate of ONNX its place in the common order. ONNX has i, o, f, c (LSTM) and z, r, h (GRU).
_ORDER = {"lstm": [0, 3, 1, 2], "gru": [1, 0, 2], "tanh": [0], "relu": [0]}


def build(problem, weights, training):
    """Serialised float32 model with input x [T, B, I] and output y [T, B, D*H]."""
    p = problem
    if training:
        raise Unsupported("inference only")

    def gates(values):
        parts = np.split(values, len(_ORDER[p.cell]))
        return np.concatenate([parts[i] for i in _ORDER[p.cell]])

    nodes, tensors, name = [], [], "x"
    for layer in range(p.L):
        ws = weights[layer * p.D : (layer + 1) * p.D]
        for key, value in (
            ("w", np.stack([gates(w[0]) for w in ws])),
            ("r", np.stack([gates(w[1]) for w in ws])),
            ("b", np.stack([np.concatenate([gates(w[2]), gates(w[3])]) for w in ws])),
        ):
            tensors.append(numpy_helper.from_array(value, f"{key}{layer}"))
        extra = {"linear_before_reset": 1} if p.cell == "gru" else {}
        if p.cell == "relu":
            extra["activations"] = ["Relu"] * p.D
        direction = "bidirectional" if p.D == 2 else "forward"
        nodes += [
            helper.make_node(
                _OPS[p.cell],
                [name, f"w{layer}", f"r{layer}", f"b{layer}"],
                [f"rnn{layer}"],
                hidden_size=p.H,
                direction=direction,
                **extra,
            ),
            # [T, D, B, H] to [T, B, D*H]
            helper.make_node("Transpose", [f"rnn{layer}"], [f"t{layer}"], perm=[0, 2, 1, 3]),
            helper.make_node("Reshape", [f"t{layer}", "shape"], [f"y{layer}"]),
        ]
        name = f"y{layer}"
    tensors.append(numpy_helper.from_array(np.array([p.T, p.B, p.D * p.H], np.int64), "shape"))
    graph = helper.make_graph(
        nodes,
        "rnn",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [p.T, p.B, p.I])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [p.T, p.B, p.D * p.H])],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()
