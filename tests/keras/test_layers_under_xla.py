"""The Keras layers where XLA compiles them: on the op, with the results of the same model without."""

import itertools

import compare_layers as compare
import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras
from support.selection import all_but
from tf_rnn_ops.native import xla

pytestmark = pytest.mark.skipif(
    xla.unavailable() is not None, reason=f"there are no ops for XLA: {xla.unavailable()}"
)
LAYERS = {
    "LSTM": lambda: tf_rnn_ops.keras.LSTM(6, return_sequences=True),
    "GRU": lambda: tf_rnn_ops.keras.GRU(6),
    "SimpleRNN": lambda: tf_rnn_ops.keras.SimpleRNN(6, go_backwards=True),
    "PeepholeLSTM": lambda: tf_rnn_ops.keras.PeepholeLSTM(6),
    "LayerNormLSTM": lambda: tf_rnn_ops.keras.LayerNormLSTM(6, norm_epsilon=0.1),
    "CudnnGRU": lambda: tf_rnn_ops.keras.CudnnGRU(6, num_layers=2),
}


def model_of(make, jit_compile, mask):
    keras.utils.set_random_seed(7)
    layers = [keras.Input((None, 3))] + [keras.layers.Masking()] * mask
    model = keras.Sequential([*layers, make(), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), "mse", jit_compile=jit_compile)
    return model


def data(rng):
    x = rng.standard_normal((24, 7, 3)).astype("float32")
    x[3, 4:] = 0
    return x, np.ones((24, 1), "float32")


@pytest.mark.parametrize(
    "case",
    all_but(list(itertools.product(LAYERS, [False, True])), ("GRU", True), ("CudnnGRU", False)),
    ids=str,
)
def test_fit_evaluate_and_predict(case, rng, op_calls):
    """With masks and without."""
    name, mask = case
    x, y = data(rng)
    if name == "LSTM":
        y = np.ones((24, 7, 1), "float32")
    found = []
    for jit_compile in (False, True):
        model = model_of(LAYERS[name], jit_compile, mask)
        assert model.jit_compile is jit_compile
        del op_calls[:]
        history = model.fit(x, y, batch_size=10, epochs=2, shuffle=False, verbose=0).history
        loss = model.evaluate(x, y, verbose=0)
        found.append((history["loss"], loss, model.predict(x, verbose=0)))
        (row,) = tf_rnn_ops.keras.explain(model, print_fn=None)
        assert (row.path, row.reason) == ("fused", "") and op_calls
    for want, got in zip(*found, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_the_last_of_steps_that_are_chosen_at_run_time(rng):
    layer = tf_rnn_ops.keras.PeepholeLSTM(3, return_state=True)
    x = rng.standard_normal((6, 5, 4)).astype("float32")
    state = [rng.standard_normal((6, 3)).astype("float32") for _ in range(2)]

    def step(keep):
        return layer(tf.boolean_mask(x, keep, axis=1), initial_state=state)

    for keep in ([True, False, True, True, False], [False] * 5):
        keep = tf.constant(keep)
        want = tf.function(step)(keep)
        got = tf.function(step, jit_compile=True)(keep)
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "case",
    all_but(
        list(itertools.product(["forwards", "backwards", "both"], [False, True], [False, True])),
        ("forwards", True, False),
        ("backwards", False, False),
        ("both", True, True),
    ),
    ids=str,
)
def test_masks_of_steps_that_are_chosen_at_run_time(case, rng):
    how, zero, sequences = case
    layer = tf_rnn_ops.keras.LSTM(
        3, go_backwards=how == "backwards", return_sequences=sequences, zero_output_for_mask=zero
    )
    if how == "both":
        layer = keras.layers.Bidirectional(layer)
    x = rng.standard_normal((6, 5, 4)).astype("float32")
    mask = np.array(
        [[c == "1" for c in row] for row in "11111 10110 01001 00000 11100 00011".split()]
    )

    def step(keep):
        chosen = (tf.boolean_mask(each, keep, axis=1) for each in (x, mask))
        return layer(next(chosen), mask=next(chosen))

    keep = tf.constant([True, False, True, True, True])
    want = tf.function(step)(keep)
    assert np.count_nonzero(want) > 5
    np.testing.assert_array_equal(tf.function(step, jit_compile=True)(keep), want)


