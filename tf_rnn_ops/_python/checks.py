"""The checks of arguments that several functions have, before any work begins."""

import numbers
import operator
import os
from typing import Any

# The sizes of the kernels are int32.
_LARGEST = 2**31 - 1


def check_size(name: str, value: Any) -> None:
    """Raises ValueError unless the argument is a positive integer."""
    if not _is_size(value):
        raise ValueError(f"{name} must be a positive integer{_below(value)}, but it is {value!r}.")


def check_open_sizes(**sizes: Any) -> None:
    """Raises ValueError unless the arguments, {name: value}, are positive integers or None."""
    for name, value in sizes.items():
        if value is not None and not _is_size(value):
            raise ValueError(
                f"{name} must be a positive integer{_below(value)} or None, but it is {value!r}."
            )


def at_least(name: str, value: Any, least: int) -> int:
    """The argument as an int. Raises ValueError if it is not an integer, or below `least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ValueError(f"{name} must be an integer, but it is {value!r}.")
    number = operator.index(value)
    if number < least:
        raise ValueError(f"{name} must be at least {least}, but it is {number}.")
    return number


def check_tolerance(tolerance: Any) -> None:
    """Raises ValueError unless the argument is a number from 0 on or None."""
    if tolerance is not None and not (_is_a(numbers.Real, tolerance) and tolerance >= 0):
        raise ValueError(f"tolerance must be a number from 0 on or None, but it is {tolerance!r}.")


def check_path(name: str, path: Any) -> None:
    """Raises TypeError unless the argument is a path."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{name} must be a path, but it is {path!r}.")


def check_bool(name: str, value: Any, advice: str = "") -> None:
    """Raises TypeError unless the argument is True or False."""
    if not isinstance(value, bool):
        raise TypeError(
            f"{name} must be True or False, but it is a {type(value).__name__}{advice}."
        )


def check_print_fn(print_fn: Any) -> None:
    """Raises TypeError unless the argument is a function or None."""
    if print_fn is not None and not callable(print_fn):
        raise TypeError(f"print_fn must be a function or None, but it is {print_fn!r}.")


def _is_size(value: Any) -> bool:
    return _is_a(numbers.Integral, value) and 0 < value <= _LARGEST


def _below(value: Any) -> str:
    return " below 2^31" if _is_a(numbers.Integral, value) and value > _LARGEST else ""


def _is_a(kind: type, value: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
