"""CudnnRNN and LayerRNN in TensorFlow's ordinary ops, which every host of TensorFlow has."""

from typing import Any, NamedTuple

import tensorflow as tf

from tf_rnn_ops.params.layout import GATES


class PlainResult(NamedTuple):
    """What the op returns but for its two reserves, which only its gradient reads."""

    output: Any
    output_h: Any
    output_c: Any


class _Cell(NamedTuple):
    """The weights of one direction of one layer, ready to multiply from the right."""

    w: Any  # [I, G*H], or None where the input is added as it is
    r: Any  # [P, G*H]
    bw: Any  # [G*H]
    br: Any  # [G*H]
    projection: Any  # [H, P], or None
    input_mask: Any = None  # [G, B, I]
    recurrent_mask: Any = None  # [G, B, H]

    def from_input(self, x, gates):
        """[T, B, I] to [T, B, G*H]."""
        if self.w is None:
            return tf.tile(x, [1, 1, gates]) + self.bw
        return _product("tbi,ig->tbg", x, self.input_mask, self.w, gates) + self.bw

    def from_state(self, h, gates):
        """[B, P] to [B, G*H]."""
        return _product("bi,ig->bg", h, self.recurrent_mask, self.r, gates) + self.br


def _product(equation, x, mask, weights, gates):
    if mask is None:
        return tf.einsum(equation, x, weights)
    pairs = zip(tf.unstack(mask, gates), tf.split(weights, gates, axis=-1))
    return tf.concat([tf.einsum(equation, x * m, w) for m, w in pairs], -1)


def run(layout, x, h0, c0, params, lengths, time_major=True):
    """Builds inference of a network of any mode, inside a tf.function.

    Args:
        layout: A tf_rnn_ops.params.Layout.
        x: [T, B, I].
        h0: [L*D, B, P].
        c0: [L*D, B, H] for 'lstm'; ignored otherwise.
        params: [layout.size].
        lengths: int32 [B].
        time_major: If not, x and the output are [B, T, ...] and the states [B, L*D, ...].

    Returns:
        A PlainResult of x's dtype.
    """
    dtype = x.dtype
    lstm = layout.rnn_mode == "lstm"
    # Sums of low precision would lose what the fused op keeps.
    wide = tf.float32 if dtype in (tf.float16, tf.bfloat16) else dtype
    x, h0, params = (tf.cast(t, wide) for t in (x, h0, params))
    states = [h0, tf.cast(c0, wide)] if lstm else [h0]
    if not time_major:
        x, *states = (tf.transpose(t, [1, 0, 2]) for t in (x, *states))
    directions = 2 if layout.direction == "bidirectional" else 1
    last = []
    for layer in range(layout.num_layers):
        outputs = []
        for direction in range(directions):
            initial = [state[layer * directions + direction] for state in states]
            cell = _cell(layout, params, layer, direction)
            sequence = _reversed(x, lengths) if direction else x
            output, final = _run_direction(
                layout.rnn_mode,
                layout.num_proj or layout.num_units,
                cell,
                sequence,
                initial,
                lengths,
            )
            outputs.append(_reversed(output, lengths) if direction else output)
            last.append(final)
        # The next layer reads what the fused op would store in between.
        x = tf.cast(tf.cast(tf.concat(outputs, -1), dtype), wide)
    results = [x] + [tf.stack(state) for state in zip(*last)]
    if not time_major:
        results = [tf.transpose(t, [1, 0, 2]) for t in results]
    results = [tf.cast(t, dtype) for t in results]
    return PlainResult(*results) if lstm else PlainResult(*results, tf.zeros([], dtype))


