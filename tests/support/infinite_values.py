"""LayerRNN on infinities and NaN, next to the same network in TensorFlow's own ops."""

import numpy as np
import tensorflow as tf

from support.reference import rounding
from support.tf_ops import to_float64

FUNCTIONS = {
    "tanh": tf.tanh,
    "sigmoid": tf.sigmoid,
    "hard_sigmoid": lambda x: tf.nn.relu6(x + 3) / 6,
    "hard_sigmoid_keras2": lambda x: tf.nn.relu6(x * 1.2 + 3) / 6,
    "relu": tf.nn.relu,
    "linear": tf.identity,
}
_GATES = {"lstm": 4, "gru": 3}
# The other ones overflow in the gradients of gates too, which a GPU rounds to 16 bits.
OF_SIGMOID_GATES = (
    *(("rnn", function, "sigmoid") for function in FUNCTIONS),
    ("rnn_tanh", "tanh", "sigmoid"),
    ("rnn_relu", "relu", "sigmoid"),
    *((mode, function, "sigmoid") for mode in _GATES for function in FUNCTIONS),
)
CASES = OF_SIGMOID_GATES + tuple(
    (mode, "tanh", function) for mode in _GATES for function in ("hard_sigmoid", "relu", "linear")
)
# With the weight 2, outputs overflow in float16. WHY only in the last step: on a CPU the next step reads
# an h that is not rounded to 16 bits.
OVERFLOW = 61440.0
INPUTS = (
    *((value, 0.5) for value in (np.inf, -np.inf, np.nan, 0.25, -0.25)),
    (0.5, OVERFLOW),
    (0.5, -OVERFLOW),
)


def _step(mode, from_x, from_h, h, c, gate, state):
    """A step of Keras's cell; the sums have a column for each gate."""
    if mode == "lstm":
        i, f, g, o = tf.split(from_x + from_h, 4, axis=1)
        c = gate(f) * c + gate(i) * state(g)
        return gate(o) * state(c), c
    if mode == "gru":
        xz, xr, xn = tf.split(from_x, 3, axis=1)
        hz, hr, hn = tf.split(from_h, 3, axis=1)
        z = gate(xz + hz)
        return z * h + (1 - z) * state(xn + gate(xr + hr) * hn), c
    return state(from_x + from_h), c


def _expected(mode, gate, state, inputs):
    """The output and the gradients of the sum of all results.

    Like the op, it computes 16-bit types in float32 and rounds h in each step.
    """
    dtype = inputs["input"].dtype

    @tf.custom_gradient
    def rounded(h):
        return tf.cast(tf.cast(h, dtype), tf.float32), tf.identity

    inputs = {name: tf.cast(tensor, tf.float32) for name, tensor in inputs.items()}
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        h, c, outputs = inputs["input_h"], inputs["input_c"], []
        for x in tf.unstack(inputs["input"]):
            from_x, from_h = x @ inputs["kernel"], h @ inputs["recurrent_kernel"]
            h, c = _step(mode, from_x, from_h, h, c, FUNCTIONS[gate], FUNCTIONS[state])
            h = rounded(h)
            outputs.append(h)
        results = [*outputs, h] + ([c] if mode == "lstm" else [])
        total = tf.add_n([tf.reduce_sum(result) for result in results])
    gradients = tape.gradient(total, inputs)
    found = {"output": tf.stack(outputs)} | {f"{n}_backprop": g for n, g in gradients.items()}
    return {name: tf.cast(value, dtype) for name, value in found.items() if value is not None}


def compare(ops, mode, activation, recurrent_activation, dtype):
    """Runs sequences of one unit and two steps with INPUTS.

    Raises AssertionError unless infinities and NaN are in the same places, forward and backward, and other
    results are equal up to rounding.
    """
    attrs = {
        "rnn_mode": mode,
        "activation": activation if mode in ("rnn", *_GATES) else "tanh",
        "recurrent_activation": recurrent_activation,
    }
    gates = _GATES.get(mode, 1)
    for x in INPUTS:
        inputs = {
            "input": tf.constant(np.reshape(x, (2, 1, 1)), dtype),
            "input_h": tf.constant([[0.5]], dtype),
            "input_c": tf.constant([[0.25]] if mode == "lstm" else 0.0, dtype),
            "kernel": tf.fill([1, gates], tf.constant(2.0, dtype)),
            "recurrent_kernel": tf.fill([1, gates], tf.constant(0.5, dtype)),
        }
        result = ops.LayerRNN(**inputs, **attrs)
        ones = {
            f"{name}_backprop": tf.ones_like(getattr(result, name))
            for name in ("output", "output_h", "output_c")
        }
        gradients = ops.LayerRNNBackprop(**inputs, **result._asdict(), **ones, **attrs)
        got = {"output": result.output} | gradients._asdict()
        for name, want in _expected(mode, recurrent_activation, activation, inputs).items():
            np.testing.assert_allclose(
                to_float64(got[name]),
                to_float64(want),
                rtol=8 * rounding.eps(dtype),
                atol=8 * rounding.eps(dtype),
                err_msg=f"{name} of {mode} with {activation}, {recurrent_activation} and {x} in {dtype}",
            )
