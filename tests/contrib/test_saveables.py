"""The later naming: Cudnn*Saveable against checkpoints and cells as TensorFlow 1 had them."""

import itertools

import numpy as np
import old_cells
import old_models
import pytest
import tensorflow as tf

from tf_rnn_ops import contrib

LAYERS, UNITS, INPUTS = 2, 4, 3
BOTH = [(m, d) for m in old_cells.MODES for d in old_cells.DIRECTIONS]


def _random(mode, direction, rng, tmp_path, scope=None):
    """(arrays, path of their checkpoint)"""
    arrays = old_cells.random_checkpoint(mode, direction, LAYERS, UNITS, INPUTS, rng, scope)
    return arrays, old_cells.write(tmp_path / "old", arrays)


def _assert_same_arrays(got, want):
    assert got.keys() == want.keys()
    for name in want:
        np.testing.assert_array_equal(got[name], want[name], err_msg=name)


@pytest.mark.parametrize(("mode", "direction"), BOTH)
def test_reads_and_writes_an_old_checkpoint(mode, direction, rng, tmp_path):
    arrays, path = _random(mode, direction, rng, tmp_path, scope="model/encoder")
    model = old_models.make(mode, direction)
    params = tf.Variable(tf.zeros([model.params_size()], tf.float64))
    saver = tf.compat.v1.train.Saver([old_models.saveable(model, params, scope="model/encoder")])
    saver.restore(None, path)
    x = rng.standard_normal((5, 2, INPUTS))
    want = old_cells.run(mode, direction, LAYERS, UNITS, arrays, x, scope="model/encoder")
    np.testing.assert_allclose(old_models.call(model, x, params), want, rtol=0, atol=1e-14)
    # A merged bias is halved, which is exact, so what is written is what was read.
    _assert_same_arrays(old_cells.read(saver.save(None, str(tmp_path / "new"))), arrays)


@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize(
    ("mode", "direction"), list(zip(old_cells.MODES, itertools.cycle(old_cells.DIRECTIONS)))
)
def test_in_a_session(mode, direction, resource, rng, tmp_path):
    arrays, path = _random(mode, direction, rng, tmp_path)
    x = rng.standard_normal((5, 2, INPUTS))
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        model = old_models.make(mode, direction)
        params = tf.compat.v1.get_variable(
            "rnn_params",
            initializer=tf.zeros([model.params_size()], tf.float64),
            validate_shape=False,
            use_resource=resource,
        )
        tf.compat.v1.add_to_collection(
            tf.compat.v1.GraphKeys.SAVEABLE_OBJECTS, old_models.saveable(model, params)
        )
        output = old_models.call(model, x, params)
        session.run(tf.compat.v1.global_variables_initializer())
        assert not session.run(output).any()
        tf.compat.v1.train.Saver(
            tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.SAVEABLE_OBJECTS)
        ).restore(session, path)
        want = old_cells.run(mode, direction, LAYERS, UNITS, arrays, x)
        np.testing.assert_allclose(session.run(output), want, rtol=0, atol=1e-14)
        # A Saver without arguments takes the collection besides the variables.
        written = old_cells.read(tf.compat.v1.train.Saver().save(session, str(tmp_path / "new")))
        assert written.pop("rnn_params").shape == params.eval(session).shape
        _assert_same_arrays(written, arrays)


def test_names_are_those_of_tensorflow_1():
    """Spelled out once, since everything above goes through patterns."""

    def names(mode, direction, scope=None):
        model = old_models.make(mode, direction, layers=1)
        params = tf.Variable(tf.zeros([model.params_size()], tf.float64))
        return old_models.saveable(model, params, scope=scope).tensor_names

    assert names("lstm", "unidirectional", "cudnn_lstm") == [
        "cudnn_lstm/rnn/multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell/kernel",
        "cudnn_lstm/rnn/multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell/bias",
    ]
    assert names("rnn_relu", "bidirectional") == [
        "stack_bidirectional_rnn/cell_0/bidirectional_rnn/fw/basic_rnn_cell/kernel",
        "stack_bidirectional_rnn/cell_0/bidirectional_rnn/bw/basic_rnn_cell/kernel",
        "stack_bidirectional_rnn/cell_0/bidirectional_rnn/fw/basic_rnn_cell/bias",
        "stack_bidirectional_rnn/cell_0/bidirectional_rnn/bw/basic_rnn_cell/bias",
    ]
    gru = "rnn/multi_rnn_cell/cell_0/cudnn_compatible_gru_cell/"
    assert sorted(names("gru", "unidirectional")) == sorted(gru + n for n in old_cells.GRU_TENSORS)


