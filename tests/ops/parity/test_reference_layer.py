"""The numpy reference of LayerRNN against that of the stack and against central differences."""

import dataclasses
import functools
import itertools

import numpy as np
import pytest

from support.bounds import error
from support.central_differences import numeric
from support.layer_cases import FUNCTIONS, MODES, WITH_FUNCTIONS, layer_case
from support.reference import dropout, layer, layout, rnn
from support.reference.spec import RnnSpec
from support.selection import all_but

PARITY = 1e-13
NUMERIC = 1e-7
WITHOUT_MASKS = {"input_mask": False, "recurrent_mask": False}
# Keras's GRU is z, r, n; the opaque buffer has r, z, n.
_ORDER = {"gru": [1, 0, 2], "lstm": [0, 1, 2, 3]}


def _cell(case):
    """The same weights as one pseudo-layer of the stack."""
    order = _ORDER.get(case.rnn_mode, [0])

    def blocks(matrix):
        return np.stack([np.split(matrix, len(order), axis=-1)[g].T for g in order])

    i = case.inputs
    bias = i.bias if case.rnn_mode == "gru" else np.stack([i.bias, np.zeros_like(i.bias)])
    return layout.CellWeights(
        w=blocks(i.kernel),
        r=blocks(i.recurrent_kernel),
        bw=blocks(bias[0]),
        br=blocks(bias[1]),
        proj=None,
    )


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_without_masks_it_is_a_stack_of_one(mode, rng):
    case = layer_case(mode, (6, 5, 3, 4), rng, **WITHOUT_MASKS)
    i = case.inputs
    spec = RnnSpec(mode, 1, 4, 3)
    params = layout.pack(spec, [_cell(case)])
    fwd = rnn.forward(spec, i.x, i.h0[None], i.c0[None], params, i.lengths)
    bwd = rnn.backward(spec, params, fwd.tape, case.dy, case.dh[None], case.dc[None])
    got = case.reference()
    assert error("output", got["output"], fwd.output) < PARITY
    assert error("output_h", got["output_h"], fwd.output_h[0]) < PARITY
    assert error("input_backprop", got["input_backprop"], bwd.input) < PARITY
    assert error("input_h_backprop", got["input_h_backprop"], bwd.input_h[0]) < PARITY
    if mode == "lstm":
        assert error("output_c", got["output_c"], fwd.output_c[0]) < PARITY
        assert error("input_c_backprop", got["input_c_backprop"], bwd.input_c[0]) < PARITY


@pytest.mark.parametrize("mode", MODES)
def test_masks_that_rows_share_are_factors_of_the_weights(mode, rng):
    case = layer_case(mode, (6, 5, 3, 4), rng)
    i = case.inputs
    for name, matrix in (("input_mask", "kernel"), ("recurrent_mask", "recurrent_kernel")):
        mask = getattr(i, name)
        mask[:] = mask[:, :1]
        scaled = np.concatenate([np.tile(gate[0][:, None], (1, 4)) for gate in mask], axis=1)
        without = dataclasses.replace(i, **{name: None, matrix: getattr(i, matrix) * scaled})
        got, _ = layer.forward(case.rnn_mode, i, functions=case.functions())
        want, _ = layer.forward(case.rnn_mode, without, functions=case.functions())
        for output in want:
            assert error(output, got[output], want[output]) < PARITY, (name, output)


@pytest.mark.parametrize(
    "case",
    all_but(
        [(mode, *functions) for mode in WITH_FUNCTIONS for functions in FUNCTIONS],
        *((mode, *pair) for mode, pair in zip(WITH_FUNCTIONS, itertools.cycle(FUNCTIONS))),
    ),
    ids="-".join,
)
def test_backward_of_other_activations(case, rng):
    mode, *functions = case
    check_backward(mode, {"functions": tuple(functions)}, rng)


