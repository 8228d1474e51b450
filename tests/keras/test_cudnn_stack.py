"""The layers over CudnnRNNV3 against stacks of stock Keras layers, and what a Keras layer must do."""

import inspect
import pathlib

import keras
import numpy as np
import pytest
import stock_stack
import tensorflow as tf

from support import subproc
from support.selection import all_but
from tf_rnn_ops.keras import CudnnGRU, CudnnLSTM, CudnnRNNTanh
from tf_rnn_ops.params import to_keras

MODES = tuple(stock_stack.LAYERS)
DIRECTIONS = ("unidirectional", "bidirectional")
BATCH, TIME, INPUTS, UNITS = 5, 7, 3, 4
LENGTHS = np.array([7, 5, 1, 6, 3], np.int32)
MASK = np.arange(TIME) < LENGTHS[:, None]


def _inputs(rng, dtype=np.float64):
    return rng.standard_normal((BATCH, TIME, INPUTS)).astype(dtype)


def _pair(mode, direction, layers, rng, return_sequences=True):
    """Our layer and the stock stack with the same random weights, in float64."""
    stock, stack = stock_stack.build(mode, UNITS, layers, direction, return_sequences)
    stock(np.zeros((1, 1, INPUTS)))
    stock_stack.randomize(stack, rng)
    ours = stock_stack.LAYERS[mode](
        UNITS,
        num_layers=layers,
        direction=direction,
        return_sequences=return_sequences,
        dtype="float64",
    )
    ours.build((None, None, INPUTS))
    ours.set_weights([stock_stack.opaque_params(mode, stack, UNITS, INPUTS, direction)])
    return ours, stock


@pytest.mark.parametrize("layers", (1, 3))
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("mode", MODES)
def test_equals_a_stack_of_stock_layers(mode, direction, layers, rng):
    ours, stock = _pair(mode, direction, layers, rng)
    x = tf.constant(_inputs(rng))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        got, want = ours(x), stock(x)
        weights = rng.standard_normal(want.shape)
        got_loss, want_loss = (tf.reduce_sum(y * weights) for y in (got, want))
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        tape.gradient(got_loss, x), tape.gradient(want_loss, x), rtol=0, atol=1e-11
    )


@pytest.mark.each_value
@pytest.mark.parametrize("how", ("mask", "lengths"))
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("mode", MODES)
def test_padded_rows(mode, direction, how, rng):
    ours, stock = _pair(mode, direction, 2, rng)
    x = _inputs(rng)
    given = {"mask": MASK} if how == "mask" else {"sequence_lengths": LENGTHS}
    got, want = ours(x, **given).numpy(), stock(x, mask=MASK).numpy()
    np.testing.assert_allclose(got[MASK], want[MASK], rtol=0, atol=1e-12)
    assert not got[~MASK].any()


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("mode", MODES)
def test_last_valid_output(mode, direction, rng):
    ours, stock = _pair(mode, direction, 2, rng, return_sequences=False)
    x = _inputs(rng)
    want = stock(x, mask=MASK)
    np.testing.assert_allclose(ours(x, mask=MASK), want, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours(x, sequence_lengths=LENGTHS), want, rtol=0, atol=1e-12)


def test_takes_the_mask_of_a_layer_before_it(rng):
    ours, _ = _pair("lstm", "bidirectional", 2, rng)
    x = np.where(MASK[..., None], _inputs(rng), 0.0)
    masked = keras.layers.Masking(dtype="float64")(x)
    np.testing.assert_array_equal(ours(masked), ours(x, sequence_lengths=LENGTHS))
    assert np.array_equal(ours(masked)._keras_mask, MASK)


@pytest.mark.parametrize("time_major", (False, True))
@pytest.mark.parametrize("hole", ("left", "inside"))
def test_refuses_a_mask_with_holes(hole, time_major, rng):
    mask = MASK.copy()
    mask[1] = np.arange(TIME) > 3 if hole == "left" else np.arange(TIME) != 3
    x = _inputs(rng, np.float32)
    layer = CudnnLSTM(UNITS, time_major=time_major)
    if time_major:
        x, mask = x.transpose(1, 0, 2), mask.T
    with pytest.raises(tf.errors.InvalidArgumentError, match="True first and then False"):
        layer(x, mask=mask)