def test_a_tensorflow_that_does_not_tell_where_xla_compiles(rng, monkeypatch):
    """The results are right with XLA and without, and a bad mask of a stack raises an error in both."""
    x = rng.standard_normal((2, 5, 4)).astype("float32")
    mask = np.array([[True, False, True, True, False], [False, True, True, False, True]])
    keep = tf.constant([True, True, False, True, True])
    stack = tf_rnn_ops.keras.CudnnGRU(3)
    layer = tf_rnn_ops.keras.LSTM(3)

    def step(keep, layer):
        chosen = (tf.boolean_mask(each, keep, axis=1) for each in (x, mask))
        return layer(next(chosen), mask=next(chosen))

    want = step(keep, layer)
    monkeypatch.setattr("tf_rnn_ops.native.tf_internals.tracing._graph_in_xla", lambda: None)
    for jit_compile in (False, True):
        function = tf.function(step, jit_compile=jit_compile)
        np.testing.assert_allclose(function(keep, layer), want, atol=1e-6)
        with pytest.raises(tf.errors.InvalidArgumentError):
            function(keep, stack)


@pytest.mark.parametrize(
    ("options", "row"),
    [
        ({}, "00111"),
        ({"go_backwards": True}, "10110"),
        ({"num_layers": 2, "dropout": 0.3}, "00111"),
        ({"time_major": True}, "10110"),
    ],
    ids=str,
)
def test_stacks_refuse_masks_that_are_not_padding_on_the_right(options, row, rng):
    """As without XLA. Only without XLA there is the message about the mask."""
    layer = tf_rnn_ops.keras.CudnnGRU(6, **options)
    x = rng.standard_normal((2, 5, 3)).astype("float32")
    mask = np.array([[c == "1" for c in each] for each in ("11100", row)])
    if layer.time_major:
        x, mask = x.swapaxes(0, 1), mask.T
    for training in (False, True):
        for jit_compile, said in ((False, "True first and then False"), (True, r"\[1\] is -1")):
            call = tf.function(layer, jit_compile=jit_compile)
            with pytest.raises(tf.errors.InvalidArgumentError, match=said):
                call(x, mask=tf.constant(mask), training=training)


def test_models_refuse_masks_that_are_not_padding_on_the_right(rng):
    model = model_of(LAYERS["CudnnGRU"], True, mask=True)
    x, y = data(rng)
    model.predict(x, verbose=0)
    x[5, :2] = 0
    for call in (lambda: model.predict(x, verbose=0), lambda: model.fit(x, y, verbose=0)):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"sequence_lengths\[\d+\] is -1"):
            call()


@pytest.mark.parametrize("name", ["LSTM", "CudnnLSTM", "time_major"])
def test_masks_of_a_shape_that_only_a_run_tells(name, rng):
    time_major = name == "time_major"
    options = {"time_major": True} if time_major else {}
    layer = getattr(tf_rnn_ops.keras, "CudnnLSTM" if time_major else name)(3, **options)
    x = rng.standard_normal((2, 5, 4)).astype("float32")

    def ordered(values):
        return np.swapaxes(values, 0, 1) if time_major else values

    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None, None], "bool")])
    def run(mask):
        return layer(ordered(x), mask=mask)

    mask = np.arange(5) < np.array([[4], [4]])
    want = layer(ordered(x), mask=ordered(mask))
    for same in (mask, mask[:1]):
        np.testing.assert_allclose(run(ordered(same)), want, rtol=0, atol=1e-6)
    for bad in (mask[:, :1], mask[:1, :1], mask[:, :4], np.ones((3, 5), bool)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="[Ss]hape"):
            run(ordered(bad))
        if name != "LSTM":  # which leaves it to Keras
            with pytest.raises(ValueError, match="mask must have"):
                tf.function(layer, jit_compile=True)(ordered(x), mask=tf.constant(ordered(bad)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf_rnn_ops.keras.GRU(6, dropout=0.2, recurrent_dropout=0.2),
        lambda: tf_rnn_ops.keras.LSTM(6, dropout=0.2, implementation=1),
        lambda: tf_rnn_ops.keras.CudnnLSTM(6, num_layers=2, dropout=0.3),
    ],
    ids=["GRU", "LSTM", "CudnnLSTM"],
)
def test_dropout(make, rng):
    """XLA draws other numbers for the masks, so there are no values to compare with."""
    model = model_of(make, True, False)
    x, y = data(rng)
    training = tf.function(lambda: model(x, training=True), jit_compile=True)
    assert np.abs(training() - training()).max() > 1e-3
    before = model.get_weights()
    history = model.fit(x, y, batch_size=8, epochs=5, verbose=0).history["loss"]
    assert history[-1] < history[0]
    assert all(np.any(new != old) for new, old in zip(model.get_weights(), before, strict=True))
    assert tf_rnn_ops.keras.explain(model, print_fn=None)[0].path == "fused"


