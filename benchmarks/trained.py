"""Small models that are trained in a minute on a CPU, with test data that they have not seen.

Models and data are those of examples/japanese_vowels and examples/comparisons. This module adds noisy copies of
the test utterances, forecasts of many hours, and metrics that resolve 0.2 %.
"""

import contextlib
import dataclasses
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import tf_rnn_ops.keras

_EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
# The metric of a forecast is an error. Other metrics are percentages of right items.
ERROR, RIGHT = "mean absolute error", "% right"


@dataclasses.dataclass
class Task:
    """A trained model and its test data.

    Attributes:
        model: A model of float32 with the layers of this package.
        x: The input of the test, an array [B, ...].
        metric: ERROR or RIGHT.
        score: A function from the outputs to the metric.
        items: The number of items that the metric counts.
        valid: None, or which steps of the outputs count, [B, T]. The others are padding.
    """

    model: keras.Model
    x: np.ndarray
    metric: str
    score: Callable[[np.ndarray], float]
    items: int
    valid: Any = None

    def outputs(self):
        """Returns the outputs [B, ...], which are zero in padding."""
        return self.without_padding(self.model.predict(self.x, batch_size=256, verbose=0))

    def without_padding(self, outputs):
        """Returns outputs with zeros in padding."""
        return outputs if self.valid is None else np.where(self.valid[..., None], outputs, 0)

    def fall(self, before, after):
        """By how many percent a metric is worse: percentage points of right items, or relative errors."""
        return 100 * (after / before - 1) if self.metric == ERROR else before - after


def vowels(seed=1, epochs=60, copies=10, noise=0.5):
    """The demo's classifier of speakers: two bidirectional LSTM layers, 128 units.

    Args:
        seed: The seed of weights, order and noise.
        epochs: The number of epochs.
        copies: How often each of the 370 test utterances is tested. The first copy has no noise.
        noise: The size of the noise, in standard deviations of each coefficient. Training has 1.0.

    Returns:
        A Task.
    """
    with _path(_EXAMPLES / "japanese_vowels"):
        import models
        import training
        import vowels as data
    keras.utils.set_random_seed(seed)
    train, test = data.load()
    model = models.build_stock(train, seed)
    # The progress is not part of the result.
    with contextlib.redirect_stdout(sys.stderr), tf_rnn_ops.keras.accelerate():
        training.fit(model, train, epochs, seed, "vowels")
    deviations = np.sqrt(models.statistics(train)[1])
    rng = np.random.default_rng(seed)
    valid = np.arange(test.frames.shape[1]) < test.lengths[:, None]
    frames = [test.frames]
    for _ in range(copies - 1):
        noisy = test.frames + noise * deviations * rng.normal(size=test.frames.shape)
        frames.append(np.where(valid[..., None], noisy, 0))
    speakers = np.tile(test.speakers, copies)
    model = tf_rnn_ops.keras.convert(model)
    return Task(
        # The input as an array rather than a dict.
        keras.Model(model.inputs[0], model.outputs[0]),
        np.concatenate(frames).astype(np.float32),
        RIGHT,
        lambda logits: 100 * np.mean(logits.argmax(-1) == speakers),
        len(speakers),
    )


def speech(seed=0, epochs=4, count=512, units=64, tested=2000):
    """A speech model with CTC loss: two bidirectional LSTM layers on made utterances.

    Args:
        seed: The seed of data and weights.
        epochs: The number of epochs.
        count: The number of training utterances.
        units: The units of each layer and direction.
        tested: The number of test utterances.

    Returns:
        A Task. Its metric is 100 minus the label error rate of greedy decoding, in percent.
    """
    with _path(_EXAMPLES / "comparisons"):
        import speech_ctc as example
    keras.utils.set_random_seed(seed)
    rng = np.random.default_rng(seed)
    voice = rng.normal(size=(example.SYMBOLS + 1, example.FEATURES))
    x, y = example.utterances(rng, voice, count)
    test, labels = example.utterances(rng, voice, tested)
    model = example.make_model(tf_rnn_ops.keras, units)
    model.fit(x, y, batch_size=32, epochs=epochs, verbose=0)
    items = int(labels["label_lengths"].sum())

    def score(scores):
        found, _ = keras.ops.ctc_decode(scores, labels["lengths"], mask_index=0)
        found = np.maximum(np.asarray(found[0]), 0)  # -1 follows the last symbol
        pair = (tf.sparse.from_dense(a.astype(np.int64)) for a in (found, labels["labels"]))
        return 100 * (1 - float(np.sum(tf.edit_distance(*pair, normalize=False))) / items)

    valid = np.arange(test.shape[1]) < labels["lengths"][:, None]
    return Task(model, test, RIGHT, score, items, valid)


PAST, FUTURE = 72, 24


def forecast(kind, seed=0, epochs=10, series=16, windows=60, units=64):
    """A forecast of the next 24 hours from the last 72, with two layers.

    The series of examples/comparisons/forecasting.py have a daily and a weekly season and noise. Here they have
    events, too: the load rises at once, at hours that nobody knows, and falls back within a day.

    Args:
        kind: The class of the layers, "LSTM" or "GRU".
        seed: The seed of data and weights.
        epochs: The number of epochs.
        series: The number of series.
        windows: The number of days for training. A third as many follow for the test.
        units: The units of each layer.

    Returns:
        A Task.
    """
    with _path(_EXAMPLES / "comparisons"):
        import forecasting as example
    keras.utils.set_random_seed(seed)
    rng = np.random.default_rng(seed)
    x, _ = example.make_series(rng, series, windows + windows // 3)
    x[:, :, 0] += _events(rng, *x.shape[:2])
    split = windows * example.WINDOW
    train_x, train_y = _windows(x[:, :split], stride=4)
    test_x, test_y = _windows(x[:, split - PAST :], stride=2)
    layer = getattr(tf_rnn_ops.keras, kind)
    model = keras.Sequential(
        [
            keras.Input((PAST, example.FEATURES)),
            layer(units, return_sequences=True),
            layer(units),
            keras.layers.Dense(FUTURE),
        ]
    )
    steps = epochs * -(-len(train_x) // 64)
    rate = keras.optimizers.schedules.CosineDecay(0.005, steps)
    model.compile(keras.optimizers.Adam(rate), "mae")
    model.fit(train_x, train_y, batch_size=64, epochs=epochs, verbose=0)
    return Task(model, test_x, ERROR, lambda y: float(np.abs(y - test_y).mean()), test_y.size)


def _events(rng, series, hours):
    load = (rng.uniform(size=(series, hours)) < 1 / 100) * rng.uniform(0.5, 1.5, (series, hours))
    for hour in range(1, hours):
        load[:, hour] += 0.85 * load[:, hour - 1]
    return load


def _windows(x, stride):
    """Returns the features of 72 hours and the load of the next 24, from series [B, T, features]."""
    starts = range(0, x.shape[1] - PAST - FUTURE + 1, stride)
    past = np.concatenate([x[:, k : k + PAST] for k in starts])
    future = np.concatenate([x[:, k + PAST : k + PAST + FUTURE, 0] for k in starts])
    return past, future


@contextlib.contextmanager
def _path(folder):
    """The scripts of an example import each other by name."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


# {name: a function that makes the Task}.
TASKS: dict[str, Callable[..., Task]] = {
    "vowels": vowels,
    "speech": speech,
    "forecast_lstm": lambda **how: forecast("LSTM", **how),
    "forecast_gru": lambda **how: forecast("GRU", **how),
}
