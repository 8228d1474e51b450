"""Converts and checks numeric arguments of layers for the attributes of the ops."""

from typing import Any

import numpy as np

_FLOAT32 = np.finfo(np.float32)


def number(name: str, value: Any) -> float:
    """The argument `name` as a float. Raises ValueError if it is not a number."""
    try:
        if isinstance(value, (str, bytes)):  # float() parses text
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number, but it is {value!r}.") from None


def rounded(value: float) -> float:
    """A number rounded to float32, the type of the ops' attributes.

    Configs have the number that the user gave. Keras's implementation computes with the rounded number, as
    the op does.
    """
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def float32(name: str, value: Any) -> float:
    """The argument `name` as a float.

    Raises ValueError if it is infinite in float32, or so small that the kernels cannot distinguish it from
    0. The caller rejects NaN.
    """
    converted = number(name, value)
    size = abs(rounded(converted))
    if converted != 0 and (size < _FLOAT32.tiny or size > _FLOAT32.max):
        raise ValueError(
            f"{name} must be 0, or between 1.2e-38 and 3.4e+38 in absolute value (float32), but "
            f"it is {value!r}."
        )
    return converted


def not_negative(name: str, value: Any) -> float:
    """The argument `name` as a float. Raises ValueError if it is below 0 and in the cases of float32()."""
    converted = float32(name, value)
    if not converted >= 0:
        raise ValueError(f"{name} must be 0 or more, but it is {value!r}.")
    return converted


def limit(name: str, value: Any) -> float:
    """A bound for clipping states; 0 for 0, None and infinity, which mean no clipping."""
    if value is None or number(name, value) == float("inf"):
        return 0.0
    return not_negative(name, value)


def fraction(name: str, value: Any) -> float:
    """The argument `name` as a float. Raises ValueError if it is not in [0, 1]."""
    converted = number(name, value)
    if not 0 <= converted <= 1:
        raise ValueError(f"{name} must be in [0, 1], but it is {value!r}.")
    return converted
