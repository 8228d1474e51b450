"""Other ways into ONNX: Keras's own export, tf2onnx and its command; and the way back by from_onnx."""

import itertools
import os
import pathlib
import re
import runpy
import sys

import export_cases
import keras
import numpy as np
import onnx
import pytest
import tensorflow as tf
from export_cases import LOOPS, NODES, SEQUENCES, SIZE, UNITS

import tf_rnn_ops.keras as rnn
from support.models import drawn
from support.selection import all_but
from tf_rnn_ops import params
from tf_rnn_ops._formats import onnx as writer


@pytest.fixture(scope="module")
def model():
    """Layers that become nodes of each kind, and one that becomes a loop."""
    words = keras.Input((None,), dtype="int32", name="words")
    x = keras.layers.Embedding(9, SIZE, mask_zero=True)(words)
    x = keras.layers.Bidirectional(rnn.LSTM(UNITS, **SEQUENCES))(x)
    x = rnn.LayerNormLSTM(UNITS, **SEQUENCES)(x)
    x = rnn.GRU(UNITS, reset_after=False, **SEQUENCES)(x)
    model = drawn(keras.Model(words, rnn.CudnnGRU(UNITS, num_layers=2)(x)))
    model(np.ones((1, 2), np.int32))  # which Keras's export wants
    return model


def _check(path, model, opset):
    file = onnx.load(path)
    onnx.checker.check_model(file, full_check=True)
    (version,) = [entry.version for entry in file.opset_import if entry.domain == ""]
    assert version == opset
    ops = [node.op_type for node in file.graph.node]
    assert (ops.count("LSTM"), ops.count("GRU"), ops.count("Loop")) == (1, 3, 1)
    words = np.array([[3, 1, 0, 0], [5, 2, 8, 1], [0, 0, 0, 0]], np.int32)
    (got,) = writer.load(path)({file.graph.input[0].name: words}).values()
    np.testing.assert_allclose(got, model(words), rtol=0, atol=2e-6)


@pytest.mark.parametrize("opset", [15, 17, 18])
def test_keras(opset, model, tmp_path):
    path = str(tmp_path / "m.onnx")
    model.export(path, format="onnx", opset_version=opset, verbose=False)
    _check(path, model, opset)


def test_a_converted_model_needs_no_call(tmp_path):
    for to in ("keras", "tf_rnn_ops"):
        x = keras.Input((None, SIZE))
        copy = rnn.convert(keras.Model(x, NODES["gru"]()(x)), to)
        copy.export(str(tmp_path / "m.onnx"), format="onnx", verbose=False)


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    rnn.export(model, folder / "m", verify=False, print_fn=None)
    return folder / "m"


def test_the_command_of_tf2onnx(model, saved, tmp_path, monkeypatch):
    """In a process that has imported tf_rnn_ops, as its page says."""
    path = str(tmp_path / "m.onnx")
    command = ["tf2onnx", "--saved-model", str(saved), "--output", path, "--opset", "16"]
    monkeypatch.setattr(sys, "argv", command)
    runpy.run_module("tf2onnx.convert", run_name="__main__", alter_sys=False)
    _check(path, model, 16)


def test_tf2onnx_on_a_function(tmp_path):
    layer = rnn.GRU(UNITS)
    layer.build((None, None, SIZE))
    function = tf.function(layer, autograph=False)
    spec = [tf.TensorSpec([None, None, SIZE], tf.float32, "x")]
    path = tmp_path / "m.onnx"
    import tf2onnx

    file, _ = tf2onnx.convert.from_function(function, spec, opset=17, output_path=str(path))
    assert [node.op_type for node in file.graph.node].count("GRU") == 1
    x = np.random.default_rng(0).standard_normal((2, 4, SIZE)).astype(np.float32)
    (got,) = writer.load(path)({"x": x}).values()
    np.testing.assert_allclose(got, layer(x), rtol=0, atol=2e-6)


