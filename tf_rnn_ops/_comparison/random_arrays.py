"""Random arrays for arguments of which only the shape and the type are known."""

from typing import Any, Iterable, Sequence

import numpy as np
import numpy.typing as npt

# WHY not 0: an integer may be a word, of which 0 is padding, or a mask, which would get holes.
_INTEGERS = range(1, 3)
TEXTS = ("a", "b", "a b")


def array(
    shape: Sequence[int | None],
    dtype: Any,
    rng: np.random.Generator,
    first: int,
    others: int,
    steps: int | None = None,
    integers: Sequence[int] | None = None,
    texts: Sequence[str] = TEXTS,
) -> np.ndarray[Any, Any]:
    """Random values. They differ, since equal values would hide an exchange of elements.

    An array of one dimension, except of strings, has the numbers from 1 to `steps`, since these may be lengths.

    Args:
        shape: The sizes; None for an open size.
        dtype: NumPy's type of the array, or its name; 'string' for strings.
        rng: The generator of the random values.
        first: The size of an open first dimension.
        others: The size of other open dimensions.
        steps: The largest length; None is `others`.
        integers: The integers. None is 1 and 2, or with more than two dimensions all values of a type of 8 or 16
            bits, such as those of an image.
        texts: The strings.
    """
    sizes = [first, *[others] * (len(shape) - 1)]
    sizes = [size if allowed is None else allowed for allowed, size in zip(shape, sizes)]
    if dtype == "string" or np.dtype(dtype) == object:
        return _drawn(rng, texts, sizes, object)
    dtype = np.dtype(dtype)
    if len(sizes) == 1:
        return (1 + np.arange(sizes[0]) % (steps or others)).astype(dtype)
    if dtype.kind == "c":
        return (rng.standard_normal(sizes) + 1j * rng.standard_normal(sizes)).astype(dtype)
    if "float" in dtype.name:
        return rng.standard_normal(sizes).astype(dtype)
    return _drawn(rng, _values(dtype, len(sizes), integers), sizes, dtype)


def _values(dtype: np.dtype, rank: int, integers: Sequence[int] | None) -> npt.ArrayLike:
    """The values of an array of booleans or integers of some dimensions. `integers`: see array()."""
    if dtype.kind == "b":  # with two dimensions it may be a mask
        return (True, False) if rank > 2 else (True,)
    if dtype.kind not in "iu":  # of 4 bits
        return _INTEGERS
    limits = np.iinfo(dtype)
    if integers is None:
        whole = rank > 2 and dtype.itemsize <= 2
        integers = range(limits.min, limits.max + 1) if whole else _INTEGERS
    allowed = np.asarray(integers)
    allowed = allowed[(allowed >= limits.min) & (allowed <= limits.max)]
    return allowed if allowed.size else _INTEGERS


def least_steps(shapes: Iterable[Sequence[int | None]], default: int) -> int:
    """The smallest second dimension of some shapes, where an open one has the size `default`."""
    lengths = [shape[1] for shape in shapes if len(shape) > 1]
    return min((default if size is None else size for size in lengths), default=default)


def _drawn(
    rng: np.random.Generator, values: npt.ArrayLike, sizes: Sequence[int], dtype: Any
) -> np.ndarray[Any, Any]:
    """Each value about equally often, in each row if it has several elements."""
    each, count = np.asarray(values, dtype), int(np.prod(sizes))
    row = int(np.prod(sizes[1:])) if int(np.prod(sizes[1:])) > 1 else count
    rows = [
        rng.permutation(np.resize(rng.permutation(each), row)) for _ in range(0, count, max(row, 1))
    ]
    return np.concatenate([np.empty(0, dtype), *rows]).reshape(sizes)
