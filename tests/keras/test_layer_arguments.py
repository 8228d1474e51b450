"""Arguments of LSTM, GRU and SimpleRNN: on the op or on Keras's implementation, the result is the same."""

import itertools

import compare_layers as compare
import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras
from support.selection import all_but
from tf_rnn_ops.native import xla

ON_THE_OP = [
    ("LSTM", {"use_bias": False}),
    ("GRU", {"use_bias": False}),
    ("SimpleRNN", {"use_bias": False}),
    ("SimpleRNN", {"activation": "relu"}),
    ("LSTM", {"implementation": 1}),
    ("LSTM", {"use_cudnn": True}),
    ("LSTM", {"activation": tf.tanh, "recurrent_activation": keras.ops.sigmoid}),
    ("GRU", {"kernel_regularizer": "l2", "recurrent_constraint": "unit_norm"}),
]
ON_LAYER_RNN = [
    ("LSTM", {"activation": "relu"}),
    ("LSTM", {"recurrent_activation": "hard_sigmoid"}),
    ("LSTM", {"activation": None, "recurrent_activation": keras.ops.hard_sigmoid}),
    ("LSTM", {"recurrent_activation": tf_rnn_ops.keras.hard_sigmoid_keras2}),
    ("GRU", {"activation": "linear", "recurrent_activation": "hard_sigmoid"}),
    ("SimpleRNN", {"activation": "linear"}),
    ("SimpleRNN", {"activation": "sigmoid", "use_bias": False}),
    ("SimpleRNN", {"activation": "hard_sigmoid"}),
    ("SimpleRNN", {"activation": tf_rnn_ops.keras.hard_sigmoid_keras2}),
    ("GRU", {"reset_after": False}),
    ("GRU", {"reset_after": False, "use_bias": False, "implementation": 1}),
    ("GRU", {"reset_after": False, "recurrent_activation": "hard_sigmoid", "activation": "relu"}),
]
ON_THE_LOOP = [
    ("LSTM", {"activation": "elu"}, "activation=elu"),
    ("LSTM", {"recurrent_activation": "softsign"}, "recurrent_activation=softsign"),
    ("GRU", {"reset_after": False, "activation": "gelu"}, "activation=gelu"),
    ("GRU", {"activation": "softsign"}, "activation=softsign"),
    ("SimpleRNN", {"activation": "gelu"}, "activation=gelu"),
    ("LSTM", {"unroll": True}, "unroll=True"),
    ("GRU", {"use_cudnn": False}, "use_cudnn=False"),
]
RECURRENT_DROPOUT = [
    ("LSTM", {"recurrent_dropout": 0.4}),
    ("GRU", {"recurrent_dropout": 0.4}),
    ("SimpleRNN", {"recurrent_dropout": 0.4}),
    ("LSTM", {"recurrent_dropout": 0.1, "dropout": 0.3, "use_bias": False}),
    ("GRU", {"recurrent_dropout": 0.4, "dropout": 0.3}),
    ("GRU", {"recurrent_dropout": 0.4, "dropout": 0.3, "go_backwards": True}),
    ("SimpleRNN", {"recurrent_dropout": 0.4, "dropout": 0.3}),
]
RECURRENT_DROPOUT_ON_LAYER_RNN = [
    ("GRU", {"recurrent_dropout": 0.4, "reset_after": False}),
    ("GRU", {"recurrent_dropout": 0.4, "dropout": 0.3, "reset_after": False}),
    ("LSTM", {"recurrent_dropout": 0.4, "recurrent_activation": "hard_sigmoid"}),
    ("SimpleRNN", {"recurrent_dropout": 0.4, "dropout": 0.3, "activation": "hard_sigmoid"}),
]


def ops_of(function, *arguments):
    """The ops of a tf.function's graph and of what it calls."""
    graph_def = function.get_concrete_function(*arguments).graph.as_graph_def()
    nodes = list(graph_def.node) + [n for f in graph_def.library.function for n in f.node_def]
    return {node.op for node in nodes}


