"""Runs sets of random graphs and keeps a record of what was run."""

import collections
import json
import pathlib
import time

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
    """Runs the graphs of a set, block by block.

    Args:
        name: Of SETS.
        seed: The seed of the set.
        seconds: No block begins after this many seconds.
        state: A file with a line of JSON for each block that was run; the run goes on behind the last.

    Returns:
        The records of all blocks: {'block', 'failed': [[line, text]], 'found': {...}, 'seconds'}.
    """
    state = state or pathlib.Path(f"build/problems/graphs-{name}-{seed}.jsonl")
    state.parent.mkdir(parents=True, exist_ok=True)
    records = (
        [json.loads(line) for line in state.read_text().splitlines()] if state.exists() else []
    )
    begin = time.monotonic()
    for block in range(len(records), -(-SETS[name] // _BLOCK)):
        if seconds is not None and time.monotonic() - begin > seconds:
            break
        start = time.monotonic()
        numbers = range(_BLOCK * block, min(SETS[name], _BLOCK * (block + 1)))
        outcomes = run_lines([str(grammar.draw(seed, number)) for number in numbers])
        found = collections.Counter(
            f"{what} {how}" for one in outcomes for what, how in one["found"].items()
        )
        records.append(
            {
                "block": block,
                "graphs": len(outcomes),
                "failed": [[one["line"], one["failed"]] for one in outcomes if one["failed"]],
                "found": dict(found),
                "seconds": round(time.monotonic() - start, 1),
            }
        )
        with state.open("a") as file:
            file.write(json.dumps(records[-1]) + "\n")
    return records
