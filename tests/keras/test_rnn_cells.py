"""keras.layers.RNN around one cell or several: Keras's results, on the op."""

import itertools

import compare_layers as compare
import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras
from support.selection import all_but
from tf_rnn_ops.keras import explain


def _lstm(units, **arguments):
    return keras.layers.LSTMCell(units, unit_forget_bias=False, **arguments)


CELLS = {
    "LSTMCell": lambda **a: _lstm(4, **a),
    "GRUCell": lambda **a: keras.layers.GRUCell(4, **a),
    "GRUCell, reset before": lambda **a: keras.layers.GRUCell(
        4, reset_after=False, recurrent_activation="hard_sigmoid", **a
    ),
    "SimpleRNNCell": lambda **a: keras.layers.SimpleRNNCell(4, **a),
    "list": lambda **a: [
        _lstm(4, **a),
        keras.layers.GRUCell(3, **a),
        keras.layers.SimpleRNNCell(5, activation="relu", **a),
    ],
    "stack": lambda **a: keras.layers.StackedRNNCells([_lstm(4, **a), _lstm(3, **a)]),
}


@pytest.fixture(autouse=True)
def _float64():
    """Also of the StackedRNNCells that RNN makes of a list."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_dtype_policy(before)


def _pair(kind, cell=None, **arguments):
    """Keras's layer and our layer with the same random weights."""
    layers = []
    for module in (keras.layers, tf_rnn_ops.keras):
        made = CELLS[kind](
            bias_initializer=keras.initializers.RandomNormal(stddev=0.5), **(cell or {})
        )
        layers.append(module.RNN(made, return_state=True, **arguments))
        layers[-1].build((compare.BATCH, compare.TIME, compare.INPUT))
    layers[1].set_weights(layers[0].get_weights())
    return layers


def _outcome(layer, x, mask, states, training=False):
    """Results and gradients, flat."""
    flat = keras.tree.flatten(states)
    with tf.GradientTape() as tape:
        tape.watch([x, *flat])
        results = layer(x, mask=mask, initial_state=states, training=training)
        flat_results = keras.tree.flatten(results)
        loss = tf.add_n([tf.reduce_sum(tf.sin((i + 1) * r)) for i, r in enumerate(flat_results)])
    sources = [x, *flat, *(v.value for v in layer.trainable_variables)]
    return results, [*flat_results, *tape.gradient(loss, sources)]


def _assert_same(stock, ours, mask, rng, trainings=(False,), given=True):
    """`stock` runs once; without dropout it does the same in training."""
    x, _ = compare.values(rng)
    states = stock.get_initial_state(compare.BATCH)
    if given:
        states = keras.tree.map_structure(lambda s: tf.constant(rng.normal(size=s.shape)), states)
    want, wanted = _outcome(stock, x, compare.MASKS[mask], states, trainings[0])
    for training in trainings:
        got, found = _outcome(ours, x, compare.MASKS[mask], states, training)
        keras.tree.assert_same_structure(got, want)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    "case",
    all_but(
        list(itertools.product(CELLS, compare.MASKS)),
        ("LSTMCell", "left"),
        ("GRUCell", "no_mask"),
        ("GRUCell, reset before", "right"),
        ("SimpleRNNCell", "none_valid"),
        ("list", "all_valid"),
        ("stack", "holes"),
    ),
    ids="-".join,
)
def test_is_keras_on_the_op(case, rng, op_calls, op_name):
    kind, mask = case
    # Each cell and each mask with the whole sequence and with the last step.
    return_sequences = (list(CELLS).index(kind) + list(compare.MASKS).index(mask)) % 2 == 0
    stock, ours = _pair(kind, return_sequences=return_sequences)
    _assert_same(stock, ours, mask, rng, trainings=(False, True))
    # cuDNN has no GRU with its reset gate before the product.
    assert set(op_calls) == {"LayerRNN" if "before" in kind else op_name}
    assert explain(ours, print_fn=None)[0].path == "fused"
    assert explain(stock, print_fn=None)[0].path == "keras"


def test_a_list_of_one_cell(rng, op_calls):
    """Keras's implementation has no masks there, since the states lose a level of their structure."""
    x, states = compare.values(rng)
    one = tf_rnn_ops.keras.RNN(keras.layers.LSTMCell(4), return_state=True)
    listed = tf_rnn_ops.keras.RNN([keras.layers.LSTMCell(4)], return_state=True)
    for layer in (one, listed):
        layer.build((compare.BATCH, compare.TIME, compare.INPUT))
    listed.set_weights(one.get_weights())
    for mask in ("no_mask", "holes"):
        want = one(x, initial_state=states, mask=compare.MASKS[mask])
        got = listed(x, initial_state=[states], mask=compare.MASKS[mask])
        for a, b in zip(keras.tree.flatten(got), want, strict=True):
            np.testing.assert_array_equal(a, b)
    assert set(op_calls) == {"LayerRNN"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"go_backwards": True},
        {"return_sequences": True, "zero_output_for_mask": True},
        {"return_sequences": True, "stateful": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["GRUCell", "list"])
def test_arguments_of_the_layer(kind, arguments, rng, op_calls):
    stock, ours = _pair(kind, **arguments)
    for mask in ("no_mask", "holes"):
        _assert_same(stock, ours, mask, rng, given=not arguments.get("stateful"))
    assert set(op_calls) == {"LayerRNN"}


