"""params.from_keras and to_keras against Keras's own layers."""

import keras
import numpy as np
import op_runs
import pytest

from tf_rnn_ops import params

MODES = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def _layer(mode, units, **options):
    if mode in ("lstm", "gru"):
        make = {"lstm": keras.layers.LSTM, "gru": keras.layers.GRU}[mode]
    else:
        make = keras.layers.SimpleRNN
        options["activation"] = mode.removeprefix("rnn_")
    return make(units, return_sequences=True, dtype="float64", **options)


def _stack(mode, layers, units, input_size, bidirectional, rng, use_bias=True):
    """A list of built layers with random weights."""
    stack = []
    for k in range(layers):
        layer = _layer(mode, units, use_bias=use_bias)
        if bidirectional:
            layer = keras.layers.Bidirectional(layer, dtype="float64")
        width = input_size if k == 0 else units * (1 + bidirectional)
        layer.build((None, None, width))
        layer.set_weights([0.4 * rng.standard_normal(w.shape) for w in layer.get_weights()])
        stack.append(layer)
    return stack


def _run(stack, x):
    for layer in stack:
        x = layer(x)
    return np.asarray(x)


def _run_op(converted, x):
    return op_runs.run(*converted, x.swapaxes(0, 1))[0].swapaxes(0, 1)


@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_equals_keras_layers(mode, bidirectional, use_bias, rng):
    for layers, units, input_size in ((1, 4, 3), (3, 3, 3)):
        stack = _stack(mode, layers, units, input_size, bidirectional, rng, use_bias)
        weights = [layer.get_weights() for layer in stack]
        x = rng.standard_normal((2, 6, input_size))
        converted = params.from_keras(weights, mode)
        assert converted.layout.rnn_mode == mode
        np.testing.assert_allclose(_run_op(converted, x), _run(stack, x), rtol=0, atol=1e-13)
        back = params.to_keras(*converted, use_bias=use_bias)
        for got, want in zip(back, weights, strict=True):
            assert all(op_runs.same_bits(*pair) for pair in zip(got, want, strict=True))


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_weights_made_for_keras(mode, bidirectional, rng):
    """A buffer with two biases each: the layers compute the same, the sum of biases in one."""
    direction = "bidirectional" if bidirectional else "unidirectional"
    layout = params.Layout(mode, 2, 4, 3, direction=direction)
    buffer = 0.5 * rng.standard_normal(layout.size)
    stack = _stack(mode, 2, 4, 3, bidirectional, rng)
    for layer, weights in zip(stack, params.to_keras(layout, buffer), strict=True):
        layer.set_weights(weights)
    x = rng.standard_normal((2, 5, 3))
    want = _run_op((layout, buffer), x)
    np.testing.assert_allclose(_run(stack, x), want, rtol=0, atol=1e-13)

    again = params.from_keras(params.to_keras(layout, buffer), mode).params
    if mode == "gru":
        assert op_runs.same_bits(again, buffer)
    else:
        (weights, biases), (kept, merged) = layout.unpack(buffer), layout.unpack(again)
        assert all(op_runs.same_bits(*pair) for pair in zip(weights, kept))
        gates = 4 if mode == "lstm" else 1
        for k in range(0, len(biases), 2 * gates):
            for g in range(gates):
                np.testing.assert_array_equal(merged[k + g], biases[k + g] + biases[k + gates + g])
                assert not merged[k + gates + g].any()


def test_negative_zero_survives():
    weights = [np.full((2, 12), -0.0), np.full((3, 12), -0.0), np.full(12, -0.0)]
    back = params.to_keras(*params.from_keras(weights))
    assert all(op_runs.same_bits(*pair) for pair in zip(back[0], weights, strict=True))


def test_one_layer_needs_no_outer_list(rng):
    weights = _stack("lstm", 1, 3, 2, True, rng)[0].get_weights()
    assert op_runs.same_bits(params.from_keras(weights).params, params.from_keras([weights]).params)


def _lstm(width=2, units=3):
    return [np.ones((width, 4 * units)), np.ones((units, 4 * units)), np.ones(4 * units)]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([], "no layer"),
        ([[]], "layer 0 has 0"),
        ([_lstm(), 5], "weights of layer 1 must be a list of arrays, not 5"),
        ([_lstm(), np.ones(3)], "weights of layer 1 must be a list"),
        ([_lstm() + [np.ones(1)] * 2], "layer 0 has 5"),
        ([_lstm(), _lstm(2)], r"kernel of layer 1 must have shape \(3, 12\).*\(2, 12\)"),
        ([_lstm(), _lstm(3) * 2], "Layer 1 must have 2 or 3 arrays.*has 6"),
        ([_lstm() + _lstm(3)], r"kernel of layer 0, backward must have shape \(2, 12\)"),
        ([[np.ones(2), *_lstm()[1:], *_lstm()]], "kernel of layer 0, forward must have 2 dim"),
        ([[np.ones(2), *_lstm()[1:]]], "kernel of layer 0 must have 2 dim"),
        ([_lstm(), _lstm(3, units=4)], r"recurrent_kernel of layer 1|kernel of layer 1"),
        ([_lstm()[:2] + [np.ones((2, 12))]], "bias of layer 0 must have 1 dimensions"),
        ([_lstm()[:2] + [np.ones(9)]], r"bias of layer 0 must have shape \(12,\).*\(9,\)"),
        ([[np.ones((2, 15)), np.ones((3, 15))]], "recurrent_kernel of layer 0 has 15 rows"),
        ([[np.ones((2, 9)), np.ones((3, 9)), np.ones(9)]], "reset_after=False"),
        ([[np.ones((2, 9)), np.ones((3, 9)), np.ones((3, 9))]], r"bias of layer 0.*\(2, 9\)"),
        ([[np.ones((2, 12), int), *_lstm()[1:]]], "kernel of layer 0 must hold floating point"),
        ([[np.ones((2, 3)), np.ones((3, 3))]], "rnn_mode must be 'rnn_relu' or 'rnn_tanh'"),
    ],
)
def test_bad_input(weights, message):
    with pytest.raises(ValueError, match=message):
        params.from_keras(weights)


def test_what_keras_does_not_have():
    layout = params.Layout("lstm", 1, 4, 3, num_proj=2)
    with pytest.raises(ValueError, match="num_proj is 2"):
        params.to_keras(layout, np.zeros(layout.size))
    layout = params.Layout("lstm", 1, 4, 3)
    for block in (layout.biases[0], layout.biases[-1]):  # an input bias, a recurrent one
        buffer = np.zeros(layout.size)
        buffer[block.offset] = 1
        with pytest.raises(ValueError, match="use_bias=False.*layer 0"):
            params.to_keras(layout, buffer, use_bias=False)
