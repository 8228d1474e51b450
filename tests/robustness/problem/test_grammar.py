"""The lines: those that C++ reads are problems, and their numbers follow from them."""

import pathlib

from robustness.problem import draw, grammar, values
from support.native_build import ROOT

HERE = pathlib.Path(__file__).parent


def test_the_lines_of_the_kernels():
    """tests/cc/cpu/problems_test.cc reads the files. It only checks keys and values, one by one.

    `python -m tests.robustness.problem --draw smoke` prints the smoke set.
    """
    drawn = list(draw.problems("smoke"))
    smoke = (HERE / "smoke.txt").read_text()
    assert smoke.splitlines() == [str(problem) for problem in drawn]
    assert grammar.read(smoke) == drawn
    for file in (HERE / "kept.txt", ROOT / "tests/cc/cpu/problems.txt"):
        assert grammar.read(file.read_text())


def test_numbers_follow_from_the_line():
    """The same as in tests/cc/cpu/problem_line_test.cc, so both languages draw the same numbers."""
    assert values.words(7, "x", 1)[0] == 0x2BF6377441CBC71F
    problem = grammar.parse("T=9 B=4 lengths=random seed=7")
    assert values.lengths(problem).tolist() == [9, 9, 2, 7]
