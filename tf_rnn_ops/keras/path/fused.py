"""The inner loop of Keras's recurrent layers as one op.

On a CPU that is LayerRNN, which reads the weights as they are; in inference LayerRNNPacked, with
weights that are packed when they have changed. Where TensorFlow sees a GPU it is CudnnRNNV3, which
runs on either.
"""

import keras
import tensorflow as tf

from tf_rnn_ops import _seeds, raw_ops
from tf_rnn_ops.keras.layers.layer_norm_cell import LayerNormLSTMCell
from tf_rnn_ops.keras.layers.projected_cell import ProjectedLSTMCell
from tf_rnn_ops.keras.layers.zoneout_cells import ZoneoutGRUCell, ZoneoutLSTMCell
from tf_rnn_ops.keras.path import eligibility, params
from tf_rnn_ops.keras.path.masks import MaskedSteps
from tf_rnn_ops.native import loader


def inner_loop(layer, loop, sequences, initial_state, mask, training):
    """Does what keras.layers.RNN.inner_loop does, in one op if that can be.

    Args:
        layer: An LSTM, GRU, SimpleRNN or RNN, stock or ours, that is built.
        loop: Keras's own inner_loop of that layer, called where the op cannot be used.
        sequences: [B, T, I].
        initial_state: A tensor or a list of tensors [B, H]; of StackedRNNCells a list of these.
        mask: [B, T], a list of one such mask, or None.
        training: Whether to drop inputs.

    Returns:
        The last output [B, S], the outputs [B, T, S] (or the last output as [B, 1, S] without
        return_sequences), and the final states, as initial_state.
    """
    if loader.unavailable() is not None:
        return loop(sequences, initial_state, mask, training=training)
    # Keras converts what a call gets, but not what stateless_call gets.
    sequences = tf.convert_to_tensor(sequences)
    is_stack = isinstance(layer.cell, keras.layers.StackedRNNCells)
    states = [_as_list(s) for s in (_as_list(initial_state) if is_stack else [initial_state])]
    if isinstance(layer, keras.layers.GRU):
        states = [states[0][:1]]  # as Keras's GRU, which takes more and does without them
    one_mask = mask[0] if isinstance(mask, (list, tuple)) else mask
    if eligibility.call_reason(layer, sequences, states, one_mask, training) is not None:
        if getattr(layer, "use_cudnn", None) == "auto":
            # Keras's own method takes cuDNN where there is a GPU, also for what has a reason here:
            # in XLA, which cannot compile it, and with masks for each gate, at which it raises.
            return keras.layers.RNN.inner_loop(layer, sequences, states[0], one_mask, training)
        return loop(sequences, initial_state, mask, training=training)

    cells = eligibility.cells_of(layer)
    output = tf.cast(sequences, cells[0].compute_dtype)
    steps, output = _arrange(layer, output, one_mask)
    new_states = []
    for cell, own in zip(cells, states):
        output, found = _run(cell, output, own, steps, training)
        new_states.append(found)
    results = outputs(layer, steps, output, new_states[-1][0])
    if not is_stack:
        return (*results, new_states[0])
    return (*results, keras.tree.pack_sequence_as(initial_state, keras.tree.flatten(new_states)))


def _as_list(states):
    return list(states) if isinstance(states, (list, tuple)) else [states]


def _run(cell, sequences, states, steps, training):
    """Runs one cell over sequences in the order of processing: [B, T, H] and its final states."""
    states = of_every_row(states, sequences)
    masks = {}
    if training:
        sequences, masks = _dropout(cell, sequences, states[0])
    run = _layer if eligibility.takes_layer_op(cell) else _packed
    return run(cell, sequences, states, steps, masks, bool(training))


def as_tensor(weight, dtype):
    """A Keras variable as a tensor; None stays None."""
    if weight is None:
        return None
    # Keras returns the variable itself where its dtype is the one.
    return tf.convert_to_tensor(keras.ops.convert_to_tensor(weight, dtype=dtype))


def can_keep_packed(layer):
    """Whether what a layer or cell packs can be kept from call to call.

    That is where the op gets the value of the variables: one that is cast is another at each call.
    """
    return layer.variable_dtype == layer.compute_dtype


def of_every_row(states, sequences):
    """The initial states in the type of the sequences; one row stands for all, as in Keras's loop."""
    states = [tf.cast(state, sequences.dtype) for state in states]
    batch = sequences.shape[0]

    def has_every_row(state):
        if None not in (state.shape[0], batch):
            return state.shape[0] == batch
        # What Keras fills with zeros has; to broadcast it costs a short call a tenth of its time.
        return state.shape[0] is None and state.op.type == "Fill"

    return [
        state
        if has_every_row(state)
        # Only the rows: a wrong number of units is an error of the op.
        else tf.broadcast_to(state, [tf.shape(sequences)[0], tf.shape(state)[1]])
        for state in states
    ]


def drop_inputs(cell, sequences, training):
    """Applies a cell's dropout to [B, T, I]: the same elements at every time, as Keras does."""
    if not (training and cell.dropout > 0):
        return sequences
    return sequences * cell.get_dropout_mask(sequences[:, 0, :])[:, None, :]


def _arrange(layer, sequences, mask):
    """Brings the sequences into the order of processing: the MaskedSteps, if any, and they."""
    if mask is not None:
        steps = MaskedSteps(mask, sequences, layer.go_backwards, layer.zero_output_for_mask)
        return steps, steps.pack(sequences)
    return None, tf.reverse(sequences, [1]) if layer.go_backwards else sequences


