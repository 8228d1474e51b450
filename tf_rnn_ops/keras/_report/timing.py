"""Times two models with alternating calls."""

import statistics
import sys
import time
from typing import Callable, NamedTuple

import numpy as np

# The first call traces the graph. The second call may still allocate memory.
_WARM_UP = 2


class Timing(NamedTuple):
    """One line of the table.

    Attributes:
        what: 'inference' or 'training step'.
        keras_ms: Median time of a call on Keras's layers, in milliseconds.
        ours_ms: Median time of a call on the layers of this package, in milliseconds.
        low: Lower quartile of the ratios of a call on Keras's layers to the next call on this package's
            layers.
        high: Upper quartile of these ratios.

    Example:
        >>> from tf_rnn_ops.keras._report.timing import Timing
        >>> Timing("inference", keras_ms=3.0, ours_ms=2.0, low=1.4, high=1.6).ratio
        1.5
    """

    what: str
    keras_ms: float
    ours_ms: float
    low: float
    high: float

    @property
    def ratio(self) -> float:
        """The speed-up by the layers of this package. Less than 1 means slower."""
        return self.keras_ms / self.ours_ms


def take_turns(what, models, step, repeats, done):
    """Times two models with alternating calls.

    Args:
        what: The attribute of Timing.
        models: The model on Keras's layers, and the model on the layers of this package.
        step: A function of a model, whose calls are timed.
        repeats: The number of timed calls of each model.
        done: A function that is called after each turn with the number of turns so far.

    Returns:
        A Timing.
    """
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
        done(turn + 1)
    ratios = [keras_ms / ours_ms for keras_ms, ours_ms in zip(*times)]
    low, high = np.percentile(ratios, [25, 75])
    return Timing(what, *map(statistics.median, times), float(low), float(high))


def progress(print_fn, repeats) -> Callable[[str, int], None]:
    """A line that counts turns. It is only shown if the table is printed to a terminal.

    Args:
        print_fn: The argument of compare().
        repeats: The number of turns.

    Returns:
        A function of the name of the timing and the number of turns so far. The last turn clears the line.
    """
    if print_fn is not print or not sys.stdout.isatty():
        return lambda what, turn: None

    def show(what, turn):
        text = f"{what}: {turn} of {repeats}"
        end = "\r" + " " * len(text) + "\r" if turn == repeats else ""
        print(f"\r{text}{end}", end="", flush=True)

    return show
