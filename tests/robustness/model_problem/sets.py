"""Runs sets of random models and keeps a record of what was run."""

import gc

import keras

from robustness import drawn
from robustness.model_problem import grammar
from robustness.model_problem.check import check, failures
from robustness.model_problem.runtimes import Runtimes

# How many models, each in every format.
SETS = {"smoke": 60, "ci": 2000}
# The number of models after which Keras's state is cleared, which takes a second.
_CLEARED = 10


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
    """Runs the models of a set of SETS one by one, as drawn.run_set(); returns the records."""
    gc.collect()
    gc.freeze()  # the modules, on which a collection would spend most of its time
    with Runtimes() as runtimes:

        def run(_, number, lines):
            if number % _CLEARED == 0:
                keras.backend.clear_session()
            (record,) = run_lines(lines, runtimes)
            return record | {"failed": failures(record["found"], record["line"])}

        return drawn.run_set(
            [("models", number) for number in range(SETS[name])],
            lambda number: [str(grammar.draw(seed, number))],
            run,
            state,
            seconds,
            report=lambda text: None,
        )
