"""Models with every recurrent layer, for the tests of each format."""

import functools

import export_cases
import keras
import numpy as np
from export_cases import LOOPS, NODES, SEQUENCES, SIZE, UNITS

import tf_rnn_ops.keras as rnn
from support.models import drawn

BATCH, TIME = 3, 5
# Networks that a format may write as a node.
CELLS = {
    **{name: NODES[name] for name in ("lstm", "gru", "gru_before", "simple", "simple_relu")},
    "lstm_no_bias": lambda **o: keras.layers.LSTM(UNITS, use_bias=False, **o),
    "lstm_relu": lambda **o: keras.layers.LSTM(UNITS, activation="relu", **o),
    "gru_relu": lambda **o: keras.layers.GRU(UNITS, activation="relu", **o),
    "lstm_hard": lambda **o: keras.layers.LSTM(UNITS, recurrent_activation="hard_sigmoid", **o),
    "gru_hard": lambda **o: keras.layers.GRU(UNITS, recurrent_activation="hard_sigmoid", **o),
}
# Networks without a node in LiteRT and OpenVINO.
OTHERS = {name: LOOPS[name][0] for name in LOOPS if name != "elu"}
OTHERS["clipped"] = lambda **o: rnn.ProjectedLSTM(UNITS, num_proj=UNITS, cell_clip=0.3, **o)
PAIR = {"pair": lambda **o: rnn.RNN([keras.layers.LSTMCell(UNITS), keras.layers.GRUCell(2)], **o)}
# Two layers of those with gates.
STACKS = {
    f"stack_{name}": functools.partial(
        export_cases.STACKS[name], UNITS, num_layers=2 if name in ("lstm", "gru") else 1
    )
    for name in export_cases.STACKS
}


def forwards(x):
    """Each cell, all outputs."""
    cells = CELLS | OTHERS | PAIR
    return {name: make(name=name, **SEQUENCES)(x) for name, make in cells.items()}


def backwards_masked(x):
    """Each cell from the last step on, with any mask, all outputs."""
    x = keras.layers.Masking()(x)
    options = {"go_backwards": True, **SEQUENCES}
    cells = CELLS | OTHERS | PAIR
    return {name: make(name=name, **options)(x) for name, make in cells.items()}


def last_masked(x):
    """The last output of each cell, with any mask."""
    x = keras.layers.Masking()(x)
    return {name: make(name=name)(x) for name, make in (CELLS | OTHERS | PAIR).items()}


def both_directions(x):
    """Both directions of each cell, with any mask and without."""
    masked = keras.layers.Masking()(x)
    outputs = {}
    for name, make in CELLS.items():
        outputs[name] = keras.layers.Bidirectional(make(**SEQUENCES), name=name)(x)
        pair = keras.layers.Bidirectional(make(**SEQUENCES), name=f"{name}_masked")
        outputs[f"{name}_masked"] = pair(masked)
    return outputs


def stacks(x):
    """Each stack in one direction, and in both with masks that pad."""
    masked = keras.layers.Masking()(x)
    outputs = {name: make(name=name)(x) for name, make in STACKS.items()}
    for name, make in STACKS.items():
        both = make(direction="bidirectional", name=f"{name}_both", **SEQUENCES)
        outputs[f"{name}_both"] = both(masked)
    skipped = keras.layers.Dense(UNITS)(x)
    skip = rnn.CudnnLSTM(UNITS, input_mode="skip_input", name="stack_skip", **SEQUENCES)
    return {**outputs, "stack_skip": skip(skipped)}


def states(x):
    """Initial states from the input, and final states, with masks that pad and without."""
    # WHY not Masking: a layer with initial states does not get the mask of its input (Keras 3.15).
    mask = keras.ops.any(keras.ops.not_equal(x, 0.0), axis=-1)
    first = keras.layers.Dense(UNITS)(keras.layers.GlobalMaxPooling1D()(x))
    other = keras.layers.Dense(UNITS)(keras.layers.GlobalMaxPooling1D()(x))
    outputs = {}
    for name in ("lstm", "gru", "gru_before", "simple"):
        initial = [first, other] if name == "lstm" else [first]
        for suffix, options in (("", {}), ("_masked", {"mask": mask})):
            options |= {"initial_state": initial}
            given = CELLS[name](name=name + suffix, **SEQUENCES)
            outputs[name + suffix] = given(x, **options)
            returned = CELLS[name](name=f"{name}_returned{suffix}", return_state=True)
            found = returned(x, **options)
            outputs |= {f"{name}_state_{k}{suffix}": one for k, one in enumerate(found)}
    return outputs


def holes(rng):
    """An input whose masked steps, of zeros, are anywhere, and a row of nothing else."""
    x = rng.standard_normal((BATCH, TIME, SIZE)).astype(np.float32)
    x[0, 1] = x[0, 3] = x[1] = 0
    return x


def padding(rng):
    """An input of valid steps, then masked ones, and a row of nothing else."""
    x = rng.standard_normal((BATCH, TIME, SIZE)).astype(np.float32)
    x[0, 2:] = x[1] = 0
    return x


# By name: the layers, and the input.
MODELS = {
    "forwards": (forwards, holes),
    "backwards_masked": (backwards_masked, holes),
    "last_masked": (last_masked, holes),
    "both_directions": (both_directions, holes),
    "stacks": (stacks, padding),
    "states": (states, padding),
}
# The open sizes of the signature.
OPEN = {"none": (BATCH, TIME), "time": (BATCH, None), "both": (None, None)}


def layer_of(node):
    """The name of the layer of the model that a node is of."""
    return node.name.split("/")[0]


def make(name, sizes):
    """A model with weights that are not 0, its signature, and an input."""
    keras.utils.set_random_seed(2)
    layers, draw = MODELS[name]
    inputs = keras.Input(batch_shape=(*sizes, SIZE))
    model = drawn(keras.Model(inputs, layers(inputs)))
    signature = [keras.InputSpec(shape=(*sizes, SIZE), dtype="float32", name="x")]
    return model, signature, draw(np.random.default_rng(3))
