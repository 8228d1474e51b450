"""16-bit models in ONNX, errors of tf2onnx, and what int8 touches in a file."""

import concurrent.futures
import itertools
import logging
import re
import warnings

import keras
import numpy as np
import onnx
import pytest
import tensorflow as tf
from export_cases import SEQUENCES, SIZE, UNITS

import tf_rnn_ops.keras as rnn
from support.models import drawn
from support.selection import all_but
from tf_rnn_ops._formats import onnx as writer

L = keras.layers
TIME = 6
MASKS = {
    "right": np.arange(TIME) < [[6], [4], [1], [0]],
    "holes": np.array([[1, 0, 1, 1, 0, 1], [0, 0, 1, 0, 1, 0], [0] * 6, [1] * 6], bool),
}


def _text(dtype, make, masked=True):
    words = keras.Input((None,), dtype="int32", name="words")
    x = L.Embedding(9, SIZE, mask_zero=masked, dtype=dtype)(words)
    return keras.Model(words, L.Dense(2, dtype=dtype)(make(dtype)(x)))


# glorot_uniform, since TensorFlow has no kernel of an orthogonal matrix in 16 bits.
def _lstm(dtype):
    return L.LSTM(UNITS, dtype=dtype, recurrent_initializer="glorot_uniform", **SEQUENCES)


MAKE = {
    "lstm": _lstm,
    "both": lambda dtype: L.Bidirectional(_lstm(dtype), dtype=dtype),
    "last": lambda d: L.GRU(UNITS, dtype=d, recurrent_initializer="glorot_uniform"),
    "loop": lambda d: rnn.LayerNormLSTM(UNITS, dtype=d, recurrent_initializer="glorot_uniform"),
}


def _in_float32(model, dtype, make, masked):
    """A float32 model with the weights that a model computes with."""
    wide = _text("float32", make, masked)
    for own, other in zip(wide.weights, model.weights, strict=True):
        own.assign(
            tf.cast(tf.cast(other.value, keras.DTypePolicy(dtype).compute_dtype), tf.float32)
        )
    return wide


DTYPES = ["bfloat16", "mixed_bfloat16", "float16", "mixed_float16"]
USUAL = [
    ("bfloat16", "both", True),
    ("mixed_bfloat16", "last", True),
    ("float16", "lstm", True),
    ("mixed_float16", "loop", False),
]


@pytest.mark.parametrize(
    "case", all_but(list(itertools.product(DTYPES, MAKE, [True, False])), *USUAL), ids=str
)
def test_16_bits(case, tmp_path, rng):
    """A file computes in float32 where its model has bfloat16, so it equals the float32 model of its weights."""
    dtype, name, masked = case
    model = drawn(_text(dtype, MAKE[name], masked))
    rnn.export(model, tmp_path / "m.onnx", print_fn=None)
    run = writer.load(tmp_path / "m.onnx")
    wide = _in_float32(model, dtype, MAKE[name], masked)
    atol = 2e-6 if "bfloat16" in dtype else 4e-3
    for mask in MASKS.values():
        words = (rng.integers(1, 9, mask.shape) * mask).astype(np.int32)
        (got,) = run({"words": words}).values()
        np.testing.assert_allclose(np.float32(got), wide(words), rtol=0, atol=atol)


def test_an_input_and_an_output_without_dimensions(tmp_path):
    """np.asarray of such a tensor of bfloat16 is an error."""
    x = keras.Input((None, SIZE), batch_size=2, dtype="bfloat16", name="x")
    scale = keras.Input(batch_shape=(), dtype="bfloat16", name="scale")
    layer = rnn.LSTM(UNITS, dtype="bfloat16", recurrent_initializer="glorot_uniform")
    y = keras.ops.sum(layer(x)) * scale
    inputs = {"x": tf.ones([2, 3, SIZE], tf.bfloat16), "scale": tf.constant(0.5, tf.bfloat16)}
    model = drawn(keras.Model([x, scale], y))
    rnn.export(model, tmp_path / "model.onnx", verify_inputs=inputs, time=3, print_fn=None)


def test_inputs_and_states_of_bfloat16(tmp_path):
    """They are float32 in the file, whose runtime has no arrays of bfloat16."""
    x = keras.Input((None, SIZE), dtype="bfloat16", name="x")
    h = keras.Input((UNITS,), dtype="bfloat16", name="h")
    options = {"dtype": "bfloat16", "recurrent_initializer": "glorot_uniform"}
    y, state = L.GRU(UNITS, return_state=True, **options)(x, initial_state=h)
    model = drawn(keras.Model([x, h], {"y": y, "state": state}))
    rnn.export(model, tmp_path / "m.onnx", print_fn=None)
    graph = onnx.load(tmp_path / "m.onnx").graph
    types = {one.type.tensor_type.elem_type for one in (*graph.input, *graph.output)}
    assert types == {onnx.TensorProto.FLOAT}