@pytest.mark.parametrize("time_major", (False, True))
@pytest.mark.parametrize("cls", (CudnnLSTM, CudnnGRU))
def test_states_continue_a_sequence(cls, time_major, rng):
    layer = cls(
        UNITS,
        num_layers=2,
        return_sequences=True,
        return_state=True,
        time_major=time_major,
        dtype="float64",
    )
    x = _inputs(rng)
    if time_major:
        x = x.transpose(1, 0, 2)
    axis = 0 if time_major else 1
    first, second = np.split(x, [3], axis=axis)
    whole, *states = layer(x)
    begin, *middle_states = layer(first)
    end, *end_states = layer(second, initial_state=middle_states)
    np.testing.assert_allclose(np.concatenate([begin, end], axis), whole, rtol=0, atol=1e-14)
    assert len(states) == len(end_states) == (2 if cls is CudnnLSTM else 1)
    for got, want in zip(end_states, states):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-14)


@pytest.mark.parametrize("return_sequences", (False, True))
def test_time_major_is_the_same_network(return_sequences, rng):
    options = {"return_sequences": return_sequences, "return_state": True, "dtype": "float64"}
    batch_major = CudnnLSTM(UNITS, num_layers=2, direction="bidirectional", num_proj=3, **options)
    time_major = CudnnLSTM(
        UNITS, num_layers=2, direction="bidirectional", num_proj=3, time_major=True, **options
    )
    x = _inputs(rng)
    want = batch_major(x, mask=MASK)
    time_major.build((None, None, INPUTS))
    time_major.set_weights(batch_major.get_weights())
    got = time_major(x.transpose(1, 0, 2), mask=MASK.T)
    for k, (a, b) in enumerate(zip(got, want)):
        a = a if k == 0 and not return_sequences else tf.transpose(a, [1, 0, 2])
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-14)


@pytest.mark.parametrize("return_state", (False, True))
@pytest.mark.parametrize("return_sequences", (False, True))
@pytest.mark.parametrize("time_major", (False, True))
@pytest.mark.parametrize("num_proj", (0, 2))
def test_announced_shapes_are_the_real_ones(num_proj, time_major, return_sequences, return_state):
    layer = CudnnLSTM(
        UNITS,
        num_layers=2,
        direction="bidirectional",
        num_proj=num_proj,
        time_major=time_major,
        return_sequences=return_sequences,
        return_state=return_state,
    )
    x = np.zeros((BATCH, TIME, INPUTS), np.float32)
    announced = keras.tree.flatten(layer(keras.Input(batch_shape=x.shape)))
    real = keras.tree.flatten(layer(x))
    assert [tuple(a.shape) for a in announced] == [tuple(r.shape) for r in real]
    assert [a.dtype for a in announced] == [r.dtype.name for r in real]


@pytest.mark.parametrize("mode", MODES)
def test_skip_input(mode, rng):
    cls = stock_stack.LAYERS[mode]
    x = rng.standard_normal((BATCH, TIME, UNITS)).astype(np.float32)
    skipped = cls(UNITS, input_mode="skip_input")
    automatic = cls(UNITS, input_mode="auto_select")
    linear = cls(UNITS)
    for layer in (skipped, automatic, linear):
        layer.build(x.shape)
    automatic.set_weights(skipped.get_weights())
    np.testing.assert_array_equal(skipped(x), automatic(x))
    gates = {"lstm": 4, "gru": 3}.get(mode, 1)
    assert linear.layout.size - skipped.layout.size == gates * UNITS * UNITS


def test_initial_weights():
    keras.utils.set_random_seed(3)
    layer = CudnnLSTM(8, num_layers=2, direction="bidirectional")
    layer.build((None, None, 6))
    params = layer.get_weights()[0]
    sizes = [(32, 6), (32, 8)] * 2 + [(32, 16), (32, 8)] * 2
    matrices, start = [], 0
    for shape in sizes:
        matrices.append(params[start : start + np.prod(shape)].reshape(shape))
        start += np.prod(shape)
    for kernel in matrices[::2]:
        bound = np.sqrt(6 / sum(kernel.shape))  # glorot_uniform
        assert 0.9 * bound < np.abs(kernel).max() <= bound
    for recurrent in matrices[1::2]:
        np.testing.assert_allclose(recurrent.T @ recurrent, np.eye(8), atol=1e-5)
    assert not np.array_equal(matrices[0], matrices[2])  # the two directions
    assert not np.array_equal(matrices[1], matrices[3])
    biases = params[start:].reshape(4, 2, 4, 8)  # layer and direction, bW or bR, gate, unit
    assert (biases[:, 0, 1] == 1).all()  # forget gates
    assert biases.sum() == 4 * 8


