"""contrib in sessions of TensorFlow 1: checkpoints of objects, Savers, MetaGraphs and branches."""

import numpy as np
import pytest
import tensorflow as tf

from tf_rnn_ops import contrib

v1 = tf.compat.v1
UNITS, INPUTS = 8, 3
CLASSES = [
    contrib.layers.CudnnLSTM,
    contrib.layers.CudnnGRU,
    contrib.layers.CudnnRNNTanh,
    contrib.layers.CudnnRNNRelu,
]
SAVEABLES = v1.GraphKeys.SAVEABLE_OBJECTS


@pytest.fixture
def session():
    with tf.Graph().as_default(), v1.Session() as session:
        yield session


def _names(path):
    return {name for name, _ in tf.train.list_variables(path)}


def _built(cls=contrib.layers.CudnnLSTM, layers=2, resource=True):
    with v1.variable_scope("", use_resource=resource):
        layer = cls(layers, UNITS)
        layer.build((None, None, INPUTS))
    return layer


@pytest.mark.parametrize(
    ("cls", "layers", "resource"),
    [
        *[(cls, 3, True) for cls in CLASSES],
        (CLASSES[0], 1, True),
        (CLASSES[0], 3, False),
        (CLASSES[1], 1, False),
    ],
)
def test_objects_are_restored_whole(cls, layers, resource, session, tmp_path):
    """The parts of a buffer are operations that a session runs at once."""
    layer = _built(cls, layers, resource)
    checkpoint = v1.train.Checkpoint(net=layer)
    session.run(v1.global_variables_initializer())
    want = session.run(layer.kernel)
    path = checkpoint.save(str(tmp_path / "saved"), session=session)
    status = checkpoint.restore(path).assert_consumed()
    clear = v1.assign(layer.kernel, tf.zeros_like(want))
    for _ in range(5):
        session.run(clear)
        status.run_restore_ops(session)
        np.testing.assert_array_equal(session.run(layer.kernel), want)


@pytest.mark.parametrize("cls", CLASSES[:2])
def test_objects_are_restored_without_initializers(cls, session, tmp_path):
    layer = _built(cls)
    checkpoint = v1.train.Checkpoint(net=layer)
    session.run(v1.global_variables_initializer())
    want = session.run(layer.kernel)
    path = checkpoint.save(str(tmp_path / "saved"), session=session)
    with v1.Session() as fresh:
        checkpoint.restore(path).initialize_or_restore(fresh)
        np.testing.assert_array_equal(fresh.run(layer.kernel), want)
    with v1.Session() as fresh:  # the way of scripts that may find no checkpoint
        checkpoint.restore(None).initialize_or_restore(fresh)
        first = fresh.run(layer.kernel)
        assert first.any() and not np.array_equal(first, want)
        checkpoint.restore(None).initialize_or_restore(fresh)
        np.testing.assert_array_equal(fresh.run(layer.kernel), first)


def test_parts_that_a_checkpoint_lacks_are_initialized(session, tmp_path):
    small, large = _built(layers=1), _built(layers=2)
    session.run(small.kernel.initializer)
    path = v1.train.Checkpoint(net=small).save(str(tmp_path / "saved"), session=session)
    want = session.run(small.saveable.to_tensors())
    v1.train.Checkpoint(net=large).restore(path).initialize_or_restore(session)
    first, second, *_ = session.run(large.saveable.to_tensors())
    np.testing.assert_array_equal(first, want[0])
    assert second.any()


def test_a_layer_built_after_restoring(session, tmp_path):
    layer = _built()
    session.run(v1.global_variables_initializer())
    want = session.run(layer.kernel)
    path = v1.train.Checkpoint(net=layer).save(str(tmp_path / "saved"), session=session)
    other = contrib.layers.CudnnLSTM(2, UNITS)
    status = v1.train.Checkpoint(net=other).restore(path)
    other.build((None, None, INPUTS))
    status.assert_consumed().initialize_or_restore(session)
    np.testing.assert_array_equal(session.run(other.kernel), want)


def _variable(rng):
    size = int(contrib.CudnnLSTM(1, UNITS, INPUTS).params_size())
    return tf.Variable(rng.standard_normal(size).astype("float32"))


