"""The checks and the laws find faults: each is given results that are wrong in one way."""

import numpy as np
import pytest

from robustness.problem import call_laws, check, laws, ops
from robustness.problem.grammar import parse
from support.selection import all_but
from tf_rnn_ops.native import xla

LINES = [
    "cell=lstm T=7 B=5 I=4 H=9 P=4 lengths=random seed=2",
    "cell=gru T=6 B=4 I=5 H=7 L=2 D=2 type=float16",
    "cell=lstm T=5 B=4 I=6 H=5 P=3 L=2 D=2 lengths=random",
    "op=LayerRNN cell=tanh T=7 B=5 I=4 H=9 mask=both",
    "op=BlockLSTMV2 T=6 B=3 I=4 H=5 lengths=5 peephole=yes",
    "op=LinearRecurrence T=5 B=3 H=6",
    "op=LayerRNN T=5 B=2 I=4 H=9 P=4 type=int8 lengths=random run=packed seed=3",
    "op=LayerRNN cell=gru_reset_before T=5 B=2 I=4 H=9 type=int8 run=inference seed=3",
]


def _laws_of(lines):
    return [(line, law) for line in lines for law in laws.applicable(parse(line))]


def test_every_law_is_among_the_lines():
    found = {law.__name__ for _, law in _laws_of(LINES)}
    if xla.unavailable() is not None:
        found.add("under_xla")
    assert found == {
        "rows_in_another_order", "padding", "cut_in_time", "layer_by_layer", "scaled_gradients",
        "wider_type", "scaled_inputs", "adjoint", "parameter_buffer", "tensorflows_op",
        "unknown_shapes", "under_xla", "mapped", "second_derivatives", "row_alone", "scale_moved",
    }  # fmt: skip


def _wrong(results, kind):
    """Results with one number changed."""
    results = {name: array.copy() for name, array in results.items()}
    name = {"output": next(iter(results)), "last": list(results)[-1]}[kind]
    results[name].reshape(-1)[results[name].size // 2] += 0.25
    return results


def _laws_of_results():
    # These look at no result of the plain call.
    others = (laws.parameter_buffer, call_laws.second_derivatives)
    return [pair for pair in _laws_of(LINES) if pair[1] not in others]


@pytest.mark.parametrize("line,law", _laws_of_results(), ids=lambda x: getattr(x, "__name__", x))
def test_each_law_finds_a_wrong_number(line, law):
    problem = parse(line)
    case, got, _ = check.check(problem)
    found = 0
    for kind in ("output", "last"):
        subject = laws.Subject(problem, case, _wrong(got, kind), True)
        try:
            law(subject)
        except AssertionError:
            found += 1
    # Gradients of 16-bit types differ by more than these laws could allow.
    forward_alone = "16" in problem.type and law in (laws.layer_by_layer, laws.wider_type)
    assert found == (1 if forward_alone else 2)


def test_the_law_of_the_buffer_finds_another_layout(monkeypatch):
    problem = parse(LINES[0])
    case, got, _ = check.check(problem)
    weights, biases = laws.layout.canonical(case.spec, case.params)
    for other in ((weights[1:2] + weights[:1] + weights[2:], biases), (weights, biases[::-1])):
        monkeypatch.setattr(laws.layout, "canonical", lambda *args, other=other: other)
        with pytest.raises(AssertionError, match="parameter buffer"):
            laws.parameter_buffer(laws.Subject(problem, case, got, True))


def _differentiated():
    return [line for line, law in _laws_of(LINES) if law is call_laws.second_derivatives]


@pytest.mark.parametrize("line", all_but(_differentiated(), *_differentiated()[:2]))
def test_second_derivatives_that_are_wrong_are_found(line, monkeypatch):
    problem = parse(line)
    case, got, _ = check.check(problem)
    derivative = call_laws._derivative

    def wrong(*args):
        found = derivative(*args)
        name = list(found)[-1]
        return found | {name: found[name] * 1.001}

    monkeypatch.setattr(call_laws, "_derivative", wrong)
    with pytest.raises(AssertionError, match="second derivatives"):
        call_laws.second_derivatives(laws.Subject(problem, case, got, True))


@pytest.mark.parametrize("line", LINES)
def test_the_reference_finds_a_wrong_number(line, monkeypatch):
    run = ops.run
    for kind in ("output", "last"):
        monkeypatch.setattr(ops, "run", lambda *args: _wrong(run(*args), kind))
        with pytest.raises(AssertionError, match="reference"):
            check.check(parse(line))


@pytest.mark.parametrize("call,what", [(2, "repeated"), (3, "batch major"), (4, "inference")])
def test_a_last_bit_that_differs_is_found(call, what, monkeypatch):
    run, calls = ops.run, []

    def other_bits(*args):
        calls.append(args)
        results = run(*args)
        if len(calls) == call:
            results["output"] = np.nextafter(results["output"], 2)
        return results

    monkeypatch.setattr(ops, "run", other_bits)
    with pytest.raises(AssertionError, match=what):
        check.check(parse(LINES[0]))
