"""LinearRecurrence against its documented equations."""

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support.problem_lines import FLOATS, check_lines, law_lines, lines
from support.reference import linear_recurrence
from support.reference.linear_recurrence import GATES

SLOPES = ("h_by_gates", "c_by_gates", "h_by_h", "h_by_c", "c_by_h", "c_by_c")
# Whole vectors, rests of them, few rows, more rows than a tile has, and nothing.
SIZES = ("T=5 B=13 H=16", "T=3 B=1 H=5", "T=4 B=2 H=37", "T=6 B=33 H=67", "T=1 B=4 H=8", "T=0 B=3 H=4",
         "T=3 B=0 H=4")  # fmt: skip


def _inputs(mode, sizes, rng, without=()):
    steps, batch, units = sizes
    gates = GATES[mode]
    shapes = {name: (steps, batch, units) for name in ("input", "cell_input", *SLOPES)}
    shapes |= {name: (steps, batch, gates * units) for name in SLOPES[:2]}
    shapes["recurrent_kernel"] = (units, gates * units)
    absent = (*without, *(() if mode == "lstm" else [n for n in SLOPES if "c" in n]))
    # Small, so that no state grows over the steps.
    arrays = {n: rng.uniform(-0.5, 0.5, shape) for n, shape in shapes.items()}
    arrays["recurrent_kernel"] /= units
    return {n: np.zeros([0]) if n in absent else a for n, a in arrays.items()}


def _run(arrays, dtype="float64", **attrs):
    tensors = {n: tf.constant(a, dtype) for n, a in arrays.items()}
    return tf_rnn_ops.native.loader.ops().tf_rnn_ops_linear_recurrence(**tensors, **attrs)


@pytest.mark.parametrize("cell", ["lstm", "gru", "tanh"])
def test_equations(cell):
    found = lines("{size} adjoint={adjoint} slopes={slopes} type={type}", size=SIZES,
                  adjoint=("yes", "no"), slopes=("all", "gates", "states", "none"),
                  type=FLOATS)  # fmt: skip
    check_lines(f"op=LinearRecurrence cell={cell}", found)
    # Enough work for every thread.
    law_lines(f"op=LinearRecurrence cell={cell}", ["T=20 B=32 H=64", "T=7 B=6 H=21 adjoint=yes"])


@pytest.mark.parametrize("transposed", [False, True])
def test_some_slopes_that_are_absent(transposed, rng):
    arrays = _inputs("lstm", (4, 9, 19), rng, ("c_by_gates", "c_by_h"))
    got = _run(arrays, rnn_mode="lstm", transposed=transposed)
    want = linear_recurrence.run("lstm", arrays, transposed)
    np.testing.assert_allclose(got.output, want[0], rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(got.cell_output, want[1], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    "name, shape, message",
    [
        ("input", (5, 3), "input must have shape"),
        ("cell_input", (5, 3, 7), "cell_input must have shape"),
        ("recurrent_kernel", (8, 31), "recurrent_kernel must have shape"),
        ("h_by_gates", (5, 3, 8), "h_by_gates must have shape"),
        ("c_by_c", (4, 3, 8), "c_by_c must have shape"),
    ],
)
def test_shapes_are_refused(name, shape, message, rng):
    arrays = _inputs("lstm", (5, 3, 8), rng)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        _run({**arrays, name: np.zeros(shape)}, rnn_mode="lstm")