@pytest.mark.parametrize("reset_after", [False, True])
@pytest.mark.parametrize("functions", [("tanh", "sigmoid"), ("relu", "hard_sigmoid")])
def test_is_the_gru_of_keras(reset_after, functions, rng):
    """The results of the installed Keras, which shares no code with this project."""
    import keras

    mode = "gru" if reset_after else "gru_reset_before"
    case = layer_case(mode, (6, 5, 3, 4), rng, lengths=None, functions=functions, **WITHOUT_MASKS)
    cell = keras.layers.GRUCell(4, *functions, reset_after=reset_after, dtype="float64")
    cell.build((5, 3))
    i = case.inputs
    cell.set_weights([i.kernel, i.recurrent_kernel, i.bias])
    want = case.reference()["output"]
    h = i.h0
    for t in range(6):
        h, _ = cell(i.x[t], [h])
        assert error("output", np.asarray(h), want[t]) < PARITY


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("mode", ["lstm_zoneout", "gru_zoneout"])
def test_zoneout_is_that_of_the_paper(mode, drawn, rng):
    """Krueger et al. (2017), equations 3 to 6, around the cells of the Keras that is installed."""
    import keras

    case = layer_case(mode, (6, 5, 3, 9), rng, lengths=None, seed=drawn, **WITHOUT_MASKS)
    i, rates = case.inputs, (case.zoneout_h, case.zoneout_c)
    kind = keras.layers.LSTMCell if case.is_lstm else keras.layers.GRUCell
    cell = kind(9, dtype="float64")
    cell.build((5, 3))
    cell.set_weights([i.kernel, i.recurrent_kernel, i.bias])
    masks = [np.full((6, 5, 9), np.float32(rate), float) for rate in rates]
    if drawn:
        masks = [dropout.kept(i.seed, rate, k, 6, 5, 9) for k, rate in enumerate(rates)]
        # Six standard deviations of a binomial.
        for mask, rate in zip(masks, rates):
            assert abs(mask.mean() - rate) <= 6 * np.sqrt(rate * (1 - rate) / mask.size)
    want, states = case.reference(), [i.h0, i.c0] if case.is_lstm else [i.h0]
    for t in range(6):
        _, made = cell(i.x[t], states)
        states = [m[t] * s + (1 - m[t]) * np.asarray(new) for m, s, new in zip(masks, states, made)]
        assert error("output", states[0], want["output"][t]) < PARITY
    if case.is_lstm:
        assert error("output_c", states[1], want["output_c"]) < PARITY


def test_is_the_lstm_cell_of_tensorflow_1(rng):
    """Its equations, from the documentation of tf.compat.v1.nn.rnn_cell.LSTMCell, in TensorFlow."""
    import tensorflow as tf

    case = layer_case("lstmp", (6, 5, 3, 9), rng, lengths=None, **WITHOUT_MASKS)
    i = case.inputs
    w_i, w_f, w_o = i.peepholes
    fields = ("x", "h0", "c0", "kernel", "recurrent_kernel", "bias", "projection", "peepholes")
    tensors = {name: tf.constant(getattr(i, name)) for name in fields}
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        w_i, w_f, w_o = tf.unstack(tensors["peepholes"])
        h, c, outputs = tensors["h0"], tensors["c0"], []
        weights = tf.concat([tensors["kernel"], tensors["recurrent_kernel"]], 0)
        for x in tf.unstack(tensors["x"]):
            sums = tf.matmul(tf.concat([x, h], 1), weights) + tensors["bias"]
            i_, f, j, o = tf.split(sums, 4, axis=1)
            c = tf.sigmoid(f + w_f * c) * c + tf.sigmoid(i_ + w_i * c) * tf.tanh(j)
            c = tf.clip_by_value(c, -0.25, 0.25)
            h = tf.matmul(tf.sigmoid(o + w_o * c) * tf.tanh(c), tensors["projection"])
            h = tf.clip_by_value(h, -0.125, 0.125)
            outputs.append(h)
        loss = tf.reduce_sum(tf.stack(outputs) * case.dy)
        loss += tf.reduce_sum(h * case.dh) + tf.reduce_sum(c * case.dc)
    want = tape.gradient(loss, tensors)
    got = case.reference()
    assert error("output", got["output"], tf.stack(outputs).numpy()) < PARITY
    names = {"x": "input", "h0": "input_h", "c0": "input_c"}
    for field, gradient in want.items():
        name = f"{names.get(field, field)}_backprop"
        assert error(name, got[name], gradient.numpy()) < PARITY, name


