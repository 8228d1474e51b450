"""LayerNormLSTM against its cell in Keras's implementation, and its cell against TensorFlow Addons' steps."""

import compare_layers as compare
import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras
from support import bounds
from support.selection import all_but
from tf_rnn_ops.keras import LayerNormLSTM, LayerNormLSTMCell, explain
from tf_rnn_ops.native import xla


def make(**arguments):
    random = keras.initializers.RandomNormal(stddev=0.7)
    arguments = {
        "norm_epsilon": 0.125,
        "return_state": True,
        "dtype": "float64",
        "norm_gamma_initializer": random,
        "norm_beta_initializer": random,
        "bias_initializer": random,
        "unit_forget_bias": False,
        **arguments,
    }
    layer = LayerNormLSTM(compare.UNITS, **arguments)
    layer.build((compare.BATCH, compare.TIME, compare.INPUT))
    return layer


def loop_of(layer):
    """The same cell with the same weights in Keras's implementation."""
    names = ("return_sequences", "return_state", "go_backwards", "zero_output_for_mask")
    loop = keras.layers.RNN(
        layer.cell, dtype=layer.dtype_policy, **{name: getattr(layer, name) for name in names}
    )
    loop.build((compare.BATCH, compare.TIME, compare.INPUT))
    return loop


@pytest.mark.each_value
@pytest.mark.parametrize("given", [{}, {"use_bias": False}], ids=str)
@pytest.mark.parametrize("mask", ["no_mask", "left", "holes", "none_valid"])
def test_against_the_loop(mask, given, rng, op_calls):
    layer = make(return_sequences=True, go_backwards=mask == "left", **given)
    x, states = compare.values(rng)
    compare.assert_same(loop_of(layer), layer, x, compare.MASKS[mask], states, training=True)
    assert op_calls == ["LayerRNN"]
    compare.assert_same(loop_of(layer), layer, x, compare.MASKS[mask], states)
    assert set(op_calls) == {"LayerRNN"}
    assert explain(layer, print_fn=None)[0][2:] == ("fused", "")
    assert layer.supports_jit is (xla.unavailable() is None)


def test_weights_of_tensorflow_addons(rng):
    """The results of its cell, step by step, from the list that its get_weights returns."""
    layer = make(return_sequences=True)
    size, units = compare.INPUT, compare.UNITS
    shapes = [(size, 4 * units), (units, 4 * units), (4 * units,)]
    shapes += [(4 * units,)] * 4 + [(units,)] * 2
    kernel, recurrent_kernel, bias, *norms = given = [rng.normal(size=shape) for shape in shapes]
    layer.set_weights(given)
    x, (h, c) = compare.values(rng)
    got, last_h, last_c = layer(x, initial_state=[h, c])

    def norm(values, gamma, beta):
        mean, variance = tf.nn.moments(values, axes=[1], keepdims=True)
        return tf.nn.batch_normalization(values, mean, variance, beta, gamma, 0.125)

    for t in range(compare.TIME):
        z = norm(tf.matmul(x[:, t], kernel), *norms[:2])
        z += norm(tf.matmul(h, recurrent_kernel), *norms[2:4])
        i, f, j, o = tf.split(z + bias, 4, axis=1)
        c = norm(tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(j), *norms[4:])
        h = tf.sigmoid(o) * tf.tanh(c)
        assert bounds.error("output", got[:, t].numpy(), h.numpy()) < 1e-13, t
    np.testing.assert_array_equal(last_h, got[:, -1])
    assert bounds.error("output_c", last_c.numpy(), c.numpy()) < 1e-13


@pytest.mark.parametrize(
    "given",
    [{"recurrent_dropout": 0.4, "dropout": 0.3}, {"implementation": 1, "dropout": 0.3}],
    ids=str,
)
def test_dropout_drops_what_the_loop_drops(given, rng, op_calls):
    layer, again = (make(seed=5, return_sequences=True, **given) for _ in range(2))
    again.set_weights(layer.get_weights())
    x, states = compare.values(rng)
    mask = compare.MASKS["holes"]
    want = compare.as_arrays(compare.outcome(loop_of(again), x, mask, states, training=True))
    assert op_calls == []
    got = compare.as_arrays(compare.outcome(layer, x, mask, states, training=True))
    compare.assert_outcomes(got, want, "float64")
    assert op_calls == ["LayerRNN"]


def test_other_activations(rng, op_calls):
    layer = make(activation="linear", recurrent_activation="hard_sigmoid")
    x, states = compare.values(rng)
    compare.assert_same(loop_of(layer), layer, x, None, states, training=True)
    assert op_calls == ["LayerRNN"]
    assert "activation=elu" in explain(make(activation="elu"), print_fn=None)[0].reason
    assert "norm_epsilon=0" in explain(make(norm_epsilon=0), print_fn=None)[0].reason


