"""convert: state that no variable or no config of Keras holds."""

import pathlib

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras
from tf_rnn_ops.native import xla

WORDS = np.array([["red green red"], ["blue green red"]], dtype=object)


@pytest.fixture
def x(rng):
    return rng.normal(size=(4, 6, 3)).astype("float32")


def assert_same_predictions(model, x):
    want = model.predict(x, verbose=0)
    converted = tf_rnn_ops.keras.convert(model)
    np.testing.assert_allclose(converted.predict(x, verbose=0), want, atol=1e-6)
    back = tf_rnn_ops.keras.convert(converted, to="keras")
    np.testing.assert_array_equal(back.predict(x, verbose=0), want)
    return converted


def test_normalization_after_adapt(x):
    layer = keras.layers.Normalization()
    layer.adapt(5 * x + 3)
    model = keras.Sequential([keras.Input((None, 3)), layer, keras.layers.LSTM(4)])
    copy = assert_same_predictions(model, x).layers[0]
    np.testing.assert_array_equal(copy.mean, layer.mean)
    np.testing.assert_array_equal(copy.variance, layer.variance)


@pytest.mark.parametrize("output_mode", ["int", "tf_idf"])
def test_text_vectorization_after_adapt(output_mode):
    layer = keras.layers.TextVectorization(output_mode=output_mode)
    layer.adapt(WORDS)
    copy = tf_rnn_ops.keras.convert(layer)
    assert copy.get_vocabulary() == layer.get_vocabulary()
    np.testing.assert_array_equal(copy(tf.constant(WORDS)), layer(tf.constant(WORDS)))


def test_a_model_that_reads_words():
    layer = keras.layers.TextVectorization()
    layer.adapt(WORDS)
    model = keras.Sequential(
        [
            keras.Input((1,), dtype="string"),
            layer,
            keras.layers.Embedding(10, 3, mask_zero=True),
            keras.layers.GRU(4),
        ]
    )
    assert_same_predictions(model, tf.constant(WORDS))


def test_lookups():
    words, numbers = keras.layers.StringLookup(), keras.layers.IntegerLookup()
    words.adapt(["a", "b", "a", "two\nlines"])
    numbers.adapt(np.array([7, 9, 7]))
    for layer, values in ((words, ["b", "c", "two\nlines"]), (numbers, [9, 8])):
        copy = tf_rnn_ops.keras.convert(layer)
        assert copy.get_vocabulary() == layer.get_vocabulary()
        np.testing.assert_array_equal(copy(tf.constant(values)), layer(tf.constant(values)))


def test_layers_still_to_be_adapted():
    layer = keras.layers.TextVectorization()
    copy = tf_rnn_ops.keras.convert(layer)
    for one in (layer, copy):
        one.adapt(WORDS)
    np.testing.assert_array_equal(copy(tf.constant(WORDS)), layer(tf.constant(WORDS)))
    tf_idf = keras.layers.TextVectorization(output_mode="tf_idf")
    assert tf_rnn_ops.keras.convert(tf_idf).get_vocabulary() == tf_idf.get_vocabulary()


class Assets(keras.layers.Layer):
    """Keeps its state in a file."""

    text = ""

    def save_assets(self, folder):
        (pathlib.Path(folder) / "text").write_text(self.text)

    def load_assets(self, folder):
        self.text = (pathlib.Path(folder) / "text").read_text()

    def call(self, x):
        return x


def test_a_layer_with_assets():
    layer = Assets()
    layer.text = "to be kept"
    model = keras.Sequential([keras.Input((None, 3)), layer, keras.layers.LSTM(4)])
    assert tf_rnn_ops.keras.convert(model).layers[0].text == "to be kept"


def test_a_layer_that_only_saves_assets(x):
    class Logs(keras.layers.Dense):
        def save_assets(self, folder):
            (pathlib.Path(folder) / "log").write_text("nothing reads this")

    assert_same_predictions(keras.Sequential([keras.Input((None, 3)), Logs(4)]), x)


class Scale(keras.layers.Layer):
    """Holds its state in an array, and knows how to save it."""

    factor = np.float32(1)

    def save_own_variables(self, store):
        store["factor"] = self.factor

    def load_own_variables(self, store):
        self.factor = np.array(store["factor"])

    def call(self, x):
        return x * self.factor


