"""Replaces QuantizedLayerRNN by LayerRNNPacked with the values of its int8 weights in float."""

from typing import Any

import numpy as np
import tensorflow as tf

from tf_rnn_ops._op_table import PREFIX, signature
from tf_rnn_ops.portable import _nodes

OP = f"{PREFIX}QuantizedLayerRNN"
"""The op with int8 weights."""
FORMER_OP = "_tf_rnn_ops_former_op"
"""An attribute of a LayerRNNPacked that was another op: the name of that op without the package."""
_OP = f"{PREFIX}LayerRNNPacked"
_MATRICES = ("kernel", "recurrent_kernel", "projection")
_HANDED_ON = ("Identity", "StopGradient")
# {op of a new node: the name of its output, which functions name}.
_OUTPUTS = {"Const": "output", "Cast": "y", "Mul": "z"}


def dequantized(graph_def: Any) -> Any:
    """Replaces int8 weights by float weights of the same values.

    The new weights are constants if the old ones are, otherwise they are computed from the old ones. The
    packed weights are empty, so the graph is for a converter, not for a session.

    Args:
        graph_def: A GraphDef; it is not changed.

    Returns:
        A GraphDef; graph_def itself if it has no QuantizedLayerRNN.
    """
    hosts = [None, *graph_def.library.function]
    if not any(node.op == OP for host in hosts for node in _nodes_of(graph_def, host)):
        return graph_def
    result = type(graph_def)()
    result.CopyFrom(graph_def)
    for host in (None, *result.library.function):
        nodes = _nodes_of(result, host)
        place = _Place(nodes, host)
        for node in [node for node in nodes if node.op == OP]:
            try:
                _nodes.check(node)
                dtype = _nodes.dtype_of(node)
            except _nodes.CannotRewrite:
                continue  # to_plain() reports it
            _replace(node, dtype, place)
    return result


def _nodes_of(graph_def, host):
    return graph_def.node if host is None else host.node_def


def _replace(node, dtype, place):
    inputs = dict(zip(signature(OP).inputs, _nodes.data_inputs(node)))
    control = [ref for ref in node.input if ref.startswith("^")]
    for name in _MATRICES:
        pair = inputs[name], inputs[f"{name}_scale"]
        inputs[name] = place.product(f"{node.name}/dequantized/{name}", *pair, dtype)
    absent = place.add(
        f"{node.name}/dequantized/absent", "Const", value=np.zeros([0], dtype.as_numpy_dtype)
    )
    inputs |= dict.fromkeys(("peepholes", "layer_norm"), absent)
    inputs["packed"] = place.add(
        f"{node.name}/dequantized/packed", "Const", value=np.zeros([0], np.uint8)
    )
    node.input[:] = [*(inputs[name] for name in signature(_OP).inputs), *control]
    node.attr[FORMER_OP].s = node.op.removeprefix(PREFIX).encode()
    node.op = _OP


class _Place:
    """A graph or function that gets new nodes. `host`: the function, or None."""

    def __init__(self, nodes, host):
        self._nodes, self._host = nodes, host
        self._by_name = {node.name: node for node in nodes}

    def product(self, label, matrix, scale, dtype):
        """The input string of matrix * scale in a type. `label`: the beginning of the names of new nodes."""
        arrays = [self._constant(ref) for ref in (matrix, scale)]
        if not any(array is None for array in arrays):
            values = (arrays[0].astype(np.float32) * arrays[1]).astype(dtype.as_numpy_dtype)
            return self.add(label, "Const", value=values)
        shape = self._shape(matrix)
        values = self.add(f"{label}_float", "Cast", [matrix], shape, SrcT=tf.int8, DstT=tf.float32)
        values = self.add(f"{label}_values", "Mul", [values, scale], shape, T=tf.float32)
        if dtype != tf.float32:
            values = self.add(label, "Cast", [values], shape, SrcT=tf.float32, DstT=dtype)
        return values

    def add(self, name, op, inputs=(), shape=None, value=None, **types):
        """Adds a node; its input string."""
        assert name not in self._by_name, name
        node = self._nodes.add(name=name, op=op, input=inputs)
        if value is not None:
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
            types = {"dtype": tf.as_dtype(value.dtype)}
        for attr, dtype in types.items():
            node.attr[attr].type = dtype.as_datatype_enum
        if shape is not None:
            node.attr["_output_shapes"].CopyFrom(shape)
        return name if self._host is None else f"{name}:{_OUTPUTS[op]}:0"

    def _source(self, ref):
        node = self._by_name.get(ref.split(":")[0])
        while node is not None and node.op in _HANDED_ON:
            node = self._by_name.get(node.input[0].split(":")[0])
        return node

    def _constant(self, ref):
        """The values of a constant; None for another tensor."""
        node = self._source(ref)
        if node is None or node.op != "Const":
            return None
        return tf.make_ndarray(node.attr["value"].tensor)

    def _shape(self, ref):
        """The attribute with the shape that the graph records for a tensor, or None."""
        node = self._by_name.get(ref.split(":")[0])
        if node is None or "_output_shapes" not in node.attr:
            return None
        shapes = node.attr["_output_shapes"]
        return shapes if len(shapes.list.shape) == 1 else None
