"""Times two models with alternating calls."""

import statistics
import time
from typing import Any, NamedTuple

import numpy as np

# The first call traces the graph. The second call may still allocate memory.
_WARM_UP = 2


class Timing(NamedTuple):
    """The times of a kind of call: a row of compare().

    Attributes:
        name: 'inference' or 'training step'.
        keras_ms: Median time of a call on Keras's layers, in milliseconds.
        ours_ms: Median time of a call on the layers of this package, in milliseconds.
        low: Lower quartile of the ratios of a call on Keras's layers to the next call on this package's
            layers.
        high: Upper quartile of these ratios.

    Example:
        >>> from tf_rnn_ops.keras import Timing
        >>> Timing("inference", keras_ms=3.0, ours_ms=2.0, low=1.4, high=1.6).ratio
        1.5
    """

    name: str
    keras_ms: float
    ours_ms: float
    low: float
    high: float

    @property
    def ratio(self) -> float:
        """The speed-up by the layers of this package. Less than 1 means slower."""
        return self.keras_ms / self.ours_ms


def take_turns(
    name: str, models: Any, step: Any, repeats: int, done: Any, warm_up: Any = _WARM_UP
) -> Timing:
    """Times two models with alternating calls.

    Args:
        name: The attribute of Timing.
        models: The model on Keras's layers, and the model on the layers of this package.
        step: A function of a model, whose calls are timed.
        repeats: The number of timed calls of each model.
        done: A function that is called after each turn with the number of turns so far.
        warm_up: The number of calls of each model before the timed ones.

    Returns:
        A Timing.
    """
    for model in models:
        for _ in range(warm_up):
            step(model)
    times: list[list[float]] = [[] for _ in models]
    for turn in range(repeats):
        order = list(zip(models, times))
        for model, milliseconds in order if turn % 2 else reversed(order):
            begin = time.perf_counter()
            step(model)
            milliseconds.append(1e3 * (time.perf_counter() - begin))
        done(turn + 1)
    ratios = [keras_ms / ours_ms for keras_ms, ours_ms in zip(*times)]
    low, high = np.percentile(ratios, [25, 75])
    keras_ms, ours_ms = map(statistics.median, times)
    return Timing(name, keras_ms, ours_ms, float(low), float(high))
