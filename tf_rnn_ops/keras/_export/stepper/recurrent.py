"""The nodes of recurrent layers, from the layers themselves."""

from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops.keras import _layer_paths as paths
from tf_rnn_ops.keras.dispatch import cells
from tf_rnn_ops.keras.dispatch.decision import cells_of, decide
from tf_rnn_ops.raw_ops import table

_KIND = "LayerRNN"
_INT8_KIND = "QuantizedLayerRNN"
_STACK_KIND = "CudnnRNNV3"
# The attributes of ops that a stepper does not have.
_OF_CALLS = ("is_training", "time_major")


class Recurrent(NamedTuple):
    """The node of a cell or a stack, without its place in a graph.

    Attributes:
        op: The op that runs the cell or the stack in a call of the layer.
        fields: The fields `kind` and `attrs`, and of a stack its sizes.
        weights: {name: array}.
    """

    op: str
    fields: dict[str, Any]
    weights: dict[str, np.ndarray]

    @property
    def states(self) -> int:
        """The number of its states."""
        return 2 if self.fields["attrs"]["rnn_mode"] == "lstm" else 1


def nodes_of(layer: keras.layers.Layer) -> tuple[list[Recurrent], str]:
    """The nodes of the cells of a layer, or of a stack, and the reason if there are none.

    Args:
        layer: A recurrent layer of Keras or of this package.
    """
    path, reason = paths.path_of(layer, compiled=False, time=None)
    if path in (paths.KERAS, paths.NOTHING):
        return [], reason
    ops = decide(layer, None, training=False, xla=False).ops
    with tf.init_scope():  # the model is being traced
        if paths.is_stack(layer):
            return [_stack(layer, ops[0])], ""
        return [_cell(cell, op) for cell, op in zip(cells_of(layer), ops)], ""


def _stack(layer: keras.layers.Layer, op: str) -> Recurrent:
    attrs = {name: getattr(layer, name) for name in table.STACK_ATTRS}
    fields = {"num_layers": int(layer.num_layers), "num_units": int(layer.units)}
    params = keras.ops.convert_to_numpy(layer.params)
    return Recurrent(op, {"kind": _STACK_KIND, "attrs": attrs, **fields}, {"params": params})


def _cell(cell: keras.layers.Layer, op: str) -> Recurrent:
    kind = _INT8_KIND if op == _INT8_KIND else _KIND
    if op == _INT8_KIND:
        arguments = _merged(cells.quantized_arguments(cell))
    elif op == "BlockLSTMV2":
        arguments = _of_block_lstm(cell)
    else:
        arguments = _merged(cells.layer_arguments(cell, training=False))
    attrs = {
        name: _attribute(arguments.get(name, default))
        for name, default in table.OPS[kind].attrs.items()
        if name not in _OF_CALLS
    }
    tensors = {name: arguments.get(name) for name in table.OPS[kind].inputs}
    weights = {
        name: tensor.numpy()
        for name, tensor in tensors.items()
        if tensor is not None and tensor.shape != [0]
    }
    return Recurrent(op, {"kind": kind, "attrs": attrs}, weights)


def _merged(arguments: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    return arguments[0] | arguments[1]


def _attribute(value: Any) -> Any:
    """The value of an attribute of an op, whose numbers are float32."""
    return float(np.float32(value)) if isinstance(value, float) else value


def _of_block_lstm(cell: keras.layers.Layer) -> dict[str, Any]:
    """The arguments of LayerRNN for a cell that runs on BlockLSTMV2, which has the same order of gates."""
    kernel, recurrent_kernel, bias = cells.weights(cell)
    of_op = cell.op_arguments(False)
    peepholes = [of_op[name] for name in ("wci", "wcf", "wco") if name in of_op]
    return {
        "kernel": kernel,
        "recurrent_kernel": recurrent_kernel,
        "bias": tf.zeros([4 * cell.units]) if bias is None else bias,
        "peepholes": tf.stack(peepholes) if of_op["use_peephole"] else None,
        "cell_clip": max(0.0, of_op["cell_clip"]),
    }