def _early(variable, scope):
    model = contrib.CudnnLSTM(1, UNITS, INPUTS)
    functions = model.params_to_canonical, model.canonical_to_params, [variable]
    return contrib.RNNParamsSaveable(model, *functions, base_variable_scope=scope)


def _late(variable, scope):
    return contrib.CudnnLSTMSaveable(variable, 1, UNITS, INPUTS, scope=scope)


@pytest.mark.parametrize(
    ("make", "scopes", "count"),
    [
        (_late, ("one", "two"), 2),
        (_early, ("one", "two"), 2),
        (_late, (None, "one", "one", "two"), 1),
    ],
)
def test_saveables_without_names_are_all_saved(make, scopes, count, rng, tmp_path):
    """Savers silently use one saveable of each name. Also of saveables of one variable."""
    variables = [_variable(rng) for _ in range(count)]
    saveables = [make(variables[k % count], scope) for k, scope in enumerate(scopes)]
    saver = v1.train.Saver(saveables)
    path = saver.save(None, str(tmp_path / "saved"))
    names = {n for s in saveables for n in s.tensor_names}
    assert _names(path) == names
    assert len(names) == len(set(scopes)) * len(saveables[0].tensor_names)
    want = [s.to_tensors()[0].numpy() for s in saveables]
    for v in variables:
        v.assign(tf.zeros_like(v))
    saver.restore(None, path)
    for s, kernel in zip(saveables, want, strict=True):
        np.testing.assert_array_equal(s.to_tensors()[0], kernel)


def test_every_way_to_save_a_layer_at_once(session, tmp_path):
    """Its own saveable, one without the scope, as by a hand-called build, and one of the first kind."""
    layer = contrib.layers.CudnnLSTM(1, UNITS)
    layer(tf.ones([2, 1, INPUTS]))
    model = contrib.CudnnLSTM(1, UNITS, INPUTS)
    saveables = [
        layer.saveable,
        contrib.CudnnLSTMSaveable(layer.kernel, 1, UNITS, INPUTS, scope=None),
        contrib.RNNParamsSaveable(
            model, model.params_to_canonical, model.canonical_to_params, [layer.kernel]
        ),
    ]
    for saveable in saveables[1:]:
        v1.add_to_collection(v1.GraphKeys.SAVEABLE_OBJECTS, saveable)
    session.run(v1.global_variables_initializer())
    path = v1.train.Saver().save(session, str(tmp_path / "saved"))
    tensors = {n for saveable in saveables for n in saveable.tensor_names}
    assert _names(path) == tensors | {layer.kernel.op.name}


def test_layers_of_similar_scopes_are_all_saved(session, tmp_path):
    with v1.variable_scope("enc"):
        one = contrib.layers.CudnnLSTM(1, UNITS, name="fw")
        one(tf.ones([2, 1, INPUTS]))
    other = contrib.layers.CudnnLSTM(1, UNITS, name="enc_fw")
    other(tf.ones([2, 1, INPUTS]))
    # The name in TensorFlow 1.
    assert one.saveable.name == "enc/fw/opaque_kernel_saveable"
    session.run(v1.global_variables_initializer())
    path = v1.train.Saver().save(session, str(tmp_path / "saved"))
    tensors = {n for layer in (one, other) for n in layer.saveable.tensor_names}
    assert _names(path) == tensors | {"enc/fw/opaque_kernel", "enc_fw/opaque_kernel"}


def test_layers_that_share_a_variable(session, tmp_path):
    for _ in range(2):  # a model for training and one for inference, the classic way
        with v1.variable_scope("model", reuse=v1.AUTO_REUSE):
            contrib.layers.CudnnLSTM(1, UNITS)(tf.ones([2, 1, INPUTS]))
    assert len(v1.global_variables()) == 1
    first, second = v1.get_collection(SAVEABLES)
    session.run(v1.global_variables_initializer())
    path = v1.train.Saver().save(session, str(tmp_path / "saved"))
    assert first.tensor_names == second.tensor_names
    assert _names(path) == {"model/cudnn_lstm/opaque_kernel", *first.tensor_names}


