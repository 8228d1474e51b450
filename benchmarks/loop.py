"""The turns of what is compared."""

import random
import statistics
import time


def spread(seconds):
    """The relative distance between the quartiles."""
    if len(seconds) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(seconds, n=4)
    return (high - low) / middle


def seconds_of(run, clock=time.perf_counter, warm=True):
    """A function from a number of calls to the seconds of one of them."""

    def seconds(calls):
        if warm:
            run()  # not timed: the caches contain the data of the others
        start = clock()
        for _ in range(calls):
            run()
        return (clock() - start) / calls

    return seconds


def take_turns(seconds_of, rounds, turn=0.06, attempts=1, largest_spread=0.0):
    """Measures in turns, in a random order, so that a disturbance affects all.

    Args:
        seconds_of: {name: function from a number of calls to the seconds of one of them}.
        rounds: How many turns each has.
        turn: How many seconds a turn lasts, so that clocks and caches settle.
        attempts: The rounds are repeated up to this number of times, until no spread is larger than `largest_spread`.

    Returns:
        {name: the seconds of a call in each turn}.
    """
    order = random.Random(0)
    calls, seconds = {}, {name: [] for name in seconds_of}
    for name, measure in seconds_of.items():
        measure(2)
        calls[name] = max(1, round(turn / max(1e-9, measure(2))))
    for _ in range(attempts):
        for _ in range(rounds):
            for name in order.sample(list(calls), len(calls)):
                seconds[name].append(seconds_of[name](calls[name]))
        if all(spread(s) <= largest_spread for s in seconds.values()):
            break
    return seconds
