"""contrib.layers against the cells of TensorFlow 1 in numpy, and checkpoints of its names."""

import numpy as np
import old_cells
import pytest
import tensorflow as tf
from tensorflow.python.trackable import autotrackable

from tf_rnn_ops import contrib

LAYERS, UNITS, INPUTS = 2, 4, 3
BOTH = [(m, d) for m in old_cells.MODES for d in old_cells.DIRECTIONS]
CLASSES = {
    "lstm": contrib.layers.CudnnLSTM,
    "gru": contrib.layers.CudnnGRU,
    "rnn_tanh": contrib.layers.CudnnRNNTanh,
    "rnn_relu": contrib.layers.CudnnRNNRelu,
}
SCOPES = {mode: f"cudnn_{mode}" for mode in CLASSES}


def _layer(mode, direction="unidirectional", layers=LAYERS, **options):
    options = {"dtype": tf.float64, **options}
    return CLASSES[mode](layers, UNITS, direction=direction, **options)


def _checkpoint(mode, direction, rng, layers=LAYERS, scope=None, inputs=INPUTS, units=UNITS):
    return old_cells.random_checkpoint(mode, direction, layers, units, inputs, rng, scope)


@pytest.mark.parametrize(("mode", "direction"), BOTH)
def test_a_name_based_checkpoint(mode, direction, rng, tmp_path):
    arrays = _checkpoint(mode, direction, rng, scope=SCOPES[mode])
    path = old_cells.write(tmp_path / "old", arrays)
    layer = _layer(mode, direction)
    assert layer.name == SCOPES[mode]
    layer.build((None, None, INPUTS))
    saver = tf.compat.v1.train.Saver([layer.saveable])
    saver.restore(None, path)
    x = rng.standard_normal((5, 2, INPUTS))
    outputs, states = layer(x, training=False)
    want = old_cells.run(mode, direction, LAYERS, UNITS, arrays, x, scope=SCOPES[mode])
    np.testing.assert_allclose(outputs, want, rtol=0, atol=1e-14)
    np.testing.assert_allclose(
        states[0][-1], want[0 if direction[0] == "b" else -1][:, -UNITS:], atol=1e-14
    )
    written = old_cells.read(saver.save(None, str(tmp_path / "new")))
    assert written.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(written[name], array)


def _graph_of_tensorflow_1(arrays, layers):
    """The objects that TensorFlow 1.15 saved for a CudnnLSTM: cells that hold kernel and bias."""
    root = autotrackable.AutoTrackable()
    prefix = "rnn/multi_rnn_cell/cell_{}/{}/"
    (name,) = {n.split("/")[-2] for n in arrays}
    for k in range(layers):
        cell = autotrackable.AutoTrackable()
        cell.bias = tf.Variable(arrays[prefix.format(k, name) + "bias"])
        cell.kernel = tf.Variable(arrays[prefix.format(k, name) + "kernel"])
        if layers == 1:
            root.kernel, root.bias = cell.kernel, cell.bias
        setattr(root, f"cell-{k}", cell)
    return root