@pytest.mark.parametrize(
    ("policy", "eps"), [("mixed_bfloat16", 2**-8), ("mixed_float16", 2**-11), ("float16", 2**-11)]
)
def test_16_bit_types(policy, eps, rng, op_calls):
    """The loop rounds every intermediate result; a normalization multiplies that by up to 3."""
    layer = make(dtype=policy, return_sequences=True)
    x, states = compare.values(rng)
    x, *states = (tf.cast(t, layer.compute_dtype) for t in (x, *states))
    want, got = (run(x, initial_state=states)[0] for run in (loop_of(layer), layer))
    assert got.dtype == want.dtype
    np.testing.assert_allclose(
        tf.cast(got, "float64"), tf.cast(want, "float64"), rtol=0, atol=30 * eps
    )
    assert op_calls == ["LayerRNN"]


@pytest.mark.parametrize(
    ("epsilon", "message"),
    [
        (-1, "must be 0 or more, but it is -1"),
        (float("nan"), "must be 0 or more, but it is nan"),
        (1e39, r"must be 0, or between .* it is 1e\+39"),
        (1e-50, "must be 0, or between .* it is 1e-50"),
        (None, "must be a number, but it is None"),
    ],
)
def test_bad_epsilons(epsilon, message):
    with pytest.raises(ValueError, match=f"norm_epsilon {message}"):
        LayerNormLSTM(3, norm_epsilon=epsilon)


def test_a_frozen_layer_stays_frozen(tmp_path):
    model = keras.Sequential([keras.Input((5, 3)), LayerNormLSTM(4), keras.layers.Dense(4)])
    model.layers[0].trainable = False
    model.compile("sgd", "mse")
    model.save(tmp_path / "model.keras")
    both_ways = keras.layers.Bidirectional(LayerNormLSTM(4, trainable=False))
    both_ways.build((None, 5, 3))
    assert not both_ways.trainable_variables
    for copy in (
        keras.saving.load_model(tmp_path / "model.keras"), keras.models.clone_model(model),
    ):  # fmt: skip
        assert len(copy.trainable_variables) == 2
        copy.layers[0].trainable = True
        assert len(copy.trainable_variables) == 11


@pytest.mark.parametrize("jit_compile", all_but([False, True], False))
def test_trains_in_a_bidirectional_model_and_is_saved(jit_compile, tmp_path, rng):
    if jit_compile and xla.unavailable() is not None:
        pytest.skip("no library for XLA was built")
    layer = LayerNormLSTM(6, recurrent_dropout=0.2, kernel_regularizer="l2", norm_epsilon=0.01)
    model = keras.Sequential(
        [keras.Input((None, 3)), keras.layers.Masking(), keras.layers.Bidirectional(layer)]
    )
    x = rng.normal(size=(8, 5, 3)).astype("float32")
    x[2:4, 3:] = 0
    model.compile("sgd", "mse", jit_compile=jit_compile)
    before = model.get_weights()
    model.fit(x, np.ones((8, 12), "float32"), epochs=1, verbose=0)
    for name, one, other in zip([w.path for w in model.weights], before, model.get_weights()):
        assert "seed" in name or np.any(one != other), name
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), model.predict(x, verbose=0))
    assert loaded.layers[-1].forward_layer.get_config() == layer.get_config() | {
        "name": loaded.layers[-1].forward_layer.name
    }


def test_second_derivatives_equal_central_differences(rng):
    """WHY not the loop: those of Keras's LayerNormalization in it are not the differences."""
    layer = make(return_state=False)
    x, _ = compare.values(rng)

    def penalty(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(layer(x, training=True) ** 2)
        return tf.reduce_sum(tape.gradient(y, x) ** 2)

    with tf.GradientTape() as tape:
        tape.watch(x)
        total = penalty(x)
    got = tape.gradient(total, x).numpy()
    for place in list(np.ndindex(*x.shape))[::7]:
        moved = np.zeros(x.shape)
        moved[place] = 1e-6
        want = (penalty(x + moved) - penalty(x - moved)) / 2e-6
        np.testing.assert_allclose(got[place], want, rtol=0, atol=1e-6 * np.abs(got).max())


def test_cells_in_a_stack_run_on_the_op(rng, op_calls):
    cells = [LayerNormLSTMCell(5), keras.layers.GRUCell(4)]
    stock = keras.layers.RNN(cells, return_sequences=True, dtype="float64")
    x, _ = compare.values(rng)
    x = tf.cast(x, "float32")
    stock.build(x.shape)
    ours = tf_rnn_ops.keras.RNN(cells, return_sequences=True)
    ours.build(x.shape)
    np.testing.assert_allclose(ours(x, training=True), stock(x, training=True), atol=1e-5)
    assert op_calls == ["LayerRNN", "LayerRNN"]


def test_keras_rnns_over_the_cell_are_converted(rng):
    model = keras.Sequential(
        [keras.Input((None, 3)), keras.layers.RNN(LayerNormLSTMCell(4)), keras.layers.Dense(1)]
    )
    x = rng.normal(size=(2, 5, 3)).astype("float32")
    faster = tf_rnn_ops.keras.convert(model)
    assert explain(faster, print_fn=None)[0].path == "fused"
    np.testing.assert_allclose(faster(x), model(x), atol=1e-5)