@pytest.mark.parametrize("cls", stock_stack.LAYERS.values())
def test_initial_weights_in_bfloat16(cls):
    layers = [cls(UNITS, num_layers=2, dtype=dtype) for dtype in ("bfloat16", "float32")]
    for layer in layers:
        layer.kernel_initializer = keras.initializers.GlorotUniform(seed=1)
        layer.recurrent_initializer = keras.initializers.Orthogonal(seed=2)
        layer.build((None, None, INPUTS))
    half, single = (layer.params for layer in layers)
    assert half.dtype == "bfloat16"
    np.testing.assert_array_equal(half.value, tf.cast(single.value, "bfloat16"))


def test_initial_weights_follow_the_seed():
    def build(seed, **options):
        keras.utils.set_random_seed(seed)
        layer = CudnnGRU(UNITS, num_layers=2, **options)
        layer.build((None, None, INPUTS))
        return layer.get_weights()[0]

    np.testing.assert_array_equal(build(1), build(1))
    assert not np.array_equal(build(1), build(2))


def test_a_seeded_initializer_draws_each_matrix_anew():
    layer = CudnnRNNTanh(
        UNITS,
        num_layers=2,
        direction="bidirectional",
        kernel_initializer=keras.initializers.RandomNormal(seed=5),
        recurrent_initializer=keras.initializers.RandomNormal(seed=5),
    )
    layer.build((None, None, INPUTS))
    weights = layer.get_weights()[0][: -4 * 2 * UNITS]
    assert len(np.unique(weights)) == weights.size


def test_dropout_acts_between_layers_in_training_only(rng):
    x = _inputs(rng, np.float32)
    layer = CudnnGRU(UNITS, num_layers=2, dropout=0.5, seed=1)
    np.testing.assert_array_equal(layer(x), layer(x))
    assert not np.array_equal(layer(x, training=True), layer(x, training=True))
    single = CudnnGRU(UNITS, num_layers=1, dropout=0.5, seed=1)
    np.testing.assert_allclose(single(x, training=True), single(x), rtol=0, atol=1e-6)


def test_tf_function_with_unknown_sizes(rng):
    layer = CudnnLSTM(UNITS, num_layers=2, direction="bidirectional", return_sequences=True)
    layer.build((None, None, INPUTS))
    traces = []

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None, INPUTS], tf.float32),
            tf.TensorSpec([None], tf.int32),
        ]
    )
    def run(x, lengths):
        traces.append(None)
        y = layer(x, sequence_lengths=lengths)
        return y, tf.gradients(y, [x])[0]

    for batch, time in ((2, 5), (3, 1), (1, 9)):
        x = tf.constant(rng.standard_normal((batch, time, INPUTS)), tf.float32)
        lengths = tf.fill([batch], time)
        with tf.GradientTape() as tape:
            tape.watch(x)
            want = layer(x, sequence_lengths=lengths)
        got, gradient = run(x, lengths)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_allclose(gradient, tape.gradient(want, x), rtol=0, atol=1e-6)
    assert len(traces) == 1


def _model(cls, **options):
    frames = keras.Input((None, INPUTS), name="frames")
    lengths = keras.Input((), dtype="int32", name="lengths")
    x = cls(UNITS, num_layers=2, direction="bidirectional", dropout=0.1, **options)(
        frames, sequence_lengths=lengths
    )
    return keras.Model({"frames": frames, "lengths": lengths}, keras.layers.Dense(1)(x))


