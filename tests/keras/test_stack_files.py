"""Configs and files of stacks."""

import pathlib

import keras
import numpy as np
import pytest
import stock_stack
import tensorflow as tf
from stack_cases import LENGTHS, model_of, random_inputs

from support import subproc
from tf_rnn_ops.keras import CudnnGRU, CudnnLSTM


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
    model = model_of(CudnnLSTM, num_proj=2)
    inputs = {"frames": random_inputs(rng, np.float32), "lengths": LENGTHS}
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
    model, other = model_of(CudnnGRU), model_of(CudnnGRU)
    inputs = {"frames": random_inputs(rng, np.float32), "lengths": LENGTHS}
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
