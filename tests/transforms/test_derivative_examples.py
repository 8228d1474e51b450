"""Runs the examples of second derivatives, whose numbers test_second_order_layers.py compares with references."""

import pathlib
import runpy

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "derivatives"


def _main(name):
    return runpy.run_path(str(EXAMPLES / name))["main"]


def test_gradient_penalty():
    first, last = _main("gradient_penalty.py")(["--steps", "60", "--units", "8"])
    assert last < 0.7 * first


@pytest.mark.thorough
def test_hessian_vector():
    largest, difference = _main("hessian_vector.py")(["--units", "4", "--iterations", "5"])
    assert largest > 0 and difference < 1e-12
