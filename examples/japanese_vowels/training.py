"""One training run: the loop, its progress bar and its times."""

import dataclasses
import statistics
import sys
import time

import keras

import models

BATCH = 27
# The learning rate falls to zero along half a cosine over the whole training.
LEARNING_RATE = 2e-3
GRADIENT_NORM = 1.0


@dataclasses.dataclass(frozen=True)
class Run:
    """The results of a training run.

    Attributes:
        losses: mean training loss of each epoch.
        accuracies: training accuracy of each epoch.
        seconds: time of each epoch; the first includes the tracing of the graph.
    """

    losses: list
    accuracies: list
    seconds: list

    @property
    def epoch_seconds(self):
        """The median time of an epoch, without the first epoch unless it is the only one."""
        return statistics.median(self.seconds[1:] or self.seconds)


def fit(model, train, epochs, seed, label):
    """Trains a model in place.

    Args:
        model: a model of `models`.
        train: the training `Utterances`.
        epochs: The number of epochs.
        seed: The seed of the order of the utterances.
        label: The name of the model in the progress bar.

    Returns:
        A `Run`.
    """
    keras.utils.set_random_seed(seed)
    steps = epochs * -(-len(train) // BATCH)
    schedule = keras.optimizers.schedules.CosineDecay(LEARNING_RATE, steps)
    model.compile(
        optimizer=keras.optimizers.Adam(schedule, clipnorm=GRADIENT_NORM),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    progress = ProgressBar(label, epochs)
    history = model.fit(
        models.inputs_of(train, model),
        train.speakers,
        batch_size=BATCH,
        epochs=epochs,
        verbose=0,
        callbacks=[progress],
    ).history
    return Run(history["loss"], history["accuracy"], progress.seconds)


class ProgressBar(keras.callbacks.Callback):
    """One line that grows with each epoch. Without a terminal it is ten separate lines.

    Attributes:
        seconds: time of each epoch so far.
    """

    WIDTH = 30

    def __init__(self, label, epochs, stream=None):
        super().__init__()
        self.seconds = []
        self._label = label
        self._epochs = epochs
        self._stream = stream or sys.stdout
        self._started = 0.0

    def on_epoch_begin(self, epoch, logs=None):
        """Starts the clock of the epoch."""
        self._started = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        """Stops the clock and draws the bar."""
        self.seconds.append(time.perf_counter() - self._started)
        done = epoch + 1
        last = done == self._epochs
        if self._stream.isatty():
            self._stream.write("\r" + self._line(done, logs) + ("\n" if last else ""))
        elif last or done % max(1, self._epochs // 10) == 0:
            self._stream.write(self._line(done, logs) + "\n")
        self._stream.flush()

    def _line(self, done, logs):
        filled = self.WIDTH * done // self._epochs
        line = (
            f"{self._label:<11} [{'#' * filled}{'.' * (self.WIDTH - filled)}] "
            f"epoch {done:>3}/{self._epochs}  loss {logs['loss']:.4f}  "
            f"accuracy {logs['accuracy']:.3f}"
        )
        if done == 1:
            # The first epoch traces the graph, so its time does not predict the other epochs.
            return line
        left = (self._epochs - done) * statistics.median(self.seconds[1:])
        return f"{line}  {left:4.0f} s left"
