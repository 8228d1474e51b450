"""Exported files and packed weights of earlier versions: this version reads them, with the results of then.

A format that changes stays readable, or its error is a sentence that names the file or the argument; the set
then has its own test of that error here.
"""

import pathlib
import shutil

import numpy as np
import onnx
import pytest
import tensorflow as tf

import tf_rnn_ops.keras
from tf_rnn_ops import portable, raw_ops

STORED = pathlib.Path(__file__).parent / "stored"
SETS = sorted(path.name for path in STORED.iterdir())
# Another instruction set than that of the files adds in another order.
CLOSE = {"rtol": 0, "atol": 1e-6}


def _values(stored):
    with np.load(STORED / stored / "values.npz") as values:
        return dict(values)


def _served(model, x):
    (output,) = model.signatures["serving_default"](tf.constant(x)).values()
    return output.numpy()


@pytest.mark.parametrize("name", ["layers", "stack", "norm", "int8"])
@pytest.mark.parametrize("stored", SETS)
def test_exported_saved_models_are_served(stored, name, tmp_path):
    shutil.unpack_archive(STORED / stored / f"{name}.zip", tmp_path / name)
    values = _values(stored)
    model = tf.saved_model.load(tmp_path / name)
    np.testing.assert_allclose(_served(model, values["x"]), values[name], **CLOSE)


@pytest.mark.parametrize("stored", SETS)
def test_exported_saved_models_are_rewritten(stored, tmp_path):
    """To TensorFlow's ops, by what this version knows of the ops of then."""
    shutil.unpack_archive(STORED / stored / "layers.zip", tmp_path / "layers")
    values = _values(stored)
    report = portable.rewrite_saved_model(tmp_path / "layers", tmp_path / "plain")
    assert report.ok, report
    plain = tf.saved_model.load(tmp_path / "plain")
    np.testing.assert_allclose(_served(plain, values["x"]), values["layers"], **CLOSE)


@pytest.mark.parametrize("stored", SETS)
def test_exported_onnx_files_become_layers(stored):
    values = _values(stored)
    y = values["x"]
    for layer in tf_rnn_ops.keras.from_onnx(onnx.load(STORED / stored / "layers.onnx")):
        y = layer(y)
    np.testing.assert_allclose(y[:, -1], values["layers"], **CLOSE)


@pytest.mark.parametrize("isa", ["baseline", "avx2"])
@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
@pytest.mark.parametrize("stored", SETS)
def test_packed_weights_give_the_results_of_plain_ones(stored, mode, isa):
    """The op packs weights of another version or instruction set again."""
    with np.load(STORED / stored / f"packed_{isa}.npz") as arrays:
        names = [name for name in arrays.files if name.startswith(f"{mode}/")]
        inputs = {name.split("/")[1]: tf.constant(arrays[name]) for name in names}
    got = raw_ops.LayerRNNPacked(**inputs, rnn_mode=mode)
    del inputs["packed"]
    want = raw_ops.LayerRNN(**inputs, rnn_mode=mode, is_training=False)
    for one, other in zip(got, (want.output, want.output_h, want.output_c), strict=True):
        np.testing.assert_array_equal(one, other)
