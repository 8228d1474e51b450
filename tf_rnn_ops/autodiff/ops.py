"""The tensors and attributes of ops by name, and the registration of their gradients."""

import contextlib
from typing import Any, Callable, Mapping

import tensorflow as tf

from tf_rnn_ops.raw_ops.table import signature


def gradient_of(*op_types: str) -> Callable[..., Any]:
    """Registers a function as the gradient of ops without one. A module may be loaded again.

    Args:
        *op_types: Names in the registry.

    Returns:
        A decorator.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for op_type in op_types:
            with contextlib.suppress(KeyError):
                tf.RegisterGradient(op_type)(function)
        return function

    return register


def attribute(op: tf.Operation, name: str) -> Any:
    """An attribute of an op as Python has it."""
    value = op.get_attr(name)
    return value.decode() if isinstance(value, bytes) else value


def attributes(op: tf.Operation, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that `defaults` names, with the default for those that this version of the op lacks."""
    known = signature(op.type).attrs
    return {n: attribute(op, n) if n in known else value for n, value in defaults.items()}


def inputs_of(op: tf.Operation) -> dict[str, tf.Tensor]:
    """{name: tensor}."""
    return dict(zip(signature(op.type).inputs, op.inputs, strict=True))


def outputs_of(op: tf.Operation) -> dict[str, tf.Tensor]:
    """{name: tensor}."""
    return dict(zip(signature(op.type).outputs, op.outputs, strict=True))
