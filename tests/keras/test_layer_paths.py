"""The table of arguments in docs/keras.md: explain() prints the path of each layer, and a traced graph has its ops."""

import pathlib
import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras as K
from tf_rnn_ops.keras import explain
from tf_rnn_ops.keras.dispatch.decision import decide

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/keras.md"
PREFIX = "TfRnnOps>"
NOT_LAYERS = ("PackLayerRNN", "PackQuantizedLayerRNN", "PackCudnnRNNParams", "StatelessDropoutSeed")


class Step(keras.layers.LSTMCell):
    """A cell of a class of the user's."""


class Own(K.LSTM):
    """A layer with a cell of its own."""

    def __init__(self, units, **kwargs):
        super().__init__(units, **kwargs)
        self.cell = Step(units)


def quantized(layer):
    layer.build((None, None, 3))
    layer.quantize("int8")
    return layer


def changed(layer, **attributes):
    layer.build((None, None, 3))
    for name, value in attributes.items():
        setattr(layer.cell, name, value)
    return layer


def looped(layer):
    layer.inner_loop = lambda *args, **kwargs: keras.layers.RNN.inner_loop(layer, *args, **kwargs)
    return layer


def regularized():
    return K.RNN(keras.layers.LSTMCell(2, activity_regularizer="l2"))


def each(*classes, **arguments):
    return [lambda cls=cls: cls(2, **arguments) for cls in classes]


ALL = (K.LSTM, K.GRU, K.SimpleRNN)
MASK = {"mask": np.array([[True, False, True, True], [False, False, False, False]])}
# {words in the first column of a row: (functions that make its layers, shape of the input, arguments of a call)}.
ROWS = {
    "the defaults": ([*each(*ALL, K.CudnnLSTM, K.CudnnGRU, K.PeepholeLSTM)], {}, {}),
    "any mask": (each(*ALL, zero_output_for_mask=True), {}, MASK),
    "go_backwards": (each(*ALL, go_backwards=True, use_bias=False, return_state=True), {}, {}),
    "Bidirectional": ([lambda: keras.layers.Bidirectional(K.LSTM(2), merge_mode="sum")], {}, {}),
    "initializers": (each(*ALL, kernel_initializer="ones", bias_constraint="non_neg"), {}, {}),
    "policies": (
        [
            *each(*ALL, dtype="float64"),
            *each(*ALL, K.CudnnLSTM, dtype="mixed_bfloat16"),
            *each(K.LSTM, dtype="float16", recurrent_initializer="zeros"),
        ],
        {},
        {},
    ),
    "any `implementation`": (
        [
            *each(*ALL, dropout=0.5, recurrent_dropout=0.5),
            *each(K.LSTM, K.GRU, implementation=1, dropout=0.5),
            lambda: K.CudnnLSTM(2, num_layers=2, dropout=0.5),
        ],
        {},
        {},
    ),
    "dropout=1": (
        [*each(*ALL, dropout=1.0), *each(*ALL, recurrent_dropout=1.0)],
        {},
        {},
    ),
    "the activations": (
        [*each(*ALL, activation="relu"), *each(K.GRU, recurrent_activation="hard_sigmoid")],
        {},
        {},
    ),
    "reset_after=False": (each(K.GRU, reset_after=False), {}, {}),
    "int8": ([lambda cls=cls: quantized(cls(2)) for cls in (*ALL, K.ProjectedLSTM)], {}, {}),
    "static time dimension of 1": (each(*ALL, K.ZoneoutLSTM, K.PeepholeLSTM), {"time": 1}, {}),
    "not in this list": (
        [*each(*ALL, activation="elu"), *each(*ALL, unroll=True), *each(K.GRU, use_cudnn=False)],
        {"time": 4},
        {},
    ),
    "with an LSTMCell": (
        [
            lambda: K.RNN(keras.layers.GRUCell(2)),
            lambda: K.RNN([keras.layers.LSTMCell(2), keras.layers.SimpleRNNCell(3)]),
        ],
        {},
        {},
    ),
    "that was replaced": (
        [
            lambda: changed(K.LSTM(2), units=3),
            lambda: changed(K.GRU(2), reset_after=False),
            lambda: changed(K.LSTM(2), call=lambda x, states, training: (states[0], states)),
            lambda: looped(K.GRU(2)),
            regularized,
        ],
        {},
        {},
    ),
    "with other cells": (
        [
            lambda: K.RNN(Step(2)),
            lambda: K.RNN(keras.layers.LSTMCell(2, dtype="float64")),
            lambda: keras.layers.ConvLSTM1D(2, 3),
            lambda: Own(2),
        ],
        {},
        {},
    ),
}


def rows_of_the_page():
    """{first column: the other columns} of the table."""
    table = PAGE.read_text().split("| argument | without XLA | XLA |\n|---|---|---|\n")[1]
    lines = table.split("\n\n")[0].splitlines()
    return {
        cells[0]: cells[1:] for cells in (re.split(r"\s*\|\s*", line.strip("| ")) for line in lines)
    }


PATHS = rows_of_the_page()
CASES = [
    pytest.param(row, number, id=f"{key}-{number}")
    for row in PATHS
    for key in ROWS
    if key in row
    for number in range(len(ROWS[key][0]))
]


def recurrent(layer):
    """The layers with a path in a layer."""
    if isinstance(layer, keras.layers.Bidirectional):
        return [layer.forward_layer, layer.backward_layer]
    return [layer]


def ops_in_graph(layer, time, training, compiled, arguments):
    """The names of the ops of this package, in order, in a traced call, those in conditions and branches included."""
    shape = [2, time, 8, 3] if isinstance(layer, keras.layers.ConvLSTM1D) else [2, time, 3]
    layer(tf.zeros([2, time or 4, *shape[2:]]))  # Keras makes the weights in an eager call
    call = tf.function(lambda x: layer(x, training=training, **arguments), jit_compile=compiled)
    graph = call.get_concrete_function(tf.TensorSpec(shape)).graph
    ops = [
        op.type.removeprefix(PREFIX) for op in graph.get_operations() if op.type.startswith(PREFIX)
    ]
    return tuple(op for op in ops if op not in NOT_LAYERS)


def test_each_row_has_layers():
    keys = [[key for key in ROWS if key in row] for row in PATHS]
    assert sorted(key for found in keys for key in found) == sorted(ROWS) and all(map(len, keys))


@pytest.mark.filterwarnings("ignore:Model doesn't support")
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("row, number", CASES)
def test_the_path_of_the_page_is_that_of_the_graph(row, number, compiled):
    makers, sizes, arguments = next(ROWS[key] for key in ROWS if key in row)
    layer, time = makers[number](), sizes.get("time")
    expected = re.split("; |, one call", PATHS[row][compiled])[0]
    if f"`{type(layer).__name__}` keras" in PATHS[row][compiled]:
        expected = "keras"
    for training in (False, True):
        ops = ops_in_graph(layer, time, training, compiled, arguments)
        decided = [decide(one, time, training, compiled) for one in recurrent(layer)]
        in_keras = expected == "keras" or (training and expected == "fused, keras in training")
        assert (ops == ()) == in_keras
        if not in_keras:
            assert ops == tuple(op for one in decided for op in one.ops)
    model = keras.Sequential([layer])
    model.compile("sgd", "mse", jit_compile=compiled)
    if model.jit_compile == compiled:  # Keras leaves models with int8 weights out of XLA
        assert {found.path for found in explain(model, print_fn=None)} == {expected}