def test_eager_layers_of_one_scope_are_refused(tmp_path):
    layers = [contrib.layers.CudnnLSTM(1, UNITS) for _ in range(2)]
    for layer in layers:
        layer.build((None, None, INPUTS))
    saver = v1.train.Saver([layer.saveable for layer in layers])
    name = layers[0].saveable.tensor_names[0]
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"duplicate key: {name}"):
        saver.save(None, str(tmp_path / "saved"))


def _network(cls):
    """(x, y, training operation) of two layers, the second in a scope"""
    x = v1.placeholder(tf.float32, [None, None, INPUTS], name="x")
    y, _ = contrib.layers.CudnnLSTM(1, 4, direction="bidirectional")(x, training=False)
    with v1.variable_scope("deep/er"):
        y, _ = cls(2, 5)(y)
    y = tf.identity(y, name="y")
    step = v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(y**2), name="step")
    return x, y, step


X = np.linspace(-1, 1, 4 * 2 * INPUTS, dtype=np.float32).reshape(4, 2, INPUTS)


@pytest.mark.parametrize(
    ("cls", "scope"), [*[(cls, "") for cls in CLASSES], (CLASSES[1], "imported")]
)
def test_a_meta_graph(cls, scope, session, tmp_path):
    """Train, save, import, restore, train on, save with the imported Saver."""
    x, y, step = _network(cls)
    session.run(v1.global_variables_initializer())
    session.run(step, {x: X})
    want = session.run(y, {x: X})
    path = v1.train.Saver().save(session, str(tmp_path / "saved"))
    names = _names(path)
    prefix = f"{scope}/" if scope else ""
    with tf.Graph().as_default(), v1.Session() as other:
        saver = v1.train.import_meta_graph(f"{path}.meta", import_scope=scope or None)
        saver.restore(other, path)
        run = lambda: other.run(f"{prefix}y:0", {f"{prefix}x:0": X})  # noqa: E731
        np.testing.assert_array_equal(run(), want)
        other.run(f"{prefix}step", {f"{prefix}x:0": X})
        trained = run()
        assert not np.array_equal(trained, want)
        new_path = saver.save(other, str(tmp_path / "new"))
        assert _names(new_path) == names
        other.run([v.initializer for v in v1.global_variables()])
        assert not np.array_equal(run(), trained)
        saver.restore(other, new_path)
        # The sums of biases come back as halves, which another order of additions may round.
        np.testing.assert_allclose(run(), trained, rtol=0, atol=1e-6)
        bare = v1.train.Saver().save(other, str(tmp_path / "bare"))
        assert _names(bare) == {v.op.name for v in v1.global_variables()}
        assert v1.get_collection(SAVEABLES) == []


def test_a_saved_model_of_a_session(tmp_path):
    folder = str(tmp_path / "saved")
    with tf.Graph().as_default(), v1.Session() as session:
        x, y, _ = _network(contrib.layers.CudnnGRU)
        session.run(v1.global_variables_initializer())
        want = session.run(y, {x: X})
        v1.saved_model.simple_save(session, folder, {"x": x}, {"y": y})
    with tf.Graph().as_default(), v1.Session() as session:
        v1.saved_model.load(session, ["serve"], folder)
        np.testing.assert_array_equal(session.run("y:0", {"x:0": X}), want)
    loaded = tf.saved_model.load(folder)
    got = loaded.signatures["serving_default"](x=tf.constant(X))["y"]
    np.testing.assert_array_equal(got, want)


def test_a_meta_graph_of_a_collection_of_several_kinds(session, tmp_path):
    """Adds a saveable as the page does, next to a table and a saveable that consists of functions."""
    size = session.run(contrib.CudnnLSTM(1, np.int64(UNITS), INPUTS).params_size())
    params = v1.get_variable("params", [size])
    model = contrib.CudnnLSTM(1, UNITS, INPUTS)
    early = contrib.RNNParamsSaveable(
        model, model.params_to_canonical, model.canonical_to_params, [params]
    )
    table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)
    v1.add_to_collection(SAVEABLES, early)
    late = contrib.CudnnLSTMSaveable(params, 1, np.int64(UNITS), INPUTS, scope="a/b")
    v1.add_to_collection(SAVEABLES, late)
    session.run([v1.global_variables_initializer(), table.insert([1], [2])])
    want = session.run(late.to_tensors())
    path = v1.train.Saver().save(session, str(tmp_path / "saved"))
    with tf.Graph().as_default() as graph, v1.Session() as other:
        v1.train.import_meta_graph(f"{path}.meta").restore(other, path)
        (node,) = v1.get_collection(SAVEABLES)
        assert node is graph.get_operation_by_name(node.name)  # TensorFlow has no more
        variable = contrib.CudnnLSTMSaveable(v1.global_variables()[0], 1, UNITS, INPUTS)
        for got, tensor in zip(other.run(variable.to_tensors()), want, strict=True):
            np.testing.assert_array_equal(got, tensor)