@pytest.mark.parametrize("cls", all_but(stock_stack.LAYERS.values(), stock_stack.LAYERS["lstm"]))
def test_fit_learns(cls, rng):
    """The sum of the valid inputs can be learnt; the mean squared error must fall to a fifth."""
    keras.utils.set_random_seed(0)
    frames = rng.uniform(-0.5, 0.5, (64, TIME, INPUTS)).astype(np.float32)
    lengths = rng.integers(1, TIME + 1, 64).astype(np.int32)
    valid = (np.arange(TIME) < lengths[:, None])[..., None]
    target = (frames * valid).sum((1, 2))[:, None]
    model = _model(cls)
    model.compile(keras.optimizers.Adam(0.02), "mse")
    history = model.fit(
        {"frames": frames, "lengths": lengths}, target, batch_size=16, epochs=40, verbose=0
    )
    loss = history.history["loss"]
    assert loss[-1] < 0.2 * loss[0]


@pytest.mark.parametrize("cls", stock_stack.LAYERS.values())
def test_config_round_trip(cls):
    layer = cls(
        3,
        num_layers=2,
        direction="bidirectional",
        dropout=0.25,
        input_mode="auto_select",
        return_sequences=True,
        return_state=True,
        time_major=True,
        kernel_initializer=keras.initializers.RandomNormal(stddev=0.1),
        recurrent_initializer="glorot_normal",
        bias_initializer="ones",
        unit_forget_bias=False,
        seed=7,
        name="stack",
        dtype="mixed_bfloat16",
    )
    restored = keras.layers.deserialize(keras.layers.serialize(layer))
    assert type(restored) is cls
    assert restored.get_config() == layer.get_config()


def test_keras_file_in_a_fresh_process(tmp_path, rng):
    model = _model(CudnnLSTM, num_proj=2)
    inputs = {"frames": _inputs(rng, np.float32), "lengths": LENGTHS}
    model.save(tmp_path / "model.keras")
    np.savez(tmp_path / "inputs.npz", **inputs)
    script = (
        "import keras, numpy, sys, tf_rnn_ops.keras\n"
        "model = keras.models.load_model(sys.argv[1] + '/model.keras')\n"
        "inputs = dict(numpy.load(sys.argv[1] + '/inputs.npz'))\n"
        "numpy.save(sys.argv[1] + '/outputs.npy', model.predict(inputs, verbose=0))\n"
    )
    done = subproc.run(["-c", script, tmp_path])
    assert done.returncode == 0, done.stderr
    want = model.predict(inputs, verbose=0)
    np.testing.assert_array_equal(np.load(tmp_path / "outputs.npy"), want)


def test_weights_file_and_export(tmp_path, rng):
    model, other = _model(CudnnGRU), _model(CudnnGRU)
    inputs = {"frames": _inputs(rng, np.float32), "lengths": LENGTHS}
    want = model(inputs)
    assert not np.array_equal(other(inputs), want)
    model.save_weights(tmp_path / "model.weights.h5")
    other.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(other(inputs), want)
    model.export(pathlib.Path(tmp_path) / "saved")
    served = tf.saved_model.load(str(tmp_path / "saved"))
    # By name, and not served.serve(): Keras 3.8 exports a dictionary of inputs as a list.
    serve = served.signatures["serving_default"]
    (got,) = serve(**{name: tf.constant(value) for name, value in inputs.items()}).values()
    # Also in a graph, where a TensorFlow may round its own Dense otherwise than in eager mode.
    np.testing.assert_array_equal(got, tf.function(model)(inputs))


@pytest.mark.parametrize(
    ("policy", "dtype", "eps"),
    (("mixed_float16", "float16", 2**-10), ("mixed_bfloat16", "bfloat16", 2**-7)),
)
def test_mixed_precision(policy, dtype, eps, rng):
    x = _inputs(rng, np.float32)
    mixed = CudnnLSTM(
        UNITS, num_layers=2, direction="bidirectional", return_sequences=True, dtype=policy
    )
    full = CudnnLSTM(UNITS, num_layers=2, direction="bidirectional", return_sequences=True)
    full.build(x.shape)
    mixed.build(x.shape)
    mixed.set_weights(full.get_weights())

    def output_and_gradient(layer):
        with tf.GradientTape() as tape:
            output = layer(x, training=True)
            loss = tf.reduce_sum(tf.cast(output, tf.float32))
        return output, tape.gradient(loss, layer.params.value)

    want, wanted_gradient = output_and_gradient(full)
    got, gradient = output_and_gradient(mixed)
    assert got.dtype == dtype and mixed.params.dtype == "float32"
    assert gradient.dtype == tf.float32
    # Outputs are below 1 and two roundings of the layers between are all that differs.
    np.testing.assert_allclose(tf.cast(got, tf.float32), want, rtol=0, atol=4 * eps)
    largest = np.abs(wanted_gradient).max()
    np.testing.assert_allclose(gradient, wanted_gradient, rtol=0, atol=4 * eps * largest)


