"""How far the outputs of a file may be from the outputs of its model."""

import dataclasses
from typing import NamedTuple

import numpy as np

from tf_rnn_ops._difference import differences

# Larger numbers are those of masks, such as -1e9 for logits, and do not count for the scale of an output.
_OF_MASKS = 1e6
# The part of the numbers of an output that are below its scale.
_BELOW = 0.9


class Limits(NamedTuple):
    """The allowed difference of an element.

    Attributes:
        relative: Times the size of the element or the scale of the output, whichever is larger.
        absolute: Added to it.
        integers: The part of the integers of an output that may differ.
    """

    relative: float
    absolute: float
    integers: float = 0.0


@dataclasses.dataclass(frozen=True)
class Difference:
    """The difference of an output, at the element where it is largest relative to what is allowed.

    Attributes:
        output: The name of the output.
        difference: The absolute difference; infinite with a fault.
        tolerance: The allowed difference.
        largest: The largest finite number of the output.
        fault: The sentence on an output that cannot be compared; otherwise empty.
    """

    output: str
    difference: float = float("inf")
    tolerance: float = 0.0
    largest: float = 0.0
    fault: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the file has the output of the model."""
        return self.difference <= self.tolerance  # NaN is not

    @property
    def excess(self) -> float:
        """The difference in units of what is allowed."""
        if self.agrees:
            return self.difference / self.tolerance if self.tolerance else 0.0
        return (
            self.difference / self.tolerance
            if self.difference < np.inf and self.tolerance
            else np.inf
        )

    def __str__(self):
        """The sentence on the difference."""
        return self.fault or (
            f"the output {self.output!r} differs by {self.difference:.2e}, but only {self.tolerance:.2e} is "
            "allowed."
        )


def worst(
    got: dict[str, np.ndarray],
    want: dict[str, np.ndarray],
    limits: Limits,
    tolerance: float | None = None,
    rounding: dict[str, float] | None = None,
) -> Difference:
    """The Difference of the output that agrees least.

    Args:
        got: {name: output of the file}.
        want: {name: output of the model}.
        limits: The allowed difference.
        tolerance: The absolute difference that is allowed instead, or None.
        rounding: {name: absolute difference that is also allowed}, or None.
    """
    more = rounding or {}
    found = [
        _of_output(
            name,
            got,
            one,
            limits._replace(absolute=limits.absolute + more.get(name, 0.0)),
            tolerance,
        )
        for name, one in want.items()
    ]
    return max(found, key=lambda one: one.excess, default=Difference("", 0.0))


def _of_output(name, got, expected, limits, tolerance):
    found = got.get(name)
    if found is None:
        names = ", ".join(map(repr, sorted(got))) or "none"
        return Difference(name, fault=f"the file has no output {name!r}, but {names}.")
    if found.shape != expected.shape:
        shapes = f"{found.shape} in the file and {expected.shape} in the model"
        return Difference(name, fault=f"the output {name!r} has the shape {shapes}.")
    if expected.dtype.kind in "OSU":
        if np.array_equal(found, expected):
            return Difference(name, 0.0)
        return Difference(name, fault=f"the output {name!r} has other strings.")
    if not expected.size:
        return Difference(name, 0.0)
    if expected.dtype.kind in "biu" and tolerance is None:
        return _of_integers(name, found, expected, limits.integers)
    return _of_numbers(name, found, expected, limits, tolerance)


def _of_integers(name, found, expected, part):
    other = int(np.sum(found != expected))
    if other > part * expected.size:
        fault = f"the output {name!r} has {other} other integers of {expected.size}."
        return Difference(name, fault=fault)
    return Difference(
        name, float(other), part * expected.size, float(np.max(np.abs(expected * 1.0)))
    )


def _of_numbers(name, found, expected, limits, tolerance):
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    a, b = found.astype(wide).ravel(), expected.astype(wide).ravel()
    difference = differences(a, b)
    size = np.where(np.isfinite(b), np.abs(b), 0.0)
    if tolerance is None:
        allowed = limits.relative * np.maximum(size, _scale(size)) + limits.absolute
    else:
        allowed = np.full(b.shape, float(tolerance))
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.where(difference == 0, 0.0, np.nan_to_num(difference / allowed, nan=np.inf))
    k = int(np.argmax(excess))
    return Difference(name, float(difference[k]), float(allowed[k]), float(np.max(size)))


def _scale(size):
    """The size of most numbers of an output, without zeros and the numbers of masks."""
    some = size[size > 0]
    some = some[some < _OF_MASKS] if np.any(some < _OF_MASKS) else some
    return np.quantile(some, _BELOW) if some.size else 0.0
