"""Converts Keras's weights to the op's buffer of parameters, in the graph, so that gradients flow back.

The buffer has, in this order, the input weights [H, I] of every gate, the recurrent weights [H, H] of
every gate, the input bias [H] of every gate and the recurrent bias [H] of every gate. A Keras kernel is
[I, G*H], so its transpose has the weights of a gate in one contiguous block.
"""

from typing import Any

import keras
import tensorflow as tf


def as_tensor(weight: Any, dtype: Any) -> Any:
    """A Keras variable as a tensor; None stays None."""
    if weight is None:
        return None
    # WHY two conversions: Keras returns the variable itself if it has the dtype.
    return tf.convert_to_tensor(keras.ops.convert_to_tensor(weight, dtype=dtype))


def weight_of(cell: keras.layers.Layer, name: str) -> Any:
    """A weight of a cell as a tensor of its compute dtype; None if the cell lacks it. int8 is dequantized."""
    variable = getattr(cell, name, None)
    scale = getattr(cell, f"{name}_scale", None)
    if scale is None:
        return as_tensor(variable, cell.compute_dtype)
    values = tf.cast(as_tensor(variable, "int8"), tf.float32) * as_tensor(scale, "float32")
    return tf.cast(values, cell.compute_dtype)


def gru(kernel: Any, recurrent_kernel: Any, bias: Any) -> tf.Tensor:
    """Packs the weights of a GRU with reset_after=True. Keras has the gates z, r, h, the op has r, z, h.

    Args:
        kernel: [I, 3*H].
        recurrent_kernel: [H, 3*H].
        bias: Input and recurrent biases, [2, 3*H], or None.

    Returns:
        The buffer, a vector.
    """
    pieces = []
    for weights in (kernel, recurrent_kernel):
        z, r, h = tf.unstack(tf.reshape(tf.transpose(weights), [3, -1]))
        pieces += [r, z, h]
    if bias is None:
        pieces.append(tf.zeros([2 * recurrent_kernel.shape[1]], kernel.dtype))
    else:
        z, r, h, z_recurrent, r_recurrent, h_recurrent = tf.unstack(tf.reshape(bias, [6, -1]))
        pieces += [r, z, h, r_recurrent, z_recurrent, h_recurrent]
    return tf.concat(pieces, axis=0)


def one_bias(kernel: Any, recurrent_kernel: Any, bias: Any) -> tf.Tensor:
    """Packs the weights of a SimpleRNN or an LSTM. Keras and the op have the same gate order i, f, c, o."""
    zeros = tf.zeros([recurrent_kernel.shape[1]], kernel.dtype)
    return tf.concat(
        [
            tf.reshape(tf.transpose(kernel), [-1]),
            tf.reshape(tf.transpose(recurrent_kernel), [-1]),
            zeros if bias is None else bias,
            zeros,
        ],
        axis=0,
    )
