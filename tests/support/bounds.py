"""Error bounds.

The error of an array is max|got - want| / max(max|want|, floor): relative to the largest entry,
because an entry near zero is a difference of larger numbers. Where the whole array is one such
difference (one unit, one row), the size of its terms counts instead: these tests draw states,
inputs and upstream gradients of order 1, so gradients are sums of terms of order 1 and outputs of
terms of order 0.1, which are the floors.

float32 and float64, in eps of the type. One pre-activation is a sum of n = I + O + 2 products; its
rounding error is at worst n eps / 2 of the sum of magnitudes, on average about sqrt(n) eps / 2. The
gates contract (|s'| <= 1/4, |tanh'| <= 1), so over time the error reaches a small multiple of the
error of one step. With n of some hundreds (sqrt(n) about 20) that is some 10 eps forward.
Backward sums products over T * B rows as well, of terms that already carry the forward error: twice
that. The worst of 6000 random problems, over all three instruction sets, was 22 eps forward (where
a whole output is small and the floor counts) and 19 backward; typical are 10 and 12.
"""

import numpy as np

from support.reference import rounding

FORWARD_EPS = 32.0
BACKWARD_EPS = 64.0

# A 16-bit op rounds its results once (half an eps) and computes in float32 inside. Its gradient is
# compared with that of a reference which is given the same rounded outputs as the gradient op.
ROUNDED_ONCE_EPS = 0.51
NAIVE_FACTOR_FORWARD = 2.0
NAIVE_FACTOR_BACKWARD = 4.0

# Errors as shares of their bounds that the running test has found; tests/ops/parity/conftest.py prints
# the largest on a GPU.
reported = []

_FORWARD_FLOOR = 0.1
_GRADIENT_FLOOR = 1.0


def is_gradient(name):
    return name.endswith(("_backprop", "_grad"))


def error(name, got, want):
    """Largest deviation relative to the largest reference value; infinite for NaN or infinity."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    if want.size == 0:
        return 0.0
    if not np.all(np.isfinite(got)):
        return np.inf
    return float(np.max(np.abs(got - want)) / scale(name, want))


def scale(name, want):
    """The scale of relative errors."""
    floor = _GRADIENT_FLOOR if is_gradient(name) else _FORWARD_FLOOR
    return max(np.max(np.abs(want), initial=0.0), floor)


def limit(name, dtype):
    """The bound of float32 and float64 for one output."""
    return (BACKWARD_EPS if is_gradient(name) else FORWARD_EPS) * rounding.eps(dtype)


def assert_close(got, want, dtype, context=""):
    """Compares two dicts of arrays under the bounds of a float32 or float64 op."""
    assert got.keys() == want.keys(), f"{context}: {sorted(got)} against {sorted(want)}"
    for name in want:
        found = error(name, got[name], want[name])
        assert found <= limit(name, dtype), (
            f"{context} {name}: error {found:.3e} = {found / rounding.eps(dtype):.1f} eps "
            f"of {dtype}, bound {limit(name, dtype):.3e}"
        )