def test_is_the_layer_norm_cell_of_tensorflow_addons(rng):
    """Its steps, with the layers of the Keras that is installed for its normalizations."""
    import keras
    import tensorflow as tf

    case = layer_case("lstm_layer_norm", (6, 5, 3, 9), rng, lengths=None, **WITHOUT_MASKS)
    i = case.inputs
    fields = ("x", "h0", "c0", "kernel", "recurrent_kernel", "bias")
    tensors = {name: tf.constant(getattr(i, name)) for name in fields}
    norms = []
    for first, count in ((0, 4), (8, 4), (16, 1)):
        norm = keras.layers.LayerNormalization(epsilon=1.0, dtype="float64")
        norm.build((5, count * 9))
        norm.set_weights([i.layer_norm[k : k + count].reshape(-1) for k in (first, first + count)])
        norms.append(norm)
    kernel_norm, recurrent_norm, state_norm = norms
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        h, c, outputs = tensors["h0"], tensors["c0"], []
        for x in tf.unstack(tensors["x"]):
            z = kernel_norm(tf.matmul(x, tensors["kernel"]))
            z += recurrent_norm(tf.matmul(h, tensors["recurrent_kernel"]))
            i_, f, j, o = tf.split(z + tensors["bias"], 4, axis=1)
            c = state_norm(tf.sigmoid(f) * c + tf.sigmoid(i_) * tf.tanh(j))
            h = tf.sigmoid(o) * tf.tanh(c)
            outputs.append(h)
        loss = tf.reduce_sum(tf.stack(outputs) * case.dy)
        loss += tf.reduce_sum(h * case.dh) + tf.reduce_sum(c * case.dc)
    variables = [v.value for norm in norms for v in (norm.gamma, norm.beta)]
    want, of_norms = tape.gradient(loss, (tensors, variables))
    want["layer_norm"] = tf.reshape(tf.concat(of_norms, 0), [18, 9])
    got = case.reference()
    assert error("output", got["output"], tf.stack(outputs).numpy()) < PARITY
    names = {"x": "input", "h0": "input_h", "c0": "input_c"}
    for field, gradient in want.items():
        name = f"{names.get(field, field)}_backprop"
        assert error(name, got[name], gradient.numpy()) < PARITY, name


@pytest.mark.parametrize("activation", sorted({names[0] for names in FUNCTIONS}))
def test_is_the_simple_rnn_of_keras(activation, rng):
    import keras

    functions = (activation, "sigmoid")
    case = layer_case("rnn", (6, 5, 3, 4), rng, lengths=None, functions=functions, **WITHOUT_MASKS)
    cell = keras.layers.SimpleRNNCell(4, activation=activation, dtype="float64")
    cell.build((5, 3))
    i = case.inputs
    cell.set_weights([i.kernel, i.recurrent_kernel, i.bias])
    want = case.reference()["output"]
    h = i.h0
    for t in range(6):
        h, _ = cell(i.x[t], [h])
        assert error("output", np.asarray(h), want[t]) < PARITY


GIVEN = {"all": {}, "no masks": WITHOUT_MASKS, "no bias": {"bias": False, "lengths": None}}


@pytest.mark.parametrize(
    "case",
    all_but(list(itertools.product(MODES, GIVEN)), *zip(MODES, itertools.cycle(GIVEN))),
    ids="-".join,
)
def test_backward_equals_central_differences(case, rng):
    mode, given = case
    check_backward(mode, GIVEN[given], rng)


def check_backward(mode, given, rng):
    case = layer_case(mode, (4, 3, 2, 3), rng, **{"lengths": [4, 0, 2], **given})
    results = case.reference()
    fields = {"input": "x", "input_h": "h0", "input_c": "c0"}
    grads = {n.removesuffix("_backprop"): g for n, g in results.items() if "_backprop" in n}
    assert len(grads) == 4 + case.is_lstm + ("bias" not in given) + 2 * (mode == "lstmp") + (
        mode == "lstm_layer_norm"
    )

    def loss(field, array):
        inputs = dataclasses.replace(case.inputs, **{field: array})
        out, _ = layer.forward(case.rnn_mode, inputs, functions=case.functions())
        total = (out["output"] * case.dy).sum() + (out["output_h"] * case.dh).sum()
        return total + ((out["output_c"] * case.dc).sum() if case.is_lstm else 0.0)

    for name, grad in grads.items():
        field = fields.get(name, name)
        want = numeric(functools.partial(loss, field), getattr(case.inputs, field))
        assert error(f"{name}_backprop", grad, want) < NUMERIC, name
