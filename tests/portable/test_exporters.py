"""Rewritten models in LiteRT, tf2onnx and OpenVINO: the results of the layers, from ordinary ops."""

import export_tools
import graphs
import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import kernels

import tf_rnn_ops.keras as rnn
from tf_rnn_ops import portable

BATCH, TIME, SIZE, UNITS = 3, 5, 3, 4
SEQUENCES = {"return_sequences": True}
# Every cell, with the options that change what it computes.
CELLS = {
    "lstm": lambda **o: rnn.LSTM(UNITS, **o),
    "lstm_hard": lambda **o: rnn.LSTM(
        UNITS, recurrent_activation="hard_sigmoid", use_bias=False, **o
    ),
    "gru": lambda **o: rnn.GRU(UNITS, **o),
    "gru_before": lambda **o: rnn.GRU(UNITS, reset_after=False, **o),
    "simple": lambda **o: rnn.SimpleRNN(UNITS, activation="relu", **o),
    "peephole": lambda **o: rnn.PeepholeLSTM(UNITS, cell_clip=0.3, **o),
    "projected": lambda **o: rnn.ProjectedLSTM(
        UNITS, num_proj=2, use_peepholes=True, cell_clip=0.3, proj_clip=0.2, **o
    ),
    "layer_norm": lambda **o: rnn.LayerNormLSTM(UNITS, **o),
    "zoneout_lstm": lambda **o: rnn.ZoneoutLSTM(UNITS, zoneout_h=0.1, zoneout_c=0.2, **o),
    "zoneout_gru": lambda **o: rnn.ZoneoutGRU(UNITS, zoneout_h=0.1, **o),
    "cells": lambda **o: rnn.RNN([keras.layers.LSTMCell(UNITS), keras.layers.GRUCell(2)], **o),
}
STACKS = {
    "lstm": lambda **o: rnn.CudnnLSTM(UNITS, num_layers=2, **o),
    "gru": lambda **o: rnn.CudnnGRU(UNITS, num_layers=2, **o),
    "tanh": lambda **o: rnn.CudnnRNNTanh(UNITS, **o),
    "relu": lambda **o: rnn.CudnnRNNRelu(UNITS, **o),
}


def _of_cells(x):
    """Each cell forwards without a mask and backwards with one; a pair of cells both ways."""
    masked = keras.layers.Masking()(x)
    outputs = {name: make(**SEQUENCES)(x) for name, make in CELLS.items()}
    back = {
        f"{name}_back": make(go_backwards=True, **SEQUENCES)(masked) for name, make in CELLS.items()
    }
    last = {"last": rnn.LSTM(UNITS)(masked), "gru_last": rnn.GRU(UNITS)(masked)}
    pair = keras.layers.Bidirectional(rnn.LSTM(UNITS, **SEQUENCES))
    return outputs | back | last | {"pair": pair(x), "masked_pair": pair(masked)}


def _of_stacks(x):
    """Each stack in one direction without a mask, and in both with one."""
    masked = keras.layers.Masking()(x)
    one = {name: make()(x) for name, make in STACKS.items()}
    both = {
        f"{name}_both": make(direction="bidirectional", **SEQUENCES)(masked)
        for name, make in STACKS.items()
    }
    return one | both


def _gaps(rng):
    """An input whose masked steps, of zeros, are anywhere, and a row of nothing else."""
    x = rng.standard_normal((BATCH, TIME, SIZE)).astype(np.float32)
    x[0, 1] = x[0, 3] = x[1] = 0
    return x


def _padding(rng):
    """As stacks take it: valid steps, then masked ones."""
    x = rng.standard_normal((BATCH, TIME, SIZE)).astype(np.float32)
    x[0, 2:] = x[1] = 0
    return x


def _words(words):
    x = keras.layers.Embedding(9, SIZE, mask_zero=True)(words)
    x = keras.layers.Bidirectional(rnn.LSTM(UNITS, **SEQUENCES))(x)
    unmasked = keras.layers.Embedding(9, SIZE)(words)
    return {"y": keras.layers.Dense(2)(rnn.GRU(UNITS)(x)), "stack": rnn.CudnnLSTM(UNITS)(unmasked)}


