"""The numpy reference of the CudnnRNN ops against torch and against central differences."""

import numpy as np
import pytest

from ops.parity import vectors
from support import cases
from support.bounds import error
from support.central_differences import numeric
from support.reference import layout, rnn
from support.reference.spec import RnnSpec
from support.tf_ops import rnn_reference_arrays

# Two float64 implementations that sum in different orders.
PARITY = 1e-13
# Central differences with step 1e-6 of a function with values of order 10.
NUMERIC = 1e-7


def _assert_equals_torch(case, want):
    got = rnn_reference_arrays(case, *case.reference())
    assert got.keys() == want.keys()
    for name in want:
        assert error(name, got[name], want[name]) < PARITY, name


@pytest.mark.parametrize("k", range(len(vectors.SPECS)))
def test_equals_stored_torch_vectors(k):
    case, want = vectors.load()[k]
    assert case.spec == vectors.SPECS[k]
    _assert_equals_torch(case, want)


@pytest.mark.parametrize("batch_first", [False, True])
def test_equals_live_torch(batch_first, rng):
    pytest.importorskip("torch")
    from ops.parity import torch_rnn

    for _ in range(25):
        spec = torch_spec(rng)
        steps, batch = int(rng.integers(1, 8)), int(rng.integers(1, 6))
        lengths = rng.integers(1, steps + 1, size=batch)
        case = cases.rnn_case(spec, steps, batch, rng, lengths=lengths)
        _assert_equals_torch(case, torch_rnn.run(case, batch_first))


def torch_spec(rng):
    """A random configuration that torch has too."""
    while True:
        spec = cases.random_spec(rng)
        if not spec.skips_input:
            return spec


@pytest.mark.parametrize(
    ("mode", "input_mode"),
    [
        ("lstm", "auto_select"),
        ("gru", "linear_input"),
        ("rnn_tanh", "skip_input"),
        ("rnn_relu", "auto_select"),
    ],
)
def test_backward_equals_central_differences(mode, input_mode, rng):
    num_proj = 2 if mode == "lstm" else 0
    spec = RnnSpec(mode, 2, 3, 3, "bidirectional", input_mode, num_proj)
    case = cases.rnn_case(spec, 4, 3, rng, lengths=[4, 0, 2])
    masks = [rng.integers(0, 2, size=(4, 3, spec.output_size)) * 2.0]
    _, bwd = case.reference(masks)

    arrays = [case.x, case.h0, case.c0, case.params]
    for k, grad in enumerate((bwd.input, bwd.input_h, bwd.input_c, bwd.params)):
        if grad is None:
            continue

        def loss(array):
            moved = [*arrays[:k], array, *arrays[k + 1 :]]  # noqa: B023
            fwd = rnn.forward(spec, *moved, case.lengths, masks)
            total = (fwd.output * case.dy).sum() + (fwd.output_h * case.dh).sum()
            return total + ((fwd.output_c * case.dc).sum() if spec.is_lstm else 0.0)

        assert error("params_backprop", grad, numeric(loss, arrays[k])) < NUMERIC


def test_layout_round_trip(rng):
    for _ in range(50):
        spec = cases.random_spec(rng)
        params = rng.standard_normal(layout.params_size(spec))
        np.testing.assert_array_equal(layout.pack(spec, layout.unpack(spec, params)), params)