ROUND_TRIPS = {
    **{f"{m} {d}": {"mode": m, "direction": d} for m, d in BOTH},
    "skipped input": {"mode": "lstm", "input_size": UNITS, "input_mode": "skip_input"},
    **{
        f"{mode} {dtype}": {"mode": mode, "dtype": dtype}
        for mode in old_cells.MODES
        for dtype in ("float16", "bfloat16", "float32")
    },
    "variable of Keras": {"mode": "gru", "make": tf.keras.Variable},
}


@pytest.mark.parametrize("way", ["Saver", "Checkpoint"])
@pytest.mark.parametrize("case", ROUND_TRIPS)
def test_round_trip(case, way, rng, tmp_path):
    """Two models in one file: what is saved is of the model's type, and comes back."""
    options = {"direction": "bidirectional", **ROUND_TRIPS[case]}
    make = options.pop("make", tf.Variable)
    models = [old_models.make(**options, layers=layers) for layers in (2, 1)]
    dtype = options.get("dtype", "float64")
    params = [make(tf.cast(old_models.random_buffer(m, rng), dtype), dtype=dtype) for m in models]
    saveables = {
        name: old_models.saveable(model, one, scope=f"a.b/{name}", name=name)
        for name, model, one in zip("cd", models, params)
    }
    if way == "Saver":
        saver = tf.compat.v1.train.Saver([*saveables.values()])
        path = saver.save(None, str(tmp_path / "saved"))
        arrays = old_cells.read(path)
        assert {array.dtype.name for array in arrays.values()} == {dtype}
        assert arrays.keys() == {n for s in saveables.values() for n in s.tensor_names}
    else:
        checkpoint = tf.train.Checkpoint(**saveables, step=tf.Variable(7))
        path = checkpoint.save(str(tmp_path / "saved"))
    before = [saveable.to_tensors() for saveable in saveables.values()]
    for one in params:
        one.assign(tf.zeros_like(one))
    if way == "Saver":
        saver.restore(None, path)
    else:
        checkpoint.step.assign(0)
        checkpoint.restore(path).assert_consumed()
        assert int(checkpoint.step) == 7
    for saveable, tensors in zip(saveables.values(), before):
        for got, want in zip(saveable.to_tensors(), tensors, strict=True):
            np.testing.assert_array_equal(got, want)
            assert np.any(tf.cast(got, tf.float64))


def test_names_and_shapes_of_a_skipped_input(rng, tmp_path):
    """Layer 0 has no input weights."""
    model = old_models.make("lstm", "bidirectional", input_size=UNITS, input_mode="skip_input")
    params = tf.Variable(old_models.random_buffer(model, rng))
    saver = tf.compat.v1.train.Saver([old_models.saveable(model, params)])
    arrays = old_cells.read(saver.save(None, str(tmp_path / "skip")))
    shapes = {n.split("/")[1]: a.shape for n, a in arrays.items() if n.endswith("kernel")}
    assert shapes == {"cell_0": (UNITS, 4 * UNITS), "cell_1": (3 * UNITS, 4 * UNITS)}


def test_scope_object_of_tensorflow_1():
    with tf.Graph().as_default():
        with tf.compat.v1.variable_scope("outer") as scope:
            params = tf.compat.v1.get_variable("p", shape=[112], use_resource=True)
            saveable = contrib.CudnnLSTMSaveable(params, 1, UNITS, 1, scope=scope)
        assert all(name.startswith("outer/rnn/multi_rnn_cell/") for name in saveable.tensor_names)


def test_float32_and_a_variable_of_unknown_shape(rng, tmp_path):
    arrays, path = _random("gru", "bidirectional", rng, tmp_path)
    single = {name: array.astype(np.float32) for name, array in arrays.items()}
    path = old_cells.write(tmp_path / "single", single)
    model = old_models.make("gru", "bidirectional", dtype=tf.float32)
    params = tf.Variable([0.0], shape=tf.TensorShape(None))
    tf.compat.v1.train.Saver([old_models.saveable(model, params)]).restore(None, path)
    assert params.numpy().shape == (int(model.params_size()),)
    assert params.dtype == tf.float32