BAD_ARGUMENTS = (
    ({"units": 0}, "units must be a positive integer, but it is 0"),
    ({"units": 2.5}, "units must be a positive integer, but it is 2.5"),
    ({"num_layers": 0}, "num_layers must be at least 1"),
    ({"direction": "both"}, "direction must be 'unidirectional' or 'bidirectional'"),
    ({"dropout": 1.001}, r"dropout must be in \[0, 1\]"),
    ({"dropout": float("nan")}, r"dropout must be in \[0, 1\]"),
    ({"dropout": "a"}, "dropout must be a number, but it is 'a'"),
    ({"dropout": None}, "dropout must be a number, but it is None"),
    ({"input_mode": "none"}, "input_mode must be 'linear_input', 'skip_input' or 'auto_select'"),
    ({"num_proj": -1}, "num_proj must be at least 0"),
    ({"num_proj": 5}, "num_proj must be at most num_units"),
    ({"seed": 1.5}, "seed must be an integer, a keras.random.SeedGenerator or None"),
)


@pytest.mark.parametrize(("arguments", "message"), BAD_ARGUMENTS)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        CudnnLSTM(**{"units": UNITS, **arguments})


def test_arguments_but_the_first_have_names():
    """tf_rnn_ops.contrib.CudnnLSTM has the number of layers first."""
    with pytest.raises(TypeError, match="positional argument"):
        CudnnLSTM(2, 64)
    assert CudnnLSTM(units=UNITS).get_config()["units"] == UNITS


def test_only_an_lstm_has_a_projection():
    with pytest.raises(ValueError, match="num_proj must be 0 for rnn_mode='rnn_tanh'"):
        CudnnRNNTanh(UNITS, num_proj=2)


def test_bad_inputs(rng):
    x = _inputs(rng, np.float32)
    for bad in (x[0], x[None]):
        with pytest.raises(ValueError, match="expected ndim=3"):
            CudnnLSTM(UNITS)(bad)
    for bad in (x.astype("complex64"), np.full(x.shape, "a")):
        # Keras 3.5 refuses complex numbers before the layer sees them.
        said = "sequences must be numbers, but|Invalid dtype: complex64"
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=said):
            CudnnLSTM(UNITS)(bad)
    with pytest.raises(ValueError, match="needs an input_size equal to num_units"):
        CudnnLSTM(UNITS, input_mode="skip_input")(x)
    with pytest.raises(ValueError, match=r"must be 2 tensor\(s\)"):
        CudnnLSTM(UNITS)(x, initial_state=[np.zeros((BATCH, 1, UNITS), np.float32)])
    with pytest.raises(ValueError, match=r"initial_state\[0\] must have shape \[5, 1, 4\]"):
        CudnnGRU(UNITS)(x, initial_state=np.zeros((BATCH, 2, UNITS), np.float32))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"sequence_lengths\[0\]"):
        CudnnLSTM(UNITS)(x, sequence_lengths=np.full(BATCH, TIME + 1))