def test_a_layer_that_saves_its_own_state(x):
    layer = Scale()
    layer.factor = np.array([1, 2, 3], "float32")
    model = keras.Sequential([keras.Input((None, 3)), layer, keras.layers.SimpleRNN(4)])
    copy = assert_same_predictions(model, x).layers[0]
    copy.factor[:] = 0
    np.testing.assert_array_equal(layer.factor, [1, 2, 3])


def test_a_layer_that_cannot_save_its_state():
    class Broken(Scale):
        def save_own_variables(self, store):
            raise RuntimeError("no state here")

    with pytest.raises(ValueError, match="convert: the layer .* no state here.*accelerate"):
        tf_rnn_ops.keras.convert(Broken())


OTHERS = {
    "variables": lambda: keras.layers.Dense(5),
    "layers": lambda: keras.layers.EinsumDense("abc,cd->abd", (None, 4), bias_axes="d"),
}


@pytest.mark.parametrize("differs", OTHERS)
def test_a_copy_that_differs(differs):
    inner = iter([keras.layers.Dense(4), OTHERS[differs]()])

    class Another(keras.Model):
        """Has another layer each time it is made."""

        def __init__(self, **arguments):
            super().__init__(**arguments)
            self.inner = next(inner)

        def build(self, shape):
            self.inner.build(shape)

        def call(self, x):
            return self.inner(x)

    model = Another()
    model.build((None, 6, 3))
    with pytest.raises(ValueError, match="The copy of .* differs from it"):
        tf_rnn_ops.keras.convert(model)


def test_dense_with_lora(x):
    """Dense saves the sum of its kernel and the product of the two small matrices."""
    dense = keras.layers.Dense(3, lora_rank=2)
    model = keras.Sequential([keras.Input((None, 3)), dense, keras.layers.LSTM(4)])
    dense.lora_kernel_b.assign(np.ones((2, 3)))
    copy = assert_same_predictions(model, x).layers[0]
    for got, want in zip(copy.variables, dense.variables, strict=True):
        np.testing.assert_array_equal(got, want)


def test_states_of_several_cells():
    cells = [keras.layers.LSTMCell(3), keras.layers.GRUCell(2)]
    layer = keras.layers.RNN(cells, stateful=True)
    model = keras.Sequential([keras.Input(batch_shape=(2, 5, 4)), layer])
    states = keras.tree.flatten(layer.states)
    for i, state in enumerate(states):
        state.assign(np.full(state.shape, i + 0.5))
    copies = keras.tree.flatten(tf_rnn_ops.keras.convert(model).layers[0].states)
    for got, want in zip(copies, states, strict=True):
        np.testing.assert_array_equal(got, want)


def test_single_variables_that_are_not_trainable():
    model = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(4), keras.layers.Dense(2)])
    model.layers[0].cell.recurrent_kernel.trainable = False
    copy = tf_rnn_ops.keras.convert(model)
    assert copy.layers[0].cell.recurrent_kernel.trainable is False
    assert [v.path for v in copy.trainable_variables] == [v.path for v in model.trainable_variables]


@pytest.mark.skipif(
    xla.unavailable() is not None, reason="the layers forbid XLA without the ops for it"
)
def test_layers_that_a_user_keeps_out_of_xla():
    for keep_out in (False, True):
        layers = [keras.layers.GRU(2, return_sequences=True), keras.layers.GRU(2)]
        model = keras.Sequential([keras.Input((None, 3)), *layers, keras.layers.Dense(1)])
        for layer in (layers[1], model.layers[2]) if keep_out else ():
            layer.supports_jit = False
        ours = tf_rnn_ops.keras.convert(model)
        assert [layer.supports_jit for layer in ours.layers] == [True, not keep_out, not keep_out]
        again = tf_rnn_ops.keras.convert(ours, to="keras")
        assert again.layers[1].supports_jit is not keep_out


def test_the_distribution_strategy(x):
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        model = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(4)])
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    y = np.ones((4, 4), "float32")
    model.fit(x, y, verbose=0)
    copy = tf_rnn_ops.keras.convert(model)
    assert copy.distribute_strategy is strategy
    assert copy.optimizer._distribution_strategy is strategy
    assert isinstance(copy.variables[0].value, tf.distribute.DistributedValues)
    for one in (model, copy):
        one.fit(x, y, verbose=0)
    for got, want in zip(copy.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-6)