def run_layer(rnn_mode, units, inputs, lengths, time_major=True):
    """Builds a layer with Keras's weights, inside a tf.function.

    Args:
        rnn_mode: 'lstm', 'gru', 'rnn_tanh' or 'rnn_relu'.
        units: H.
        inputs: The other tensors by the names that LayerRNN has for them, but for absent ones.
        lengths: int32 [B].
        time_major: If not, input and output are [B, T, ...].

    Returns:
        A PlainResult of the input's dtype.
    """
    dtype = inputs["input"].dtype
    wide = tf.float32 if dtype in (tf.float16, tf.bfloat16) else dtype
    inputs = {name: tf.cast(tensor, wide) for name, tensor in inputs.items()}
    gates = len(GATES[rnn_mode])

    def ordered(tensor, axis):
        # Keras has z, r, h where the cells below have r, z, h.
        if rnn_mode != "gru" or tensor is None:
            return tensor
        z, r, h = tf.split(tensor, 3, axis=axis)
        return tf.concat([r, z, h], axis)

    bias = ordered(inputs.get("bias", tf.zeros([gates * units], wide)), -1)
    has_two = bias.shape.rank == 2
    cell = _Cell(
        w=ordered(inputs["kernel"], -1),
        r=ordered(inputs["recurrent_kernel"], -1),
        bw=bias[0] if has_two else bias,
        br=bias[1] if has_two else tf.zeros_like(bias),
        projection=None,
        input_mask=ordered(inputs.get("input_mask"), 0),
        recurrent_mask=ordered(inputs.get("recurrent_mask"), 0),
    )
    x = inputs["input"]
    initial = [inputs["input_h"]] + [inputs["input_c"]] * (rnn_mode == "lstm")
    output, final = _run_direction(
        rnn_mode, units, cell, x if time_major else tf.transpose(x, [1, 0, 2]), initial, lengths
    )
    output = output if time_major else tf.transpose(output, [1, 0, 2])
    results = [tf.cast(t, dtype) for t in (output, *final)]
    return (
        PlainResult(*results) if len(results) == 3 else PlainResult(*results, tf.zeros([], dtype))
    )


def _reversed(x, lengths):
    return tf.reverse_sequence(x, lengths, seq_axis=0, batch_axis=1)


def _cell(layout, params, layer, direction):
    def take(blocks, source):
        # The gates of one source lie one behind the other.
        mine = [b for b in blocks if (b.layer, b.direction, b.source) == (layer, direction, source)]
        if not mine or mine[0].size == 0:
            return None
        rows = sum(block.shape[0] for block in mine)
        return tf.reshape(params[mine[0].offset : mine[-1].end], (rows, *mine[0].shape[1:]))

    def transposed(matrix):
        return None if matrix is None else tf.transpose(matrix)

    return _Cell(
        w=transposed(take(layout.weights, "input")),
        r=transposed(take(layout.weights, "recurrent")),
        bw=take(layout.biases, "input"),
        br=take(layout.biases, "recurrent"),
        projection=transposed(take(layout.weights, "projection")),
    )


def _run_direction(rnn_mode, width, cell, x, initial, lengths):
    """Runs one direction of one layer over [T, B, I]; rows stop at their lengths."""
    steps, batch = tf.shape(x)[0], tf.shape(x)[1]
    # All input products at once; only the recurrent ones wait for each other.
    projected = cell.from_input(x, len(GATES[rnn_mode]))
    inputs = tf.TensorArray(x.dtype, steps).unstack(projected)
    outputs = tf.TensorArray(x.dtype, steps, element_shape=[None, width])

    def step(t, state, outputs):
        new = _STEPS[rnn_mode](cell, inputs.read(t), *state)
        valid = (t < lengths)[:, None]
        outputs = outputs.write(t, tf.where(valid, new[0], tf.zeros_like(new[0])))
        return t + 1, [tf.where(valid, n, s) for n, s in zip(new, state)], outputs

    _, final, outputs = tf.while_loop(
        lambda t, *_: t < steps, step, (tf.constant(0), list(initial), outputs)
    )
    # WHY not stack(): with no step at all it does not know the batch size.
    output = tf.raw_ops.TensorListStack(
        input_handle=outputs.flow, element_shape=[batch, width], element_dtype=x.dtype
    )
    return output, final


def _lstm_step(cell, xw, h, c):
    i, f, g, o = tf.split(xw + cell.from_state(h, 4), 4, axis=-1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    h = tf.sigmoid(o) * tf.tanh(c)
    if cell.projection is not None:
        h = tf.matmul(h, cell.projection)
    return [h, c]


def _gru_step(cell, xw, h):
    xr, xu, xh = tf.split(xw, 3, axis=-1)
    hr, hu, hh = tf.split(cell.from_state(h, 3), 3, axis=-1)
    u = tf.sigmoid(xu + hu)
    candidate = tf.tanh(xh + tf.sigmoid(xr + hr) * hh)
    return [(1 - u) * candidate + u * h]


def _vanilla_step(activation):
    return lambda cell, xw, h: [activation(xw + cell.from_state(h, 1))]


_STEPS = {
    "lstm": _lstm_step,
    "gru": _gru_step,
    "rnn_tanh": _vanilla_step(tf.tanh),
    "rnn_relu": _vanilla_step(tf.nn.relu),
}
