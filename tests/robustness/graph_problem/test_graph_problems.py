"""The smoke set of random ONNX graphs; `make problems` runs the larger set."""

import collections
import dataclasses

import pytest

from robustness.graph_problem import grammar  # noqa: E402
from robustness.graph_problem.check import check  # noqa: E402
from robustness.graph_problem.sets import SETS, run_lines  # noqa: E402


def test_a_line_and_back():
    for number in range(200):
        graph = grammar.draw(3, number)
        assert grammar.parse(str(graph)) == graph
    assert grammar.parse("ops=GRU T=3  # as a user writes it") == grammar.Graph(ops=("GRU",), T=3)
    with pytest.raises(ValueError, match="'steps=3' has an unknown key; known are ops, "):
        grammar.parse("steps=3")


def test_smoke():
    # A layer of Keras takes most of the time to make.
    graphs = [grammar.draw(0, number) for number in range(SETS["smoke"])]
    found = collections.Counter()
    failed = []
    for number, graph in enumerate(graphs):
        outcome = run_lines([str(graph)], layers=number % 4 == 0)[0]
        failed += [f"{outcome['line']}\n{outcome['failed']}"] if outcome["failed"] else []
        found.update(outcome["found"].items())
    assert not failed, "\n".join(failed)
    assert found["graph", "not valid"] < 5
    # A converter that rejects everything is never wrong.
    assert found["stack", "converted"] > 30 and found["stack", "rejected"] > 30
    assert found["layers", "converted"] > 15 and found["layers", "rejected"] > 5


TWO = {
    "forward": "LSTM,LSTM direction=forward,forward between=squeeze",
    "bidirectional": "LSTM,LSTM direction=bidirectional,bidirectional between=slices",
}


@pytest.mark.parametrize("direction", TWO)
@pytest.mark.parametrize("dims", ["static", "open"])
def test_every_other_form_by_itself(dims, direction):
    two = grammar.parse(
        f"ops={TWO[direction]} units=3,3 layout=0,0 bias=1,1 peepholes=0,0 reset_after=1,1 I=4 T=5 "
        f"weights=plain,plain h=none,none c=none,none lengths=none,none dims={dims}"
    )
    assert check(two, layers=False) == {"stack": "converted"}
    for key, forms in grammar.OTHERS.items():
        for form in forms:
            part = (getattr(two, key)[0], form)
            if key == "lengths" or form == "joint_swapped":
                part = (form, form)
            part = (form,) if key == "between" else part
            check(dataclasses.replace(two, **{key: part}), layers=False)


def test_every_form_is_drawn():
    graphs = [grammar.draw(0, number) for number in range(1000)]
    for key, forms in (
        ("weights", grammar.WEIGHTS + grammar.NO_WEIGHTS),
        ("h", grammar.STATES + grammar.NO_STATES),
        ("lengths", grammar.LENGTHS + grammar.NO_LENGTHS),
        ("between", grammar.BETWEEN + grammar.ONE_DIRECTION + grammar.NO_BETWEEN),
    ):
        assert {form for graph in graphs for form in getattr(graph, key)} == set(forms)


def test_a_wrong_converter_is_found(monkeypatch):
    from tf_rnn_ops.params.onnx import model

    # No stack runs in reverse.
    stack, layer = (
        grammar.parse(f"h=constant direction={direction}") for direction in ("forward", "reverse")
    )
    assert set(check(stack).values()) == {"rejected"}
    monkeypatch.setattr(model, "_check_state", lambda *given: None)
    with pytest.raises(AssertionError, match="the stack differs by"):
        check(stack)
    with pytest.raises(AssertionError, match="layer 0 differs by"):
        check(layer)
    monkeypatch.setattr(model, "recurrent_nodes", lambda *given: 1 / 0)
    (outcome,) = run_lines(["h=zero"])
    assert outcome["failed"].startswith("ZeroDivisionError")


def test_a_converter_that_rejects_too_much_is_found(monkeypatch):
    from tf_rnn_ops.params.onnx import model

    def reject(*given):
        raise ValueError("a test")

    monkeypatch.setattr(model, "_check_state", reject)
    with pytest.raises(AssertionError, match="params.from_onnx rejects: a test"):
        check(grammar.parse("h=zero_open"))
    with pytest.raises(AssertionError, match="^from_onnx rejects: a test"):
        check(grammar.parse("h=zero_open direction=reverse"))