@pytest.mark.parametrize("name", compare.NAMES)
def test_inside_a_compiled_function(name, rng, op_calls):
    stock, ours = compare.pair(name, "float32")
    x, _ = compare.values(rng, "float32")
    mask = compare.MASKS["holes"]
    compiled = tf.function(ours, jit_compile=True)(x, mask=mask)
    assert op_calls == ["LayerRNN"]
    np.testing.assert_allclose(compiled[0], stock(x, mask=mask)[0], atol=1e-6)


def test_automatic_compilation_leaves_cpus_out():
    assert model_of(LAYERS["LSTM"], "auto", False).jit_compile is False


def test_layer_rnn_where_there_is_a_gpu(op_calls, gpu_in_sight):
    """CudnnRNNV3 under XLA needs the lengths on the host, and LayerRNN does not."""
    layer = tf_rnn_ops.keras.GRU(4)
    assert layer.supports_jit is True
    tf.function(layer, jit_compile=True)(tf.ones([2, 3, 4]))
    assert set(op_calls) == {"LayerRNN"}


def test_without_the_library_the_loop_runs_and_explain_says_so(rng, op_calls, monkeypatch):
    monkeypatch.setattr("tf_rnn_ops.native.xla.unavailable", lambda: "not in this test.")
    layer = tf_rnn_ops.keras.LSTM(4)
    want = layer(tf.ones([2, 3, 4]))
    del op_calls[:]
    got = tf.function(layer, jit_compile=True)(tf.ones([2, 3, 4]))
    np.testing.assert_allclose(got, want, atol=1e-6)
    assert op_calls == [] and layer.supports_jit is False
    model = keras.Sequential([layer])
    with pytest.warns(UserWarning, match="jit_compile=True"):
        model.compile("sgd", "mse", jit_compile=True)


def test_accelerated_layers(rng, op_calls):
    x, y = data(rng)
    model = keras.Sequential([keras.Input((7, 3)), keras.layers.LSTM(4), keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=True)
    with tf_rnn_ops.keras.accelerate():
        assert tf_rnn_ops.keras.explain(model, None)[0].path == "fused"
        loss = model.evaluate(x, y, verbose=0)
    assert op_calls == ["LayerRNN"]
    plain = keras.models.clone_model(model)
    plain.set_weights(model.get_weights())
    plain.compile("sgd", "mse", jit_compile=False)
    np.testing.assert_allclose(loss, plain.evaluate(x, y, verbose=0), rtol=1e-5)


def test_rows_that_are_chosen_at_run_time(rng, op_calls):
    """XLA pads the result of boolean_mask. The padding is not a row for the layer."""
    stock, ours = compare.pair("LSTM", "float32")
    x, _ = compare.values(rng, "float32")
    x, keep = tf.constant(x), tf.constant(np.arange(len(x)) % 2 == 0)
    run = tf.function(lambda x, keep: ours(tf.boolean_mask(x, keep))[0], jit_compile=True)
    np.testing.assert_allclose(run(x, keep), stock(tf.boolean_mask(x, keep))[0], atol=1e-6)
    assert op_calls == ["LayerRNN"]
