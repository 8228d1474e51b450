"""Decides for each recurrent node of a graph whether it becomes a node of ONNX or a loop."""

from typing import Any

import tensorflow as tf

from tf_rnn_ops._formats.exported_layer import ExportedLayer
from tf_rnn_ops._formats.passes.recurrent_nodes import exported
from tf_rnn_ops.params.gates import ONNX_OPS
from tf_rnn_ops.portable import unsupported_parts
from tf_rnn_ops.portable.per_node import Decision, Keep, Loop, NodeInfo, constant

_WEIGHTS = {"LayerRNN": (3, 4, 5, 7), "BlockLSTM": (4, 5, 6, 7, 8), "CudnnRNN": (3,)}


class Fitting:
    """Decides on the nodes of one GraphDef; see portable.per_node.Decision.

    Attributes:
        nodes: A list of ExportedLayer, one for each decision.
    """

    def __init__(self, graph_def: Any) -> None:
        self.nodes: list[ExportedLayer] = []
        self._graphs = {"": {node.name: node for node in graph_def.node}}
        for function in graph_def.library.function:
            nodes = {node.name: node for node in function.node_def}
            self._graphs[function.signature.name] = nodes

    def __call__(self, info: NodeInfo) -> Decision:
        """Keep if ONNX has a node for it, otherwise Loop."""
        node = self._graphs[info.place][info.name]
        reason = _reason_for_loop(info, node) or self._computed(info, node)
        decision = Loop(reason) if reason else Keep(_became(info))
        self.nodes.append(exported(info, decision))
        return decision

    def _computed(self, info: NodeInfo, node: Any) -> str:
        """The reason why the node of ONNX cannot have the weights, or ''."""
        kind = next(kind for kind in _WEIGHTS if kind in info.op)
        for k in _WEIGHTS[kind]:
            if constant(self._graphs[info.place], node.input[k]) is None:
                return "its weights are computed"
        return ""


def _became(info: NodeInfo) -> str:
    if info.network is None:
        return "LSTM"
    op_type = ONNX_OPS[info.network.rnn_mode]
    layers = getattr(info.network, "num_layers", 1)
    return op_type if layers == 1 else f"{layers} {op_type}"


def _reason_for_loop(info: NodeInfo, node: Any) -> str:
    if info.dtype == tf.float64:
        return "ONNX Runtime computes such nodes in float32 only"
    if info.network is None:
        return _reason_of_block(info, node)
    if info.network.rnn_mode not in ONNX_OPS:
        return f"ONNX has no node for rnn_mode='{info.network.rnn_mode}'"
    what = unsupported_parts.part(info.network, has=("peepholes",))
    return f"ONNX has no {what}" if what else ""


def _reason_of_block(info: NodeInfo, node: Any) -> str:
    if node.attr["cell_clip"].f > 0:
        return "ONNX has no clipping of c"
    if more := sorted(info.read - {"h"}):
        return f"ONNX has no output {more[0]} of all steps"
    return ""