def _some_words(rng):
    return rng.integers(0, 3, (BATCH, TIME)).astype(np.int32)


# By name: the layers, the input, and how many of its first sizes the signature leaves open.
MODELS = {
    "cells": (_of_cells, _gaps, 0),
    "stacks": (_of_stacks, _padding, 0),
    "words": (_words, _some_words, 0),
    "open_batch": (_words, _some_words, 1),
    "open_time": (_of_stacks, _padding, 2),
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A function of a name: (folder of the rewritten model, input, what the layers return)."""
    made = {}

    def make(name):
        if name not in made:
            made[name] = _export(*MODELS[name], tmp_path_factory.mktemp(name))
        return made[name]

    return make


def _export(layers, draw, num_open, folder):
    keras.utils.set_random_seed(2)
    x = draw(np.random.default_rng(3))
    shape = [None] * num_open + list(x.shape[num_open:])
    inputs = keras.Input(batch_shape=shape, dtype=x.dtype)
    model = keras.Model(inputs, layers(inputs))
    for weight in model.weights:  # those that are 0 would hide what multiplies them
        weight.assign(np.random.default_rng(4).uniform(-0.7, 0.7, weight.shape))
    archive = keras.export.ExportArchive()
    archive.track(model)
    signature = [tf.TensorSpec(shape, x.dtype, "x")]
    archive.add_endpoint("serve", lambda x: model(x, training=False), signature)
    archive.write_out(str(folder / "ours"), verbose=False)
    report = portable.rewrite_saved_model(folder / "ours", folder / "plain", verify_inputs={"x": x})
    assert report.ok and report.changed, report
    want = {name: array.numpy() for name, array in model(x, training=False).items()}
    return folder / "plain", x, want


def _graph_of(folder):
    data = (folder / "saved_model.pb").read_bytes()
    (meta_graph,) = saved_model_pb2.SavedModel.FromString(data).meta_graphs
    return meta_graph.graph_def


def test_what_converters_need(exported):
    """Without the tools: no op that one of them lacks, and lists of known sizes."""
    graph_def = _graph_of(exported("words")[0])
    assert not graphs.ops_in(graph_def) & {"LowerBound", "UpperBound"}
    found = 0
    for function in graph_def.library.function:
        nodes = {node.name: node for node in function.node_def}
        for node in function.node_def:
            if node.op == "TensorListReserve":
                sizes = nodes[node.input[0].split(":")[0]]
                assert sizes.op == "Const", (function.signature.name, node.name)
                assert np.all(tf.make_ndarray(sizes.attr["value"].tensor) > 0)
                found += 1
    assert found > 0


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["cells", "stacks", "words"])
def test_a_stock_server_has_all_ops(name, exported):
    """TensorFlow's registry has a CPU kernel for each op, and no op is from this package or for cuDNN."""
    graph_def = _graph_of(exported(name)[0])
    functions = {function.signature.name for function in graph_def.library.function}
    ops = graphs.ops_in(graph_def) - functions
    assert {"MatMul", "StatelessWhile"} <= ops

    def has_kernel(op):
        registered = kernels.get_registered_kernels_for_op(op).kernel
        return any(kernel.device_type in ("CPU", "DEFAULT") for kernel in registered)

    assert {op for op in ops if not has_kernel(op)} == set()
    assert not any(op.startswith(("TfRnnOps>", "CudnnRNN", "BlockLSTM")) for op in ops)
    assert not has_kernel("NoSuchOp")


# Each takes from 10 seconds to a minute.
USUAL = [
    ("litert", "cells"), ("litert", "open_time"), ("tf2onnx", "words"), ("openvino", "stacks"),
    ("openvino", "open_batch"),
]  # fmt: skip
RUNS = [
    pytest.param(tool, name, marks=() if (tool, name) in USUAL else pytest.mark.thorough)
    for tool in export_tools.TOOLS
    for name in MODELS
]


@pytest.mark.parametrize(("tool", "name"), RUNS)
def test_results_in(tool, name, exported):
    folder, x, want = exported(name)
    got = export_tools.TOOLS[tool](folder, x)
    for output, array in want.items():
        assert np.any(array != 0)
        np.testing.assert_allclose(got[output], array, rtol=0, atol=2e-6, err_msg=output)
