"""Timing two models in turns."""

import statistics
import sys
import time
from typing import Callable, NamedTuple

import numpy as np

# The first call traces the graph; the second may still allocate memory.
_WARM_UP = 2


class Timing(NamedTuple):
    """One line of the table.

    Attributes:
        what: 'inference' or 'training step'.
        keras_ms: Median time of a call on Keras's layers, in milliseconds.
        ours_ms: The same on the layers of this package.
        low: Lower quartile of the ratios of a call on Keras's layers to the next one on this package's.
        high: Upper quartile of these ratios.

    Example:
        >>> from tf_rnn_ops.keras import Timing
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
        """How many times as fast the layers of this package are; less than 1 means slower."""
        return self.keras_ms / self.ours_ms


def take_turns(what, models, step, repeats, done):
    """Times two models, each call of one next to a call of the other.

    Args:
        what: For Timing.
        models: The model on Keras's layers, and the one on those of this package.
        step: Called with a model.
        repeats: How often with each.
        done: Called after each turn with the number of turns so far.

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
    """A line that counts turns, on a terminal only, and only where the table is printed to it.

    Args:
        print_fn: That of compare().
        repeats: The number of turns.

    Returns:
        A function of what is timed and of the number of turns so far; the last one clears the line.
    """
    if print_fn is not print or not sys.stdout.isatty():
        return lambda what, turn: None

    def show(what, turn):
        text = f"{what}: {turn} of {repeats}"
        end = "\r" + " " * len(text) + "\r" if turn == repeats else ""
        print(f"\r{text}{end}", end="", flush=True)

    return show
