"""Times functions with alternating calls."""

import statistics
import time
from typing import Any, Callable, NamedTuple, Sequence

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


def timing_of(name: str, keras_ms: Sequence[float], ours_ms: Sequence[float]) -> Timing:
    """The Timing of alternating calls.

    Args:
        name: The attribute of Timing.
        keras_ms: The milliseconds of the calls on Keras's layers.
        ours_ms: Those on the layers of this package.
    """
    ratios = [keras / ours for keras, ours in zip(keras_ms, ours_ms, strict=True)]
    low, high = np.percentile(ratios, [25, 75])
    return Timing(
        name=name,
        keras_ms=statistics.median(keras_ms),
        ours_ms=statistics.median(ours_ms),
        low=float(low),
        high=float(high),
    )


def take_turns(
    calls: Sequence[Callable[[], Any]],
    repeats: int,
    done: Callable[[int], Any] = lambda turn: None,
    warm_up: int = _WARM_UP,
) -> list[list[float]]:
    """Times functions with alternating calls.

    Args:
        calls: The functions.
        repeats: The number of timed calls of each function.
        done: A function that is called after each turn with the number of turns so far.
        warm_up: The number of calls of each function before the timed ones.

    Returns:
        The milliseconds of the timed calls of each function.
    """
    for call in calls:
        for _ in range(warm_up):
            call()
    times: list[list[float]] = [[] for _ in calls]
    for turn in range(repeats):
        order = list(zip(calls, times))
        for call, milliseconds in order if turn % 2 else reversed(order):
            begin = time.perf_counter()
            call()
            milliseconds.append(1e3 * (time.perf_counter() - begin))
        done(turn + 1)
    return times