def identify(value):
    return "-".join(map(str, value)) if isinstance(value, dict) else None


@pytest.mark.parametrize(("name", "arguments"), ON_THE_OP, ids=identify)
def test_on_the_op(name, arguments, rng, op_calls, op_name):
    _, ours = compare.pair(name, **arguments)
    arguments = {k: v for k, v in arguments.items() if k != "use_cudnn"}  # needs a GPU there
    stock, _ = compare.pair(name, **arguments)
    stock.set_weights(ours.get_weights())
    x, states = compare.values(rng)
    states = states[: compare.number_of_states(name)]
    compare.assert_same(stock, ours, x, compare.MASKS["holes"], states, training=True)
    assert op_calls == [op_name]
    assert tf_rnn_ops.keras.explain(ours, print_fn=None)[0][2:] == ("fused", "")
    assert ours.supports_jit is (xla.unavailable() is None)


@pytest.mark.parametrize(("name", "arguments"), ON_LAYER_RNN, ids=identify)
def test_on_layer_rnn(name, arguments, rng, op_calls, op_name):
    stock, ours = compare.pair(name, return_sequences=True, **arguments)
    x, states = compare.values(rng)
    states = states[: compare.number_of_states(name)]
    for mask in ("no_mask", "holes"):
        compare.assert_same(stock, ours, x, compare.MASKS[mask], states, training=True)
    assert set(op_calls) == {"LayerRNN"}
    assert tf_rnn_ops.keras.explain(ours, print_fn=None)[0][2:] == ("fused", "")
    assert ours.supports_jit is (xla.unavailable() is None)


@pytest.mark.parametrize(("name", "arguments", "why"), ON_THE_LOOP, ids=identify)
def test_on_the_loop(name, arguments, why, rng, op_calls):
    stock, ours = compare.pair(name, **arguments)
    x, states = compare.values(rng)
    states = states[: compare.number_of_states(name)]
    compare.assert_same(stock, ours, x, compare.MASKS["holes"], states, training=True)
    assert op_calls == []
    row = tf_rnn_ops.keras.explain(ours, print_fn=None)[0]
    assert row.path == "keras" and why in row.reason
    assert ours.supports_jit is True


DROPPED = RECURRENT_DROPOUT + RECURRENT_DROPOUT_ON_LAYER_RNN
DROPPED_MASKS = ("no_mask", "left", "holes")


@pytest.mark.parametrize(
    "case",
    all_but(
        list(itertools.product(DROPPED, DROPPED_MASKS)),
        *zip(DROPPED, itertools.cycle(DROPPED_MASKS)),
    ),
    ids=lambda case: "-".join((case[0][0], *case[0][1], case[1])),
)
def test_recurrent_dropout_drops_what_keras_drops(case, rng, op_calls, op_name):
    (name, arguments), mask = case
    stock, ours = compare.pair(name, seed=5, return_sequences=True, **arguments)
    x, states = compare.values(rng)
    states = states[: compare.number_of_states(name)]
    results = []
    for _ in range(2):
        want = compare.as_arrays(
            compare.outcome(stock, x, compare.MASKS[mask], states, training=True)
        )
        got = compare.as_arrays(
            compare.outcome(ours, x, compare.MASKS[mask], states, training=True)
        )
        compare.assert_outcomes(got, want, "float64")
        results.append(got["r0"])
    assert op_calls == ["LayerRNN"] * 2
    assert not np.array_equal(*results), "every call drops other elements"
    compare.assert_same(stock, ours, x, compare.MASKS[mask], states, training=False)
    assert tf_rnn_ops.keras.explain(ours, print_fn=None)[0][2:] == ("fused", "")