# ---- errors ----


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("tf_loader.from_saved_model", ValueError),
        ("convert._convert_common", TypeError),
        ("convert._convert_common", RuntimeError),
    ],
)
def test_errors_of_tf2onnx_are_wrapped(place, error, tmp_path, monkeypatch):
    """Errors of any class become one sentence."""
    module, name = place.split(".")

    def fail(*arguments, **keywords):
        raise error("Unable to convert\ntype dtype(bfloat16)")

    import tf2onnx

    monkeypatch.setattr(getattr(tf2onnx, module), name, fail)
    model = _text("float32", _lstm)
    expected = "^tf2onnx cannot convert the model: Unable to convert type dtype\\(bfloat16\\)$"
    with pytest.raises(ValueError, match=expected):
        rnn.export(model, tmp_path / "m.onnx", print_fn=None)
    assert not list(tmp_path.iterdir())


def test_our_errors_are_not_those_of_tf2onnx(tmp_path):
    """A layer that keeps its states raises our error before tf2onnx is called."""
    x = keras.Input(batch_shape=(2, None, SIZE))
    model = keras.Model(x, L.LSTM(UNITS, stateful=True)(x))
    with pytest.raises(ValueError, match="keeps a state in a variable") as caught:
        rnn.export(model, tmp_path / "m.onnx", print_fn=None)
    assert not re.search("tf2onnx", str(caught.value))


# ---- int8 ----


def _siamese(make):
    a, b = (keras.Input((None, SIZE), name=name) for name in "ab")
    layer = make()
    return keras.Model([a, b], L.Concatenate()([layer(a), layer(b)]))


@pytest.mark.parametrize("make", [lambda: L.LSTM(32), lambda: L.Bidirectional(L.LSTM(32))])
def test_a_shared_layer_in_int8(make, tmp_path, rng):
    """Its weights are in the file once."""
    model = drawn(_siamese(make))
    report = rnn.export(model, tmp_path / "m.onnx", weight_format="int8", print_fn=None)
    assert {node.target_op for node in report.layers} == {"DynamicQuantizeLSTM"}
    graph = onnx.load(tmp_path / "m.onnx").graph
    nodes = [node for node in graph.node if node.op_type == "DynamicQuantizeLSTM"]
    assert len(nodes) == 2 and nodes[0].input[1:3] == nodes[1].input[1:3]
    parameters = sum(int(np.prod(weight.shape)) for weight in model.weights)
    assert (tmp_path / "m.onnx").stat().st_size < 2 * parameters + 6000
    # Equal sequences have equal results.
    x = rng.standard_normal((2, TIME, SIZE)).astype(np.float32)
    (got,) = writer.load(tmp_path / "m.onnx")({"a": x, "b": x}).values()
    first, second = np.split(got, 2, axis=-1)
    np.testing.assert_array_equal(first, second)


def test_convolutions_keep_floats_in_int8(tmp_path):
    """ONNX Runtime's convolution of int8 is slower than that of float32."""
    x = keras.Input((None, SIZE), name="x")
    y = L.LSTM(UNITS)(L.Conv1D(8, 3)(x))
    model = drawn(keras.Model(x, L.Dense(2)(y)))
    rnn.export(model, tmp_path / "m.onnx", weight_format="int8", print_fn=None)
    ops = [node.op_type for node in onnx.load(tmp_path / "m.onnx").graph.node]
    assert "Conv" in ops and "ConvInteger" not in ops
    assert "DynamicQuantizeLSTM" in ops and "MatMulInteger" in ops


HALVES = ["float16", "mixed_float16", "mixed_bfloat16"]


@pytest.mark.parametrize("dtype", all_but(HALVES, "mixed_float16"))
def test_int8_in_16_bits(dtype, tmp_path):
    """Other layers than the LSTM keep float16, which the quantizer would write wrong nodes for."""
    model = drawn(_text(dtype, MAKE["both"]))
    report = rnn.export(model, tmp_path / "m.onnx", weight_format="int8", print_fn=None)
    assert {node.target_op for node in report.layers} == {"DynamicQuantizeLSTM"}


def test_int8_of_a_model_without_weights_for_it(tmp_path):
    x = keras.Input((4, SIZE), dtype="float64")
    model = keras.Model(x, rnn.LSTM(UNITS, dtype="float64")(x))
    with pytest.raises(
        ValueError, match="weight_format must be None for a model of which ONNX Runtime"
    ):
        rnn.export(model, tmp_path / "m.onnx", weight_format="int8", print_fn=None)
    assert not list(tmp_path.iterdir())


def test_threads_have_errors_and_warnings_of_their_own(tmp_path):
    """An error that tf2onnx logs for one model is not that of another."""
    x = keras.Input((4, SIZE))
    unknown = keras.Model(x, keras.layers.Lambda(lambda y: tf.math.betainc(y, y, y))(x))
    known = keras.Model(x, keras.layers.Dense(2)(rnn.LSTM(UNITS)(x)))

    def write(k):
        model, weight_format = (unknown, None) if k % 2 else (known, "int8")
        try:
            path = tmp_path / f"{k}.onnx"
            rnn.export(model, path, weight_format=weight_format, verify=False, print_fn=None)
        except ValueError as error:
            return str(error)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        errors = list(pool.map(write, range(8)))
    assert errors[::2] == [None] * 4 and all("Betainc" in error for error in errors[1::2])
    # Other libraries leave filters when threads interleave; export leaves none of its own.
    mine = [f for f in warnings.filters if f[1] and "being serialized" in f[1].pattern]
    assert not mine
    assert logging.getLogger("tf2onnx").propagate
