"""Models with every recurrent layer, for the tests of each format."""

import keras
import numpy as np

import tf_rnn_ops.keras as rnn

BATCH, TIME, SIZE, UNITS = 3, 5, 3, 4
SEQUENCES = {"return_sequences": True}
# Networks that a format may write as a node.
CELLS = {
    "lstm": lambda **o: keras.layers.LSTM(UNITS, **o),
    "lstm_no_bias": lambda **o: keras.layers.LSTM(UNITS, use_bias=False, **o),
    "gru": lambda **o: keras.layers.GRU(UNITS, **o),
    "gru_before": lambda **o: keras.layers.GRU(UNITS, reset_after=False, **o),
    "simple": lambda **o: keras.layers.SimpleRNN(UNITS, **o),
    "simple_relu": lambda **o: keras.layers.SimpleRNN(UNITS, activation="relu", **o),
    "lstm_relu": lambda **o: keras.layers.LSTM(UNITS, activation="relu", **o),
    "gru_relu": lambda **o: keras.layers.GRU(UNITS, activation="relu", **o),
    "lstm_hard": lambda **o: keras.layers.LSTM(UNITS, recurrent_activation="hard_sigmoid", **o),
    "gru_hard": lambda **o: keras.layers.GRU(UNITS, recurrent_activation="hard_sigmoid", **o),
}
# Networks without a node in LiteRT and OpenVINO.
OTHERS = {
    "peephole": lambda **o: rnn.PeepholeLSTM(UNITS, cell_clip=0.3, **o),
    "projected": lambda **o: rnn.ProjectedLSTM(UNITS, num_proj=2, use_peepholes=True, **o),
    "clipped": lambda **o: rnn.ProjectedLSTM(UNITS, num_proj=UNITS, cell_clip=0.3, **o),
    "layer_norm": lambda **o: rnn.LayerNormLSTM(UNITS, **o),
    "zoneout_lstm": lambda **o: rnn.ZoneoutLSTM(UNITS, zoneout_h=0.1, zoneout_c=0.2, **o),
    "zoneout_gru": lambda **o: rnn.ZoneoutGRU(UNITS, zoneout_h=0.1, **o),
}
PAIR = {"pair": lambda **o: rnn.RNN([keras.layers.LSTMCell(UNITS), keras.layers.GRUCell(2)], **o)}
STACKS = {
    "stack_lstm": lambda **o: rnn.CudnnLSTM(UNITS, num_layers=2, **o),
    "stack_gru": lambda **o: rnn.CudnnGRU(UNITS, num_layers=2, **o),
    "stack_tanh": lambda **o: rnn.CudnnRNNTanh(UNITS, **o),
    "stack_relu": lambda **o: rnn.CudnnRNNRelu(UNITS, **o),
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
    model = keras.Model(inputs, layers(inputs))
    rng = np.random.default_rng(4)
    for weight in model.weights:  # those that are 0 would hide what multiplies them
        weight.assign(rng.uniform(-0.7, 0.7, weight.shape))
    signature = [keras.InputSpec(shape=(*sizes, SIZE), dtype="float32", name="x")]
    return model, signature, draw(np.random.default_rng(3))