@pytest.mark.parametrize("first", ["built", "restored"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("mode", ["lstm", "rnn_tanh", "rnn_relu"])
def test_an_object_based_checkpoint(mode, layers, first, rng, tmp_path):
    arrays = _checkpoint(mode, "unidirectional", rng, layers)
    old = tf.train.Checkpoint(net=_graph_of_tensorflow_1(arrays, layers))
    path = old.write(str(tmp_path / "old"))
    layer = _layer(mode, layers=layers)
    checkpoint = tf.train.Checkpoint(net=layer)
    x = rng.standard_normal((5, 2, INPUTS))
    want = old_cells.run(mode, "unidirectional", layers, UNITS, arrays, x)
    if first == "built":
        layer.build(x.shape)
    status = checkpoint.read(path)
    np.testing.assert_allclose(layer(x, training=False)[0], want, rtol=0, atol=1e-14)
    status.assert_consumed()
    # And back: the same keys with the same arrays.
    new, was = (old_cells.read(p) for p in (checkpoint.write(str(tmp_path / "new")), path))
    graph = "_CHECKPOINTABLE_OBJECT_GRAPH"
    assert new.keys() == was.keys()
    assert f"net/{'' if layers == 1 else 'cell-0/'}kernel/.ATTRIBUTES/VARIABLE_VALUE" in new
    for name in new.keys() - {graph}:
        np.testing.assert_array_equal(new[name], was[name])


@pytest.mark.parametrize(
    ("mode", "direction"), [("gru", "unidirectional"), ("lstm", "bidirectional")]
)
def test_an_object_based_checkpoint_of_the_others(mode, direction, rng, tmp_path):
    """TensorFlow 1 had none, so they have a form of their own."""
    layer, other = (_layer(mode, direction) for _ in range(2))
    x = rng.standard_normal((5, 2, INPUTS))
    want, _ = layer(x)
    path = tf.train.Checkpoint(net=layer).write(str(tmp_path / "new"))
    assert not np.array_equal(other(x)[0], want)
    tf.train.Checkpoint(net=other).read(path).assert_consumed()
    # Biases come back as halves of their sums, which are 0.
    np.testing.assert_allclose(other(x)[0], want, rtol=0, atol=1e-15)


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize("mode", old_cells.MODES)
def test_in_a_session(mode, by_hand, rng, tmp_path):
    """A script of TensorFlow 1; a layer that was built by hand has no scope of its own."""
    scope = "net" if by_hand else f"net/{SCOPES[mode]}_1"
    arrays = _checkpoint(mode, "unidirectional", rng, scope=scope)
    path = old_cells.write(tmp_path / "old", arrays)
    x = rng.standard_normal((5, 2, INPUTS))
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        with v1.variable_scope("net"):
            if not by_hand:
                _layer(mode)(x)
            layer = _layer(mode)
            if by_hand:
                layer.build(x.shape)
            outputs, _ = layer(x, training=False)
        saveables = v1.get_collection(v1.GraphKeys.SAVEABLE_OBJECTS)
        assert layer.saveable in saveables
        number = "" if by_hand else "_1"
        assert layer.kernel.name == f"net/{SCOPES[mode]}{number}/opaque_kernel:0"
        session.run(v1.global_variables_initializer())
        v1.train.Saver([layer.saveable]).restore(session, path)
        got = session.run(outputs)
        assert v1.trainable_variables()[-1] is layer.kernel
    want = old_cells.run(mode, "unidirectional", LAYERS, UNITS, arrays, x, scope=scope)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-14)


@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_equals_the_compatible_cells(mode, rng):
    cell = {"lstm": contrib.CudnnCompatibleLSTMCell, "gru": contrib.CudnnCompatibleGRUCell}[mode]
    cell = cell(UNITS, dtype="float64")
    runner = tf.keras.layers.RNN(cell, return_sequences=True, return_state=True, dtype="float64")
    runner.build((None, None, INPUTS))
    variables = cell.canonical_variables(scope=SCOPES[mode])
    for variable in variables.values():
        variable.assign(0.5 * rng.standard_normal(variable.shape))
    layer = _layer(mode, layers=1)
    layer.build((None, None, INPUTS))
    layer.saveable.assign([variables[name] for name in layer.saveable.tensor_names])
    x = tf.constant(rng.standard_normal((2, 6, INPUTS)))
    states = (
        tuple(tf.constant(rng.standard_normal((2, UNITS))) for _ in runner.cell.state_size)
        if (mode == "lstm")
        else (tf.constant(rng.standard_normal((2, UNITS))),)
    )
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        want = runner(x, initial_state=list(states))
        initial = tuple(state[:, None] for state in states)
        got = layer(x, initial, time_major=False)
        losses = [sum(tf.reduce_sum(t**2) for t in tf.nest.flatten(r)) for r in (want, got)]
    assert len(got) == 2 and len(got[1]) == len(states)
    np.testing.assert_allclose(got[0], want[0], rtol=0, atol=1e-13)
    for ours, reference in zip(got[1], want[1:], strict=True):
        np.testing.assert_allclose(ours[:, 0], reference, rtol=0, atol=1e-13)
    gradients = [tape.gradient(loss, x) for loss in losses]
    np.testing.assert_allclose(*gradients, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("mode", "direction"), BOTH)
def test_layouts_and_lengths(mode, direction, rng):
    layer = _layer(mode, direction)
    x = rng.standard_normal((6, 3, INPUTS))
    lengths = [6, 2, 0]
    outputs, states = layer(x, sequence_lengths=lengths)
    swapped, swapped_states = layer(np.swapaxes(x, 0, 1), None, lengths, False)
    np.testing.assert_array_equal(np.swapaxes(swapped, 0, 1), outputs)
    for one, other in zip(states, swapped_states, strict=True):
        np.testing.assert_array_equal(np.swapaxes(other, 0, 1), one)
        assert tuple(one.shape) == tuple(layer.state_shape(3)[0])
    assert not outputs[2:, 1].numpy().any() and not outputs[:, 2].numpy().any()
    short, _ = layer(x[:2, 1:2])
    np.testing.assert_allclose(outputs[:2, 1:2], short, rtol=0, atol=1e-15)


@pytest.mark.parametrize(("mode", "direction"), BOTH)
def test_canonical_shapes(mode, direction):
    layer = _layer(mode, direction)
    with pytest.raises(ValueError, match="not known before it is built"):
        _ = layer.canonical_weight_shapes
    biases = layer.canonical_bias_shapes
    layer.build((None, None, INPUTS))
    model = {"lstm": contrib.CudnnLSTM, "gru": contrib.CudnnGRU}.get(mode, contrib.CudnnRNNTanh)(
        LAYERS, UNITS, INPUTS, "linear_input", direction, dtype=tf.float64
    )
    weights, vectors = model.params_to_canonical(layer.kernel)
    assert [tuple(w.shape) for w in weights] == layer.canonical_weight_shapes
    assert [list(b.shape) for b in vectors] == biases
    assert not any(np.any(b) for b in vectors)
    for matrix in weights:  # glorot_uniform, drawn again for each
        bound = np.sqrt(6 / sum(matrix.shape))
        assert 0.5 * bound < np.abs(matrix).max() <= bound
    assert len({w.numpy().tobytes() for w in weights}) == len(weights)


def test_the_arguments_of_tensorflow_1():
    layer = contrib.layers.CudnnLSTM(
        3, 5, contrib.CUDNN_INPUT_AUTO_MODE, contrib.CUDNN_RNN_BIDIRECTION, 0.5, 7, tf.float32,
        tf.compat.v1.constant_initializer(0.25), tf.keras.initializers.Constant(0.5), "encoder",
    )  # fmt: skip
    assert layer.saveable is None and layer.trainable_weights == []
    layer(tf.ones([2, 3, 5]))
    assert (layer.num_layers, layer.num_units, layer.num_dirs, layer.input_size) == (3, 5, 2, 5)
    assert (layer.input_mode, layer.direction, layer.rnn_mode) == (
        "auto_select", "bidirectional", "lstm",
    )  # fmt: skip
    assert layer.canonical_weight_shapes[0] == (5, 0)  # skipped
    values = layer.kernel.numpy()
    biases = 3 * 2 * 8 * 5
    assert (values[:-biases] == 0.25).all() and (values[-biases:] == 0.5).all()
    assert layer.saveable.tensor_names[0].startswith("encoder/stack_bidirectional_rnn/cell_0/")
    assert [v is layer.kernel for v in layer.trainable_variables] == [True]


def test_dropout_is_in_checkpoints(rng, tmp_path):
    x = rng.standard_normal((5, 2, INPUTS))
    layer = _layer("lstm", dropout=0.5, seed=3)
    first = layer(x)[0]
    assert not np.array_equal(layer(x)[0], first)
    checkpoint = tf.train.Checkpoint(net=layer)
    path = checkpoint.write(str(tmp_path / "saved"))
    want = layer(x)[0]
    checkpoint.read(path).assert_consumed()
    # Only the sums of biases are saved, which are 0 here.
    np.testing.assert_allclose(layer(x)[0], want, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(layer(x, training=False)[0], layer(x, training=False)[0])
    for rate in (0.0, 1.0):
        assert np.isfinite(_layer("gru", dropout=rate)(x)[0]).all()


def test_dropout_in_a_session(rng):
    x = rng.standard_normal((5, 2, INPUTS))
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        outputs, _ = _layer("gru", dropout=0.5, seed=3)(x)
        session.run(tf.compat.v1.global_variables_initializer())
        assert not np.array_equal(session.run(outputs), session.run(outputs))


def test_built_inside_a_function_and_saved(rng, tmp_path):
    module = tf.Module()
    module.layer = _layer("lstm", "bidirectional", dropout=0.5)
    module.run = tf.function(
        lambda x: module.layer(x, training=False)[0],
        input_signature=[tf.TensorSpec([None, None, INPUTS], tf.float64)],
    )
    x = rng.standard_normal((5, 2, INPUTS))
    want = module.run(x)
    tf.saved_model.save(module, str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    np.testing.assert_array_equal(loaded.run(x), want)
    path = tf.compat.v1.train.Saver([module.layer.saveable]).save(None, str(tmp_path / "named"))
    assert len(old_cells.read(path)) == 2 * LAYERS * 2


@pytest.mark.parametrize("how", ["names", "objects"])
def test_another_configuration_names_both(how, rng, tmp_path):
    arrays = _checkpoint("lstm", "unidirectional", rng, units=5, inputs=7)
    layer = _layer("lstm", name="net")
    layer.build((None, None, INPUTS))
    before = layer.kernel.numpy()
    match = (
        "This model has rnn_mode = 'lstm', num_units = 4, input_size = 3, num_layers = 2.*"
        "the checkpoint is of a model with num_units = 5"
    )
    if how == "names":  # the first tensor is a kernel
        match += " and input_size = 7"
    with pytest.raises(tf.errors.InvalidArgumentError, match=match):
        if how == "names":
            named = {f"net/{name}": array for name, array in arrays.items()}
            path = old_cells.write(tmp_path / "old", named)
            tf.compat.v1.train.Saver([layer.saveable]).restore(None, path)
        else:
            old = tf.train.Checkpoint(net=_graph_of_tensorflow_1(arrays, LAYERS))
            tf.train.Checkpoint(net=layer).read(old.write(str(tmp_path / "old")))
    np.testing.assert_array_equal(layer.kernel, before)


def test_bad_calls():
    x = tf.zeros([5, 2, INPUTS], tf.float64)
    layer = _layer("lstm")
    state = tf.zeros([LAYERS, 2, UNITS], tf.float64)
    with pytest.raises(
        TypeError, match="initial_state must be a tuple of tensors, but it is a list"
    ):
        layer(x, [state, state])
    with pytest.raises(ValueError, match="initial_state of CudnnLSTM must be 2 tensor.* it is 1"):
        layer(x, (state,))
    with pytest.raises(tf.errors.InvalidArgumentError, match="input_h must have shape"):
        layer(x, (state[:, :1], state))
    with pytest.raises(ValueError, match=r"initial_state\[1\] must have shape .* \(2, 2, 5\)"):
        layer(x, (state, tf.zeros([LAYERS, 2, UNITS + 1], tf.float64)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="sequence_lengths"):
        layer(x, sequence_lengths=[6, 1])
    with pytest.raises(ValueError, match="three dimensions"):
        _layer("gru")(x[0])
    with pytest.raises(ValueError, match="three dimensions, the last of a known size"):
        _layer("gru").build((None, None, None))
    with pytest.raises(ValueError, match="input_mode='skip_input' needs an input_size"):
        _layer("gru", input_mode="skip_input").build((None, None, INPUTS))


def test_in_a_scope_with_a_partitioner():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        with v1.variable_scope("scope", partitioner=v1.fixed_size_partitioner(2)):
            outputs, _ = _layer("gru")(tf.ones([5, 2, INPUTS], tf.float64), training=False)
            assert len(v1.get_variable("other", [4], tf.float64)) == 2
        session.run(v1.global_variables_initializer())
        assert np.any(session.run(outputs))
