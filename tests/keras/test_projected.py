"""ProjectedLSTM against its cell in Keras's implementation, and its cell against the equations in numpy."""

import compare_layers as compare
import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras
from support import bounds
from support.reference import layer as reference
from tf_rnn_ops.keras import PeepholeLSTM, ProjectedLSTM, ProjectedLSTMCell, explain
from tf_rnn_ops.native import xla
from tf_rnn_ops.params import from_lstm_cell

PROJ = 3
# Limits well inside what the random weights below reach.
PARTS = {
    "all": {"num_proj": PROJ, "use_peepholes": True, "cell_clip": 0.375, "proj_clip": 0.25},
    "projection": {"num_proj": PROJ},
    "wide projection": {"num_proj": 7, "proj_clip": 0.25},
    "peepholes": {"use_peepholes": True},
    "limit": {"cell_clip": 0.375},
    "none": {},
}


def make(part="all", **arguments):
    random = keras.initializers.RandomNormal(stddev=0.7)
    arguments = {
        **PARTS[part],
        "return_state": True,
        "dtype": "float64",
        "peephole_initializer": random,
        "projection_initializer": random,
        "bias_initializer": random,
        "unit_forget_bias": False,
        **arguments,
    }
    layer = ProjectedLSTM(compare.UNITS, **arguments)
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


def values(layer, rng):
    x, (_, c) = compare.values(rng)
    return x, [tf.constant(rng.normal(size=(compare.BATCH, layer.cell.output_size))), c]


@pytest.mark.each_value
@pytest.mark.parametrize("mask", ["no_mask", "left", "holes", "none_valid"])
@pytest.mark.parametrize("part", PARTS)
def test_against_the_loop(part, mask, rng, op_calls):
    layer = make(part, return_sequences=True, go_backwards=mask == "left")
    x, states = values(layer, rng)
    compare.assert_same(loop_of(layer), layer, x, compare.MASKS[mask], states, training=True)
    assert op_calls == ["LayerRNN"]
    compare.assert_same(loop_of(layer), layer, x, compare.MASKS[mask], states)
    assert set(op_calls) == {"LayerRNN"}
    assert explain(layer, print_fn=None)[0][2:] == ("fused", "")
    assert layer.supports_jit is (xla.unavailable() is None)


@pytest.mark.parametrize("part", PARTS)
def test_against_the_equations(part, rng):
    layer = make(part, return_sequences=True)
    x, (h, c) = values(layer, rng)
    weights = [np.asarray(w) for w in layer.get_weights()]
    own = dict(zip([w.name for w in layer.weights], weights))
    inputs = reference.LayerInputs(
        x=np.asarray(x).transpose(1, 0, 2),
        h0=np.asarray(h),
        c0=np.asarray(c),
        **{name: own.get(name) for name in ("kernel", "recurrent_kernel", "bias")},
        **{name: own.get(name) for name in ("projection", "peepholes")},
    )
    limits = {name: PARTS[part].get(name, 0.0) for name in ("cell_clip", "proj_clip")}
    want, _ = reference.forward("lstm", inputs, functions=limits)
    outputs, last_h, last_c = layer(x, initial_state=[h, c])
    for got, value in (
        (outputs, want["output"].transpose(1, 0, 2)),
        (last_h, want["output_h"]),
        (last_c, want["output_c"]),
    ):
        np.testing.assert_allclose(got, value, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    "given",
    [{"recurrent_dropout": 0.4}, {"dropout": 0.3}, {"recurrent_dropout": 0.4, "dropout": 0.3}],
    ids=str,
)
def test_dropout_drops_what_the_loop_drops(given, rng, op_calls):
    layer, again = (make(seed=5, return_sequences=True, **given) for _ in range(2))
    again.set_weights(layer.get_weights())
    x, states = values(layer, rng)
    mask = compare.MASKS["holes"]
    want = compare.as_arrays(compare.outcome(loop_of(again), x, mask, states, training=True))
    assert op_calls == []
    got = compare.as_arrays(compare.outcome(layer, x, mask, states, training=True))
    compare.assert_outcomes(got, want, "float64")
    assert op_calls == ["LayerRNN"]


def test_other_activations(rng, op_calls):
    layer = make(activation="linear", recurrent_activation="hard_sigmoid")
    x, states = values(layer, rng)
    compare.assert_same(loop_of(layer), layer, x, None, states, training=True)
    assert op_calls == ["LayerRNN"]
    assert "activation=elu" in explain(make(activation="elu"), print_fn=None)[0].reason


