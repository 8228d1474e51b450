"""Models to export, and inputs for them."""

import collections

import keras
import numpy as np

import tf_rnn_ops.keras as rnn

SIZE, UNITS = 3, 4
RECURRENT = ("LSTM", "GRU", "RNN")
SEQUENCES = {"return_sequences": True}
# Layers of Keras that become one node, and our layers whose cells ONNX has.
NODES = {
    "lstm": lambda **o: keras.layers.LSTM(UNITS, **o),
    "lstm_hard": lambda **o: keras.layers.LSTM(
        UNITS, recurrent_activation="hard_sigmoid", activation="relu", use_bias=False, **o
    ),
    "lstm_keras2": lambda **o: rnn.LSTM(
        UNITS, recurrent_activation=rnn.hard_sigmoid_keras2, activation="linear", **o
    ),
    "gru": lambda **o: keras.layers.GRU(UNITS, **o),
    "gru_before": lambda **o: keras.layers.GRU(UNITS, reset_after=False, **o),
    "gru_no_bias": lambda **o: keras.layers.GRU(UNITS, use_bias=False, activation="sigmoid", **o),
    "simple": lambda **o: keras.layers.SimpleRNN(UNITS, **o),
    "simple_relu": lambda **o: keras.layers.SimpleRNN(UNITS, activation="relu", **o),
    "simple_linear": lambda **o: keras.layers.SimpleRNN(UNITS, activation="linear", **o),
    "peephole": lambda **o: rnn.PeepholeLSTM(UNITS, **o),
    "peephole_of_projected": lambda **o: rnn.ProjectedLSTM(UNITS, use_peepholes=True, **o),
    "cells": lambda **o: keras.layers.RNN(
        [keras.layers.LSTMCell(UNITS), keras.layers.GRUCell(2)], **o
    ),
}
# Those that ONNX has no node for, with a word of the reason.
LOOPS = {
    "peephole_clip": (lambda **o: rnn.PeepholeLSTM(UNITS, cell_clip=0.3, **o), "clip"),
    "projected": (
        lambda **o: rnn.ProjectedLSTM(
            UNITS, num_proj=2, use_peepholes=True, cell_clip=0.3, proj_clip=0.2, **o
        ),
        "projection",
    ),
    "layer_norm": (lambda **o: rnn.LayerNormLSTM(UNITS, **o), "normalization"),
    "zoneout_lstm": (
        lambda **o: rnn.ZoneoutLSTM(UNITS, zoneout_h=0.1, zoneout_c=0.2, **o),
        "zoneout",
    ),
    "zoneout_gru": (lambda **o: rnn.ZoneoutGRU(UNITS, zoneout_h=0.1, **o), "zoneout"),
    "elu": (lambda **o: keras.layers.LSTM(UNITS, activation="elu", **o), "activation=elu"),
}
STACKS = {
    "lstm": rnn.CudnnLSTM,
    "gru": rnn.CudnnGRU,
    "tanh": rnn.CudnnRNNTanh,
    "relu": rnn.CudnnRNNRelu,
}


def masks(rng, batch, time):
    """By name: masks [B, T] of the kinds that there are; every one has a row without a valid step."""
    steps = np.arange(time)
    lengths = np.append(rng.integers(1, time + 1, batch - 1), 0)[:, None]
    return {
        "right": steps < lengths,
        "left": steps >= time - lengths,
        "holes": (rng.random((batch, time)) < 0.6) & (lengths > 0),
    }


def results(outputs):
    """Arrays by the names that a signature gives them."""
    if isinstance(outputs, dict):
        return {name: np.asarray(one) for name, one in outputs.items()}
    return {f"output_{k}": np.asarray(one) for k, one in enumerate(keras.tree.flatten(outputs))}


def check(run, model, inputs, atol=2e-6):
    """Compares a file with the model; `inputs` by name, in the order of the model's."""
    want = results(model(list(inputs.values()), training=False))
    got = run(inputs)
    assert got.keys() == want.keys()
    for name, array in want.items():
        np.testing.assert_allclose(got[name], array, rtol=0, atol=atol, err_msg=name)


def ops_of(model):
    """How often each op occurs in a model of ONNX, in branches and loops too."""
    count = collections.Counter()

    def visit(graph):
        for node in graph.node:
            assert node.domain in ("", "com.microsoft")  # the latter for 8 bits
            count[node.op_type] += 1
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    visit(attribute.g)

    visit(model.graph)
    return count


def recurrent(ops):
    return sum(ops[op] for op in RECURRENT)
