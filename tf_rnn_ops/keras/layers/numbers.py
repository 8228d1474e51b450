"""Numbers among the arguments of layers, as the ops' attributes have them."""

import operator

import numpy as np

_FLOAT32 = np.finfo(np.float32)


def integer(name, value):
    """The argument `name` as an int; a ValueError if it is another kind of number, or none."""
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be an integer, but it is {value!r}.") from None


def number(name, value):
    """The argument `name` as a float; a ValueError if it is no number."""
    try:
        if isinstance(value, (str, bytes)):  # float would read them
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number, but it is {value!r}.") from None


def float32(name, value):
    """The argument `name` rounded to float32, the type of the ops' attributes.

    A ValueError if it becomes infinite there, or too small for the kernels to tell it from 0. NaN is the
    caller's to refuse.
    """
    given = number(name, value)
    with np.errstate(over="ignore"):
        rounded = float(np.float32(given))
    size = abs(rounded)
    if given != 0 and (size < _FLOAT32.tiny or size > _FLOAT32.max):
        raise ValueError(
            f"{name} must be a number of float32, from 1.2e-38 to 3.4e+38 in size if it is not 0, but "
            f"it is {value!r}."
        )
    return rounded


def limit(name, value):
    """A limit of states in float32; 0 for 0, None and infinity, which mean none."""
    if value is None or number(name, value) == float("inf"):
        return 0.0
    rounded = float32(name, value)
    if not rounded >= 0:
        raise ValueError(f"{name} must be 0 or more, but it is {value!r}.")
    return rounded
