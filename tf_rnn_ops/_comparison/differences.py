"""Compares the results of a rewritten model, or of a file, with those of the model."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tf_rnn_ops._python.one_line import one_line

# Larger numbers are those of masks, such as -1e9 for logits, and do not count for the scale of an output.
_OF_MASKS = 1e6
# The part of the numbers of an output that are below its scale.
_BELOW = 0.9

_Array = npt.NDArray[Any]


def not_run(what: str, inputs: str, error: Exception) -> ValueError:
    """The error for a model or a file that does not run on inputs, such as 'on x [2, 3]'."""
    return ValueError(
        f"{what} does not run {inputs}: {one_line(error)} Give a suitable batch as verify_inputs (--verify-inputs "
        "FILE.npz in the command), or leave out the check with verify=False (--no-verify)."
    )


def array_of(value: Any) -> _Array:
    """The array of a tensor or of what np.asarray accepts."""
    # np.asarray fails for an eager tensor without dimensions of bfloat16.
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


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


LIMITS = {
    "float64": Limits(1e-10, 1e-15),
    "float32": Limits(1e-4, 5e-7),
    "float16": Limits(1e-2, 5e-7),
    "bfloat16": Limits(5e-2, 5e-7),
}
"""The Limits by the narrowest type of a computation."""


@dataclasses.dataclass(frozen=True)
class Comparison:
    """An output of two models on the same input, at the element that agrees least.

    Attributes:
        name: The output; for signatures of SavedModels also the signature.
        difference: The absolute difference; infinite with a fault.
        tolerance: The allowed difference.
        largest: The largest finite number of the output.
        fault: The sentence on an output that cannot be compared, such as one of another shape; otherwise
            empty.
    """

    name: str
    difference: float = float("inf")
    tolerance: float = 0.0
    largest: float = 0.0
    fault: str = ""

    @property
    def ok(self) -> bool:
        """Whether the difference is within the tolerance. NaN is not within it."""
        return self.difference <= self.tolerance

    @property
    def excess(self) -> float:
        """The difference in units of the tolerance; infinite without a finite difference or a tolerance."""
        if self.ok and not self.tolerance:
            return 0.0
        if self.difference < np.inf and self.tolerance:
            return self.difference / self.tolerance
        return float("inf")

    def __str__(self) -> str:
        """The sentence on the difference."""
        return self.fault or (
            f"the output {self.name!r} differs by {self.difference:.2e}, but only {self.tolerance:.2e} is "
            "allowed."
        )


def worst(
    got: dict[str, _Array],
    want: dict[str, _Array],
    limits: Limits,
    tolerance: float | None = None,
    rounding: dict[str, float] | None = None,
) -> Comparison:
    """The Comparison of the output that agrees least.

    Args:
        got: {name: output to check}.
        want: {name: right output}.
        limits: The allowed difference.
        tolerance: The absolute difference that is allowed instead, or None.
        rounding: {name: absolute difference that is also allowed}, or None.
    """
    compared = []
    for name, expected in want.items():
        rounding_error = (rounding or {}).get(name, 0.0)
        widened = limits._replace(absolute=limits.absolute + rounding_error)
        if name in got:
            compared.append(compare(name, got[name], expected, widened, tolerance))
        else:
            names = ", ".join(map(repr, sorted(got))) or "none"
            compared.append(Comparison(name, fault=f"there is no output {name!r}, but {names}."))
    return max(compared, key=lambda comparison: comparison.excess, default=Comparison("", 0.0))


def compare(
    name: str, got: _Array, want: _Array, limits: Limits, tolerance: float | None = None
) -> Comparison:
    """The Comparison of an output.

    Args:
        name: Its name.
        got: The output to check.
        want: The right output.
        limits: See worst().
        tolerance: See worst().
    """
    if got.shape != want.shape:
        shapes = f"{got.shape} instead of {want.shape}"
        return Comparison(name, fault=f"the output {name!r} has the shape {shapes}.")
    if want.dtype.kind in "OSU":
        if np.array_equal(got, want):
            return Comparison(name, 0.0)
        return Comparison(name, fault=f"the output {name!r} has other strings.")
    if not want.size:
        return Comparison(name, 0.0)
    if want.dtype.kind in "biu" and tolerance is None:
        return _of_integers(name, got, want, limits.integers)
    return _of_numbers(name, got, want, limits, tolerance)


def _of_integers(name: str, got: _Array, want: _Array, part: float) -> Comparison:
    mismatches, allowed = int(np.sum(got != want)), part * want.size
    if mismatches > allowed:
        fault = f"the output {name!r} has {mismatches} other integers of {want.size}."
        return Comparison(name, fault=fault)
    return Comparison(name, float(mismatches), allowed, float(np.max(np.abs(want * 1.0))))


def _of_numbers(
    name: str, got: _Array, want: _Array, limits: Limits, tolerance: float | None
) -> Comparison:
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    a, b = got.astype(wide).ravel(), want.astype(wide).ravel()
    difference = _differences(a, b)
    size = np.where(np.isfinite(b), np.abs(b), 0.0)
    if tolerance is None:
        allowed = limits.relative * np.maximum(size, _scale(size)) + limits.absolute
    else:
        allowed = np.full(b.shape, float(tolerance))
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.where(difference == 0, 0.0, np.nan_to_num(difference / allowed, nan=np.inf))
    k = int(np.argmax(excess))
    return Comparison(name, float(difference[k]), float(allowed[k]), float(np.max(size)))


def _scale(size: _Array) -> float:
    """The size of most numbers of an output, without zeros and the numbers of masks."""
    magnitudes = size[size > 0]
    magnitudes = (
        magnitudes[magnitudes < _OF_MASKS] if np.any(magnitudes < _OF_MASKS) else magnitudes
    )
    return float(np.quantile(magnitudes, _BELOW)) if magnitudes.size else 0.0


def largest_difference(a: _Array, b: _Array) -> float:
    """The largest absolute difference of two arrays of one shape; 0 for empty arrays.

    NaN is equal to NaN. The result is NaN if only one of two elements is NaN.
    """
    return float(np.max(_differences(a, b), initial=0.0))


def _differences(a: _Array, b: _Array) -> _Array:
    """The absolute difference of each element, as for largest_difference."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):  # inf - inf
        return np.where(same, 0.0, np.abs(a - b))
