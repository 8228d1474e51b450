"""The results of a naive implementation in a narrow type: the same equations, every result rounded.

The products of a matrix product are summed exactly and rounded once, so this is the best of the
naive implementations, and a bound in multiples of its error is the strictest of its kind.
"""

import ml_dtypes
import numpy as np

from support.reference.cells import exact

NUMPY_DTYPES = {
    "bfloat16": ml_dtypes.bfloat16,
    "float16": np.float16,
    "float32": np.float32,
    "float64": np.float64,
}


def eps(dtype):
    """Distance from 1 to the next larger number of the type."""
    return float(ml_dtypes.finfo(NUMPY_DTYPES[dtype]).eps)


def rounder(dtype):
    """A function that rounds a float64 array to `dtype` and returns it as float64."""
    if dtype == "float64":
        return exact
    narrow = NUMPY_DTYPES[dtype]
    return lambda a: np.asarray(a).astype(narrow).astype(np.float64)
