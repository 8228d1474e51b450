"""CudnnLSTM, CudnnGRU, CudnnRNNTanh and CudnnRNNRelu of contrib."""

import inspect

import numpy as np
import old_cells
import old_models
import pytest
import tensorflow as tf

from support.reference import layout, rnn
from support.reference.spec import RnnSpec
from tf_rnn_ops import contrib

BOTH = [(m, d) for m in old_cells.MODES for d in old_cells.DIRECTIONS]


def _problem(mode, direction, rng, input_size=3):
    """(model, spec, x, h, c, buffer)"""
    spec = RnnSpec(mode, 2, 4, input_size, direction)
    state = (spec.state_rows, 3, 4)
    x, h, c = (rng.standard_normal(s) for s in ((5, 3, input_size), state, state))
    buffer = 0.5 * rng.standard_normal(layout.params_size(spec))
    return old_models.make(mode, direction, input_size=input_size), spec, x, h, c, buffer


def _reference(spec, x, h, c, buffer, lengths=None):
    lengths = np.full(x.shape[1], len(x)) if lengths is None else lengths
    forward = rnn.forward(spec, x, h, c, buffer, lengths)
    states = (forward.output_h, forward.output_c) if spec.is_lstm else (forward.output_h,)
    return (forward.output, *states)


def _arguments(spec, x, h, c, buffer):
    return (x, h, c, buffer) if spec.is_lstm else (x, h, buffer)


def _assert_equal(got, want):
    assert len(got) == len(want)
    for ours, reference in zip(got, want):
        np.testing.assert_allclose(ours, reference, rtol=0, atol=1e-14)


HOW = ("eager", "lengths", "function of unknown shapes")


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(("mode", "direction"), BOTH)
def test_against_the_reference(mode, direction, how, rng):
    model, spec, *values = _problem(mode, direction, rng)
    assert int(model.params_size()) == layout.params_size(spec)
    arguments = _arguments(spec, *values)
    lengths = np.array([5, 0, 3], np.int32) if how == "lengths" else None
    if how == "lengths":
        got = model(*arguments, sequence_lengths=lengths)
    elif how == "eager":
        got = model(*arguments)
    else:
        signature = [tf.TensorSpec(None, tf.float64)] * len(arguments)
        got = tf.function(lambda *a: model(*a), signature)(*map(tf.constant, arguments))
    _assert_equal(got, _reference(spec, *values, lengths=lengths))


@pytest.mark.parametrize(("mode", "direction"), BOTH)
def test_session_with_gradients(mode, direction, rng):
    eager, spec, x, h, c, buffer = _problem(mode, direction, rng)
    params = tf.Variable(buffer)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(eager(*_arguments(spec, x, h, c, params))[0] ** 2)
    want = tape.gradient(loss, params)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        model = old_models.make(mode, direction)
        feed = tf.compat.v1.placeholder(tf.float64, [None, None, 3])
        params = tf.compat.v1.get_variable("p", initializer=buffer, use_resource=False)
        outputs = model(*_arguments(spec, feed, h, c, params))
        gradient = tf.gradients(tf.reduce_sum(outputs[0] ** 2), params)
        session.run(tf.compat.v1.global_variables_initializer())
        got = session.run([outputs, gradient], {feed: x})
    _assert_equal(got[0], _reference(spec, x, h, c, buffer))
    np.testing.assert_allclose(got[1][0], want, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("mode", "direction"), BOTH)
def test_canonical_tensors(mode, direction, rng):
    model, spec, *_, buffer = _problem(mode, direction, rng)
    got = model.params_to_canonical(buffer)
    for ours, reference in zip(got, layout.canonical(spec, buffer), strict=True):
        assert isinstance(ours, list)
        for tensor, array in zip(ours, reference, strict=True):
            np.testing.assert_array_equal(tensor, array)
    weights, biases = got
    np.testing.assert_array_equal(model.canonical_to_params(weights, biases), buffer)
    flat = [tf.reshape(w, [-1]) for w in weights]
    np.testing.assert_array_equal(model.canonical_to_params(flat, biases), buffer)


def test_auto_select_skips_where_sizes_agree(rng):
    model, _, x, h, c, _ = _problem("gru", "unidirectional", rng, input_size=4)
    spec = RnnSpec("gru", 2, 4, 4, input_mode="skip_input")
    assert int(model.params_size()) == layout.params_size(spec)
    buffer = 0.5 * rng.standard_normal(layout.params_size(spec))
    _assert_equal(model(x, h, buffer), _reference(spec, x, h, c, buffer))
    linear = contrib.CudnnGRU(2, 4, 4, "linear_input")
    assert int(linear.params_size()) == layout.params_size(RnnSpec("gru", 2, 4, 4))


def test_dropout_follows_is_training(rng):
    model = old_models.make("lstm", "unidirectional", dropout=0.5, seed=3)
    buffer = old_models.random_buffer(model, rng)
    x = rng.standard_normal((5, 64, 3))
    plain = old_models.make("lstm", "unidirectional")
    want = old_models.call(plain, x, buffer)
    np.testing.assert_array_equal(old_models.call(model, x, buffer, is_training=False), want)
    dropped = old_models.call(model, x, buffer, is_training=True)
    assert np.abs(dropped - want).max() > 1e-3


@pytest.mark.parametrize("seed", [0, 3])
def test_seed_of_tensorflow_counts(seed):
    pairs = []
    for global_seed in (1, 1, 2):
        tf.random.set_seed(global_seed)
        model = contrib.CudnnLSTM(2, 4, 3, seed=seed)
        pairs.append((model._seed, model._seed2))
    assert pairs[0] == pairs[1] != pairs[2]


def test_signature_of_tensorflow_1():
    for model in (contrib.CudnnLSTM, contrib.CudnnGRU, contrib.CudnnRNNTanh, contrib.CudnnRNNRelu):
        parameters = inspect.signature(model).parameters
        positional = [p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY]
        assert positional == [
            *("num_layers", "num_units", "input_size", "input_mode", "direction", "dropout", "seed")
        ]
        assert parameters["input_mode"].default == "auto_select"
    model = contrib.CudnnGRU(2, 4, 3, "linear_input", "bidirectional")
    assert (model.num_layers, model.num_units, model.input_size) == (2, 4, 3)
    assert (model.input_mode, model.direction) == ("linear_input", "bidirectional")
    assert model.rnn_mode == "gru"


def test_bad_buffer_is_refused():
    model = contrib.CudnnGRU(1, 4, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="params"):
        model(tf.zeros([5, 2, 3]), tf.zeros([1, 2, 4]), tf.zeros([7]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="params"):
        model.params_to_canonical(tf.zeros([7]))
