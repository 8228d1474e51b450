"""Keras weights to the op's buffer of parameters, inside the graph so that gradients flow back.

The buffer holds every gate's input weights [H, I], every gate's recurrent weights [H, H], every
gate's input bias [H] and every gate's recurrent bias [H], one after the other. A Keras kernel is
[I, G*H], so its transpose has the weights of a gate in one piece.
"""

import keras
import tensorflow as tf


def as_tensor(weight, dtype):
    """A Keras variable as a tensor; None stays None."""
    if weight is None:
        return None
    # WHY twice: Keras returns the variable itself if it has the dtype.
    return tf.convert_to_tensor(keras.ops.convert_to_tensor(weight, dtype=dtype))


def gru(kernel, recurrent_kernel, bias):
    """Packs the weights of a GRU with reset_after; Keras has the gates z, r, h and the op r, z, h.

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


def one_bias(kernel, recurrent_kernel, bias):
    """Packs the weights of an LSTM, whose order of gates i, f, c, o is that of the op, or a SimpleRNN."""
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
