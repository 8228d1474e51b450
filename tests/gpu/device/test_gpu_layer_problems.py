"""LayerRNN on a GPU over the grammar of tests/robustness/problem: a table of lines, and the smoke set.

Every cell, mask, type and run with each other, and every option of a cell in every type. The lines run
through the ops on the device, and int8 weights are compared with the layer that has their products.
"""

import itertools
import pathlib

import numpy as np
import pytest

from robustness.problem import check, ops, values
from robustness.problem.grammar import INT8, LAYER, LAYER_CELLS, TYPES, Problem, parse
from support import bounds, devices
from support.layer_cases import LayerCase
from support.reference import layer, rounding
from support.reference.cells import exact
from support.reference.layer import LayerInputs

pytestmark = pytest.mark.usefixtures("each_algorithm", "everything_else_on_the_cpu")

MASKS = ("none", "input", "recurrent", "both")
SIZES = {"T": 5, "B": 4, "I": 6, "H": 9, "lengths": "5,0,3,1"}
# The further options of single cells.
OPTIONS = (
    {"cell": "lstm", "P": 4},
    {"cell": "lstm", "P": 9},
    {"cell": "lstm", "P": 14, "proj_clip": 0.25},
    {"cell": "lstm", "clip": 0.5, "peephole": "yes"},
    {"cell": "lstm", "clip": 0.5, "peephole": "yes", "P": 4, "proj_clip": 0.25},
    {"cell": "lstm", "norm": "yes"},
    {"cell": "lstm", "zoneout_h": 0.25, "zoneout_c": 0.5, "drawn": "yes"},
    {"cell": "lstm", "zoneout_c": 0.5},
    {"cell": "lstm", "zoneout_h": 1.0, "drawn": "yes"},
    {"cell": "gru", "zoneout_h": 0.5, "drawn": "yes"},
    {"cell": "gru", "zoneout_h": 0.25},
    *(
        {"cell": cell, "activation": activation, "recurrent_activation": recurrent}
        for cell in ("lstm", "gru", "gru_reset_before")
        for activation, recurrent in (
            *(("relu", "hard_sigmoid"), ("linear", "hard_sigmoid_keras2")),
            *(("sigmoid", "sigmoid"), ("hard_sigmoid", "tanh")),
        )
    ),
    *(
        {"cell": "rnn", "activation": name}
        for name in ("sigmoid", "hard_sigmoid", "relu", "linear")
    ),
)


def _table():
    """Lines that differ in the seed, so that no two have the same numbers."""
    runs = ("training", "inference", "packed")
    cases = [
        {"cell": cell, "mask": mask, "type": dtype, "run": run, "order": order}
        for cell, mask, dtype, run, order in itertools.product(
            LAYER_CELLS, MASKS, TYPES, runs, ("time", "batch")
        )
        if run != "packed" or mask == "none"
    ]
    cases += [
        {**option, "type": dtype, "mask": mask}
        for option, dtype, mask in itertools.product(OPTIONS, TYPES, ("none", "both"))
    ]
    cases += [
        {**size, "cell": cell, "run": run, "type": INT8, "order": order}
        for cell, run, order in itertools.product(
            LAYER_CELLS, ("inference", "packed"), ("time", "batch")
        )
        for size in ({}, *([{"P": 4}, {"P": 9}, {"P": 14}] if cell == "lstm" else []))
    ]
    return [Problem(op=LAYER, seed=k, **{**SIZES, **case}) for k, case in enumerate(cases)]


def _smoke():
    folder = pathlib.Path(check.__file__).parent
    text = "".join((folder / name).read_text() for name in ("smoke.txt", "kept.txt"))
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return [p for p in map(parse, lines) if p.op == LAYER]


def _dequantized(case):
    """The layer whose weights are the products of int8 weights and their scales."""

    def matrix(name):
        integers = getattr(case, name)
        return None if integers is None else integers * getattr(case, f"{name}_scale")

    inputs = LayerInputs(
        x=case.x, h0=case.h0, c0=case.c0, bias=case.bias, lengths=case.lengths,
        **{name: matrix(name) for name in ("kernel", "recurrent_kernel", "projection")},
    )  # fmt: skip
    return LayerCase(
        case.rnn_mode, "float32", inputs, np.zeros(()), np.zeros(()), np.zeros(()),
        activation=case.activation, recurrent_activation=case.recurrent_activation,
    )  # fmt: skip


def _check_int8(problem, case, got):
    wide = _dequantized(case)
    outputs, _ = layer.forward(wide.rnn_mode, wide.inputs, exact, wide.functions())
    for name, array in got.items():
        found = bounds.error(name, array, outputs[name])
        assert found <= bounds.limit(name, "float32"), f"{problem}: {name}: error {found:.3e}"


def _check_narrow(problem, case, got):
    """16-bit types are better than naive maths (docs/numerics.md), where no slope jumps."""
    want = check.reference(problem, case, got, operands="float32")
    naive = case.reference(q=rounding.rounder(problem.type))
    for name in got if want.decided else check.without_gradients(got):
        gradient = bounds.is_gradient(name)
        factor = bounds.NAIVE_FACTOR_BACKWARD if gradient else bounds.NAIVE_FACTOR_FORWARD
        allowed = factor * bounds.error(name, naive[name], want.arrays[name])
        found = bounds.error(name, got[name], want.arrays[name])
        limit = max(allowed, 2 * rounding.eps(problem.type))
        assert found <= limit, f"{problem}: {name}: error {found:.3e}, allowed {limit:.3e}"
    return want.decided


def _check(problem):
    """Returns whether the gradients were compared."""
    case = values.case(problem)
    got = ops.run(problem, case, raw=devices.ops)
    if problem.type == INT8:
        _check_int8(problem, case, got)
        return True
    if "16" in problem.type:
        return _check_narrow(problem, case, got)
    want = check.reference(problem, case, got)
    decided = got if want.decided else check.without_gradients(got)
    check.assert_close(problem, decided, want.arrays, str(problem))
    return want.decided


def _failures(problems):
    """The problems that failed, and how many had gradients that could not be compared."""
    failed, undecided = [], 0
    for problem in problems:
        try:
            undecided += not _check(problem)
        except Exception as error:  # noqa: BLE001  (all shall be seen)
            failed.append(f"{problem}: {type(error).__name__}: {str(error)[:300]}")
    return failed, undecided


@pytest.mark.parametrize("part", range(8))
def test_table(part):
    problems = _table()
    assert len(problems) > 600
    failed, undecided = _failures(problems[part::8])
    assert not failed, f"{len(failed)} of {len(problems[part::8])}\n" + "\n".join(failed)
    assert undecided <= len(problems) // 100


def test_smoke_set():
    problems = _smoke()
    assert len(problems) > 90
    failed, undecided = _failures(problems)
    assert not failed, f"{len(failed)} of {len(problems)}\n" + "\n".join(failed)
    assert undecided <= 8
