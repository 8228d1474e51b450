"""explain on a machine with a GPU: each layer with each option goes the way that the table says.

The layers are traced, not run: the ops in the graph show the way.
"""

import itertools

import keras
import pytest
import tensorflow as tf

import tf_rnn_ops.keras as ours
from support import placed
from support.selection import all_but

pytestmark = pytest.mark.usefixtures("everything_else_on_the_cpu")


def _cells(units, name, **options):
    """A layer of two cells, one of them with the options."""
    if "dtype" in options:
        raise ValueError("StackedRNNCells has the global dtype policy, whatever its cells have")
    inner = [keras.layers.LSTMCell(units), keras.layers.GRUCell(units, **options)]
    return ours.RNN(inner, name=name)


LAYERS = {
    "LSTM": ours.LSTM,
    "GRU": ours.GRU,
    "SimpleRNN": ours.SimpleRNN,
    "PeepholeLSTM": ours.PeepholeLSTM,
    "ProjectedLSTM": lambda units, **options: ours.ProjectedLSTM(units, num_proj=2, **options),
    "LayerNormLSTM": ours.LayerNormLSTM,
    "ZoneoutLSTM": lambda units, **options: ours.ZoneoutLSTM(units, zoneout_h=0.1, **options),
    "ZoneoutGRU": lambda units, **options: ours.ZoneoutGRU(units, zoneout_h=0.1, **options),
    "cells": _cells,
    "CudnnLSTM": ours.CudnnLSTM,
}
OPTIONS = (
    {},
    {"recurrent_dropout": 0.3},
    {"recurrent_dropout": 1.0},
    {"dropout": 0.3},
    {"dropout": 1.0},
    {"dropout": 0.3, "implementation": 1},
    {"recurrent_activation": "hard_sigmoid"},
    {"activation": "relu"},
    {"activation": "elu"},
    {"reset_after": False},
    {"unroll": True},
    {"use_cudnn": False},
    {"go_backwards": True},
    {"dtype": "mixed_bfloat16"},
)
# The ops that compute steps.
STEPS = (
    "LayerRNN",
    "LayerRNNPacked",
    "QuantizedLayerRNN",
    "BlockLSTMV2",
    "CudnnRNNV3",
    "CudnnRNNV3Packed",
)


def _made(kind, options, steps, int8=False):
    """A model of the layer; None if its class does not have the options."""
    try:
        layer = LAYERS[kind](4, **options, name="it")
    except (TypeError, ValueError):
        return None
    model = keras.Sequential([keras.Input((steps, 3)), layer])
    if int8:
        layer.quantize("int8")
    return model


def _ops_of(layer, steps, training, masked, compiled):
    """The ops of this package that compute steps in a graph of a call."""

    def call(x, mask):
        return layer(x, training=training, mask=mask if masked else None)

    specs = tf.TensorSpec((2, steps, 3)), tf.TensorSpec((2, steps), tf.bool)
    graph = tf.function(call, jit_compile=compiled).get_concrete_function(*specs).graph
    types = {node.op for node in placed.nodes(graph.as_graph_def())}
    return {name for name in STEPS if f"TfRnnOps>{name}" in types}


def _check(model, steps, number):
    """Compares explain with the graphs of a call in inference and one in training, one with a mask."""
    compiled, layer = model.jit_compile, model.layers[-1]
    found = ours.explain(model, print_fn=None)
    masked = bool(number % 2)
    inference = _ops_of(layer, steps, False, masked, compiled)
    training = _ops_of(layer, steps, True, not masked, compiled)
    path = "keras" if not inference else "fused" if training else "fused, keras in training"
    assert (found[0].path, bool(found[0].reason)) == (path, path != "fused"), found[0]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", all_but(list(LAYERS), "LSTM", "cells"))
def test_the_way_is_what_explain_says(kind, compiled):
    checked = 0
    for number, options in enumerate(OPTIONS):
        steps = (None, 5, 1)[number % 3]
        model = _made(kind, options, steps)
        if model is None:
            continue
        model.compile(jit_compile=compiled)
        assert model.jit_compile == compiled
        _check(model, steps, number)
        checked += 1
    assert checked >= (8 if kind not in ("cells", "CudnnLSTM") else 2)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("steps", [None, 1, 5])
def test_a_known_number_of_steps(steps, compiled):
    for number, kind in enumerate(LAYERS):
        model = _made(kind, {}, steps)
        model.compile(jit_compile=compiled)
        _check(model, steps, number)


@pytest.mark.parametrize(
    ("kind", "masked"), itertools.product(("LSTM", "GRU", "SimpleRNN", "ProjectedLSTM"), (0, 1))
)
def test_int8_weights(kind, masked):
    """Keras does not let XLA compile a model with int8 weights."""
    model = _made(kind, {}, None, int8=True)
    model.compile(jit_compile=False)
    _check(model, None, masked)