def _dropout(cell, sequences, state):
    """Applies what can be applied to the sequences; the rest is LayerRNN's masks for each gate."""
    masks = {}
    if cell.dropout > 0:
        mask = cell.get_dropout_mask(sequences[:, 0, :])
        if isinstance(mask, list):
            masks["input_mask"] = tf.stack(mask)
        else:
            sequences = drop_inputs(cell, sequences, training=True)
    if cell.recurrent_dropout > 0:
        mask = cell.get_recurrent_dropout_mask(state)
        masks["recurrent_mask"] = tf.stack(mask if isinstance(mask, list) else [mask])
    return sequences, masks


def _weights(cell):
    return [
        as_tensor(weight, cell.compute_dtype)
        for weight in (cell.kernel, cell.recurrent_kernel, cell.bias)
    ]


def _layer_norm(cell):
    """The gammas and betas as LayerRNN has them, [18, H]."""
    norms = (cell.kernel_norm, cell.recurrent_norm, cell.state_norm)
    rows = [as_tensor(w, cell.compute_dtype) for norm in norms for w in (norm.gamma, norm.beta)]
    return tf.reshape(tf.concat(rows, 0), [-1, cell.units])


def _layer(cell, sequences, states, steps, masks, is_training):
    """Runs LayerRNN: [B, T, H] and the list of final states."""
    kernel, recurrent_kernel, bias = _weights(cell)
    rnn_mode = eligibility.rnn_mode(cell)
    has_c = rnn_mode == "lstm"
    weights = {
        "kernel": kernel,
        "recurrent_kernel": recurrent_kernel,
        "bias": () if bias is None else bias,
        "rnn_mode": rnn_mode,
    }
    own, functions = {}, {}
    if isinstance(cell, ProjectedLSTMCell):
        functions = {"cell_clip": cell.cell_clip, "proj_clip": cell.proj_clip}
        if cell.num_proj:
            weights["projection"] = as_tensor(cell.projection, cell.compute_dtype)
        if cell.use_peepholes:
            own["peepholes"] = as_tensor(cell.peepholes, cell.compute_dtype)
    if isinstance(cell, LayerNormLSTMCell):
        own["layer_norm"] = _layer_norm(cell)
        functions = {"layer_norm_epsilon": cell.norm_epsilon}
    if isinstance(cell, (ZoneoutLSTMCell, ZoneoutGRUCell)):
        rates = ("zoneout_h", "zoneout_c") if has_c else ("zoneout_h",)
        functions = {name: getattr(cell, name) for name in rates}
        if is_training and any(functions.values()):
            masks["seed"] = _seeds.draw(cell.seed_generator)
    if rnn_mode not in ("rnn_tanh", "rnn_relu"):
        functions |= {
            name: eligibility.activation_name(getattr(cell, name))
            for name in ("activation", "recurrent_activation")
            if hasattr(cell, name)
        }
    inputs = {
        "input": sequences,
        "input_h": states[0],
        "input_c": states[1] if has_c else tf.zeros([], sequences.dtype),
        "sequence_lengths": () if steps is None else steps.lengths,
        "time_major": False,
    }
    if not is_training and can_keep_packed(cell):
        assert not masks, "masks and seeds are of training"
        packed = raw_ops.PackLayerRNN(**weights, keep=True)
        result = raw_ops.LayerRNNPacked(**inputs, **weights, **own, **functions, packed=packed)
    else:
        result = raw_ops.LayerRNN(
            **inputs, **weights, **own, **functions, **masks, is_training=is_training
        )
    return result.output, [result.output_h, result.output_c] if has_c else [result.output_h]


_PACK = {"lstm": params.lstm, "gru": params.gru}


def _packed(cell, sequences, states, steps, masks, is_training):
    """The same with CudnnRNNV3, which GPUs have as well; it takes no masks."""
    assert not masks, "call_reason sends dropout of gates to the loop"
    rnn_mode = eligibility.rnn_mode(cell)
    has_c = rnn_mode == "lstm"
    shape = tf.shape(sequences)
    result = raw_ops.CudnnRNNV3(
        input=sequences,
        input_h=states[0][:, None, :],
        input_c=states[1][:, None, :] if has_c else tf.zeros([], sequences.dtype),
        params=_PACK.get(rnn_mode, params.simple)(*_weights(cell)),
        sequence_lengths=tf.fill([shape[0]], shape[1]) if steps is None else steps.lengths,
        rnn_mode=rnn_mode,
        is_training=is_training,
        time_major=False,
    )
    h = result.output_h[:, 0, :]
    return result.output, [h, result.output_c[:, 0, :]] if has_c else [h]


def outputs(layer, steps, packed, h):
    """Returns the last output and the outputs as Keras wants them.

    Args:
        layer: The layer, for return_sequences.
        steps: The MaskedSteps, or None without a mask.
        packed: Outputs of the op, [B, T, H].
        h: Output of the last valid step, or the initial state in rows without any, [B, H].

    Returns:
        Two tensors; see inner_loop.
    """
    last = h if steps is None else steps.last_step(h)
    if not layer.return_sequences:
        return last, last[:, None, :]
    return last, packed if steps is None else steps.unpack(packed, steps.last_valid(h))
