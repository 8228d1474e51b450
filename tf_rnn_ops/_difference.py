"""The difference of two results."""

import numpy as np


def largest_difference(a, b):
    """The largest absolute difference of two arrays of one shape; 0 for empty arrays.

    NaN is equal to NaN. The result is NaN if only one of two elements is NaN.
    """
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):  # inf - inf
        return float(np.max(np.where(same, 0.0, np.abs(a - b)), initial=0.0))
