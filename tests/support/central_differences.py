"""Gradients of a tape against central differences of the loss, in float64."""

import numpy as np
import tensorflow as tf

from support import bounds

STEP = 1e-6
# Rounding of the loss (about 1e-15) over the step, and the third derivative times its square.
TOLERANCE = 2e-8


def _central_differences(loss, values, name):
    base = values[name].numpy()
    grad = np.zeros(base.size)
    for j in range(base.size):
        sides = []
        for sign in (1.0, -1.0):
            moved = base.copy()
            moved.reshape(-1)[j] += sign * STEP
            sides.append(float(loss({**values, name: tf.constant(moved)})))
        grad[j] = (sides[0] - sides[1]) / (2 * STEP)
    return grad.reshape(base.shape)


def assert_gradients(loss, values):
    """Checks the gradient of loss(values) with respect to each of the tensors by name."""
    with tf.GradientTape() as tape:
        tape.watch(values)
        total = loss(values)
    for name, grad in tape.gradient(total, values).items():
        found = bounds.error(f"{name}_grad", grad, _central_differences(loss, values, name))
        assert found <= TOLERANCE, (name, found)
