"""The batch for compare()."""

import collections.abc
from typing import Any

import keras
import tensorflow as tf


def first_batch(x: Any, y: Any) -> Any:
    """The first batch of a dataset, or the unchanged arguments of compare().

    Args:
        x: Arrays in the structure of the inputs of a model; or a tf.data.Dataset, keras.utils.PyDataset or
            iterator for Keras's fit, which yields x, (x, y) or (x, y, sample weights).
        y: Targets, or None. A dataset contains its targets.

    Returns:
        x, y and sample weights. Absent values are None.

    Raises:
        ValueError: A dataset is empty, y is given with a dataset, or x does not consist of arrays.
    """
    if not isinstance(x, (tf.data.Dataset, keras.utils.PyDataset, collections.abc.Iterator)):
        return _checked("x", x), y if y is None else _checked("y", y), None
    if y is not None:
        raise ValueError(
            f"x is a {type(x).__name__}, which contains the targets, but y is given too."
        )
    if isinstance(x, keras.utils.PyDataset):
        batch = x[0] if x.num_batches != 0 else None
    else:
        batch = next(iter(x), None)
    if batch is None:
        raise ValueError(f"x is a {type(x).__name__} without a batch.")
    return keras.utils.unpack_x_y_sample_weight(batch)


def _checked(name: str, value: Any) -> Any:
    for tensor in keras.tree.flatten(value):
        if tensor is not None and not hasattr(tensor, "shape"):  # None is for an optional input
            raise ValueError(
                f"{name} must be one batch: arrays or tensors in the structure of the model's inputs, or "
                f"a dataset of such batches, but it contains a {type(tensor).__name__}."
            )
    return value


def sizes(batch: Any) -> str:
    """The shapes of the arrays of a batch, as text."""
    return ", ".join(
        "none" if tensor is None else " x ".join(map(str, tensor.shape))
        for tensor in keras.tree.flatten(batch)
    )
