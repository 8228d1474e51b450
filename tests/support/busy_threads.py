"""How many threads share the work of a function, read from what the kernel counts for each thread."""

import pathlib

# The part of the CPU time of the busiest thread below which a thread only starts, waits or ends.
_PART = 0.1


def _seconds_of_threads():
    """Seconds that each thread of this process ran, by its number."""
    seconds = {}
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            seconds[task.name] = int((task / "schedstat").read_text().split()[0]) / 1e9
        except FileNotFoundError:  # the thread has ended
            continue
    return seconds


def busy_threads(run):
    """How many threads worked in run(), which takes tenths of a second, whatever else the CPUs did."""
    before = _seconds_of_threads()
    run()
    ran = [seconds - before.get(task, 0.0) for task, seconds in _seconds_of_threads().items()]
    return sum(seconds > _PART * max(ran) for seconds in ran)