@pytest.mark.parametrize("rate", [{"dropout": 1.0}, {"recurrent_dropout": 1.0}], ids=identify)
@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_dropping_everything_is_left_to_keras(name, rate, rng, op_calls):
    stock, ours = compare.pair(name, seed=5, **rate)
    x, _ = compare.values(rng)
    want, got = (layer(x, training=True)[0] for layer in (stock, ours))
    np.testing.assert_array_equal(got, want)
    assert op_calls == []
    row = tf_rnn_ops.keras.explain(ours, print_fn=None)[0]
    assert row.path == "fused, keras in training" and "drops all elements" in row.reason


@pytest.mark.parametrize(
    "case",
    all_but(
        list(itertools.product(compare.NAMES, ["no_mask", "right", "holes"])),
        ("LSTM", "no_mask"),
        ("GRU", "right"),
        ("SimpleRNN", "holes"),
    ),
    ids="-".join,
)
def test_dropout_on_the_op_drops_what_keras_drops(case, rng, op_calls, op_name):
    name, mask = case
    stock, ours = compare.pair(name, dropout=0.5, seed=11)
    x, _ = compare.values(rng)
    want = compare.as_arrays(compare.outcome(stock, x, compare.MASKS[mask], training=True))
    got = compare.as_arrays(compare.outcome(ours, x, compare.MASKS[mask], training=True))
    compare.assert_outcomes(got, want, "float64")
    assert op_calls == [op_name]
    # The second call drops other elements, and both layers the same ones again.
    again = compare.as_arrays(compare.outcome(ours, x, compare.MASKS[mask], training=True))
    assert not np.array_equal(again["r0"], got["r0"])
    compare.assert_same(stock, ours, x, compare.MASKS[mask], training=False)


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_dropout_of_each_gate(name, rng, op_calls, op_name):
    """implementation=1 drops other inputs for every gate. Keras trains so with use_cudnn=False."""
    arguments = {"dropout": 0.5, "implementation": 1, "seed": 3}
    stock, _ = compare.pair(name, use_cudnn=False, **arguments)
    _, ours = compare.pair(name, **arguments)
    stock.set_weights(ours.get_weights())
    x, _ = compare.values(rng)
    compare.assert_same(stock, ours, x, training=True)
    assert op_calls == ["LayerRNN"]


@pytest.mark.parametrize("name", compare.NAMES)
def test_stateful(name, rng):
    arguments = {"stateful": True, "return_sequences": True}
    stock, ours = compare.pair(name, **arguments)
    batches = [compare.values(rng)[0] for _ in range(3)]
    for mask in (None, compare.MASKS["left"]):
        for x in batches:
            for got, want in zip(ours(x, mask=mask), stock(x, mask=mask)):
                np.testing.assert_allclose(got, want, rtol=0, atol=1e-14)
        for got, want in zip(ours.states, stock.states):
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=0, atol=1e-14)
        assert np.any(ours.states[0].numpy())
        ours.reset_state(), stock.reset_state()
        assert not np.any(ours.states[0].numpy())
    with pytest.raises(ValueError, match="batch size"):
        ours(batches[0][:2])


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16", "bfloat16"])
@pytest.mark.parametrize("name", compare.NAMES)
def test_low_precision(name, dtype, rng, op_calls):
    """Against float64: at most twice the error of Keras's implementation in the same precision."""
    exact, _ = compare.pair(name)
    x, states = compare.values(rng)
    states = states[: compare.number_of_states(name)]
    initializer = {"recurrent_initializer": "glorot_uniform"}  # the default has no bfloat16
    stock, ours = compare.pair(name, dtype, **initializer)
    compute = stock.compute_dtype
    assert ours.compute_dtype == compute and ours.variable_dtype == stock.variable_dtype
    weights = [tf.cast(tf.cast(w, compute), "float64") for w in stock.get_weights()]
    exact.set_weights(weights)
    for layer in (stock, ours):
        layer.set_weights([np.asarray(w) for w in weights])
    x = tf.cast(tf.cast(x, compute), "float64")
    mask = compare.MASKS["holes"]
    low = [tf.cast(tensor, compute) for tensor in (x, *states)]
    states = [tf.cast(tensor, "float64") for tensor in low[1:]]
    want = compare.as_arrays(compare.outcome(exact, x, mask, states, training=True))
    found = {
        layer: compare.as_arrays(compare.outcome(layer, low[0], mask, low[1:], training=True))
        for layer in (stock, ours)
    }
    assert op_calls == ["LayerRNN"]
    rounding = {"float16": 2.0**-10, "bfloat16": 2.0**-7}[compute]
    for key, value in want.items():
        scale = np.max(np.abs(value))
        error = {
            layer: np.max(np.abs(np.asarray(result[key], "float64") - value)) / scale
            for layer, result in found.items()
        }
        assert error[ours] <= 2 * error[stock] + rounding, (key, error[ours], error[stock])


