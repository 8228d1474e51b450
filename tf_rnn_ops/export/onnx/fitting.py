"""Decides for each recurrent node of a graph whether it becomes a node of ONNX or a loop."""

import tensorflow as tf

from tf_rnn_ops.export import lacking
from tf_rnn_ops.export.exported_layer import LOOP, ExportedLayer
from tf_rnn_ops.export.onnx.weights import OP_TYPES
from tf_rnn_ops.export.saved_model import layer_name
from tf_rnn_ops.portable.exporting import KEEP, constant

_WEIGHTS = {"LayerRNN": (3, 4, 5, 7), "BlockLSTM": (4, 5, 6, 7, 8), "CudnnRNN": (3,)}


class Fitting:
    """Decides on the nodes of one GraphDef; see portable.exporting.Choice.

    Attributes:
        nodes: A list of ExportedLayer, one for each decision.
    """

    def __init__(self, graph_def):
        self.nodes = []
        self._graphs = {"": {node.name: node for node in graph_def.node}}
        for function in graph_def.library.function:
            nodes = {node.name: node for node in function.node_def}
            self._graphs[function.signature.name] = nodes

    def __call__(self, facts):
        """KEEP if ONNX has a node for it, otherwise the reason for a loop."""
        node = self._graphs[facts.place][facts.name]
        reason = _reason(facts, node) or self._computed(facts, node)
        self.nodes.append(
            ExportedLayer(
                layer_name(node.name, facts.op),
                facts.op,
                LOOP if reason else _became(facts),
                reason,
            )
        )
        return reason or KEEP

    def _computed(self, facts, node):
        """The reason why the node of ONNX cannot have the weights, or ''."""
        kind = next(kind for kind in _WEIGHTS if kind in facts.op)
        for k in _WEIGHTS[kind]:
            if constant(self._graphs[facts.place], node.input[k]) is None:
                return "its weights are computed"
        return ""


def _became(facts):
    if facts.network is None:
        return "LSTM"
    op_type = OP_TYPES[facts.network.rnn_mode]
    layers = getattr(facts.network, "num_layers", 1)
    return op_type if layers == 1 else f"{layers} {op_type}"


def _reason(facts, node):
    if facts.dtype == tf.float64:
        return "ONNX Runtime computes such nodes in float32 only"
    if facts.network is None:
        return _reason_of_block(facts, node)
    if facts.network.rnn_mode not in OP_TYPES:
        return f"ONNX has no node for rnn_mode='{facts.network.rnn_mode}'"
    what = lacking.part(facts.network, has=("peepholes",))
    return f"ONNX has no {what}" if what else ""


def _reason_of_block(facts, node):
    if node.attr["cell_clip"].f > 0:
        return "ONNX has no clipping of c"
    if more := sorted(facts.read - {"h"}):
        return f"ONNX has no output {more[0]} of all steps"
    return ""
