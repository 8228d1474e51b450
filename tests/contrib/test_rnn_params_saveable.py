"""RNNParamsSaveable: the early namings of TensorFlow 1, without and with a model."""

import itertools

import numpy as np
import old_cells
import old_models
import pytest
import tensorflow as tf

from tf_rnn_ops import contrib

BOTH = [(m, d) for m in old_cells.MODES for d in old_cells.DIRECTIONS]
AS_CELLS = [(m, d) for m, d in BOTH if m in ("lstm", "gru") and d == "unidirectional"]
AS_THEY_ARE = [pair for pair in BOTH if pair not in AS_CELLS]


def _saveable(model, params, early=False, **options):
    functions = (model.params_to_canonical, model.canonical_to_params, [params])
    return contrib.RNNParamsSaveable(*(functions if early else (model, *functions)), **options)


def _cell_checkpoint(mode, rng, scope="rnn"):
    """A checkpoint as that with a model wrote it: cells' variables and the two parts of their biases.

    Also only the variables, under the names that old_cells.run knows.
    """
    plain = old_cells.random_checkpoint(mode, "unidirectional", 2, 4, 3, rng)
    arrays = {name.replace("rnn/multi", f"{scope}/multi", 1): a for name, a in plain.items()}
    merged = "bias" if mode == "lstm" else "gates/bias"
    side = "bias_cudnn_{}" if mode == "lstm" else "bias_cudnn {}"
    for layer in range(2):
        prefix = f"{scope}/multi_rnn_cell/cell_{layer}/{old_cells.CELLS[mode]}/"
        total = arrays[prefix + merged]
        part = rng.standard_normal(total.shape)
        arrays[prefix + side.format(0)] = part
        arrays[prefix + side.format(1)] = total - part
        arrays[prefix + merged] = part + (total - part)
    return arrays, plain


@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_reads_and_writes_a_checkpoint_with_a_model(mode, rng, tmp_path):
    arrays, plain = _cell_checkpoint(mode, rng)
    path = old_cells.write(tmp_path / "old", arrays)
    model = old_models.make(mode, "unidirectional")
    params = tf.Variable(tf.zeros([model.params_size()], tf.float64))
    saver = tf.compat.v1.train.Saver([_saveable(model, params, base_variable_scope="rnn")])
    saver.restore(None, path)
    x = rng.standard_normal((5, 2, 3))
    want = old_cells.run(mode, "unidirectional", 2, 4, plain, x)
    np.testing.assert_allclose(old_models.call(model, x, params), want, rtol=0, atol=1e-13)
    written = old_cells.read(saver.save(None, str(tmp_path / "new")))
    assert written.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(written[name], array, err_msg=name)


@pytest.mark.parametrize(("mode", "direction"), BOTH)
@pytest.mark.parametrize("early", [True, False])
def test_restores_the_buffer_to_the_bit(mode, direction, early, rng, tmp_path):
    model = old_models.make(mode, direction)
    buffer = old_models.random_buffer(model, rng)
    params = tf.Variable(buffer)
    saver = tf.compat.v1.train.Saver([_saveable(model, params, early)])
    path = saver.save(None, str(tmp_path / "new"))
    params.assign(tf.zeros_like(params))
    saver.restore(None, path)
    np.testing.assert_array_equal(params, buffer)


@pytest.mark.parametrize(("flat", "how"), [(True, "eager"), (False, "session")])
@pytest.mark.parametrize(
    ("mode", "direction"), list(zip(old_cells.MODES, itertools.cycle(old_cells.DIRECTIONS[::-1])))
)
def test_reads_canonical_tensors_under_the_first_names(mode, direction, flat, how, rng, tmp_path):
    reference = old_models.make(mode, direction)
    buffer = old_models.random_buffer(reference, rng)
    weights, biases = reference.params_to_canonical(buffer)
    weights = [w.numpy().ravel() if flat else w.numpy() for w in weights]
    arrays = {
        f"CudnnRNNParamsToCanonical:{k}": np.asarray(a) for k, a in enumerate([*weights, *biases])
    }
    path = old_cells.write(tmp_path / "old", arrays)
    if how == "eager":
        params = tf.Variable(np.zeros_like(buffer))
        saveable = _saveable(reference, params, early=True)
        tf.compat.v1.train.Saver([saveable]).restore(None, path)
        got = params.numpy()
    else:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            model = old_models.make(mode, direction)
            params = tf.Variable(np.zeros_like(buffer))
            saver = tf.compat.v1.train.Saver([_saveable(model, params, early=True)])
            session.run(tf.compat.v1.global_variables_initializer())
            saver.restore(session, path)
            got = session.run(params)
            assert (
                old_cells.read(saver.save(session, str(tmp_path / "new"))).keys() == arrays.keys()
            )
    np.testing.assert_array_equal(got, buffer)