@pytest.mark.parametrize("name", compare.NAMES)
def test_same_arguments_config_and_weights(name):
    arguments = {
        "return_sequences": True,
        "go_backwards": True,
        "dropout": 0.25,
        "recurrent_dropout": 0.5,
        "seed": 3,
        "zero_output_for_mask": True,
        "kernel_regularizer": "l1",
    }
    stock, ours = compare.pair(name, **arguments)
    assert {**stock.get_config(), "name": ours.name} == ours.get_config()
    for one, other in zip(ours.weights, stock.weights, strict=True):
        assert one.shape == other.shape
        # The names of the layers differ in the number that Keras appends.
        assert one.path.split("/")[1:] == other.path.split("/")[1:]
    again = type(ours).from_config(ours.get_config())
    assert again.get_config() == ours.get_config()
    assert keras.saving.get_registered_name(type(ours)) == f"tf_rnn_ops>{name}"


@pytest.mark.parametrize("name", ["LSTM", "GRU", "PeepholeLSTM"])
def test_options_of_the_path_are_saved(name, tmp_path):
    """Keras leaves them out, and there they choose nothing but speed."""
    cls = getattr(tf_rnn_ops.keras, name)
    options = {"implementation": 1}
    if name != "PeepholeLSTM":
        options["use_cudnn"] = False
    model = keras.Sequential(
        [keras.Input((None, 3)), keras.layers.Bidirectional(cls(4, **options))]
    )
    model.save(tmp_path / "model.keras")
    clones = [
        keras.saving.load_model(tmp_path / "model.keras"),
        keras.models.clone_model(model),
        tf_rnn_ops.keras.convert(model),
        keras.models.model_from_json(model.to_json()),
    ]
    for clone in clones:
        for layer in (clone.layers[0].forward_layer, clone.layers[0].backward_layer):
            assert layer.cell.implementation == 1
            assert getattr(layer, "use_cudnn", False) is False
    plain = cls(4).get_config()
    assert "use_cudnn" not in plain and "implementation" not in plain


@pytest.mark.parametrize("name", compare.NAMES)
def test_bad_input(name, rng):
    stock, ours = compare.pair(name)
    x, states = compare.values(rng)
    states = states[: compare.number_of_states(name)]
    B, T = x.shape[:2]
    for shape in [(B, T + 1), (B, T - 1), (B + 1, T), (T,), x.shape]:
        mask = np.ones(shape, bool)
        with pytest.raises(Exception):
            stock(x, mask=mask)
        with pytest.raises(ValueError, match=rf"mask must .*\[{B}, {T}\].*{shape[0]}"):
            ours(x, mask=mask)
    for bad in ([s[:, :-1] for s in states], [np.concatenate([s, s]) for s in states]):
        with pytest.raises(Exception):
            stock(x, initial_state=bad)
        with pytest.raises(ValueError, match=r"initial_state\[0\] must have shape"):
            ours(x, initial_state=bad)
    with pytest.raises(ValueError, match="ndim"):
        ours(x[0])
    with pytest.raises(ValueError, match="units"):
        type(ours)(0)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("reset_after", [False, True])
