"""Selects the tests of a run from the collected tests: `make test` runs a part, `make test-all` all of
them. support/plan.py has the tests of .ci/run.

- `@pytest.mark.thorough`: a test, or a case, for `make test-all` only.
- `@pytest.mark.each_value`: `make test` runs a drawn part of the cases, in which each value of each
  parameter occurs; `make test-all` runs every combination.
- `all_but(cases, *usual)`: the parameters of which `make test` runs the `usual` ones.
"""

import itertools
import random

import pytest

USUAL, ALL = "usual", "all"


def all_but(cases, *usual):
    """Returns `cases` for parametrize; those not in `usual` are thorough."""
    assert all(case in cases for case in usual), f"not all of {usual} are cases"
    return [
        case if case in usual else pytest.param(case, marks=pytest.mark.thorough) for case in cases
    ]


def is_usual(items):
    """Returns for each item whether `make test` runs it."""
    usual = [item.get_closest_marker("thorough") is None for item in items]
    for _, group in itertools.groupby(enumerate(items), key=lambda pair: _function(pair[1])):
        cases = [(k, item) for k, item in group if usual[k]]
        if cases and cases[0][1].get_closest_marker("each_value"):
            kept = _each_value([item for _, item in cases])
            for (k, _), keep in zip(cases, kept, strict=True):
                usual[k] = keep
    return usual


def _function(item):
    return item.nodeid.split("[")[0]


def _each_value(items):
    """Whether each case is kept: again and again one with most values that no kept one has."""
    values = [_values(item.callspec) for item in items]
    order = list(range(len(items)))
    random.Random(_function(items[0])).shuffle(order)
    missing, kept = set().union(*values), set()
    while missing:
        best = max(order, key=lambda k: len(values[k] & missing))
        kept.add(best)
        missing -= values[best]
    return [k in kept for k in range(len(items))]


def _values(callspec):
    """(parameter, value) of a case; values of any type are told apart by what they print."""
    return {(name, repr(value)) for name, value in callspec.params.items()}


def select(config, items):
    """Deselects what `make test` leaves out, unless --tests=all or the command line names single tests."""
    wanted = config.getoption("--tests")
    if wanted is None:
        wanted = ALL if any("::" in argument for argument in config.args) else USUAL
    if wanted == USUAL:
        chosen = is_usual(items)
        config.hook.pytest_deselected(items=[i for i, is_in in zip(items, chosen) if not is_in])
        items[:] = itertools.compress(items, chosen)