def test_a_node_that_cannot_be_written(tmp_path):
    """A sentence instead of a file that nothing loads."""

    def function(x):
        return {"y": tf.py_function(lambda x: x, [x], tf.float32)}

    module = tf.Module()
    spec = tf.TensorSpec([None], tf.float32, "x")
    module.function = tf.function(function, input_signature=[spec])
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=module.function)
    with pytest.raises(ValueError, match="tf2onnx cannot convert.*EagerPyFunc"):
        writer.write(tmp_path / "saved", tmp_path / "m.onnx")
    assert os.listdir(tmp_path) == ["saved"]


def test_the_page(tmp_path, monkeypatch):
    """The code of docs/export.md, block by block; its lines of the shell are those of the command."""
    page = pathlib.Path(__file__).resolve().parents[3] / "docs" / "export.md"
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 2
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
    assert sorted(os.listdir()) == ["model.onnx", "served"]


# ---- there and back ----


READ = [name for name in NODES if name != "cells"]
DIRECTIONS = ["forward", "backward", "both"]
USUAL = zip(READ, itertools.cycle(DIRECTIONS))


@pytest.mark.parametrize(
    "case", all_but(list(itertools.product(READ, DIRECTIONS)), *USUAL), ids="-".join
)
def test_from_onnx_reads_the_layers(case, tmp_path, rng):
    name, direction = case
    layer = NODES[name](**SEQUENCES, go_backwards=direction == "backward")
    if direction == "both":
        layer = keras.layers.Bidirectional(layer)
    x = keras.Input((None, SIZE), name="x")
    model = drawn(keras.Model(x, layer(x)))
    rnn.export(model, tmp_path / "m.onnx", "onnx", verify=False, print_fn=None)
    values = rng.standard_normal((3, 5, SIZE)).astype(np.float32)
    want = model(values).numpy()
    found = rnn.from_onnx(onnx.load(tmp_path / "m.onnx"))
    if name == "peephole" and direction != "forward":
        # The node has no direction: what reverses its input is not part of it.
        layers = [layer.forward_layer, layer.backward_layer] if direction == "both" else [layer]
        assert len(found) == len(layers)
        for one, original in zip(found, layers):
            _check_weights(one, original)
        return
    (one,) = found
    got = one(values).numpy()
    # The node has the order of time, a layer with go_backwards that of its steps.
    np.testing.assert_allclose(got[:, ::-1] if direction == "backward" else got, want, atol=1e-6)
    _check_weights(one, layer)


def _check_weights(found, layer):
    """To the bit; the peepholes are one weight of ProjectedLSTM, and three of PeepholeLSTM."""
    if isinstance(layer, keras.layers.Bidirectional):
        _check_weights(found.forward_layer, layer.forward_layer)
        _check_weights(found.backward_layer, layer.backward_layer)
        return
    given = layer.get_weights()
    if isinstance(layer, rnn.PeepholeLSTM):
        given = [*given[:3], np.stack(given[3:])]
    got = found.get_weights()
    # from_onnx gives each layer a bias.
    if not layer.use_bias:
        given.append(np.zeros_like(got[-1]))
    for a, b in zip(got, given, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mode", ["lstm", "gru", "tanh", "relu"])
def test_params_reads_the_stacks(mode, tmp_path):
    stack = export_cases.STACKS[mode](UNITS, num_layers=2, direction="bidirectional", **SEQUENCES)
    x = keras.Input((None, SIZE))
    model = drawn(keras.Model(x, stack(x)))
    rnn.export(model, tmp_path / "m.onnx", "onnx", verify=False, print_fn=None)
    found = onnx.load(tmp_path / "m.onnx")
    names = [node.name for node in found.graph.node if node.op_type in ("LSTM", "GRU", "RNN")]
    layout, buffer = params.from_onnx(found, names)
    assert layout.size == stack.layout.size
    np.testing.assert_array_equal(buffer, stack.params)


def test_loops_are_no_nodes_to_read(tmp_path):
    x = keras.Input((None, SIZE))
    model = keras.Model(x, LOOPS["projected"][0]()(x))
    rnn.export(model, tmp_path / "m.onnx", "onnx", verify=False, print_fn=None)
    with pytest.raises(ValueError, match="no LSTM, GRU or RNN"):
        rnn.from_onnx(onnx.load(tmp_path / "m.onnx"))