@pytest.mark.parametrize("activation", ["relu", "linear"])
def test_a_large_candidate_leaves_what_a_gru_carries_over(activation, reset_after, training, rng):
    x = rng.standard_normal((64, 6, 4)).astype("float32")
    x[:, 3, 0] = 1e6
    settings = {"activation": activation, "reset_after": reset_after, "return_sequences": True}
    wide = keras.layers.GRU(8, dtype="float64", **settings)
    want = wide(x.astype("float64")).numpy()[:, 3]
    ours = tf_rnn_ops.keras.GRU(8, **settings)
    ours.build(x.shape)
    ours.set_weights(wide.get_weights())
    got = ours(x, training=training).numpy()[:, 3]
    carried = np.abs(want) < 1
    assert carried.sum() > 20
    np.testing.assert_allclose(got[carried], want[carried], rtol=0, atol=1e-5)


def _dynamic(layer, **more):
    """The layer in a graph that knows no sizes but that of the features, and ranks."""
    specs = {name: tf.TensorSpec([None] * rank, dtype) for name, (rank, dtype) in more.items()}

    @tf.function(input_signature=[tf.TensorSpec([None, None, compare.INPUT], "float64"), specs])
    def run(x, more):
        return layer(x, **more)

    return run


@pytest.mark.parametrize("name", [*compare.NAMES, "PeepholeLSTM"])
def test_masks_of_any_size_in_a_graph(name, rng, op_calls):
    """A mask [B, T], or [1, T] for all rows. Another size raises an error, as in Keras."""
    if name == "PeepholeLSTM":
        ours = tf_rnn_ops.keras.PeepholeLSTM(compare.UNITS, dtype="float64", return_state=True)
        ours.build((None, None, compare.INPUT))
        stock = keras.layers.RNN(ours.cell, return_state=True, dtype="float64")
    else:
        stock, ours = compare.pair(name)
    x, _ = compare.values(rng)
    steps = compare.TIME
    for extra in ((), (1,)):
        run = _dynamic(ours, mask=(2 + len(extra), tf.bool))
        for rows in (compare.MASKS["holes"], compare.MASKS["holes"][:1]):
            mask = rows.reshape(rows.shape + extra)
            want = stock(x, mask=tf.broadcast_to(rows, (compare.BATCH, steps)))
            for got, one in zip(run(x, {"mask": mask}), want, strict=True):
                np.testing.assert_allclose(got, one, rtol=0, atol=1e-14)
        assert op_calls and not any("Cudnn" in op for op in op_calls)
        bad = [(compare.BATCH, 1), (1, 1), (steps, compare.BATCH), (2, 15), (3, 10), (2, steps)]
        for shape in (*bad, (compare.BATCH, steps - 1), (compare.BATCH, steps + 1)):
            with pytest.raises(tf.errors.InvalidArgumentError, match="mask must have"):
                run(x, {"mask": np.ones(shape + extra, bool)})
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(x, {"mask": np.ones((compare.BATCH, steps, 2), bool)})


