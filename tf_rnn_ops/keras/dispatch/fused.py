"""The inner loop of Keras's recurrent layers as one op.

On a CPU the op is LayerRNN, which reads Keras's weights directly. In inference it is LayerRNNPacked, with
weights that are packed again when they have changed, or QuantizedLayerRNN for int8 weights. If TensorFlow
sees a GPU the op is CudnnRNNV3 where it can run the call. BlockLSTMV2 runs LSTMs with peepholes or clipping
whose gradient ignores the clipping.
"""

from typing import Any, Callable

import keras
import tensorflow as tf

from tf_rnn_ops import raw_ops
from tf_rnn_ops.keras._internals import overridden
from tf_rnn_ops.keras.dispatch import (
    block_lstm,
    cells,
    changes,
    environment,
    params,
    quantized,
    shapes,
)
from tf_rnn_ops.keras.dispatch.cell_call import CellCall, Result
from tf_rnn_ops.keras.dispatch.decision import cells_of, decide, is_quantized
from tf_rnn_ops.keras.dispatch.masks import MaskedSteps
from tf_rnn_ops.native.tf_internals import tracing


def inner_loop(
    layer: keras.layers.Layer,
    loop: Callable[..., Any],
    sequences: tf.Tensor,
    initial_state: Any,
    mask: Any,
    training: bool | None,
) -> tuple[tf.Tensor, tf.Tensor, Any]:
    """Replaces keras.layers.RNN.inner_loop. It runs one op if possible.

    Args:
        layer: A built LSTM, GRU, SimpleRNN or RNN of Keras or of this package.
        loop: Keras's own inner_loop of that layer, which runs if the op cannot be used.
        sequences: [B, T, I].
        initial_state: A tensor [B, H] or a list of such tensors. For StackedRNNCells a list of these.
        mask: [B, T], a list of one such mask, or None.
        training: Whether to apply dropout.

    Returns:
        The last output [B, S], the outputs [B, T, S] (or the last output as [B, 1, S] without
        return_sequences), and the final states in the structure of initial_state.
    """
    # Keras converts the arguments of a call, but not those of stateless_call.
    sequences = tf.convert_to_tensor(sequences)
    is_stack = isinstance(layer.cell, keras.layers.StackedRNNCells)
    states = [_as_list(s) for s in (_as_list(initial_state) if is_stack else [initial_state])]
    if isinstance(layer, keras.layers.GRU):
        states = [states[0][:1]]  # Keras's GRU ignores further states
    one_mask = mask[0] if isinstance(mask, (list, tuple)) else mask
    time = None if tf.executing_eagerly() else sequences.shape[1]
    ops = decide(layer, time, training, tracing.in_xla()).ops
    if not ops or shapes.reason(cells_of(layer), sequences, states, one_mask) is not None:
        if changes.loop_reason(layer) is not None or not environment.has_ops():
            return loop(sequences, initial_state, mask, training=training)
        # WHY RNN.inner_loop: those of LSTM and GRU may give int8 weights to cuDNN, and they choose it on a GPU, where
        # it fails under XLA and with dropout masks for each gate.
        if is_quantized(layer):
            return keras.layers.RNN.inner_loop(layer, sequences, initial_state, mask, training)
        if getattr(layer, "use_cudnn", None) == "auto":
            return keras.layers.RNN.inner_loop(layer, sequences, states[0], one_mask, training)
        return loop(sequences, initial_state, mask, training=training)

    its_cells = cells_of(layer)
    output = tf.cast(sequences, its_cells[0].compute_dtype)
    steps, output = _arrange(layer, output, one_mask)
    new_states = []
    for op, cell, cell_states in zip(ops, its_cells, states):
        call = _call(cell, output, cell_states, steps, bool(training))
        output, final_states = _RUN[op](call)
        new_states.append(final_states)
    results = _outputs(layer, steps, output, new_states[-1][0])
    if not is_stack:
        return (*results, new_states[0])
    return (*results, keras.tree.pack_sequence_as(initial_state, keras.tree.flatten(new_states)))


def _as_list(states: Any) -> list:
    return list(states) if isinstance(states, (list, tuple)) else [states]


def _call(
    cell: keras.layers.Layer,
    sequences: tf.Tensor,
    states: list[tf.Tensor],
    steps: MaskedSteps | None,
    is_training: bool,
) -> CellCall:
    """The call of a cell on sequences in the order of processing, with dropout applied."""
    states = _of_every_row(states, sequences)
    masks: dict[str, tf.Tensor] = {}
    if is_training:
        sequences, masks = _dropout(cell, sequences, states[0])
    return CellCall(cell, sequences, states, steps, masks, is_training)


