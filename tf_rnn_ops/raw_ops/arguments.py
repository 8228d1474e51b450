"""Converts arguments to the types that TensorFlow's fast path of eager calls needs."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Callable, Hashable, Mapping

import numpy

from tf_rnn_ops.native import loader

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

# WHY not an import: the package can be imported without TensorFlow, or with a version without a library of
# ops.
_tensorflow = functools.lru_cache(maxsize=None)(loader.import_tensorflow)


def float_attr(value: object) -> object:
    """A float attribute. An int would make each call use the slow path, which takes 13 us longer.

    TensorFlow rejects values that are not numbers.
    """
    return float(value) if isinstance(value, int) else value


def optional_tensor(value: object, input: object) -> object:
    """An optional tensor with the type of `input`: a tensor, or () or None if it is absent."""
    dtype = getattr(input, "dtype", None)
    if dtype is None:
        return () if value is None else value
    return _optional(value, getattr(dtype, "as_numpy_dtype", dtype))


def optional_lengths(value: object) -> object:
    """Optional sequence_lengths."""
    return _optional(value, numpy.int32)


def optional_seed(value: object) -> object:
    """An optional seed."""
    return _optional(value, numpy.int64)


def _optional(value: object, dtype: Hashable) -> object:
    if value is not None and not (isinstance(value, tuple) and not value):
        return value
    if loader.unavailable() is not None:
        return ()
    # WHY not an empty tuple: each eager call would use TensorFlow's slow path and take at least 40 us
    # longer.
    return _nothing(dtype, _tensorflow().executing_eagerly())


@functools.lru_cache(maxsize=None)
def _nothing(dtype: DTypeLike, eagerly: bool) -> object:
    # WHY a cached tensor: an eager call takes 7 us to convert an array. Graphs of TensorFlow 1 reject
    # eager tensors.
    if not eagerly:
        return numpy.zeros([0], dtype)
    tf = _tensorflow()
    with tf.device("CPU:0"):
        return tf.zeros([0], dtype)


def state_c(value: object, rnn_mode: object) -> object:
    """A cell state or its gradient. In a network without a cell state, None becomes 0."""
    return 0 if value is None and rnn_mode != "lstm" else value


STATES_C = ("input_c", "output_c", "output_c_backprop")


def reject_none(op: Callable[..., object], arguments: Mapping[str, object]) -> None:
    """Raises an error that names the argument that is None, after a call has failed.

    TensorFlow's message does not name the argument. WHY after the failure: a check before would slow down
    all calls.

    Args:
        op: The function that was called.
        arguments: {name: argument}.

    Raises:
        ValueError: An argument without a default is None or a list with None.
    """
    for name, parameter in inspect.signature(op).parameters.items():
        value = arguments[name]
        if parameter.default is not parameter.empty or (
            name in STATES_C and state_c(value, arguments.get("rnn_mode")) is not value
        ):
            continue
        if value is None:
            raise ValueError(f"{name} of {op.__name__} must be given, but it is None.") from None
        if isinstance(value, (list, tuple)) and any(element is None for element in value):
            raise ValueError(
                f"{name} of {op.__name__} must be a list of tensors, but its element "
                f"{[element is None for element in value].index(True)} is None."
            ) from None
