"""Makes up arrays for arguments of which only the shape and the type are known."""

from typing import Any, Sequence

import numpy as np


def array(
    shape: Sequence[int | None], dtype: Any, first: int, others: int, seed: Any = 0
) -> np.ndarray[Any, Any]:
    """Random numbers, empty strings, or ones for another type, such as integers that stand for words.

    Args:
        shape: The sizes; None for an open size.
        dtype: NumPy's type of the array, or its name; 'string' for strings.
        first: The size of an open first dimension.
        others: The size of other open dimensions.
        seed: A seed, or a numpy.random.Generator.
    """
    sizes = [first, *[others] * (len(shape) - 1)]
    sizes = [size if known is None else known for known, size in zip(shape, sizes)]
    if dtype == "string" or np.dtype(dtype) == object:
        return np.full(sizes, "", object)
    if "float" in np.dtype(dtype).name:
        return np.random.default_rng(seed).uniform(-1, 1, sizes).astype(dtype)
    return np.ones(sizes, dtype)
