"""Models with every recurrent layer, for the tests of each format."""

import collections
import functools

import export_cases
import keras
import numpy as np
from export_cases import LOOPS, NODES, SEQUENCES, SIZE, UNITS

import tf_rnn_ops.keras as rnn
from support.models import drawn

BATCH, TIME = 3, 5


@keras.saving.register_keras_serializable("export_networks")
class OwnCell(keras.layers.SimpleRNNCell):
    """A cell that the ops do not know."""

    def call(self, *arguments, **options):
        output, states = super().call(*arguments, **options)
        return 2 * output, states


LSTM = "LSTM with tanh and sigmoid"
# By the row of the table in docs/export.md: layers by name.
ROWS = {
    LSTM: {
        "lstm": NODES["lstm"],
        "lstm_ours": lambda **o: rnn.LSTM(UNITS, use_bias=False, **o),
    },
    "LSTM with the activation `relu`": {
        "lstm_relu": lambda **o: keras.layers.LSTM(UNITS, activation="relu", **o)
    },
    "`hard_sigmoid` or `linear` in LSTM, GRU, SimpleRNN": {
        "lstm_hard": NODES["lstm_hard"],
        "lstm_keras2": NODES["lstm_keras2"],
        "gru_hard": lambda **o: keras.layers.GRU(UNITS, recurrent_activation="hard_sigmoid", **o),
        "simple_linear": NODES["simple_linear"],
    },
    "GRU with `reset_after` or not, SimpleRNN": {
        "gru": NODES["gru"],
        "gru_before": NODES["gru_before"],
        "gru_no_bias": NODES["gru_no_bias"],
        "gru_relu": lambda **o: keras.layers.GRU(UNITS, activation="relu", **o),
        "simple": NODES["simple"],
        "simple_relu": NODES["simple_relu"],
    },
    "RNN of several cells": {
        "cells": NODES["cells"],
        "cells_ours": lambda **o: rnn.RNN(
            [keras.layers.LSTMCell(UNITS), keras.layers.GRUCell(2)], **o
        ),
    },
    "PeepholeLSTM, and ProjectedLSTM without a projection": {
        "peephole": NODES["peephole"],
        "peephole_of_projected": NODES["peephole_of_projected"],
    },
    "ProjectedLSTM with a projection, LayerNormLSTM, ZoneoutLSTM, ZoneoutGRU, `cell_clip`": {
        **{name: make for name, (make, _) in LOOPS.items() if name != "elu"},
        "clipped": lambda **o: rnn.ProjectedLSTM(UNITS, num_proj=UNITS, cell_clip=0.3, **o),
    },
    "other activations, cells of classes of your own": {
        "elu": LOOPS["elu"][0],
        "own": lambda **o: keras.layers.RNN(OwnCell(UNITS), **o),
    },
}
LAYERS = {name: make for layers in ROWS.values() for name, make in layers.items()}
GATED = "GRU with `reset_after` or not, SimpleRNN"
STACK = "CudnnLSTM; TensorFlow's CudnnRNN ops"
# Two layers of those with gates.
STACKS = {
    name: functools.partial(make, UNITS, num_layers=2 if name in ("lstm", "gru") else 1)
    for name, make in export_cases.STACKS.items()
}


class Network:
    """Layers of an input: their outputs by name, and the names of those of each row of the table."""

    def __init__(self):
        self.rows, self.outputs = collections.defaultdict(set), {}

    def add(self, rows, layer, *arguments, **options):
        for row in rows:
            self.rows[row].add(layer.name)
        results = keras.tree.flatten(layer(*arguments, **options))
        for k, result in enumerate(results):
            self.outputs[layer.name if len(results) == 1 else f"{layer.name}_{k}"] = result


MASKS = "masks: padding left or right, holes, sequences without a valid step"
BACKWARDS = "`go_backwards=True`, Bidirectional"


