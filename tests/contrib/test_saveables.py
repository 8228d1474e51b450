"""The later naming: Cudnn*Saveable against checkpoints and cells as TensorFlow 1 had them."""

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


@pytest.mark.each_value
@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize(("mode", "direction"), BOTH)
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


@pytest.mark.parametrize(("mode", "direction"), BOTH)
def test_object_checkpoint(mode, direction, rng, tmp_path):
    model = old_models.make(mode, direction)
    buffer = old_models.random_buffer(model, rng)
    params = tf.Variable(buffer)
    step = tf.Variable(7)
    checkpoint = tf.train.Checkpoint(
        rnn=old_models.saveable(model, params, scope="a.b/c"), step=step
    )
    path = checkpoint.save(str(tmp_path / "object"))
    x = rng.standard_normal((5, 2, INPUTS))
    want = old_models.call(model, x, buffer)
    params.assign(tf.zeros_like(params))
    step.assign(0)
    checkpoint.restore(path).assert_consumed()
    np.testing.assert_allclose(old_models.call(model, x, params), want, rtol=0, atol=1e-14)
    assert int(step) == 7


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


def test_two_models_in_one_checkpoint(rng, tmp_path):
    models = {
        "encoder": old_models.make("lstm", "bidirectional"),
        "decoder": old_models.make("lstm", "unidirectional", layers=1),
    }
    buffers = {name: old_models.random_buffer(model, rng) for name, model in models.items()}
    params = {name: tf.Variable(buffer) for name, buffer in buffers.items()}
    saver = tf.compat.v1.train.Saver(
        [old_models.saveable(m, params[n], scope=n, name=n) for n, m in models.items()]
    )
    path = saver.save(None, str(tmp_path / "both"))
    for variable in params.values():
        variable.assign(tf.zeros_like(variable))
    saver.restore(None, path)
    x = rng.standard_normal((5, 2, INPUTS))
    for name, model in models.items():
        np.testing.assert_allclose(
            old_models.call(model, x, params[name]),
            old_models.call(model, x, buffers[name]),
            rtol=0,
            atol=1e-14,
        )


def test_skipped_input(rng, tmp_path):
    model = old_models.make("lstm", "bidirectional", input_size=UNITS, input_mode="skip_input")
    buffer = old_models.random_buffer(model, rng)
    params = tf.Variable(buffer)
    saver = tf.compat.v1.train.Saver([old_models.saveable(model, params)])
    path = saver.save(None, str(tmp_path / "skip"))
    kernels = {n: a.shape for n, a in old_cells.read(path).items() if n.endswith("kernel")}
    # Layer 0 has no input weights.
    assert {shape for n, shape in kernels.items() if "cell_0" in n} == {(UNITS, 4 * UNITS)}
    assert {shape for n, shape in kernels.items() if "cell_1" in n} == {(3 * UNITS, 4 * UNITS)}
    params.assign(tf.zeros_like(params))
    saver.restore(None, path)
    x = rng.standard_normal((5, 2, UNITS))
    np.testing.assert_allclose(
        old_models.call(model, x, params), old_models.call(model, x, buffer), rtol=0, atol=1e-14
    )


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 4, 3), "num_layers must be at least 1, but it is 0"),
        ((1, 4.5, 3), "num_units must be an integer, but it is 4.5"),
        ((1, 4, 3, "skip_input"), "but input_size is 3 and num_units is 4"),
        (
            (1, 4, 3, "linear"),
            "input_mode must be .*'skip_input' or 'auto_select', but it is 'linear'",
        ),
        (
            (1, 4, 3, "linear_input", "both"),
            "direction must be 'unidirectional' or 'bidirectional', but it is 'both'",
        ),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        contrib.CudnnLSTMSaveable(tf.Variable([0.0]), *arguments)


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


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("mode", old_cells.MODES)
def test_low_precision_is_saved_as_it_is(mode, dtype, rng, tmp_path):
    model = old_models.make(mode, "bidirectional", dtype=dtype)
    params = tf.Variable(tf.cast(old_models.random_buffer(model, rng), dtype))
    saver = tf.compat.v1.train.Saver([old_models.saveable(model, params)])
    first = old_cells.read(saver.save(None, str(tmp_path / "first")))
    assert {array.dtype.name for array in first.values()} == {dtype}
    params.assign(tf.zeros_like(params))
    saver.restore(None, str(tmp_path / "first"))
    _assert_same_arrays(old_cells.read(saver.save(None, str(tmp_path / "second"))), first)


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


def test_a_variable_of_keras(rng, tmp_path):
    model = old_models.make("gru", "bidirectional")
    buffer = old_models.random_buffer(model, rng)
    params = tf.keras.Variable(buffer, dtype="float64")
    x = rng.standard_normal((5, 2, INPUTS))
    want = old_models.call(model, x, buffer)
    path = tf.train.Checkpoint(rnn=old_models.saveable(model, params)).save(str(tmp_path / "kept"))
    params.assign(tf.zeros_like(buffer))
    tf.train.Checkpoint(rnn=old_models.saveable(model, params)).restore(path).assert_consumed()
    np.testing.assert_allclose(old_models.call(model, x, params.value), want, rtol=0, atol=1e-14)
