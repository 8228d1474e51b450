"""Trains a model on Keras's layers and on those of tf_rnn_ops, from the same weights, and compares both."""

import argparse
import dataclasses
import time

import keras

import tf_rnn_ops.keras

FIRST_STEPS = 5


@dataclasses.dataclass
class Run:
    """A model and its training.

    Attributes:
        name: The package of its recurrent layers.
        model: The model.
        losses: Keras's mean of the loss over the epoch, after each step.
        seconds: The time of each epoch.
    """

    name: str
    model: keras.Model
    losses: list = dataclasses.field(default_factory=list)
    seconds: list = dataclasses.field(default_factory=list)


def train(make_model, fit, epochs):
    """Trains two models in turns, epoch by epoch, so that other load on the machine slows down both.

    Args:
        make_model: Makes the compiled model from a module with the recurrent layers.
        fit: Called with a model and a list of callbacks; trains one epoch.
        epochs: The number of epochs.

    Returns:
        A Run of Keras's layers and a Run of the layers of tf_rnn_ops.
    """
    runs = [Run("Keras", make_model(keras.layers)), Run("tf_rnn_ops", make_model(tf_rnn_ops.keras))]
    runs[1].model.set_weights(runs[0].model.get_weights())
    for _ in range(epochs):
        for run in runs:
            keep = keras.callbacks.LambdaCallback(
                on_train_batch_end=lambda step, logs, run=run: run.losses.append(logs["loss"])
            )
            start = time.perf_counter()
            fit(run.model, [keep])
            run.seconds.append(time.perf_counter() - start)
    return runs


def difference(runs):
    """The largest relative difference of the losses of both runs in the first steps."""
    pairs = zip(*(run.losses[:FIRST_STEPS] for run in runs), strict=True)
    return max(abs(a - b) / abs(a) for a, b in pairs)


def show(runs, title, metrics):
    """Prints a table of the losses, a metric and the times, and the difference of the losses."""
    print(f"{'':12}{'last loss':>10}{title:>26}{'s per epoch':>13}")
    seconds = [min(run.seconds[1:] or run.seconds) for run in runs]
    for run, metric, time_of_epoch in zip(runs, metrics, seconds, strict=True):
        print(f"{run.name:12}{run.losses[-1]:10.4f}{metric:>26}{time_of_epoch:13.2f}")
    print(f"tf_rnn_ops trains {seconds[0] / seconds[1]:.1f} times as fast.")
    print(f"Largest relative difference of the first {FIRST_STEPS} losses: {difference(runs):.0e}")


def parse(doc, argv, **defaults):
    """Parses the arguments, which are positive integers.

    Args:
        doc: The docstring of the example.
        argv: The arguments; those of the process if None.
        **defaults: The default of each argument, and its meaning.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    for name, (default, meaning) in defaults.items():
        parser.add_argument(
            f"--{name}", type=int, default=default, help=f"{meaning} (default: %(default)s)"
        )
    options = parser.parse_args(argv)
    for name, value in vars(options).items():
        if value < 1:
            parser.error(f"--{name} must be at least 1, but it is {value}.")
    return options
