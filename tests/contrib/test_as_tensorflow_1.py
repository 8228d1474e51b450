"""The behaviour that TensorFlow 1.15's own tests of tf.contrib.cudnn_rnn need, against cells in NumPy."""

import numpy as np
import old_cells
import old_models
import pytest
import tensorflow as tf

from tf_rnn_ops import contrib

v1 = tf.compat.v1
SAVEABLES = v1.GraphKeys.SAVEABLE_OBJECTS
LAYERS, UNITS, INPUTS = 2, 4, 3
CONVERTERS = {
    "lstm": contrib.CudnnParamsFormatConverterLSTM,
    "gru": contrib.CudnnParamsFormatConverterGRU,
    "rnn_tanh": contrib.CudnnParamsFormatConverterTanh,
    "rnn_relu": contrib.CudnnParamsFormatConverterRelu,
}


@pytest.fixture
def session():
    with tf.Graph().as_default(), v1.Session() as session:
        yield session


def _variable(name, buffer):
    return v1.get_variable(name, initializer=tf.constant(buffer), validate_shape=False)


@pytest.mark.parametrize("mode", old_cells.MODES)
def test_two_saveables_without_a_scope(mode, session, rng, tmp_path):
    """A Saver of everything saves both buffers, and the cells' tensors of the last one."""
    model = old_models.make(mode, "unidirectional")
    size = session.run(model.params_size())
    buffers = [0.5 * rng.standard_normal(size) for _ in range(2)]
    params = [_variable(f"p{k}", buffer) for k, buffer in enumerate(buffers)]
    saveables = [old_models.saveable(model, params[0])]
    with pytest.warns(
        UserWarning, match="saveables of p0 and p1 give their tensors the same names"
    ):
        saveables.append(old_models.saveable(model, params[1]))
    for saveable in saveables:
        v1.add_to_collection(SAVEABLES, saveable)
    saver = v1.train.Saver()
    x = rng.standard_normal((5, 2, INPUTS))
    outputs = [old_models.call(model, x, p) for p in params]
    session.run(v1.global_variables_initializer())
    want = session.run(outputs)
    path = saver.save(session, str(tmp_path / "saved"))
    session.run([v1.assign(p, tf.zeros_like(p)) for p in params])
    assert not np.any(session.run(outputs))
    saver.restore(session, path)
    np.testing.assert_allclose(session.run(outputs), want, rtol=0, atol=1e-14)
    saved = old_cells.read(path)
    assert set(saved) == {"p0", "p1", *saveables[1].tensor_names}
    got = old_cells.run(mode, "unidirectional", LAYERS, UNITS, saved, x)
    np.testing.assert_allclose(got, want[1], rtol=0, atol=1e-14)


def test_saveables_of_other_scopes_or_of_one_variable_do_not_warn(session, recwarn):
    model = old_models.make("lstm", "unidirectional")
    one, two = (_variable(name, np.zeros(session.run(model.params_size()))) for name in "pq")
    made = [old_models.saveable(model, *given) for given in ((one,), (one,))]
    made += [old_models.saveable(model, two, scope=scope) for scope in ("two", "three")]
    assert not recwarn.list
    assert len({saveable.name for saveable in made}) == 3


@pytest.mark.parametrize("reuse", [True, v1.AUTO_REUSE])
def test_a_layer_made_again_in_its_scope(reuse, session, rng, tmp_path):
    """With reuse=True the collection has one saveable, which TensorFlow 1.15 asserts."""
    x, outputs = rng.standard_normal((5, 2, INPUTS)), []
    for again in (None, reuse):
        with v1.variable_scope("main", reuse=again):
            layer = contrib.layers.CudnnLSTM(LAYERS, UNITS, name="lstm", dtype=tf.float64)
            outputs.append(layer(x)[0])
    assert [v.op.name for v in v1.trainable_variables()] == ["main/lstm/opaque_kernel"]
    assert len(v1.get_collection(SAVEABLES)) == (1 if reuse is True else 2)
    saver = v1.train.Saver()
    session.run(v1.global_variables_initializer())
    first, second = session.run(outputs)
    np.testing.assert_array_equal(first, second)
    saved = old_cells.read(saver.save(session, str(tmp_path / "saved")))
    want = old_cells.run("lstm", "unidirectional", LAYERS, UNITS, saved, x, scope="main/lstm")
    np.testing.assert_allclose(first, want, rtol=0, atol=1e-14)


def _cell_tensors(mode, direction, arrays):
    """The arrays of old_cells.random_checkpoint in the order of a converter."""
    own = old_cells.GRU_TENSORS if mode == "gru" else ("kernel", "bias")
    kinds = [[n for n in own if n.endswith(kind)] for kind in ("kernel", "bias")]
    return [
        [
            arrays[pattern.format(layer=layer, cell=old_cells.CELLS[mode], tensor=tensor)]
            for layer in range(LAYERS)
            for pattern in old_cells.SCOPES[direction]
            for tensor in kind
        ]
        for kind in kinds
    ]


@pytest.mark.parametrize("direction", old_cells.DIRECTIONS)
@pytest.mark.parametrize("mode", old_cells.MODES)
def test_format_converter(mode, direction, rng):
    arrays = old_cells.random_checkpoint(mode, direction, LAYERS, UNITS, INPUTS, rng)
    weights, biases = _cell_tensors(mode, direction, arrays)
    model = old_models.make(mode, direction)
    converter = CONVERTERS[mode](LAYERS, UNITS, INPUTS, direction=direction)
    buffer = converter.tf_canonical_to_opaque(weights + biases)
    x = rng.standard_normal((5, 2, INPUTS))
    want = old_cells.run(mode, direction, LAYERS, UNITS, arrays, x)
    np.testing.assert_allclose(old_models.call(model, x, buffer), want, rtol=0, atol=1e-14)
    of_saveable = old_models.saveable(model, tf.Variable(buffer)).format_converter
    for one in (converter, of_saveable):
        got = one.opaque_to_tf_canonical(buffer)
        for tensors, given in zip(got, (weights, biases), strict=True):
            for tensor, array in zip(tensors, given, strict=True):
                np.testing.assert_array_equal(tensor, array)


def test_a_converter_rejects_what_it_cannot_convert():
    converter = contrib.CudnnParamsFormatConverterLSTM(1, UNITS, INPUTS)
    with pytest.raises(ValueError, match="must be 2 tensors, but it is 1"):
        converter.tf_canonical_to_opaque([tf.zeros([INPUTS + UNITS, 4 * UNITS])])
