"""CudnnRNNV3 in ordinary ops."""

from typing import Any, Iterable, NamedTuple

import tensorflow as tf

from tf_rnn_ops.params import Layout
from tf_rnn_ops.params.layout import blocks_of, num_directions
from tf_rnn_ops.plain.cells import GATES, Cell, reorder_gates, run_cell
from tf_rnn_ops.plain.recurrence import reverse_rows, wide_type


class CudnnRNNResult(NamedTuple):
    """The results of the ops, except the reserve spaces, which only gradient ops read.

    Attributes:
        output: The outputs of all steps.
        output_h: The final h.
        output_c: The final c; a 0 if the network has no c.
    """

    output: Any
    output_h: Any
    output_c: Any


def result_of(tensors: Iterable[tf.Tensor], dtype: tf.DType) -> CudnnRNNResult:
    """The CudnnRNNResult of a type with the tensors of a network, which may lack c."""
    results = [tf.cast(tensor, dtype) for tensor in tensors]
    return CudnnRNNResult(*results, *[tf.zeros([], dtype)] * (3 - len(results)))


def cudnn_rnn(
    layout: Layout,
    input: Any,
    input_h: Any,
    input_c: Any,
    params: Any,
    sequence_lengths: Any = None,
    time_major: bool = True,
    masks: Any = None,
    loops: Any = None,
) -> CudnnRNNResult:
    """Runs a network of any mode.

    Args:
        layout: The network's tf_rnn_ops.params.Layout.
        input: [T, B, I].
        input_h: [L*D, B, S].
        input_c: [L*D, B, H] for 'lstm'; ignored otherwise.
        params: [layout.size].
        sequence_lengths: int32 [B]; None if all sequences have T steps.
        time_major: If False, input and output are [B, T, ...] and the states [B, L*D, ...].
        masks: For each layer except the last the factors of its output before the next layer reads it,
            [T, B, D*S]; None for no dropout. See plain/dropout.py.
        loops: A Loops of plain/recurrence.py. With it the loops have custom gradients (tf.custom_gradient)
            of any order, which are lost when the graph is written to a file. None for TensorFlow's
            gradients, which exist up to the second order.

    Returns:
        A CudnnRNNResult of the input's type.
    """
    dtype, lengths = input.dtype, sequence_lengths
    wide = wide_type(dtype)
    states = [input_h, input_c] if layout.rnn_mode == "lstm" else [input_h]
    x, params, *states = (tf.cast(t, wide) for t in (input, params, *states))
    if not time_major:
        x, *states = (tf.transpose(t, [1, 0, 2]) for t in (x, *states))
    directions = num_directions(layout.direction)
    last = []
    for layer in range(layout.num_layers):
        outputs = []
        for direction in range(directions):
            initial = [state[layer * directions + direction] for state in states]
            cell = _cell(layout, params, layer, direction)
            steps = reverse_rows(x, lengths) if direction else x
            output, final = run_cell(layout.rnn_mode, cell, steps, initial, lengths, loops)
            outputs.append(reverse_rows(output, lengths) if direction else output)
            last.append(final)
        x = tf.concat(outputs, -1)
        if masks is not None and layer + 1 < layout.num_layers:
            x *= tf.cast(masks[layer], wide)
    results = [x] + [tf.stack(state) for state in zip(*last)]
    if not time_major:
        results = [tf.transpose(t, [1, 0, 2]) for t in results]
    return result_of(results, dtype)


def _cell(layout: Layout, params: Any, layer: int, direction: int) -> Cell:
    def take(blocks: Any, source: str) -> tf.Tensor | None:
        # The gates of one source are adjacent in the buffer.
        mine = list(blocks_of(blocks, layer, direction, source).values())
        if not mine or mine[0].size == 0:
            return None
        rows = sum(block.shape[0] for block in mine)
        tensor = tf.reshape(params[mine[0].offset : mine[-1].end], (rows, *mine[0].shape[1:]))
        tensor = tf.transpose(tensor) if len(mine[0].shape) == 2 else tensor
        order = "".join(block.gate for block in mine)
        return reorder_gates(tensor, order, GATES[layout.rnn_mode]) if order else tensor

    return Cell(
        w=take(layout.weights, "input"),
        r=take(layout.weights, "recurrent"),
        bw=take(layout.biases, "input"),
        br=take(layout.biases, "recurrent"),
        projection=take(layout.weights, "projection"),
    )