@pytest.mark.parametrize(("mode", "direction"), AS_THEY_ARE)
def test_other_models_are_kept_as_they_are(mode, direction, rng):
    model = old_models.make(mode, direction)
    params = tf.Variable(old_models.random_buffer(model, rng))
    names = _saveable(model, params, base_variable_scope="rnn").tensor_names
    assert names == [f"rnn/CudnnRNNParamsToCanonical:{k}" for k in range(len(names))]
    gates = {"lstm": 4, "gru": 3}.get(mode, 1)
    assert len(names) == 2 * 2 * gates * 2 * len(old_cells.SCOPES[direction])


def test_the_second_model_of_a_graph(rng, tmp_path):
    """TensorFlow gave its op a number; op_name says which it was where that has no such name."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        models = [old_models.make("rnn_tanh", "unidirectional", layers=1) for _ in range(2)]
        params = [tf.Variable(np.full([4 * 3 + 4 * 4 + 8], k, np.float64)) for k in (1, 2)]
        saver = tf.compat.v1.train.Saver(
            [_saveable(m, p, name=f"s{k}") for k, (m, p) in enumerate(zip(models, params))]
        )
        session.run(tf.compat.v1.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "both"))

    def build():
        model = old_models.make("rnn_tanh", "unidirectional", layers=1)
        params = tf.Variable(tf.zeros([model.params_size()], tf.float64))
        saveable = _saveable(model, params, op_name="CudnnRNNParamsToCanonical_1")
        return params, tf.compat.v1.train.Saver([saveable])

    params, saver = build()
    saver.restore(None, path)
    assert (params.numpy() == 2).all()
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        params, saver = build()
        saver.restore(session, path)
        assert (session.run(params) == 2).all()


def test_functions_of_the_user(rng, tmp_path):
    """Several variables, restored from one buffer's canonical form, as the documentation offered."""
    model = old_models.make("gru", "unidirectional", layers=1)
    buffer = old_models.random_buffer(model, rng)
    source = tf.compat.v1.train.Saver([_saveable(model, tf.Variable(buffer), early=True)])
    path = source.save(None, str(tmp_path / "gru"))
    kernel, bias = tf.Variable(tf.zeros([4, 3], tf.float64)), tf.Variable(tf.zeros([4], tf.float64))
    saveable = contrib.RNNParamsSaveable(
        params_to_canonical=lambda _: model.params_to_canonical(buffer),
        canonical_to_params=lambda weights, biases: (weights[0], biases[0]),
        param_variables=[kernel, bias],
        name="own",
    )
    tf.compat.v1.train.Saver([saveable]).restore(None, path)
    weights, biases = model.params_to_canonical(buffer)
    np.testing.assert_array_equal(kernel, weights[0])
    np.testing.assert_array_equal(bias, biases[0])


def test_wrong_shape_names_the_tensor(rng, tmp_path):
    arrays, _ = _cell_checkpoint("gru", rng)
    name = "rnn/multi_rnn_cell/cell_1/cudnn_compatible_gru_cell/bias_cudnn 1"
    path = old_cells.write(tmp_path / "wrong", arrays | {name: np.zeros(7)})
    model = old_models.make("gru", "unidirectional")
    params = tf.Variable(tf.ones([model.params_size()], tf.float64))
    saver = tf.compat.v1.train.Saver([_saveable(model, params, base_variable_scope="rnn")])
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{name} with another shape.*8.*7"):
        saver.restore(None, path)
    assert (params.numpy() == 1).all()


def test_bad_arguments():
    model = old_models.make("gru", "unidirectional")
    functions = (model.params_to_canonical, model.canonical_to_params)
    params = tf.Variable(tf.ones([model.params_size()], tf.float64))
    with pytest.raises(TypeError, match="param_variables must be a list"):
        contrib.RNNParamsSaveable(*functions, params)
    with pytest.raises(TypeError, match="cudnn_rnn must be a model of contrib"):
        contrib.RNNParamsSaveable(
            cudnn_rnn="gru",
            params_to_canonical=functions[0],
            canonical_to_params=functions[1],
            param_variables=[params],
        )
    with pytest.raises(TypeError):
        contrib.RNNParamsSaveable(model, *functions)
    with pytest.raises(TypeError):
        contrib.RNNParamsSaveable(*functions, [params], base_variable_scope="rnn")
