"""Runs sets of random graphs and keeps a record of what was run."""

import collections

from robustness import drawn
from robustness.graph_problem import grammar
from robustness.graph_problem.check import check

# How many graphs.
SETS = {"smoke": 150, "ci": 5000}
_BLOCK = 100


def run_lines(lines, layers=True):
    """[{'line', 'failed': text or '', 'found': as check() returns it}]."""
    outcomes = []
    for line in lines:
        failed, found = "", {}
        try:
            found = check(grammar.parse(line), layers=layers)
        except Exception as error:  # a converter that fails in another way has failed, too
            failed = f"{type(error).__name__}: {error}"
        outcomes.append({"line": line, "failed": failed, "found": found})
    return outcomes


def run_set(name, seed=0, seconds=None, state=None):
    """Runs the graphs of a set of SETS, as drawn.run_set(); returns the records."""

    def run(_, block, lines):
        outcomes = run_lines(lines)
        found = collections.Counter(
            f"{what} {how}" for one in outcomes for what, how in one["found"].items()
        )
        failed = [[one["line"], one["failed"]] for one in outcomes if one["failed"]]
        return {"failed": failed, "found": dict(found)}

    def lines_of(block):
        numbers = range(_BLOCK * block, min(SETS[name], _BLOCK * (block + 1)))
        return [str(grammar.draw(seed, number)) for number in numbers]

    keys = [("graphs", block) for block in range(-(-SETS[name] // _BLOCK))]
    return drawn.run_set(keys, lines_of, run, state, seconds)
