"""CudnnCompatibleLSTMCell and CudnnCompatibleGRUCell: Keras cells that do what the op does."""

import numpy as np
import old_cells
import old_models
import pytest
import tensorflow as tf

from tf_rnn_ops import contrib

CELLS = {"lstm": contrib.CudnnCompatibleLSTMCell, "gru": contrib.CudnnCompatibleGRUCell}
LAYERS, UNITS, INPUTS = 2, 4, 3


def _stack(mode, direction):
    """(function of x [T, B, I], variables by checkpoint name): cells in Keras's RNN."""
    layers, variables = [], {}
    for layer in range(LAYERS):
        width = INPUTS if layer == 0 else UNITS * len(old_cells.SCOPES[direction])
        pair = []
        for backward in (False, True)[: len(old_cells.SCOPES[direction])]:
            cell = CELLS[mode](UNITS, dtype="float64")
            runner = tf.keras.layers.RNN(
                cell, return_sequences=True, go_backwards=backward, dtype="float64"
            )
            runner.build((None, None, width))
            variables |= cell.canonical_variables(layer, direction, backward, scope="net")
            pair.append(runner)
        layers.append(pair)

    def run(x):
        x = tf.transpose(x, [1, 0, 2])
        for pair in layers:
            outputs = [runner(x) for runner in pair]
            outputs[1:] = [tf.reverse(y, [1]) for y in outputs[1:]]
            x = tf.concat(outputs, axis=2)
        return tf.transpose(x, [1, 0, 2])

    return run, variables


@pytest.mark.parametrize("trained", ["op", "cells"])
@pytest.mark.parametrize("direction", old_cells.DIRECTIONS)
@pytest.mark.parametrize("mode", CELLS)
def test_checkpoints_of_the_op_and_of_cells(mode, direction, trained, rng, tmp_path):
    """Cells read what the op trained, and the op reads what cells trained."""
    model = old_models.make(mode, direction)
    params = tf.Variable(old_models.random_buffer(model, rng))
    saveable = old_models.saveable(model, params, scope="net")
    run, variables = _stack(mode, direction)
    assert variables.keys() == set(saveable.tensor_names)
    for variable in variables.values():
        variable.assign(0.5 * rng.standard_normal(variable.shape))
    savers = [tf.compat.v1.train.Saver(saved) for saved in ([saveable], variables)]
    one, other = savers if trained == "op" else reversed(savers)
    other.restore(None, one.save(None, str(tmp_path / "saved")))
    x = rng.standard_normal((6, 2, INPUTS))
    np.testing.assert_allclose(
        run(tf.constant(x)), old_models.call(model, x, params), rtol=0, atol=1e-13
    )


def test_gates_of_a_new_gru_start_open():
    cell = contrib.CudnnCompatibleGRUCell(UNITS)
    cell.build((None, INPUTS))
    variables = cell.canonical_variables(scope="net")
    prefix = "net/rnn/multi_rnn_cell/cell_0/cudnn_compatible_gru_cell/"
    assert (variables[prefix + "gates/bias"].numpy() == 1).all()
    assert not variables[prefix + "candidate/input_projection/bias"].numpy().any()


@pytest.mark.parametrize("mode", CELLS)
def test_saved_model_of_keras(mode, rng, tmp_path):
    model = tf.keras.Sequential(
        [tf.keras.Input((None, INPUTS)), tf.keras.layers.RNN(CELLS[mode](UNITS))]
    )
    x = rng.standard_normal((2, 5, INPUTS)).astype(np.float32)
    model.compile("sgd", "mse")
    model.fit(x, np.ones((2, UNITS), np.float32), verbose=0)
    model.save(tmp_path / "cell.keras")
    loaded = tf.keras.models.load_model(tmp_path / "cell.keras")
    np.testing.assert_array_equal(loaded(x), model(x))


@pytest.mark.parametrize("seed", [None, 5])
def test_initial_kernels_differ(seed):
    initializer = tf.keras.initializers.RandomNormal(seed=seed)
    cell = contrib.CudnnCompatibleGRUCell(UNITS, kernel_initializer=initializer)
    cell.build((None, UNITS))
    kernels = [w.numpy().ravel() for w in cell.trainable_weights if "kernel" in w.name]
    kernels = np.concatenate(kernels)
    assert len(np.unique(kernels)) == kernels.size == 6 * UNITS * UNITS


@pytest.mark.parametrize("mode", CELLS)
def test_a_number_of_numpy(mode):
    layer = tf.keras.layers.RNN(CELLS[mode](np.int64(UNITS)))
    assert tuple(layer(tf.ones([2, 5, INPUTS])).shape) == (2, UNITS)
    assert type(layer.cell.get_config()["num_units"]) is int


def test_bad_arguments():
    with pytest.raises(ValueError, match="num_units must be a positive integer"):
        contrib.CudnnCompatibleGRUCell(0)
    with pytest.raises(ValueError, match="size of the input must be known"):
        contrib.CudnnCompatibleLSTMCell(2).build((None, None))


def test_variables_of_keras_2():
    """Its weights are tf.Variables, whose `value` is a method."""
    cell = contrib.CudnnCompatibleGRUCell(UNITS)
    cell.build((None, INPUTS))
    cell._tensors = {name: tf.Variable(weight.value) for name, weight in cell._tensors.items()}
    assert list(cell.canonical_variables().values()) == list(cell._tensors.values())


def test_another_backend_is_refused(monkeypatch):
    monkeypatch.setattr(tf.keras.backend, "backend", lambda: "jax")
    with pytest.raises(RuntimeError, match="KERAS_BACKEND=tensorflow"):
        contrib.CudnnCompatibleLSTMCell(UNITS)