@pytest.mark.parametrize("go_backwards", [False, True])
@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([3, 8], r"sequence_lengths\[1\] is 8"),
        ([-1, 3], r"sequence_lengths\[0\] is -1"),
        (np.array([3, 2**32 + 3]), r"sequence_lengths\[1\] is 2147483647"),
        (np.array([3, -(2**32) + 3]), r"sequence_lengths\[1\] is -1"),
        (np.array([2**64 - 1, 3], "uint64"), r"sequence_lengths\[0\] is -1"),
        (np.array([2.9, 3]), r"sequence_lengths\[0\] is -1"),
        (np.array([3, np.nan], np.float32), r"sequence_lengths\[1\] is -1"),
        (np.array([3, 1e10], np.float32), r"sequence_lengths\[1\] is 2147483647"),
        ([True, True], "sequence_lengths of 'lstm' must be integers, .* their type is bool"),
        (np.array([3, 3], "float16"), "must be integers, .* their type is float16"),
        (tf.constant([3, 3], "bfloat16"), "must be integers, .* their type is bfloat16"),
        ([3, 3, 3], r"sequence_lengths must have shape \[2\], but its shape is \[3\]"),
        (3, r"sequence_lengths must have shape \[2\], but its shape is \[\]"),
    ],
)
def test_bad_lengths(lengths, message, go_backwards, rng):
    layer = CudnnLSTM(UNITS, go_backwards=go_backwards, name="lstm")
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message):
        layer(_inputs(rng, np.float32)[:2], sequence_lengths=lengths)


@pytest.mark.parametrize(
    "dtype", ["uint8", "int16", "uint32", "int64", "uint64", "float32", "float64"]
)
def test_lengths_of_other_types(dtype, rng):
    """Also of those of whole numbers: an Input of Keras is float32 unless it says otherwise."""
    layer, x = CudnnLSTM(UNITS), _inputs(rng, np.float32)
    want = layer(x, sequence_lengths=LENGTHS)
    np.testing.assert_array_equal(layer(x, sequence_lengths=LENGTHS.astype(dtype)), want)
    assert layer(x[:0], sequence_lengths=[]).shape[0] == 0


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16", "bfloat16", "float64"])
def test_lengths_are_exact_under_every_policy(policy, rng):
    """As integers that the compute types do not have, given as Keras's default Input is, in float32."""
    lengths = np.array([299, 257])
    x = rng.standard_normal((2, 301, 1)).astype("float32")
    # The states that a layer starts from do not matter, only when the output becomes 0.
    layer = CudnnRNNTanh(1, return_sequences=True, bias_initializer="ones", dtype=policy)
    inputs = [keras.Input(x.shape[1:]), keras.Input(())]
    model = keras.Model(inputs, layer(inputs[0], sequence_lengths=inputs[1]))
    given = lengths.astype("float32")
    for y in (
        layer(x, sequence_lengths=given),
        layer(x, None, None, None, tf.constant(given)),
        tf.function(layer)(x, sequence_lengths=tf.constant(given)),
        model([x, given]),
    ):
        steps = np.sum(np.asarray(tf.cast(y, "float32")) != 0, axis=(1, 2))
        np.testing.assert_array_equal(steps, lengths)


def test_lengths_that_a_model_has_rounded(rng):
    class Model(keras.Model):
        def __init__(self):
            super().__init__(dtype="mixed_bfloat16")
            self.stack = CudnnGRU(UNITS, name="stack")

        def call(self, x, lengths):
            return self.stack(x, sequence_lengths=lengths)

    x = _inputs(rng, np.float32)
    want = Model()(x, tf.constant(LENGTHS))
    assert want.shape == (BATCH, UNITS)
    with pytest.raises(ValueError, match="of 'stack' must be integers, .* type is bfloat16"):
        Model()(x, tf.constant(LENGTHS, "float32"))


def test_the_order_of_arguments_is_that_of_keras(rng):
    names = list(inspect.signature(keras.layers.RNN.call).parameters)
    assert list(inspect.signature(CudnnLSTM.call).parameters)[: len(names)] == names
    layer, x = CudnnGRU(UNITS), tf.constant(_inputs(rng, np.float32))
    np.testing.assert_array_equal(layer(x, None, MASK), layer(x, sequence_lengths=LENGTHS))
    # A place of its own, so lengths are not taken for a mask.
    with pytest.raises(tf.errors.InvalidArgumentError, match="mask must have two dimensions"):
        layer(x, None, tf.constant(LENGTHS))


def test_lists_as_initial_states(rng):
    x = _inputs(rng)
    for cls, count in ((CudnnLSTM, 2), (CudnnGRU, 1)):
        layer = cls(UNITS, dtype="float64")
        states = [rng.standard_normal((BATCH, 1, UNITS)) for _ in range(count)]
        got = layer(x, initial_state=[state.tolist() for state in states])
        np.testing.assert_array_equal(got, layer(x, initial_state=states))


