"""LayerRNN in ordinary ops."""

from typing import Any

import numpy as np
import tensorflow as tf

from tf_rnn_ops.plain._cudnn_rnn import CudnnRNNResult, result_of
from tf_rnn_ops.plain.cells import GATES, KERAS_GATES, Cell, reorder_gates, run_cell
from tf_rnn_ops.plain.dropout import zoneout_mask
from tf_rnn_ops.plain.recurrence import wide_type


def layer_rnn(
    rnn_mode: str,
    input: Any,
    input_h: Any,
    input_c: Any,
    kernel: Any,
    recurrent_kernel: Any,
    bias: Any = None,
    projection: Any = None,
    peepholes: Any = None,
    layer_norm: Any = None,
    sequence_lengths: Any = None,
    input_mask: Any = None,
    recurrent_mask: Any = None,
    seed: Any = None,
    activation: str = "tanh",
    recurrent_activation: str = "sigmoid",
    cell_clip: float = 0.0,
    proj_clip: float = 0.0,
    zoneout_h: float = 0.0,
    zoneout_c: float = 0.0,
    layer_norm_epsilon: float = 1e-3,
    time_major: bool = True,
    loops: Any = None,
) -> CudnnRNNResult:
    """Runs a layer with Keras's weights.

    Args:
        rnn_mode: The attribute of the op.
        input: [T, B, I].
        input_h: [B, S].
        input_c: [B, H] for 'lstm'; ignored otherwise.
        kernel: [I, G*H].
        recurrent_kernel: [S, G*H].
        bias: [G*H], or [2, G*H] for 'gru'; None for none.
        projection: [H, P] or None.
        peepholes: [3, H] or None.
        layer_norm: [18, H] or None.
        sequence_lengths: int32 [B]; None if all sequences have T steps.
        input_mask: [G, B, I] or None.
        recurrent_mask: [G, B, S] or None.
        seed: int64 [2] or None, for zoneout.
        activation: The attribute of the op.
        recurrent_activation: The attribute of the op.
        cell_clip: The attribute of the op.
        proj_clip: The attribute of the op.
        zoneout_h: The attribute of the op.
        zoneout_c: The attribute of the op.
        layer_norm_epsilon: The attribute of the op.
        time_major: If False, input and output are [B, T, ...].
        loops: See cudnn_rnn.

    Returns:
        A CudnnRNNResult of the input's type.
    """
    dtype = input.dtype
    wide = wide_type(dtype)

    def prepared(tensor: tf.Tensor | None, axis: int = -1) -> tf.Tensor | None:
        tensor = None if tensor is None else tf.cast(tensor, wide)
        return reorder_gates(tensor, KERAS_GATES[rnn_mode], GATES[rnn_mode], axis)

    kernel = prepared(kernel)
    if bias is None:
        bw = br = tf.zeros(tf.shape(kernel)[-1:], wide)
    else:
        bw = prepared(bias)
        bw, br = tf.unstack(bw) if rnn_mode == "gru" else (bw, tf.zeros_like(bw))
    cell = Cell(
        w=kernel,
        r=prepared(recurrent_kernel),
        bw=bw,
        br=br,
        projection=None if projection is None else tf.cast(projection, wide),
        peepholes=None if peepholes is None else tf.cast(peepholes, wide),
        norms=None if layer_norm is None else _norms(tf.cast(layer_norm, wide)),
        input_mask=prepared(input_mask, 0),
        recurrent_mask=prepared(recurrent_mask, 0),
        activation=activation,
        recurrent_activation=recurrent_activation,
        cell_clip=_rounded(cell_clip, tf.float32),  # attributes are float32
        proj_clip=_rounded(proj_clip, dtype if dtype.size < 4 else tf.float32),
        norm_epsilon=_rounded(layer_norm_epsilon, tf.float32),
    )
    states = [input_h, input_c] if rnn_mode == "lstm" else [input_h]
    x, *states = (tf.cast(t, wide) for t in (input, *states))
    x = x if time_major else tf.transpose(x, [1, 0, 2])
    zoneout = [_rounded(rate, tf.float32) for rate in (zoneout_h, zoneout_c)][: len(states)]
    if seed is not None:
        steps, batch = tf.unstack(tf.shape(x)[:2])
        units = states[0].shape[-1] or tf.shape(states[0])[-1]
        zoneout = [
            zoneout_mask(seed, rate, k, steps, batch, units) if rate else rate
            for k, rate in enumerate(zoneout)
        ]
    output, final = run_cell(rnn_mode, cell, x, states, sequence_lengths, loops, zoneout)
    output = output if time_major else tf.transpose(output, [1, 0, 2])
    return result_of([output, *final], dtype)


def _norms(rows: tf.Tensor) -> tf.Tensor:
    """Gamma and beta of both products, [4*H] in the order of GATES, and of c, [H]."""

    def of_gates(k: int) -> tf.Tensor:
        gates = dict(zip(KERAS_GATES["lstm"], tf.unstack(rows[4 * k : 4 * k + 4], 4)))
        return tf.concat([gates[gate] for gate in GATES["lstm"]], 0)

    return tf.concat([*map(of_gates, range(4)), rows[16], rows[17]], 0)


def _rounded(value: Any, dtype: Any) -> Any:
    return float(np.asarray(value, dtype.as_numpy_dtype))
