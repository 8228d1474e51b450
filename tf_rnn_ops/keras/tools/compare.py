"""compare: what the layers of this package give for a model, on this machine."""

import os
import statistics
import time
from typing import Any, Callable, NamedTuple

import keras
import numpy as np

from tf_rnn_ops.keras.tools.convert import check_counterparts, convert, converted
from tf_rnn_ops.keras.tools.explain import Explanation, explain

# The first call traces the graph, and the second may still allocate.
_WARM_UP = 2


class Timing(NamedTuple):
    """One line of the table.

    Attributes:
        what: 'inference' or 'training step'.
        keras_ms: Median time of a call on Keras's layers, in milliseconds.
        ours_ms: The same on the layers of this package.
    """

    what: str
    keras_ms: float
    ours_ms: float

    @property
    def ratio(self) -> float:
        """How many times as fast the layers of this package are; less than 1 means slower."""
        return self.keras_ms / self.ours_ms


class ModelComparison(NamedTuple):
    """What compare() found; str() is a table of it.

    Attributes:
        timings: A list of Timing.
        difference: Largest absolute difference of the outputs in inference.
        largest: Largest absolute output, to judge it by.
        layers: What explain() says of the converted model.
        table: The last as a text.
    """

    timings: list[Timing]
    difference: float
    largest: float
    layers: list[Explanation]
    table: str

    def __str__(self):
        lines = [f"{'':<14}{'Keras':>12}{'tf_rnn_ops':>14}{'ratio':>10}"]
        for timing in self.timings:
            lines.append(
                f"{timing.what:<14}{timing.keras_ms:>9.2f} ms{timing.ours_ms:>11.2f} ms"
                f"{timing.ratio:>8.2f} x"
            )
        lines += [
            "Medians of a call; a ratio above 1 means that tf_rnn_ops is faster.",
            f"Largest difference of the outputs: {self.difference:.1e}, the largest output being "
            f"{self.largest:.1e}.",
            "",
            self.table,
        ]
        return "\n".join(lines)


def compare(
    model: keras.Model,
    x: Any,
    y: Any = None,
    repeats: int = 20,
    plot: str | os.PathLike | None = None,
    print_fn: Callable[[str], Any] | None = print,
) -> ModelComparison:
    """Times a model on Keras's layers and on those of this package, and compares the outputs.

    Both are copies, which convert() makes; the given model does not change. Calls of the two take
    turns, so that what else the machine does concerns both.

    Args:
        model: A Keras 3 model that convert() can copy both ways.
        x: One batch of its inputs, as predict_on_batch takes it.
        y: The batch of its targets, to time a training step too; the model must be compiled.
        repeats: How often each is called, at least 1.
        plot: A file for a picture of the times, such as 'times.png'; needs matplotlib.
        print_fn: Called with the table; None prints nothing and shows no progress bar.

    Returns:
        A ModelComparison.

    Raises:
        TypeError: model is not a Keras 3 model.
        ValueError: convert() cannot copy the model, y is given and the model is not compiled, or
            repeats is below 1.
        ImportError: A plot is asked for and matplotlib is not installed.

    Example:
        >>> import keras
        >>> import numpy as np
        >>> import tf_rnn_ops.keras
        >>> model = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(4)])
        >>> x = np.ones((2, 5, 3), "float32")
        >>> found = tf_rnn_ops.keras.compare(model, x, repeats=3, print_fn=None)
        >>> [timing.what for timing in found.timings], found.difference < 1e-6
        (['inference'], True)
    """
    if not isinstance(model, keras.Model):
        raise TypeError(f"model must be a Keras 3 model, but it is a {type(model).__name__}.")
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, but it is {repeats}.")
    if y is not None and not model.compiled:
        raise ValueError("y is given, but the model is not compiled: call model.compile first.")
    draw = _drawing() if plot is not None else None
    models = _on_keras(model), convert(model)
    outputs = [keras.tree.flatten(one.predict_on_batch(x)) for one in models]
    pairs = [[np.asarray(a, np.float64) for a in pair] for pair in zip(*outputs, strict=True)]

    steps = {"inference": lambda one: one.predict_on_batch(x)}
    if y is not None:
        steps["training step"] = lambda one: one.train_on_batch(x, y)
    progress = keras.utils.Progbar(len(steps) * repeats, verbose=int(print_fn is not None))
    timings = []
    for what, step in steps.items():
        times = _take_turns(models, step, repeats, lambda: progress.add(1))
        timings.append(Timing(what, *times))
    texts: list[str] = []
    layers = explain(models[1], print_fn=texts.append)
    found = ModelComparison(
        timings,
        float(np.max([0.0, *(_difference(a, b) for a, b in pairs)])),
        float(np.max([0.0, *(np.max(np.abs(a), initial=0) for a, _ in pairs)])),
        layers,
        texts[0],
    )
    if print_fn is not None:
        print_fn(str(found))
    if draw is not None:
        draw(plot, timings)
    return found


def _on_keras(model):
    """The model on Keras's layers, which may call functions of this package."""
    check_counterparts(model)
    return converted(model, "keras")


def _difference(a, b):
    """The largest one of two arrays; NaN where just one of them is NaN."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):  # inf - inf
        return np.max(np.where(same, 0.0, np.abs(a - b)), initial=0)


def _take_turns(models, step, repeats, done):
    """Median times of step(model) in milliseconds."""
    for one in models:
        for _ in range(_WARM_UP):
            step(one)
    times = [[] for _ in models]
    for turn in range(repeats):
        order = list(zip(models, times))
        for one, found in order if turn % 2 else reversed(order):
            begin = time.perf_counter()
            step(one)
            found.append(1e3 * (time.perf_counter() - begin))
        done()
    return [statistics.median(found) for found in times]


def _drawing():
    """The function that draws; an error before all the work where it cannot."""
    try:
        from tf_rnn_ops.keras.tools import compare_plot
    except ImportError as error:
        raise ImportError(f"plot needs matplotlib: pip install matplotlib ({error}).") from error
    return compare_plot.draw