def _of_every_row(states: list[tf.Tensor], sequences: tf.Tensor) -> list[tf.Tensor]:
    """The initial states in the type of the sequences. A single row is broadcast to all rows, as in Keras."""
    states = [tf.cast(state, sequences.dtype) for state in states]
    batch = sequences.shape[0]

    def has_every_row(state: tf.Tensor) -> bool:
        if None not in (state.shape[0], batch):
            return state.shape[0] == batch
        # Keras's default zero state (a Fill op) has the full batch. WHY a check: broadcast_to takes 10 %
        # of a short call.
        return state.shape[0] is None and state.op.type == "Fill"

    return [
        state
        if has_every_row(state)
        # WHY not the number of units: the op reports a wrong number.
        else tf.broadcast_to(state, [tf.shape(sequences)[0], tf.shape(state)[1]])
        for state in states
    ]


def _arrange(
    layer: keras.layers.Layer, sequences: tf.Tensor, mask: tf.Tensor | None
) -> tuple[MaskedSteps | None, tf.Tensor]:
    """Returns the MaskedSteps, or None without a mask, and the sequences in the order of processing."""
    if mask is not None:
        steps = MaskedSteps(mask, sequences, layer.go_backwards, layer.zero_output_for_mask)
        return steps, steps.pack(sequences)
    return None, tf.reverse(sequences, [1]) if layer.go_backwards else sequences


def _dropout(
    cell: keras.layers.Layer, sequences: tf.Tensor, state: tf.Tensor
) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    """Applies dropout to the sequences if all gates have one mask. Other masks become inputs of LayerRNN."""
    masks = {}
    if cell.dropout > 0:
        mask = overridden.dropout_mask(cell, sequences[:, 0, :])
        if isinstance(mask, list):
            masks["input_mask"] = tf.stack(mask)
        else:
            sequences = sequences * mask[:, None, :]
    if cell.recurrent_dropout > 0:
        mask = overridden.recurrent_dropout_mask(cell, state)
        masks["recurrent_mask"] = tf.stack(mask if isinstance(mask, list) else [mask])
    return sequences, masks


def _layer(call: CellCall) -> Result:
    """Runs LayerRNN."""
    weights, other_arguments = cells.layer_arguments(call.cell, call.is_training)
    result = raw_ops.LayerRNN(
        **call.inputs(), **weights, **other_arguments, **call.masks, is_training=call.is_training
    )
    return _of_layer(call, result)


def _packed(call: CellCall) -> Result:
    """Runs LayerRNNPacked, with weights that stay packed between calls."""
    assert not call.masks, "masks exist only in training"
    weights, other_arguments = cells.layer_arguments(call.cell, call.is_training)
    packed = raw_ops.PackLayerRNN(**weights, keep=True)
    result = raw_ops.LayerRNNPacked(**call.inputs(), **weights, **other_arguments, packed=packed)
    return _of_layer(call, result)


def _of_layer(call: CellCall, result: Any) -> Result:
    return result.output, [result.output_h, result.output_c][: len(call.states)]


def _quantized(call: CellCall) -> Result:
    """Runs QuantizedLayerRNN."""
    output, *new = quantized.run(call.inputs(), *cells.quantized_arguments(call.cell))
    return output, new[: len(call.states)]


def _cudnn(call: CellCall) -> Result:
    """Runs CudnnRNNV3, which also has a kernel for GPUs, but no dropout masks of gates."""
    assert not call.masks, "decide() excludes dropout masks of gates"
    inputs = call.inputs()
    rnn_mode = cells.rnn_mode(call.cell)
    has_c = rnn_mode == "lstm"
    pack = params.gru if rnn_mode == "gru" else params.one_bias
    shape = tf.shape(call.sequences)
    inputs["input_h"] = inputs["input_h"][:, None, :]
    inputs["input_c"] = inputs["input_c"][:, None, :] if has_c else inputs["input_c"]
    if call.steps is None:
        inputs["sequence_lengths"] = tf.fill([shape[0]], shape[1])
    result = raw_ops.CudnnRNNV3(
        **inputs,
        params=pack(*cells.weights(call.cell)),
        rnn_mode=rnn_mode,
        is_training=call.is_training,
    )
    h = result.output_h[:, 0, :]
    return result.output, [h, result.output_c[:, 0, :]] if has_c else [h]


_RUN = {
    "LayerRNN": _layer,
    "LayerRNNPacked": _packed,
    "QuantizedLayerRNN": _quantized,
    "CudnnRNNV3": _cudnn,
    "BlockLSTMV2": block_lstm.run,
}


def _outputs(
    layer: keras.layers.Layer, steps: MaskedSteps | None, packed: tf.Tensor, h: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the last output and the outputs in the form that Keras expects.

    Args:
        layer: The layer, for return_sequences.
        steps: The MaskedSteps, or None without a mask.
        packed: Outputs of the op, [B, T, H].
        h: Output of the last valid step, [B, H]; the initial state for sequences without a valid step.

    Returns:
        Two tensors; see inner_loop.
    """
    last = h if steps is None else steps.last_step(h)
    if not layer.return_sequences:
        return last, last[:, None, :]
    return last, packed if steps is None else steps.unpack(packed, steps.last_valid(h))