@pytest.mark.parametrize("how", ("eager", "model"))
def test_takes_the_mask_of_a_layer_before_it_beside_states(how, rng):
    ours, _ = _pair("gru", "unidirectional", 1, rng)
    stock = keras.layers.GRU(UNITS, return_sequences=True, dtype="float64")
    stock.build((None, None, INPUTS))
    stock.set_weights(to_keras(ours.layout, ours.get_weights()[0])[0])
    x = np.where(MASK[..., None], _inputs(rng), 0.0)
    state = rng.standard_normal((BATCH, 1, UNITS))
    masking = keras.layers.Masking(dtype="float64")
    if how == "eager":
        got = ours(masking(x), initial_state=tf.constant(state))
    else:
        inputs = [keras.Input(a.shape[1:], dtype="float64") for a in (x, state)]
        outputs = ours(masking(inputs[0]), initial_state=inputs[1])
        got = keras.Model(inputs, outputs).predict([x, state], verbose=0)
    want = stock(x, mask=MASK, initial_state=tf.constant(state[:, 0]))
    # predict takes the input as float32.
    np.testing.assert_allclose(np.asarray(got)[MASK], want.numpy()[MASK], rtol=0, atol=1e-6)
    assert not np.asarray(got)[~MASK].any()


def test_an_initializer_with_a_seed_generator_draws_each_matrix_anew():
    initializer = keras.initializers.RandomNormal(seed=keras.random.SeedGenerator(5))
    layer = CudnnRNNTanh(
        UNITS, num_layers=2, kernel_initializer=initializer, recurrent_initializer=initializer
    )
    layer.build((None, None, INPUTS))
    weights = layer.get_weights()[0][: -4 * UNITS]
    assert len(np.unique(weights)) == weights.size


class _Constant(keras.initializers.Initializer):
    """Has arguments but no get_config."""

    def __init__(self, value):
        self.value = value

    def __call__(self, shape, dtype=None):
        return tf.fill(shape, tf.cast(self.value, dtype))


def test_an_initializer_that_cannot_be_copied():
    layer = CudnnGRU(UNITS, kernel_initializer=_Constant(0.75))
    layer.build((None, None, INPUTS))
    assert (layer.get_weights()[0][: 3 * UNITS * INPUTS] == 0.75).all()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float16", "float64"])
def test_inputs_of_another_type(dtype, rng):
    x = (rng.uniform(-2, 2, (BATCH, TIME, INPUTS)) > 0).astype(dtype)
    layer = CudnnGRU(UNITS)
    got = layer(x)
    assert got.dtype == tf.float32
    np.testing.assert_array_equal(got, layer(x.astype("float32")))
    model = keras.Sequential([keras.Input((None, INPUTS), dtype=dtype), layer])
    np.testing.assert_array_equal(model(x), got)


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_forms_of_masks(time_major, known, rng):
    layer = CudnnLSTM(UNITS, time_major=time_major, dtype="float64")
    x, mask = _inputs(rng), MASK
    if time_major:
        x, mask = x.transpose(1, 0, 2), mask.T
    want = layer(x, sequence_lengths=LENGTHS)

    def run(x, mask):
        if known:
            return layer(x, mask=mask)
        specs = [tf.TensorSpec([None, None, INPUTS], x.dtype), tf.TensorSpec([None] * mask.ndim)]
        call = tf.function(lambda x, mask: layer(x, mask=mask), input_signature=specs)
        return call(x, mask.astype("float32"))

    np.testing.assert_array_equal(run(x, mask), want)
    np.testing.assert_array_equal(run(x, mask[:, :, None]), want)
    of_any_rank = tf.function(
        lambda mask: layer(x, mask=mask), input_signature=[tf.TensorSpec(None, tf.bool)]
    )
    np.testing.assert_array_equal(of_any_rank(mask), want)
    one_time = mask[:1] if time_major else mask[:, :1]
    for bad in (mask.T, mask[:, :-1], mask[:-1], one_time, mask.reshape(-1, 1), mask[0]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="mask must have"):
            run(x, bad)