def _build_in(how):
    """Builds a layer named enc in a part of the graph that is a function."""
    call = lambda: contrib.layers.CudnnLSTM(1, UNITS, name="enc")(X, training=False)[0]  # noqa: E731
    if how == "function":
        return tf.function(call)()
    if how == "while":
        return tf.while_loop(
            lambda y: tf.constant(False), lambda y: call(), [tf.zeros([4, 2, UNITS])]
        )
    if how == "cond":
        return tf.cond(v1.placeholder_with_default(True, []), call, lambda: tf.zeros([4, 2, UNITS]))
    return call()


@pytest.mark.parametrize("how", ["plainly", "function", "while", "cond"])
def test_the_first_call_in_a_branch_or_function(how, session, tmp_path):
    with v1.variable_scope("m"):
        y = _build_in(how)
    assert [v.name for v in v1.global_variables()] == ["m/enc/opaque_kernel:0"]
    (saveable,) = v1.get_collection(SAVEABLES)
    assert saveable.tensor_names[0].startswith("m/enc/rnn/multi_rnn_cell/")
    session.run(v1.global_variables_initializer())
    want = session.run(y)
    saver = v1.train.Saver([saveable])
    path = saver.save(session, str(tmp_path / "saved"))
    session.run(v1.global_variables_initializer())
    saver.restore(session, path)
    np.testing.assert_array_equal(session.run(y), want)


@pytest.mark.parametrize("how", ["plainly", "function", "while", "cond"])
def test_reuse_in_a_branch_or_function(how, session):
    for _ in range(2):
        with v1.variable_scope("m", reuse=v1.AUTO_REUSE):
            _build_in(how)
    assert [v.name for v in v1.global_variables()] == ["m/enc/opaque_kernel:0"]
    with v1.variable_scope("m", reuse=v1.AUTO_REUSE):  # both branches of a cond: as without
        call = lambda: contrib.layers.CudnnLSTM(1, UNITS, name="two")(X)[0]  # noqa: E731
        if how == "cond":
            tf.cond(v1.placeholder_with_default(True, []), call, call)
        else:
            call(), call()
    assert [v.name for v in v1.global_variables()[1:]] == [
        "m/two/opaque_kernel:0",
        "m/two_1/opaque_kernel:0",
    ]


@pytest.mark.parametrize("cls", CLASSES[:2])
def test_the_seed_of_a_graph_determines_weights(cls):
    def weights(seed, layers=2):
        with tf.Graph().as_default(), v1.Session() as session:
            v1.set_random_seed(seed)
            kernels = [_built(cls).kernel for _ in range(layers)]
            session.run(v1.global_variables_initializer())
            return session.run(kernels)

    first, second = weights(7)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(weights(7), [first, second])
    assert not np.array_equal(weights(8), [first, second])


def test_the_default_weights_of_a_graph(session):
    """Those of eager execution: each matrix by itself, uniform up to sqrt(6 / (rows + columns))."""
    layer = contrib.layers.CudnnLSTM(1, 40, dtype=tf.bfloat16)
    layer.build((None, None, 10))
    session.run(v1.global_variables_initializer())
    values = session.run(layer.kernel).astype(np.float32)
    for k, shape in enumerate(layer.canonical_weight_shapes):
        size = np.prod(shape)
        matrix, values = values[:size], values[size:]
        bound = np.sqrt(6 / sum(shape))
        assert 0.95 * bound < np.abs(matrix).max() < 1.01 * bound, k
    assert not values.any()
