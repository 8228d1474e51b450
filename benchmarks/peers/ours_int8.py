"""QuantizedLayerRNN of tf_rnn_ops, with weights that are quantized and packed once."""

import numpy as np
import tensorflow as tf

from benchmarks.peers import Unsupported

# The place of each gate of LayerRNN in the common order: i, f, g, o, and z, r, n.
_ORDER = {"lstm": [0, 1, 2, 3], "gru": [1, 0, 2], "rnn_tanh": [0], "rnn_relu": [0]}


def _quantize(weights):
    """Integers in [-127, 127] and the scale of each column."""
    largest = np.abs(weights).max(0)
    scale = (np.where(largest > 0, largest, 1) / 127).astype(np.float32)
    return np.rint(weights / scale).astype(np.int8), scale


def layer_weights(mode, weights):
    """The weights of a layer as LayerRNN has them: kernel [I, G*H], recurrent_kernel and bias."""
    order = _ORDER[mode]

    def columns(values):  # [G*H, n] to [n, G*H]
        parts = np.split(values, len(order))
        return np.ascontiguousarray(np.concatenate([parts[k] for k in order]).T)

    w_ih, w_hh, b_ih, b_hh = (columns(w) for w in weights)
    bias = np.stack([b_ih, b_hh]) if mode == "gru" else b_ih + b_hh
    return {"kernel": w_ih, "recurrent_kernel": w_hh, "bias": bias}


def _arguments(mode, weights):
    """These weights in int8."""
    arrays = layer_weights(mode, weights)
    for name in ("kernel", "recurrent_kernel"):
        arrays[name], arrays[f"{name}_scale"] = _quantize(arrays[name])
    return {name: tf.constant(array) for name, array in arrays.items()}


def make_forward(ops, problem, mode, weights):
    """A function from x [T, B, I] to y [T, B, H].

    Args:
        ops: tf_rnn_ops.raw_ops.
        problem: A problems.Problem of type int8.
        mode: The rnn_mode.
        weights: As problems.make_data() returns them.
    """
    p = problem
    if (p.L, p.D) != (1, 1):
        raise Unsupported("int8 in one unidirectional layer only")
    arguments = _arguments(mode, weights[0])
    packed = ops.PackQuantizedLayerRNN(rnn_mode=mode, **arguments)
    # WHY made once: an eager tf.zeros takes longer than a short call.
    h = tf.zeros((p.B, p.H))
    c = h if mode == "lstm" else tf.zeros(())

    def forward(x):
        return ops.QuantizedLayerRNN(
            input=x, input_h=h, input_c=c, packed=packed, rnn_mode=mode, **arguments
        ).output

    return forward
