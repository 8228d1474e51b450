"""The task that every script here trains: data, model, and training in one process."""

from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

import tf_rnn_ops.keras

ROWS, TIME, FEATURES = 128, 12, 3
GLOBAL_BATCH = 16  # rows of one step, over all replicas together; divides ROWS
EPOCHS = 5

# Largest difference by another order of sums. A missing replica or a wrong factor of a gradient makes a
# difference more than a thousand times as large, as tests/package/scale_out shows.
BOUND = 1e-5


class Result(NamedTuple):
    """The results of a training run.

    Attributes:
        losses: The mean loss of each epoch.
        weights: All weights of the model, in its order.
    """

    losses: Any
    weights: Any


def arrays():
    """Returns x [ROWS, TIME, FEATURES], rows of different lengths padded with 0, and y [ROWS, 1]."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((ROWS, TIME, FEATURES)).astype(np.float32)
    lengths = rng.integers(1, TIME + 1, ROWS)
    x[np.arange(TIME) >= lengths[:, None]] = 0
    y = np.tanh(x.sum(axis=1) @ np.array([[1.0], [-0.5], [0.25]], np.float32))
    return x, y


def dataset():
    """Returns the rows one by one, in a fixed order."""
    return tf.data.Dataset.from_tensor_slices(arrays())


def make_model():
    """Returns a compiled model with a drop-in LSTM and a stack, always with the same weights.

    Call it in `strategy.scope()`, since the optimizer must be created there too. The input has its shape,
    because Keras must create variables in the scope and not in the first step.
    """
    keras.utils.set_random_seed(2)
    model = keras.Sequential(
        [
            keras.Input((TIME, FEATURES)),
            keras.layers.Masking(),
            tf_rnn_ops.keras.LSTM(8, return_sequences=True),
            tf_rnn_ops.keras.CudnnLSTM(8, num_layers=2, direction="bidirectional"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9), "mean_squared_error")
    return model


def fit(model, batches=None):
    """Trains with model.fit, under the strategy in whose scope the model was made.

    Args:
        model: The result of make_model().
        batches: A dataset of batches of all replicas together; None for the batches of dataset().

    Returns:
        A Result.
    """
    if batches is None:
        batches = dataset().batch(GLOBAL_BATCH)
    history = model.fit(batches, epochs=EPOCHS, shuffle=False, verbose=0)
    return Result(history.history["loss"], model.get_weights())


def differences(a, b):
    """Returns the largest difference of the losses and of the weights of two Results."""
    losses = np.abs(np.subtract(a.losses, b.losses)).max()
    weights = max(np.abs(p - q).max() for p, q in zip(a.weights, b.weights, strict=True))
    return float(losses), float(weights)


def report(alone, together, heading):
    """Prints both runs side by side.

    Returns:
        The exit status: 0 if they agree within BOUND, otherwise 1.
    """
    print(f"epoch  one process  {heading}")
    for epoch, losses in enumerate(zip(alone.losses, together.losses, strict=True), 1):
        print(f"{epoch:5}  {losses[0]:11.7f}  {losses[1]:{len(heading)}.7f}")
    losses, weights = differences(alone, together)
    print(f"largest difference: losses {losses:.1e}, weights {weights:.1e} (bound {BOUND:.0e})")
    return 0 if max(losses, weights) <= BOUND else 1
