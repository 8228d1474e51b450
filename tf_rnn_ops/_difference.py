"""The difference of two results."""

import numpy as np


def largest_difference(a, b):
    """The largest absolute difference of two arrays of one shape; 0 for empty arrays.

    NaN is equal to NaN. The result is NaN if only one of two elements is NaN.
    """
    return float(np.max(differences(a, b), initial=0.0))


def differences(a, b):
    """The absolute difference of each element, as for largest_difference."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):  # inf - inf
        return np.where(same, 0.0, np.abs(a - b))
