"""Operations of Keras besides the recurrent layers, in each format that a converter writes."""

import math

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras as rnn
from tf_rnn_ops._formats import formats

FILES = {"onnx": "m.onnx", "litert": "m.tflite", "openvino": "m.xml"}


@pytest.mark.parametrize("format", FILES)
def test_sums_that_keras_writes_as_biases(format, tmp_path):
    """keras.ops.add writes BiasAdd, along the second axis if the second operand fits that axis only."""
    pairs = {
        "first": ((2, 5, 1), (1, 5, 1), "float32"),
        "second": ((2, 5, 3, 4), (1, 5, 1, 1), "float32"),
        "third": ((2, 5, 3, 4, 2), (1, 5, 1, 1, 1), "float32"),
        "tokens": ((2, 4, 5), (1, 1, 5), "int32"),
    }
    rng = np.random.default_rng(0)
    inputs, arrays, outputs, wants = {}, {}, {}, {}
    for name, (*shapes, dtype) in pairs.items():
        operands = [f"{name}_{k}" for k in range(2)]
        for operand, shape in zip(operands, shapes):
            inputs[operand] = keras.Input(batch_shape=shape, dtype=dtype, name=operand)
            arrays[operand] = (9 * rng.standard_normal(shape)).astype(dtype)
        outputs[name] = keras.ops.add(*(inputs[operand] for operand in operands))
        wants[name] = np.add(*(arrays[operand] for operand in operands))
    path = tmp_path / FILES[format]
    rnn.export(keras.Model(inputs, outputs), path, print_fn=None)
    got = formats.writer(format).load(str(path))(arrays)
    for name, want in wants.items():
        np.testing.assert_allclose(got[name], want, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("format", FILES)
def test_functions(format, tmp_path):
    """gelu needs erfc, and celu expm1. The file of ONNX keeps the digits of numbers near 0, except in gelu."""
    functions = {"gelu": keras.activations.gelu, "celu": keras.activations.celu}
    functions["log1p"] = lambda x: keras.ops.log1p(keras.ops.maximum(x, -0.9))
    x = np.array([-30, -6, -1, -1e-4, -1e-7, 0, 1e-7, 1, 5, 80], np.float32)
    wants = {
        "gelu": [v / 2 * math.erfc(-v / math.sqrt(2)) for v in x.tolist()],
        "celu": np.where(x > 0, x, np.expm1(x.astype(float))),
        "log1p": np.log1p(np.maximum(x, np.float32(-0.9))),
    }
    inputs = keras.Input(batch_shape=x.shape, name="x")
    outputs = {name: function(inputs) for name, function in functions.items()}
    path = tmp_path / FILES[format]
    rnn.export(keras.Model(inputs, outputs), path, print_fn=None)
    got = formats.writer(format).load(str(path))({"x": x})
    for name, want in wants.items():
        atol = 0 if format == "onnx" and name != "gelu" else 1e-6
        np.testing.assert_allclose(got[name], want, rtol=1e-5, atol=atol, err_msg=name)


@pytest.mark.parametrize("format", FILES)
def test_indices_of_extremes(format, tmp_path):
    """Keras orders -0.0 before 0.0."""
    x = np.array([[-0.0, 0.0, -1, -2], [0.0, -0.0, 1, 1], [-np.inf, -3, -0.0, 0.0]], np.float32)
    wants = {
        "largest": [1, 2, 3],
        "smallest": [3, 1, 0],
        "negative": [[1, 0, 1, 1], [0, 1, 0, 0], [1, 1, 1, 0]],
    }
    inputs = keras.Input(batch_shape=x.shape, name="x")
    outputs = {
        "largest": keras.ops.argmax(inputs, -1),
        "smallest": keras.ops.argmin(inputs, -1),
        "negative": keras.ops.cast(keras.ops.signbit(inputs), "int32"),
    }
    path = tmp_path / FILES[format]
    rnn.export(keras.Model(inputs, outputs), path, print_fn=None)
    got = formats.writer(format).load(str(path))({"x": x})
    for name, want in wants.items():
        np.testing.assert_array_equal(got[name], want, err_msg=name)