def test_a_gradient_that_ignores_the_limit(rng, op_calls):
    """The function of PeepholeLSTM. The outputs are the same with a gradient that does not ignore clipping."""
    given = {"use_peepholes": True, "cell_clip": 0.375, "clip_gradient": False}
    layer = make("none", return_sequences=True, **given)
    limited = make("none", return_sequences=True, **{**given, "clip_gradient": True})
    peephole = PeepholeLSTM(
        compare.UNITS, cell_clip=0.375, dtype="float64", return_sequences=True, return_state=True
    )
    limited.set_weights(layer.get_weights())
    peephole.build((compare.BATCH, compare.TIME, compare.INPUT))
    *usual, peepholes = layer.get_weights()
    peephole.set_weights([*usual, *peepholes])
    x, states = values(layer, rng)
    mask = compare.MASKS["holes"]
    compare.assert_same(loop_of(layer), layer, x, mask, states, training=True)
    assert op_calls == ["BlockLSTMV2"]
    one, two, other = (
        compare.as_arrays(compare.outcome(each, x, mask, states, training=True))
        for each in (layer, peephole, limited)
    )
    for name in ("r0", "r1", "r2", "x_grad", "state1_grad", "kernel_grad"):
        np.testing.assert_array_equal(one[name], two[name])
    np.testing.assert_allclose(one["r0"], other["r0"], rtol=0, atol=1e-14)
    assert np.max(np.abs(one["x_grad"] - other["x_grad"])) > 1e-3
    loop = make("all", clip_gradient=False)
    assert explain(loop, print_fn=None)[0].reason == (
        "num_proj=3; there is no kernel with a projection with clip_gradient=False"
    )


@pytest.mark.parametrize("jit_compile", [False, True])
def test_trains_in_a_bidirectional_model_and_is_saved(jit_compile, tmp_path, rng):
    if jit_compile and xla.unavailable() is not None:
        pytest.skip("no library for XLA was built")
    layer = ProjectedLSTM(6, **PARTS["all"], recurrent_dropout=0.2, kernel_regularizer="l2")
    model = keras.Sequential(
        [keras.Input((None, 3)), keras.layers.Masking(), keras.layers.Bidirectional(layer)]
    )
    x = rng.normal(size=(8, 5, 3)).astype("float32")
    x[2:4, 3:] = 0
    model.compile("sgd", "mse", jit_compile=jit_compile)
    before = model.get_weights()
    model.fit(x, np.ones((8, 2 * PROJ), "float32"), epochs=1, verbose=0)
    for name, one, other in zip([w.path for w in model.weights], before, model.get_weights()):
        assert "seed" in name or np.any(one != other), name
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), model.predict(x, verbose=0))
    assert loaded.layers[-1].forward_layer.get_config() == layer.get_config() | {
        "name": loaded.layers[-1].forward_layer.name
    }


def test_cells_in_a_stack_run_on_the_op(rng, op_calls):
    cells = [ProjectedLSTMCell(5, **PARTS["all"]), keras.layers.GRUCell(4)]
    stock = keras.layers.RNN(cells, return_sequences=True, dtype="float64")
    x, _ = compare.values(rng)
    x = tf.cast(x, "float32")
    stock.build(x.shape)
    ours = tf_rnn_ops.keras.RNN(cells, return_sequences=True)
    ours.build(x.shape)
    np.testing.assert_allclose(ours(x, training=True), stock(x, training=True), atol=1e-6)
    assert op_calls == ["LayerRNN", "LayerRNN"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_proj": -1}, "num_proj must be 0 or more, but it is -1"),
        ({"num_proj": 2.7}, "num_proj must be an integer, but it is 2.7"),
        ({"num_proj": 0.0}, "num_proj must be an integer, but it is 0.0"),
        ({"num_proj": "3"}, "num_proj must be an integer, but it is '3'"),
        ({"cell_clip": -0.5}, "cell_clip must be 0 or more, but it is -0.5"),
        ({"cell_clip": 1e-39}, "cell_clip must be 0, or between .* it is 1e-39"),
        ({"cell_clip": 1e-46}, "cell_clip must be 0, or between .* it is 1e-46"),
        ({"cell_clip": 1e39}, r"cell_clip must be 0, or between .* it is 1e\+39"),
        ({"num_proj": 2, "proj_clip": "a"}, "proj_clip must be a number, but it is 'a'"),
        ({"num_proj": 2, "proj_clip": float("nan")}, "proj_clip must be 0 or more"),
        ({"proj_clip": 1.0}, "proj_clip must be 0 without num_proj, but it is 1.0"),
    ],
    ids=str,
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        ProjectedLSTM(4, **arguments)


