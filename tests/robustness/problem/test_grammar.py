"""The lines: what they are, what is none, and that their numbers follow from them."""

import pathlib

import numpy as np
import pytest

from robustness.problem import draw, grammar, values


@pytest.mark.parametrize(
    "line,printed",
    [
        ("H=5 L=2 T=3 cell=gru B=2 I=4 D=2 type=float64 order=batch lengths=3,1",
         "op=CudnnRNNV3 cell=gru T=3 B=2 I=4 H=5 L=2 D=2 type=float64 lengths=3,1 order=batch"),
        ("op=LayerRNN T=3 B=2 I=4 H=5 mask=both bias=no isa=avx2 run=inference seed=3 threads=2",
         "op=LayerRNN cell=lstm T=3 B=2 I=4 H=5 mask=both bias=no run=inference isa=avx2 threads=2 "
         "seed=3"),
        ("op=LayerRNN cell=gru_reset_before recurrent_activation=hard_sigmoid T=3 B=2 I=4 "
         "activation=linear H=5",
         "op=LayerRNN cell=gru_reset_before T=3 B=2 I=4 H=5 activation=linear "
         "recurrent_activation=hard_sigmoid"),
        ("op=LayerRNN T=3 B=2 I=4 H=5 drawn=yes zoneout_c=1 zoneout_h=.25",
         "op=LayerRNN cell=lstm T=3 B=2 I=4 H=5 zoneout_h=0.25 zoneout_c=1 drawn=yes"),
        ("op=LayerRNN T=3 B=2 I=4 H=5 epsilon=1e-3 norm=yes",
         "op=LayerRNN cell=lstm T=3 B=2 I=4 H=5 norm=yes epsilon=0.001"),
        ("op=LayerRNN run=inference T=3 type=int8 B=2 I=4 H=5 P=7",
         "op=LayerRNN cell=lstm T=3 B=2 I=4 H=5 P=7 type=int8 run=inference"),
        ("op=BlockLSTMV2 T=3 B=2 I=4 H=5 lengths=2 clip=.5 peephole=yes",
         "op=BlockLSTMV2 T=3 B=2 I=4 H=5 lengths=2 clip=0.5 peephole=yes"),
        ("op=LinearRecurrence adjoint=yes slopes=gates H=5 B=2 T=3 cell=gru",
         "op=LinearRecurrence cell=gru T=3 B=2 H=5 slopes=gates adjoint=yes"),
    ],
)  # fmt: skip
def test_is_printed_in_one_order_without_defaults(line, printed):
    assert str(grammar.parse(line)) == printed
    assert grammar.parse(printed) == grammar.parse(line)


# The same as in tests/cc/cpu/problem_line_test.cc.
@pytest.mark.parametrize(
    "line",
    ["lstm", "H=0", "H=", "H=x", "T=-1", "H=2 H=2", "cell=rnn", "type=int8", "P=3 H=2",
     "P=1 H=2 cell=gru", "D=3", "input=skip I=2 H=3", "op=LayerRNN L=2",
     "cell=gru_reset_before", "activation=relu", "op=LayerRNN cell=tanh activation=relu",
     "op=LayerRNN cell=relu recurrent_activation=tanh", "op=LayerRNN activation=softmax",
     "op=BlockLSTMV2 mask=both", "mask=both", "lengths=3 T=2", "lengths=1,2 B=3 T=2",
     "lengths=1,2,1 B=2 T=2", "dropout=1", "op=LayerRNN dropout=0.5", "op=Other",
     "run=backwards", "sizes=3", "op=LinearRecurrence I=2", "op=LinearRecurrence cell=relu",
     "op=LinearRecurrence type=float16", "op=LinearRecurrence slopes=some", "adjoint=yes",
     "op=LayerRNN norm=yes epsilon=0", "op=LayerRNN epsilon=0.5",
     "op=LayerRNN norm=yes epsilon=2", "op=LayerRNN zoneout_h=1.5",
     "op=LayerRNN cell=gru zoneout_c=0.5", "op=LayerRNN cell=tanh zoneout_h=0.5",
     "op=LayerRNN norm=yes zoneout_c=0.5", "op=LayerRNN drawn=yes",
     "op=LayerRNN zoneout_h=0.5 drawn=yes run=packed", "type=int8 run=inference",
     "op=BlockLSTMV2 type=int8 run=inference", "op=LinearRecurrence type=int8",
     "op=LayerRNN type=int8", "op=LayerRNN type=int8 run=training",
     "op=LayerRNN type=int8 run=inference mask=both",
     "op=LayerRNN type=int8 run=inference clip=0.5",
     "op=LayerRNN type=int8 run=inference P=1 proj_clip=0.5",
     "op=LayerRNN type=int8 run=inference peephole=yes",
     "op=LayerRNN type=int8 run=inference norm=yes",
     "op=LayerRNN type=int8 run=inference zoneout_h=0.5"],
)  # fmt: skip
def test_refuses_what_is_no_problem(line):
    with pytest.raises(ValueError, match="not a problem"):
        grammar.parse(line)


def test_int8_weights_have_no_gradient():
    with pytest.raises(
        ValueError, match="expected inference or packed, since an op with int8 weights"
    ):
        grammar.parse("op=LayerRNN type=int8 T=3")


def test_numbers_follow_from_the_line():
    """The same as in tests/cc/cpu/problem_line_test.cc, so both languages draw the same numbers."""
    assert values.words(7, "x", 1)[0] == 0x2BF6377441CBC71F
    problem = grammar.parse("T=9 B=4 lengths=random seed=7")
    assert values.lengths(problem).tolist() == [9, 9, 2, 7]


def test_numbers_of_two_seeds_and_of_two_tensors_differ():
    first, second = (values.case(grammar.parse(f"T=3 B=2 I=4 H=4 seed={k}")) for k in (1, 2))
    assert not np.any(first.x == second.x)
    assert not np.any(first.h0 == first.dh)


def test_the_smoke_set_is_the_one_that_is_drawn():
    """The file is for tests/cc/cpu/problems_test.cc: `python -m tests.robustness.problem --draw smoke`."""
    text = (pathlib.Path(__file__).parent / "smoke.txt").read_text()
    drawn = list(draw.problems("smoke"))
    assert text.splitlines() == [str(p) for p in drawn]
    assert grammar.read(text) == drawn


def test_the_sets_have_every_value_of_every_key():
    drawn = list(draw.problems("smoke"))
    for key in (
        "op",
        "cell",
        "type",
        "run",
        "order",
        "input",
        "mask",
        "bias",
        "peephole",
        "norm",
        "drawn",
        "D",
        "slopes",
        "adjoint",
    ):
        allowed = grammar.Problem.__dataclass_fields__[key].metadata["one_of"]
        assert {getattr(p, key) for p in drawn} == set(allowed), key
    # Zero steps or rows, lengths of 0, projections, dropout and clips are among them.
    assert {p.T * p.B > 0 for p in drawn} == {p.P > 0 for p in drawn} == {True, False}
    assert any(p.dropout for p in drawn) and any(p.clip for p in drawn)
    assert {p.epsilon for p in drawn if p.norm == "yes"} >= {0.125, 0.001}
    assert any(p.zoneout_h != p.zoneout_c > 0 for p in drawn)
