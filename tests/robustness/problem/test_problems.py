"""Two small sets through the Python ops; `make problems` runs the larger ones."""

import pathlib

import pytest

from robustness.problem import draw, sets
from support.selection import all_but

# The number of relu problems of the smoke set whose gradients are not compared with a reference.
MOST_UNDECIDED = 8


@pytest.mark.parametrize("name", all_but(["quick", "smoke"], "quick"))
def test_set(name):
    records = sets.run_set(name, runners=("ops",))
    assert sum(r["problems"] for r in records) == draw.SETS[name][0]
    assert not sets.failures(records), "\n".join(sets.failures(records))
    # More would say that the reference takes too much for undecided.
    assert sum(r["undecided"] for r in records) <= MOST_UNDECIDED


def test_kept():
    text = (pathlib.Path(__file__).parent / "kept.txt").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    outcomes = sets.run_ops(lines, sets.Setting(), "all")
    assert [outcome["failed"] for outcome in outcomes] == [""] * len(lines)
    assert all(outcome["decided"] for outcome in outcomes)


def test_a_line_names_its_setting():
    (outcome,) = sets.run_lines(["T=3 B=2 I=4 H=5 isa=baseline threads=1"], runners=("ops",))
    assert outcome["failed"] == ""
