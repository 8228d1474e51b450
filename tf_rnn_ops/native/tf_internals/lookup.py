"""Finds private names. A sentence tells which feature is lost without a name."""

import functools
import importlib
import warnings
from typing import Any, Iterable

import tensorflow as tf

from tf_rnn_ops.native.versions import TENSORFLOW


def find(name: str) -> Any:
    """A private name of TensorFlow.

    Args:
        name: A module and an attribute, such as 'tensorflow.python.eager.record:could_possibly_record'.

    Returns:
        The object with the name, or None.
    """
    module, _, attribute = name.partition(":")
    try:
        return functools.reduce(getattr, attribute.split("."), importlib.import_module(module))
    except (AttributeError, ImportError):
        return None


def missing(name: str, loss: str) -> str:
    """The sentence on a missing name; `loss` names the feature that does not work without it."""
    return (
        f"{loss}, because TensorFlow {tf.__version__} has no {name.replace(':', '.')}, which TensorFlow "
        f"{TENSORFLOW[0]} to {TENSORFLOW[-1]} have."
    )


def need(name: str, loss: str) -> Any:
    """Like find, but the name must exist.

    Raises:
        RuntimeError: There is no such name.
    """
    value = find(name)
    if value is None:
        raise RuntimeError(missing(name, loss))
    return value


def want(name: str, loss: str) -> Any:
    """Like find, but warns if there is no such name."""
    value = find(name)
    if value is None:
        warnings.warn(missing(name, loss), stacklevel=3)
    return value


def base_class(name: str, loss: str, methods: Iterable[str] = ()) -> Any:
    """A class to derive from, whose private methods a subclass defines or calls.

    Args:
        name: As for find.
        loss: As for missing.
        methods: The names of the methods.

    Returns:
        The class. If the class or a method is missing, a class whose constructor raises RuntimeError.
    """
    value = find(name)
    absent = [name] if value is None else [f"{name}.{m}" for m in methods if not hasattr(value, m)]
    if not absent:
        return value

    def fail(cls: type, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(missing(absent[0], loss))

    return type("Missing", (), {"__new__": fail})
