"""Gradients of gradients on tapes, and of references by central differences (float64)."""

import numpy as np
import tensorflow as tf

from support import tf_ops

STEP = 1e-5
# Relative to the slope, or to 1. Rounding of the sum (1e-15 of some tens) over the step, and third derivatives times its square.
TOLERANCE = 1e-8


def second(first, values, cotangents):
    """Differentiates a weighted sum of gradients.

    Args:
        first: A function of `values` that returns a dict of gradients.
        values: A dict of tensors.
        cotangents: Arrays by the names of what `first` returns.

    Returns:
        A dict of gradients (or None) under the names of `values`.
    """
    with tf.GradientTape() as tape:
        tape.watch(values)
        found = first(values)
        # Zeros of another type multiply what has none, such as an input_c that is ignored.
        total = tf.add_n(
            [tf.reduce_sum(found[n] * tf.cast(c, found[n].dtype)) for n, c in cotangents.items()]
        )
    return tape.gradient(total, values)


def assert_slopes(got, total, values, rng):
    """Compares gradients with central differences, each along one random direction.

    Args:
        got: A dict of gradients.
        total: A function of a dict of arrays, the number that was differentiated.
        values: The dict of arrays at which it was.
        rng: A numpy generator.
    """
    for name, gradient in got.items():
        assert gradient is not None, name
        direction = rng.standard_normal(values[name].shape)
        direction /= max(1.0, np.linalg.norm(direction))
        sides = [
            total({**values, name: values[name] + sign * STEP * direction}) for sign in (1.0, -1.0)
        ]
        slope = (sides[0] - sides[1]) / (2 * STEP)
        found = float(np.sum(tf_ops.to_float64(gradient) * direction))
        assert abs(found - slope) <= TOLERANCE * max(1.0, abs(slope)), (name, found, slope)
        assert slope != 0, f"the test of {name} cannot fail"
