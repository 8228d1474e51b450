"""tf.debugging.enable_check_numerics in training: no report of a healthy step, a report of a NaN."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
import tf_rnn_ops.keras
from tf_rnn_ops import raw_ops

X = np.random.default_rng(0).normal(size=(8, 7, 3)).astype(np.float32)
MASK = np.arange(7) < np.array([7, 2, 0, 3, 7, 1, 4, 5])[:, None]
LAYERS = {
    "LSTM": lambda **options: tf_rnn_ops.keras.LSTM(16, recurrent_dropout=0.2, **options),
    "ZoneoutGRU": lambda **options: tf_rnn_ops.keras.ZoneoutGRU(16, zoneout_h=0.1, **options),
    "CudnnLSTM": lambda **options: tf_rnn_ops.keras.CudnnLSTM(
        16, num_layers=2, dropout=0.2, **options
    ),
}


@pytest.fixture(autouse=True)
def _checked():
    tf.debugging.enable_check_numerics()
    yield
    tf.debugging.disable_check_numerics()


def _gradients(layer, x):
    """The gradients of a call in training."""
    with tf.GradientTape() as tape:
        y = layer(x, mask=tf.constant(MASK), training=True)
        loss = tf.reduce_sum(tf.cast(y, tf.float32) ** 2)
    return tape.gradient(loss, layer.trainable_variables)


def _steps(policy):
    """_gradients as it is and in a graph. Eagerly TensorFlow's check raises for any bfloat16."""
    return [tf.function(_gradients)] + [_gradients] * (policy != "mixed_bfloat16")


@pytest.mark.parametrize(
    ("name", "policy"),
    [("LSTM", "mixed_bfloat16"), ("ZoneoutGRU", "float32"), ("CudnnLSTM", "mixed_float16")],
)
def test_a_healthy_step(name, policy):
    layer = LAYERS[name](dtype=policy)
    layer.build(X.shape)
    for step in _steps(policy):
        # Some of the thousands of bytes that a layer of 16 units keeps are NaN in 16 bits.
        found = step(layer, tf.constant(X))
        assert all(np.all(np.isfinite(g)) and np.any(g != 0) for g in found)


def test_a_healthy_model(rng):
    model = keras.Sequential(
        [keras.layers.Masking(), LAYERS["LSTM"](dtype="mixed_float16"), keras.layers.Dense(1)]
    )
    model.compile("sgd", "mse")
    history = model.fit(X, rng.normal(size=(8, 1)), batch_size=4, verbose=0).history
    assert np.isfinite(history["loss"][0])


@pytest.mark.parametrize("ops", [raw_ops, tf.raw_ops], ids=["ours", "TensorFlow's"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_healthy_op(ops, dtype, rng):
    tf_rnn_ops.enable_stock_ops()
    params = tf.constant(rng.uniform(-0.5, 0.5, 4 * 16 * (3 + 16 + 2)), dtype)
    x, state = tf.constant(X, dtype), tf.zeros([1, 7, 16], dtype)  # time first
    with tf.GradientTape() as tape:
        tape.watch(params)
        result = ops.CudnnRNNV3(
            input=x, input_h=state, input_c=state, params=params, sequence_lengths=[8] * 7
        )
        loss = tf.reduce_sum(result.output**2)
    assert np.any(tape.gradient(loss, params) != 0)


@pytest.mark.parametrize("policy", ["mixed_float16", "float32"])
@pytest.mark.parametrize("name", LAYERS)
def test_a_nan_is_found(name, policy):
    layer = LAYERS[name](dtype=policy)
    layer.build(X.shape)
    broken = X.copy()
    broken[0, 1, 1] = np.nan
    for step in _steps(policy):
        with pytest.raises(tf.errors.InvalidArgumentError, match="NaN"):
            step(layer, tf.constant(broken))


def test_a_nan_in_a_weight_and_in_a_gradient_is_found(rng):
    layer = LAYERS["LSTM"](dtype="mixed_float16")
    layer.build(X.shape)
    ones = tf.ones([8, 16], tf.float16)

    @tf.function
    def gradient(upstream):
        with tf.GradientTape() as tape:
            y = layer(X, training=True)
        return tape.gradient(y, layer.trainable_variables, output_gradients=upstream)

    gradient(ones)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Infinity or NaN|NaN values"):
        gradient(ones * np.float16(np.nan))
    layer.cell.recurrent_kernel.assign(np.full([16, 64], np.nan))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Infinity or NaN|NaN values"):
        gradient(ones)