@pytest.mark.parametrize("rates", [{"dropout": 0.4}, {"dropout": 0.3, "recurrent_dropout": 0.4}])
@pytest.mark.parametrize("kind", ["LSTMCell", "GRUCell, reset before", "list"])
def test_dropout_drops_what_keras_drops(kind, rates, rng, op_calls):
    stock, ours = _pair(kind, {"seed": 5, **rates}, return_sequences=True)
    for _ in range(2):
        _assert_same(stock, ours, "left", rng, trainings=(True,))
    assert set(op_calls) == {"LayerRNN"}


class _OtherCell(keras.layers.LSTMCell):
    pass


@pytest.mark.parametrize(
    "make,why",
    [
        (lambda: _OtherCell(4), "class _OtherCell"),
        (lambda: [keras.layers.LSTMCell(4), _OtherCell(3)], "class _OtherCell"),
        (lambda: [keras.layers.LSTMCell(4), keras.layers.GRUCell(3, "elu")], "activation=elu"),
        (
            lambda: [keras.layers.LSTMCell(4), keras.layers.LSTMCell(4, dtype="float16")],
            "different types",
        ),
        (lambda: keras.layers.LSTMCell(4, dtype="float32"), "different types"),
    ],
)
def test_on_the_loop(make, why, op_calls):
    layer = tf_rnn_ops.keras.RNN(make())
    layer(tf.ones([2, 5, 3]))
    row = explain(layer, print_fn=None)[0]
    assert op_calls == [] and row.path == "keras" and why in row.reason


def test_cells_of_two_ops(rng, op_calls):
    """One op for each cell, and what is masked may be anything."""
    cells = [
        keras.layers.LSTMCell(4),
        tf_rnn_ops.keras.PeepholeLSTMCell(3, cell_clip=0.1),
        keras.layers.GRUCell(2),
    ]
    layer = tf_rnn_ops.keras.RNN(cells, return_sequences=True)
    stock = keras.layers.RNN(cells, return_sequences=True)
    mask = np.array([[1, 1, 1, 0, 0], [0, 1, 0, 1, 0]], bool)
    x = tf.constant(rng.normal(size=(2, 5, 3)), "float32")
    stock.build(x.shape)
    layer.build(x.shape)
    np.testing.assert_allclose(layer(x, mask=mask), stock(x, mask=mask), atol=1e-6)
    assert op_calls == ["LayerRNN", "BlockLSTMV2", "LayerRNN"]


@pytest.mark.parametrize(
    ("of_cell", "of_layer", "size"),
    [
        ("float32", "mixed_float16", 1e5),  # infinite in float16
        ("mixed_float16", "mixed_bfloat16", 1.0),
        ("float64", "float32", 1.0),
    ],
)
def test_cells_of_another_type_than_the_layer(of_cell, of_layer, size, rng):
    """Keras reads their weights in the type of the cell."""
    cell = keras.layers.LSTMCell(4, dtype=of_cell)
    cell.build((None, compare.INPUT))
    cell.kernel.assign(size * rng.standard_normal(cell.kernel.shape))
    x = compare.values(rng)[0] / size
    stock, ours = (
        module.RNN(cell, dtype=of_layer, return_state=True)
        for module in (keras.layers, tf_rnn_ops.keras)
    )
    want, got = stock(x), ours(x)
    with tf_rnn_ops.keras.accelerate():
        accelerated = stock(x)
    for results in (got, accelerated):
        for one, other in zip(results, want, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", ["LSTMCell", "list"])
def test_accelerate(kind, rng, op_calls):
    stock, ours = _pair(kind)
    x, _ = compare.values(rng)
    want = stock(x)
    assert op_calls == []
    with tf_rnn_ops.keras.accelerate():
        got = stock(x)
        assert set(op_calls) == {"LayerRNNPacked"} or set(op_calls) == {"LayerRNN"}
        assert explain(stock, print_fn=None)[0].path == "fused"
        op_calls.clear()
        # Subclasses, whose loop in the end is that of RNN, are not concerned.
        keras.layers.LSTM(3, unroll=True)(tf.ones([2, 5, 3]))
        keras.layers.RNN(_OtherCell(3))(tf.ones([2, 5, 3]))
        assert op_calls == []
    for a, b in zip(keras.tree.flatten(got), keras.tree.flatten(want)):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)
    stock(x)
    assert op_calls == [] and "supports_jit" not in keras.layers.RNN.__dict__


def _model():
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((None, 3)),
            layers.Bidirectional(layers.RNN(layers.LSTMCell(4), return_sequences=True)),
            layers.RNN([layers.GRUCell(3, reset_after=False), layers.LSTMCell(4)]),
            layers.Dense(1),
        ]
    )


def test_convert_and_back(rng, tmp_path, op_calls):
    model = _model()
    x = rng.normal(size=(2, 6, 3))
    want = model(x)
    assert op_calls == []
    converted = tf_rnn_ops.keras.convert(model)
    assert [row.path for row in explain(converted, print_fn=None)] == ["fused"] * 3
    np.testing.assert_allclose(converted(x), want, rtol=1e-11, atol=1e-11)
    assert op_calls
    converted.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded.layers[1]) is tf_rnn_ops.keras.RNN
    np.testing.assert_allclose(loaded(x), want, rtol=1e-11, atol=1e-11)
    back = tf_rnn_ops.keras.convert(converted, to="keras")
    assert type(back.layers[1]) is keras.layers.RNN
    np.testing.assert_allclose(back(x), want, rtol=1e-11, atol=1e-11)
