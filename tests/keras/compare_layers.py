"""Runs a layer and its reference on the same numbers and compares everything that comes out."""

import keras
import numpy as np
import tensorflow as tf

import tf_rnn_ops.keras
from support import bounds

NAMES = ("LSTM", "GRU", "SimpleRNN")
BATCH, TIME, INPUT, UNITS = 5, 6, 3, 4

_STEP = np.arange(TIME)
_HOLES = np.array(
    [
        [1, 0, 1, 1, 0, 1],
        [0, 0, 1, 0, 1, 0],
        [0, 1, 1, 1, 1, 0],
        [1, 1, 1, 1, 1, 1],
        [0, 0, 0, 0, 0, 0],
    ],
    bool,
)
MASKS = {
    "no_mask": None,
    "all_valid": np.ones((BATCH, TIME), bool),
    "right": _STEP < np.array([[6], [4], [1], [0], [3]]),
    "left": _STEP >= np.array([[0], [2], [5], [6], [3]]),
    "holes": _HOLES,
    "none_valid": np.zeros((BATCH, TIME), bool),
}


def pair(name, dtype="float64", **arguments):
    """Returns the stock layer and our layer, built and with the same random weights."""
    arguments = {"units": UNITS, "dtype": dtype, "return_state": True, **arguments}
    if arguments.get("use_bias", True):
        arguments.setdefault("bias_initializer", keras.initializers.RandomNormal(stddev=0.5))
        if name == "LSTM":
            arguments["unit_forget_bias"] = False
    layers = [getattr(module, name)(**arguments) for module in (keras.layers, tf_rnn_ops.keras)]
    for layer in layers:
        layer.build((BATCH, TIME, INPUT))
    layers[1].set_weights(layers[0].get_weights())
    return layers


def values(rng, dtype="float64"):
    """Random sequences [B, T, I] and two states [B, H]."""
    shapes = (BATCH, TIME, INPUT), (BATCH, UNITS), (BATCH, UNITS)
    x, *states = (tf.constant(rng.normal(size=shape), dtype) for shape in shapes)
    return x, states


def outcome(layer, x, mask=None, states=None, training=False):
    """Runs a layer forward and backward.

    Returns:
        A dict of tensors: results under r0, r1, ... and the gradients of a function of them with
        respect to the input, the initial states and the weights.
    """
    states = list(states or [])
    with tf.GradientTape() as tape:
        tape.watch([x, *states])
        results = layer(x, mask=mask, initial_state=states or None, training=training)
        results = tf.nest.flatten(results)
        # Every element of every result has a gradient of its own.
        loss = tf.add_n([tf.reduce_sum(tf.sin((i + 1) * r)) for i, r in enumerate(results)])
    found = {f"r{i}": result for i, result in enumerate(results)}
    variables = {f"{v.path.split('/')[-1]}_grad": v.value for v in layer.trainable_variables}
    sources = {"x_grad": x, **{f"state{i}_grad": s for i, s in enumerate(states)}, **variables}
    gradients = tape.gradient(loss, list(sources.values()))
    found.update(zip(sources, gradients))
    return found


def as_arrays(found):
    """The tensors of an outcome as arrays; a gradient of None as the None it is."""
    return {name: None if value is None else np.asarray(value) for name, value in found.items()}


def number_of_states(name):
    return 2 if name == "LSTM" else 1


def assert_same(stock, ours, *arguments, **keywords):
    """Both layers give the same results and gradients, up to rounding."""
    want = as_arrays(outcome(stock, *arguments, **keywords))
    got = as_arrays(outcome(ours, *arguments, **keywords))
    assert_outcomes(got, want, stock.compute_dtype)


def assert_outcomes(got, want, dtype):
    bounds.assert_close(got, want, dtype)
