"""Runs sets of random models and keeps a record of what was run."""

import gc
import json
import pathlib
import time

import keras

from robustness.model_problem import grammar
from robustness.model_problem.check import check
from robustness.model_problem.runtimes import Runtimes

# How many models, each in every format.
SETS = {"smoke": 60, "ci": 2000}
# The number of models after which Keras's state is cleared, which takes a second.
_CLEARED = 10


def send_no_statistics():
    """Switches off what OpenVINO's converter sends, with a process for each node."""
    from openvino_telemetry.utils.sender import TelemetrySender

    TelemetrySender.send = lambda *_: None


def run_lines(lines, runtimes):
    """[{'line', 'found': as check() returns it}]."""
    outcomes = []
    for line in lines:
        try:
            found = check(grammar.parse(line), runtimes)
        except Exception as error:  # a fault of the test is a failure, too
            found = {"model": f"wrong: {type(error).__name__}: {error}"}
        outcomes.append({"line": line, "found": found})
    return outcomes


def run_set(name, seed=0, seconds=None, state=None):
    """Runs the models of a set, one by one.

    Args:
        name: Of SETS.
        seed: The seed of the set.
        seconds: No model begins after this many seconds.
        state: A file with a line of JSON for each model that was run; the run goes on behind the last.

    Returns:
        The records of all models: {'line', 'found', 'seconds'}.
    """
    state = state or pathlib.Path(f"build/problems/models-{name}-{seed}.jsonl")
    state.parent.mkdir(parents=True, exist_ok=True)
    records = (
        [json.loads(line) for line in state.read_text().splitlines()] if state.exists() else []
    )
    begin = time.monotonic()
    gc.collect()
    gc.freeze()  # the modules, on which a collection would spend most of its time
    with Runtimes() as runtimes:
        for number in range(len(records), SETS[name]):
            if number % _CLEARED == 0:
                keras.backend.clear_session()
            start = time.monotonic()
            if seconds is not None and start - begin > seconds:
                break
            (record,) = run_lines([str(grammar.draw(seed, number))], runtimes)
            records.append(record | {"seconds": round(time.monotonic() - start, 1)})
            with state.open("a") as file:
                file.write(json.dumps(records[-1]) + "\n")
    return records
