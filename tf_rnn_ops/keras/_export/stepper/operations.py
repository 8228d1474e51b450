"""The computations of a traced model outside of its layers, from its operations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf


class Part(NamedTuple):
    """The node of a window for an operation on steps, and its fields."""

    node: str
    fields: dict[str, Any]


def steps_of(op: tf.Operation) -> Part | None:
    """The Part of the mean or the maximum over the steps, or of steps in a row such as x[:, -1]; or None."""
    shape = op.inputs[0].shape if op.inputs else tf.TensorShape(None)
    if op.type in ("Mean", "Max") and shape.rank == 3:
        axes = np.ravel(tf.get_static_value(op.inputs[1])).tolist()
        function = "average" if op.type == "Mean" else "maximum"
        fields = {"function": function, "width": shape[1], "stride": 1, "padding": [0, 0]}
        return Part("pool", fields) if axes in ([1], [-2]) else None
    if op.type != "StridedSlice" or (shape.rank or 0) < 2 or op.outputs[0].shape.rank < 1:
        return None
    begins, ends, strides = (tf.get_static_value(tensor) for tensor in op.inputs[1:])
    if any(one is None for one in (begins, ends, strides)):
        return None
    masks = {name: int(op.get_attr(f"{name}_mask")) for name in ("begin", "end", "shrink_axis")}
    if op.get_attr("ellipsis_mask") or op.get_attr("new_axis_mask"):
        return None
    steps = range(shape[1])
    for axis, (begin, end, stride) in enumerate(zip(begins, ends, strides)):
        first, last, alone = (bool(mask >> axis & 1) for mask in masks.values())
        part = slice(None if first else int(begin), None if last else int(end), int(stride))
        if axis == 1 and alone:
            steps = steps[int(begin) :][:1]
        elif axis == 1:
            steps = steps[part]
        elif alone or part != slice(None, None, 1):
            return None
    if len(steps) == 0 or steps.step != 1:
        return None
    return Part("crop", {"begin": steps.start, "count": len(steps)})


class Scaling(NamedTuple):
    """x * scale + offset."""

    x: tf.Tensor
    scale: Any
    offset: Any


def scaling_of(op: tf.Operation) -> Scaling | None:
    """The Scaling that an operation of a tensor and a constant computes, such as 1 - x or x / 3, or None."""
    if op.outputs[0].dtype != tf.float32:
        return None
    if op.type == "Neg":
        return Scaling(op.inputs[0], -1.0, 0.0)
    is_bias = op.type == "BiasAdd" and op.get_attr("data_format") == b"NHWC"
    if op.type not in ("AddV2", "Sub", "Mul", "RealDiv") and not is_bias:
        return None
    x, c = op.inputs[0], _constant(op.inputs[1])
    of_constant = c is None  # whether the constant comes first
    if of_constant:
        x, c = op.inputs[1], _constant(op.inputs[0])
    if c is None or _constant(x) is not None:
        return None
    if is_bias or op.type == "AddV2":
        return Scaling(x, 1.0, c)
    if op.type == "Sub":
        return Scaling(x, -1.0, c) if of_constant else Scaling(x, 1.0, -c)
    if op.type == "Mul":
        return Scaling(x, c, 0.0)
    return None if of_constant or not np.all(c) else Scaling(x, 1.0 / c, 0.0)


def _constant(tensor: tf.Tensor) -> np.ndarray | None:
    """The numbers of a constant, which Keras squeezes for BiasAdd, or None."""
    if tensor.op.type == "Squeeze":
        value = tf.get_static_value(tensor.op.inputs[0])
        return None if value is None else value.reshape(tensor.shape)
    return tf.get_static_value(tensor)


def is_last_axis(op: tf.Operation) -> bool:
    axis = tf.get_static_value(op.inputs[-1])
    rank = op.outputs[0].shape.rank
    return axis is not None and int(axis) in (-1, rank - 1) and rank > 1


def is_false(tensor: tf.Tensor) -> bool:
    """Whether a tensor is False in all elements, as Concatenate adds it to a mask."""
    op = tensor.op
    if op.type == "Fill":
        return not tf.get_static_value(op.inputs[1])
    value = tf.get_static_value(tensor)
    return op.type == "ZerosLike" or (value is not None and not np.any(value))


def is_true(tensor: tf.Tensor) -> bool:
    """Whether a tensor is True in all elements."""
    if tensor.op.type == "Fill":
        return bool(tf.get_static_value(tensor.op.inputs[1]))
    value = tf.get_static_value(tensor)
    return tensor.op.type == "OnesLike" or (value is not None and bool(np.all(value)))


def source(tensor: Any) -> tf.Tensor:
    """The tensor behind copies, and casts that change no number."""
    while tensor.op.type in ("Identity", "StopGradient", "EnsureShape") or _keeps_numbers(
        tensor.op
    ):
        tensor = tensor.op.inputs[0]
    return tensor


def casts_an_input(op: tf.Operation) -> bool:
    """Whether an operation makes integers of an input of floats."""
    is_cast = op.type == "Cast" and op.inputs[0].op.type == "Placeholder"
    return is_cast and op.inputs[0].dtype.is_floating and op.outputs[0].dtype.is_integer


def _keeps_numbers(op: tf.Operation) -> bool:
    if op.type != "Cast":
        return False
    before, after = op.inputs[0].dtype, op.outputs[0].dtype
    if before.is_integer and after == tf.int32:
        # A stepper checks the range of an input.
        return before.size < 4 or op.inputs[0].op.type == "Placeholder"
    if (before, after) == (tf.float64, tf.float32):
        return op.inputs[0].op.type == "Placeholder"  # a stepper casts an input
    return before == after or ((before.is_integer or before.is_bool) and after.is_floating)
