"""Gradients of a tape against central differences of the loss, in float64."""

import numpy as np
import tensorflow as tf

from support import bounds

STEP = 1e-6
# Rounding of the loss (about 1e-15) over the step, and the third derivative times its square.
TOLERANCE = 2e-8


def numeric(loss, array, step=STEP):
    """The gradient of loss(array) by central differences, one for each element."""
    grad = np.zeros(array.size)
    for j in range(array.size):
        sides = []
        for sign in (1.0, -1.0):
            moved = array.copy()
            moved.reshape(-1)[j] += sign * step
            sides.append(float(loss(moved)))
        grad[j] = (sides[0] - sides[1]) / (2 * step)
    return grad.reshape(array.shape)


def assert_gradients(loss, values):
    """Checks the gradient of loss(values) with respect to each of the tensors by name."""
    with tf.GradientTape() as tape:
        tape.watch(values)
        total = loss(values)
    for name, grad in tape.gradient(total, values).items():
        want = numeric(
            lambda array: loss({**values, name: tf.constant(array)}),  # noqa: B023
            values[name].numpy(),
        )
        found = bounds.error(f"{name}_grad", grad, want)
        assert found <= TOLERANCE, (name, found)