def every(first, network, x):
    """Each layer in one of eight calls; networks with another `first` have the other calls of a layer."""
    both_inputs = x, keras.layers.Masking()(x)
    names = [(row, name) for row in ROWS for name in ROWS[row]]
    for k, (row, name) in enumerate(names, first):
        make, call, masked = LAYERS[name], k % 4, k // 4 % 2
        if call == 0:
            layer = make(name=name)
        elif call == 1:
            layer = make(name=name, **SEQUENCES)
        elif call == 2:
            layer = make(name=name, go_backwards=True, **SEQUENCES)
        else:
            merge = "concat" if masked else "sum"
            layer = keras.layers.Bidirectional(make(**SEQUENCES), merge_mode=merge, name=name)
        rows = [row]
        if row == LSTM:
            rows += [MASKS] * masked + [BACKWARDS] * (call > 1)
        network.add(rows, layer, both_inputs[masked])


def stacks(network, x):
    """Each stack in one direction, and in both with masks that pad."""
    masked = keras.layers.Masking()(x)
    for name, make in STACKS.items():
        row = STACK if name == "lstm" else GATED
        network.add([row], make(name=name), x)
        both = make(direction="bidirectional", name=f"{name}_both", **SEQUENCES)
        network.add([row], both, masked)
    skip = rnn.CudnnLSTM(UNITS, input_mode="skip_input", name="skip", **SEQUENCES)
    network.add([STACK], skip, keras.layers.Dense(UNITS)(x))


def states(network, x):
    """Initial states from the input, and final states, with masks that pad and without."""
    # WHY not Masking: a layer with initial states does not get the mask of its input (Keras 3.15).
    mask = keras.ops.any(keras.ops.not_equal(x, 0.0), axis=-1)
    first = keras.layers.Dense(UNITS)(keras.layers.GlobalMaxPooling1D()(x))
    other = keras.layers.Dense(UNITS)(keras.layers.GlobalMaxPooling1D()(x))
    for name in ("lstm", "gru", "gru_before", "simple"):
        initial = [first, other] if name == "lstm" else [first]
        given, found = ("initial states, final h", "final c") if name == "lstm" else (GATED, GATED)
        for suffix, options in (("", {}), ("_masked", {"mask": mask})):
            options |= {"initial_state": initial}
            layer = LAYERS[name](name=name + suffix, **SEQUENCES)
            network.add([given], layer, x, **options)
            layer = LAYERS[name](name=f"{name}_returned{suffix}", return_state=True)
            network.add([found], layer, x, **options)
    # Each layer and each direction begins with a state of its own.
    rows = keras.layers.Reshape((4, UNITS))(keras.layers.Dense(4 * UNITS)(first))
    stack = STACKS["lstm"](direction="bidirectional", name="stack", **SEQUENCES)
    network.add([STACK], stack, x, initial_state=[rows, -rows], mask=mask)


def whole(rng, batch, time):
    """Without a masked step."""
    yield rng.standard_normal((batch, time, SIZE)).astype(np.float32)


def padding(rng, batch, time):
    """Valid steps, then masked ones, and a row of nothing else."""
    (x,) = whole(rng, batch, time)
    x[0, 2:] = x[1] = 0
    yield x


def any_mask(rng, batch, time):
    """Masked steps, which are zeros, at the end, at the begin and anywhere."""
    for mask in export_cases.masks(rng, batch, time).values():
        yield rng.standard_normal((batch, time, SIZE)).astype(np.float32) * mask[..., None]


# By name: the layers, and the inputs.
NETWORKS = {
    **{f"every_{k}": (functools.partial(every, k), any_mask) for k in range(8)},
    "stacks": (stacks, padding),
    "states": (states, padding),
}
# The sizes of the signature.
SIZES = {"known": (BATCH, TIME), "open_time": (BATCH, None), "open": (None, None)}


def make(add, draw, sizes):
    """A model with weights that are not 0, the names of its layers by row, its signature, and inputs."""
    network, inputs = Network(), keras.Input(batch_shape=(*sizes, SIZE))
    add(network, inputs)
    model = drawn(keras.Model(inputs, network.outputs))
    signature = [keras.InputSpec(shape=(*sizes, SIZE), dtype="float32", name="x")]
    rng = np.random.default_rng(3)
    inputs = [*draw(rng, sizes[0] or 2, sizes[1] or 4)]
    return model, network.rows, signature, [*inputs, *draw(rng, BATCH, TIME)]
