"""QuantizedLayerRNN in ordinary ops."""

from typing import Any, NamedTuple

import tensorflow as tf

from tf_rnn_ops.plain._cudnn_rnn import CudnnRNNResult, result_of
from tf_rnn_ops.plain.cells import GATES, KERAS_GATES, UNITS, Cell, reorder_gates, split_candidate
from tf_rnn_ops.plain.names import NO_GRADIENT_OF_INT8
from tf_rnn_ops.plain.recurrence import Step, clear_padding, matmul, run_steps

_LARGEST = 127.0  # of the integers that stand for a row
# A row of smaller numbers counts as zeros: a 127th of such a number is subnormal.
_SMALLEST = 127 * 2.0**-126


class _Matrix(NamedTuple):
    """An int8 matrix [n, m], of which column k stands for `values[:, k] * scale[k]`."""

    values: Any  # float64, which holds the integers and their products exactly
    scale: Any  # float32 [m]


class _Layer(NamedTuple):
    """The prepared arguments, with the gates in the order of GATES."""

    rnn_mode: str
    kernel: _Matrix
    recurrent_kernel: _Matrix
    projection: _Matrix | None
    cell: Cell


def quantized_layer_rnn(
    rnn_mode: str,
    input: Any,
    input_h: Any,
    input_c: Any,
    kernel: Any,
    kernel_scale: Any,
    recurrent_kernel: Any,
    recurrent_kernel_scale: Any,
    bias: Any = None,
    projection: Any = None,
    projection_scale: Any = None,
    sequence_lengths: Any = None,
    activation: str = "tanh",
    recurrent_activation: str = "sigmoid",
    time_major: bool = True,
) -> CudnnRNNResult:
    """Runs a layer with int8 weights. A gradient of the results raises LookupError.

    Each row of an operand is quantized by its own largest absolute value a: an element x becomes the
    integer nearest to x * (127 / a), and the sum of products is multiplied by the scale of the column and
    by a / 127. A row with NaN or infinity gives NaN.

    Args:
        rnn_mode: The attribute of the op.
        input: [T, B, I].
        input_h: [B, S].
        input_c: [B, H] for 'lstm'; ignored otherwise.
        kernel: int8 [I, G*H], as each of the matrices.
        kernel_scale: float32 [G*H].
        recurrent_kernel: [S, G*H].
        recurrent_kernel_scale: float32 [G*H].
        bias: [G*H], or [2, G*H] for 'gru'; None for none.
        projection: [H, P] or None.
        projection_scale: float32 [P] or None.
        sequence_lengths: int32 [B]; None if all sequences have T steps.
        activation: The attribute of the op.
        recurrent_activation: The attribute of the op.
        time_major: If False, input and output are [B, T, ...].

    Returns:
        A CudnnRNNResult of the input's type.
    """
    layer = _prepared(
        rnn_mode,
        (kernel, kernel_scale),
        (recurrent_kernel, recurrent_kernel_scale),
        bias,
        None if projection is None else (projection, projection_scale),
        Cell(
            None, None, None, None, activation=activation, recurrent_activation=recurrent_activation
        ),
    )
    states = [input_h, input_c] if rnn_mode == "lstm" else [input_h]
    x, *states = (tf.cast(t, tf.float32) for t in (input, *states))
    x = clear_padding(x if time_major else tf.transpose(x, [1, 0, 2]), sequence_lengths)
    step = Step(lambda inputs, states, weights: _step(layer, inputs[0], states))
    xw = _product(x, layer.kernel) + layer.cell.bw
    sequences, final = run_steps(step, [xw], states, [], sequence_lengths)
    output = sequences[0] if time_major else tf.transpose(sequences[0], [1, 0, 2])
    return result_of([output, *final], input.dtype)


def _prepared(
    rnn_mode: str, kernel: Any, recurrent_kernel: Any, bias: Any, projection: Any, cell: Any
) -> Any:
    def of_gates(tensor: Any) -> Any:
        return reorder_gates(tensor, KERAS_GATES[rnn_mode], GATES[rnn_mode])

    def matrix(pair: Any) -> Any:
        values, scale = map(of_gates, pair)
        return _Matrix(tf.cast(values, tf.float64), scale)

    if bias is None:
        bw = br = tf.zeros_like(kernel[1])
    else:
        bw = of_gates(tf.cast(bias, tf.float32))
        bw, br = tf.unstack(bw) if rnn_mode == "gru" else (bw, None)
    return _Layer(
        rnn_mode,
        matrix(kernel),
        matrix(recurrent_kernel),
        None if projection is None else _Matrix(tf.cast(projection[0], tf.float64), projection[1]),
        cell._replace(bw=bw, br=br),
    )


def _step(layer: Any, xw: tf.Tensor, states: Any) -> Any:
    """The new states after one step. `xw`: the part of the gates that the input determines."""
    if layer.rnn_mode == "gru_reset_before":
        return _reset_before(layer, xw, *states)
    sums = _product(states[0], layer.recurrent_kernel)
    new = UNITS[layer.rnn_mode](layer.cell, sums, xw, *states)
    if layer.projection is None:
        return new
    return [_product(new[0], layer.projection), *new[1:]]


def _reset_before(layer: Any, xw: tf.Tensor, h: tf.Tensor) -> Any:
    cell, (values, scale) = layer.cell, layer.recurrent_kernel
    gates, candidate = map(_Matrix, split_candidate(values, 2), split_candidate(scale, 2))
    xru, xn = split_candidate(xw, 2)
    r, u = tf.split(cell.open(xru + _product(h, gates)), 2, axis=-1)
    n = cell.act(xn + _product(r * h, candidate))
    return [u * h + (1 - u) * n]


def _product(x: tf.Tensor, matrix: Any) -> tf.Tensor:
    """The product of x, float32 [..., n], and a matrix [n, m]."""
    x = tf.raw_ops.PreventGradient(input=x, message=NO_GRADIENT_OF_INT8)
    largest = tf.reduce_max(tf.abs(x), -1, keepdims=True)
    finite = tf.reduce_all(tf.math.is_finite(x), -1, keepdims=True)
    integers = tf.where(finite & (largest >= _SMALLEST), tf.round(x * (_LARGEST / largest)), 0.0)
    factor = tf.where(finite, largest / _LARGEST, float("nan"))  # may be large: the last factor
    sums = matmul(tf.cast(integers, tf.float64), matrix.values)
    return (tf.cast(sums, tf.float32) * matrix.scale) * factor
