"""Second derivatives: Keras layers against Keras's implementation, TensorFlow's own ops, and saved models."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras
from support import cases, tf_ops
from support.reference.spec import RnnSpec


def _penalty(layer, x, training=True, **kwargs):
    """Gradients of a gradient penalty for the input and the weights."""
    weights = [weight.value for weight in layer.trainable_weights]
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(layer(x, training=training, **kwargs) ** 2)
        total = tf.reduce_sum(inner.gradient(y, x) ** 2)
    return outer.gradient(total, [x, *weights])


LAYERS = [
    ("LSTM", {"use_cudnn": False}),
    ("GRU", {"use_cudnn": False}),
    ("SimpleRNN", {"unroll": True}),
    ("PeepholeLSTM", {"unroll": True, "cell_clip": 0.2}),
]


@pytest.mark.parametrize(("name", "loop"), LAYERS, ids=[name for name, _ in LAYERS])
def test_layer(name, loop, rng):
    x = tf.constant(rng.normal(size=(2, 3, 3)))
    mask = tf.constant([[True, True, False], [True, True, True]])
    cls = getattr(tf_rnn_ops.keras, name)
    kwargs = {"cell_clip": loop["cell_clip"]} if "cell_clip" in loop else {}
    ours, reference = (cls(4, dtype="float64", **how) for how in (kwargs, loop))
    for layer in (ours, reference):
        layer.build(x.shape)
    reference.set_weights(ours.get_weights())
    training = name != "GRU"  # the gradient of inference runs forward once more
    got = _penalty(ours, x, training, mask=mask)
    want = tf.function(_penalty, autograph=False)(reference, x, training, mask=mask)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
        assert np.any(b != 0)


def test_stack_in_a_training_step(rng):
    """A gradient penalty that Keras's fit minimises."""

    class Critic(keras.Model):
        def __init__(self):
            super().__init__()
            self.stack = tf_rnn_ops.keras.CudnnGRU(4, num_layers=2, dropout=0.3)
            self.head = keras.layers.Dense(1)

        def call(self, x, training=False):
            return self.head(self.stack(x, training=training))

        def train_step(self, data):
            with tf.GradientTape() as outer:
                with tf.GradientTape() as inner:
                    inner.watch(data)
                    y = self(data, training=True)
                slopes = inner.gradient(y, data)
                loss = tf.reduce_mean((tf.sqrt(tf.reduce_sum(slopes**2, [1, 2])) - 1) ** 2)
            gradients = outer.gradient(loss, self.trainable_variables[:-1])  # no bias of the head
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables[:-1]))
            return {"penalty": loss}

    keras.utils.set_random_seed(0)
    model = Critic()
    model.compile(keras.optimizers.Adam(0.02))
    x = rng.normal(size=(8, 4, 3)).astype("float32")
    losses = model.fit(x, epochs=15, verbose=0).history["penalty"]
    assert np.all(np.isfinite(losses)) and losses[-1] < 0.5 * losses[0]


def test_stock_ops(rng):
    """The three versions of TensorFlow's op against our op."""
    tf_rnn_ops.enable_stock_ops()
    spec = RnnSpec("rnn_tanh", 1, 4, 3)
    case = cases.rnn_case(spec, 4, 3, rng, lengths="full")
    tensors = tf_ops.rnn_tensors(case)
    model = {n: v for n, v in spec.attrs().items() if n != "num_proj"}

    def penalty(op, inputs, attrs):
        with tf.GradientTape() as outer:
            outer.watch(inputs["params"])
            with tf.GradientTape() as inner:
                inner.watch(inputs["input"])
                y = tf.reduce_sum(op(**inputs, **attrs).output ** 2)
            total = tf.reduce_sum(inner.gradient(y, inputs["input"]) ** 2)
        return outer.gradient(total, inputs["params"])

    third = tensors.inputs()
    first = {n: t for n, t in third.items() if n != "sequence_lengths"}
    want = penalty(tf_rnn_ops.raw_ops.CudnnRNNV3, third, spec.attrs())
    assert np.any(want != 0)
    for name, inputs, attrs in (
        ("CudnnRNN", first, model),
        ("CudnnRNNV2", first, model),
        ("CudnnRNNV3", third, spec.attrs()),
    ):
        got = penalty(getattr(tf.raw_ops, name), inputs, attrs)
        np.testing.assert_allclose(got, want, rtol=1e-12, err_msg=name)


def test_saved_model(tmp_path, rng):
    """A function with a second derivative in it, saved and loaded."""
    layer = tf_rnn_ops.keras.SimpleRNN(4, dtype="float64")
    x = tf.constant(rng.normal(size=(2, 3, 3)))
    layer.build(x.shape)
    module = tf.Module()
    module.layer = layer
    module.penalty = tf.function(
        lambda x: _penalty(layer, x), input_signature=[tf.TensorSpec(x.shape, x.dtype)]
    )
    want = module.penalty(x)
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    for a, b in zip(loaded.penalty(x), want, strict=True):
        np.testing.assert_array_equal(a, b)