@pytest.mark.parametrize("forget_bias", [0.0, 1.0])
@pytest.mark.parametrize("part", PARTS)
def test_weights_of_tensorflow_1(part, forget_bias, rng):
    """The results of its LSTMCell, step by step, in the order of its gates: i, c, f, o."""
    layer = make(part, return_sequences=True)
    size, units, hidden = compare.INPUT, compare.UNITS, layer.cell.output_size
    parts = PARTS[part]
    given = {
        "kernel": rng.normal(size=(size + hidden, 4 * units)),
        "bias": rng.normal(size=4 * units),
    }
    if "num_proj" in parts:
        given["projection"] = rng.normal(size=(units, hidden))
    if "use_peepholes" in parts:
        given |= {f"w_{gate}_diag": rng.normal(size=units) for gate in "ifo"}
    layer.set_weights(from_lstm_cell(**given, forget_bias=forget_bias))
    x, (h, c) = values(layer, rng)
    got = layer(x, initial_state=[h, c])[0]
    w_i, w_f, w_o = (given.get(f"w_{gate}_diag", 0.0) for gate in "ifo")
    for t in range(compare.TIME):
        sums = tf.matmul(tf.concat([x[:, t], h], 1), given["kernel"]) + given["bias"]
        i, j, f, o = tf.split(sums, 4, axis=1)
        c = tf.sigmoid(f + forget_bias + w_f * c) * c + tf.sigmoid(i + w_i * c) * tf.tanh(j)
        if "cell_clip" in parts:
            c = tf.clip_by_value(c, -parts["cell_clip"], parts["cell_clip"])
        h = tf.sigmoid(o + w_o * c) * tf.tanh(c)
        if "num_proj" in parts:
            h = tf.matmul(h, given["projection"])
        if "proj_clip" in parts:
            h = tf.clip_by_value(h, -parts["proj_clip"], parts["proj_clip"])
        assert bounds.error("output", got[:, t].numpy(), h.numpy()) < 1e-13, t


def test_weights_of_tensorflow_1_for_one_feature():
    kernel = np.arange(3 * 8.0).reshape(3, 8)
    own, recurrent, _ = from_lstm_cell(kernel, np.zeros(8))
    columns = [0, 1, 4, 5, 2, 3, 6, 7]
    np.testing.assert_array_equal(own, kernel[:1, columns])
    np.testing.assert_array_equal(recurrent, kernel[1:, columns])


def test_weights_of_tensorflow_1_that_do_not_fit():
    kernel, bias = np.zeros((5, 8)), np.zeros(8)
    for given, message in (
        ({"kernel": kernel[0], "bias": bias}, r"kernel must be \[I \+ S, 4\*H\], but .* \(8,\)"),
        ({"kernel": kernel, "bias": bias[:4]}, r"bias must be \[8\]"),
        (
            {"kernel": kernel, "bias": bias, "projection": np.zeros((3, 1))},
            r"projection must be \[2, P\]",
        ),
        ({"kernel": kernel, "bias": bias, "w_i_diag": np.zeros(2)}, "w_f_diag"),
        ({"kernel": kernel[:1], "bias": bias}, "has 1 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            from_lstm_cell(**given)


def test_limits_at_the_ends_of_float32():
    for size in (np.finfo(np.float32).tiny, np.finfo(np.float32).max):
        layer = ProjectedLSTM(3, cell_clip=float(size))
        assert layer.cell.cell_clip == size and np.all(np.isfinite(layer(np.ones((2, 4, 3)))))


def test_none_as_in_tensorflow_1():
    layer = ProjectedLSTM(3, num_proj=None, cell_clip=None, proj_clip=None)
    cell = layer.cell
    assert (cell.num_proj, cell.cell_clip, cell.proj_clip) == (0, 0.0, 0.0)
    assert layer.get_config() == ProjectedLSTM.from_config(layer.get_config()).get_config()