@pytest.mark.parametrize("name", [*compare.NAMES, "PeepholeLSTM"])
def test_states_of_one_row_in_a_graph(name, rng, op_calls):
    """Keras's implementation accepts initial states [1, H] for all rows."""
    ours = getattr(tf_rnn_ops.keras, name)(compare.UNITS, dtype="float64", return_state=True)
    ours.build((None, None, compare.INPUT))
    x, states = compare.values(rng)
    count = 2 if "LSTM" in name else 1
    specs = [tf.TensorSpec([None, None], "float64")] * count
    x_spec = tf.TensorSpec([None, None, compare.INPUT], "float64")

    @tf.function(input_signature=[x_spec, specs])
    def run(x, states):
        with tf.GradientTape() as tape:
            tape.watch(states)
            results = ours(x, initial_state=states)
            loss = tf.reduce_sum(tf.sin(results[0]))
        return results, tape.gradient(loss, states)

    one = [state[:1] for state in states[:count]]
    every = [tf.repeat(state, compare.BATCH, axis=0) for state in one]
    got, gradients = run(x, one)
    want, wanted = run(x, every)
    assert len(set(op_calls)) == 1
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(a, tf.reduce_sum(b, 0, keepdims=True), rtol=0, atol=1e-13)
    for shape, message in (
        ((2, compare.UNITS), "Incompatible shapes|BroadcastTo"),
        ((compare.BATCH, 1), "and H is 1 according to"),
        ((1, compare.UNITS + 1), f"and H is {compare.UNITS + 1} according to"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            run(x, [tf.zeros(shape, "float64")] * count)


@pytest.mark.parametrize("kind", ["complex", "string", "no features"])
@pytest.mark.parametrize("name", compare.NAMES)
def test_inputs_that_the_op_does_not_take_are_left_to_keras(name, kind, op_calls):
    x = {
        "complex": tf.ones((2, 5, 3), "complex64"),
        "string": tf.fill((2, 5, 3), "1"),
        "no features": tf.ones((2, 5, 0)),
    }[kind]
    stock, ours = (getattr(module, name)(4) for module in (keras.layers, tf_rnn_ops.keras))
    found = []
    for layer in (stock, ours):
        try:
            found.append(tuple(layer(x).shape))
        except Exception as error:
            found.append(type(error))
    assert found[0] == found[1] and op_calls == []
    assert (found[0] == (2, 4)) is (kind == "no features")


def test_use_cudnn_true_refuses_what_the_op_cannot(rng):
    _, ours = compare.pair("LSTM", activation="elu", use_cudnn=True)
    with pytest.raises(ValueError, match="use_cudnn=True"):
        ours(compare.values(rng)[0], training=True)


@pytest.mark.parametrize("name", compare.NAMES)
def test_one_time_step_in_a_graph(name, rng, op_calls, op_name):
    stock, ours = compare.pair(name)
    x = compare.values(rng)[0][:, :1]
    got = tf.function(ours)(x)
    for one, other in zip(got, stock(x)):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-15)
    assert op_calls == ["LayerRNN"]


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_the_loop_is_no_cudnn_where_there_is_a_gpu(name, rng, op_calls, gpu_in_sight):
    """Keras's own inner_loop would put TensorFlow's CudnnRNNV3 into the graph."""
    _, ours = compare.pair(name, dropout=1.0)
    stock, _ = compare.pair(name, use_cudnn=False, dropout=1.0)
    stock.set_weights(ours.get_weights())
    x, states = compare.values(rng)
    states = states[: compare.number_of_states(name)]

    def run(x, *states):
        return ours(x, initial_state=list(states), training=True)

    run = tf.function(run)
    assert not any("Cudnn" in op for op in ops_of(run, x, *states))
    assert op_calls == []
    want = stock(x, initial_state=states, training=True)
    for one, other in zip(run(x, *states), want, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", [*compare.NAMES, "PeepholeLSTM"])
def test_lists_as_initial_states(name):
    """Keras takes none either."""
    layer = getattr(tf_rnn_ops.keras, name)(4)
    states = [[[0.1] * 4] * 2] * (2 if "LSTM" in name else 1)
    with pytest.raises(ValueError, match="state in initial_state must be a tensor .* type list"):
        layer(tf.ones([2, 5, 3]), initial_state=states)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("name", compare.NAMES)
def test_any_number_of_initial_states(name, count, rng, op_calls):
    """Those that Keras accepts are accepted."""
    stock, ours = compare.pair(name)
    x, states = compare.values(rng)
    states = (states * 2)[:count]
    found = []
    for layer in (stock, ours):
        try:
            found.append(layer(x, initial_state=states))
        except Exception as error:
            found.append(error)
    if isinstance(found[0], Exception):
        assert isinstance(found[1], ValueError if name == "LSTM" else type(found[0]))
    else:
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-14)
    # Keras uses the first state of a GRU.
    assert bool(op_calls) is (name == "GRU" or count == compare.number_of_states(name))