@pytest.mark.parametrize("resource", [True, False])
def test_a_variable_of_another_size_in_a_session(resource, rng, tmp_path):
    _, path = _random("rnn_tanh", "unidirectional", rng, tmp_path)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        model = old_models.make("rnn_tanh", "unidirectional")
        params = tf.compat.v1.get_variable(
            "params",
            initializer=tf.compat.v1.placeholder_with_default(np.zeros(1), None),
            validate_shape=False,
            use_resource=resource,
        )
        saver = tf.compat.v1.train.Saver([old_models.saveable(model, params)])
        session.run(tf.compat.v1.global_variables_initializer())
        assert session.run(params).shape == (1,)
        saver.restore(session, path)
        assert session.run(params).shape == (session.run(model.params_size()),)


@pytest.mark.parametrize("how", ["eager", "session"])
@pytest.mark.parametrize("tensor", ["kernel", "bias"])
def test_wrong_shape_names_the_tensor_and_changes_nothing(tensor, how, rng, tmp_path):
    arrays, _ = _random("lstm", "unidirectional", rng, tmp_path)
    name = f"rnn/multi_rnn_cell/cell_1/cudnn_compatible_lstm_cell/{tensor}"
    shape = (7, 16) if tensor == "kernel" else (15,)
    path = old_cells.write(tmp_path / "wrong", arrays | {name: np.zeros(shape)})
    right = (8, 16) if tensor == "kernel" else (16,)
    message = f"{name} with another shape than the .{', '.join(map(str, right))}. of this model: "
    message += f".{', '.join(map(str, shape))}."

    def build():
        model = old_models.make("lstm", "unidirectional")
        params = tf.Variable(tf.ones([model.params_size()], tf.float64))
        return params, tf.compat.v1.train.Saver([old_models.saveable(model, params)])

    if how == "eager":
        params, saver = build()
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            saver.restore(None, path)
        assert (params.numpy() == 1).all()
    else:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            params, saver = build()
            session.run(tf.compat.v1.global_variables_initializer())
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                saver.restore(session, path)
            assert (session.run(params) == 1).all()


def test_missing_tensor_is_named(rng, tmp_path):
    arrays, _ = _random("gru", "unidirectional", rng, tmp_path)
    name = "rnn/multi_rnn_cell/cell_1/cudnn_compatible_gru_cell/gates/bias"
    del arrays[name]
    path = old_cells.write(tmp_path / "missing", arrays)
    model = old_models.make("gru", "unidirectional")
    params = tf.Variable(tf.ones([model.params_size()], tf.float64))
    with pytest.raises(tf.errors.NotFoundError, match=name):
        tf.compat.v1.train.Saver([old_models.saveable(model, params)]).restore(None, path)
    assert (params.numpy() == 1).all()


@pytest.mark.parametrize(("mode", "direction"), BOTH)
def test_a_merged_bias_comes_back_as_two_halves(mode, direction, rng, tmp_path):
    arrays, path = _random(mode, direction, rng, tmp_path)
    model = old_models.make(mode, direction)
    params = tf.Variable(tf.zeros([model.params_size()], tf.float64))
    tf.compat.v1.train.Saver([old_models.saveable(model, params)]).restore(None, path)
    _, biases = model.params_to_canonical(params)
    gates = {"lstm": 4, "gru": 3}.get(mode, 1)
    # The op's gates among those of the cell's bias; a GRU's candidate keeps both of its own.
    place = {"lstm": (0, 2, 1, 3), "gru": (0, 1)}.get(mode, (0,))
    merged = "gates/bias" if mode == "gru" else "bias"
    k = 0
    for layer in range(LAYERS):
        for pattern in old_cells.SCOPES[direction]:
            name = pattern.format(layer=layer, cell=old_cells.CELLS[mode], tensor=merged)
            parts = np.split(arrays[name], len(place))
            for gate, where in enumerate(place):
                for side in (0, gates):
                    np.testing.assert_array_equal(biases[k + side + gate], parts[where] / 2)
            k += 2 * gates


def test_saved_model_of_a_module_with_a_saveable(rng, tmp_path):
    model = old_models.make("gru", "unidirectional")
    module = tf.Module()
    module.params = tf.Variable(old_models.random_buffer(model, rng))
    module.saveable = old_models.saveable(model, module.params)
    module.run = tf.function(
        lambda x: old_models.call(model, x, module.params),
        input_signature=[tf.TensorSpec([5, 2, INPUTS], tf.float64)],
    )
    tf.saved_model.save(module, str(tmp_path / "saved"))
    x = rng.standard_normal((5, 2, INPUTS))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    np.testing.assert_allclose(
        loaded.run(x), old_models.call(model, x, module.params), rtol=0, atol=1e-14
    )
