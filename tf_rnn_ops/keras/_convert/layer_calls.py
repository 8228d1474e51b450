"""Runs another function instead of the calls of layers, in one thread and without a change of the layers."""

import contextlib
import functools
import threading
from typing import Any, Callable, Iterator

import keras

from tf_rnn_ops._python import patches


class _Thread(threading.local):
    """The function that a thread runs instead of the calls of layers."""

    instead: Callable | None = None


_thread = _Thread()


def _dispatcher(original: Callable) -> Callable:
    """Keras's Layer.__call__, which runs the function of its thread if there is one."""

    @functools.wraps(original)
    def call(layer: keras.layers.Layer, *args: Any, **kwargs: Any) -> Any:
        # Another patch may still call the function of an earlier replacement.
        if _thread.instead is None or not _patch.has_set(call):
            return original(layer, *args, **kwargs)
        return _thread.instead(original, layer, *args, **kwargs)

    return call


_patch = patches.Replacement(
    lambda: {(keras.layers.Layer, "__call__"): _dispatcher(keras.layers.Layer.__call__)}
)


@contextlib.contextmanager
def replaced(instead: Callable) -> Iterator[None]:
    """Lets each call of a layer in this thread run `instead`. Calls in other threads do not change.

    WHY the method of the class: an attribute of a layer would change the layer for all threads, and a class
    of the user's own may call its layers in any way.

    Args:
        instead: A function of Keras's Layer.__call__, the layer and the arguments of the call.
    """
    before = _thread.instead
    with _patch:
        _thread.instead = instead
        try:
            yield
        finally:
            _thread.instead = before


def variant(layer: keras.layers.Layer, **attributes: Any) -> keras.layers.Layer:
    """A layer with the class, weights and attributes of another one except for `attributes`.

    The other layer does not change. Both have the same variables.
    """
    # WHY not setattr: Keras tracks objects that are set as attributes.
    new_layer = object.__new__(type(layer))
    vars(new_layer).update(vars(layer), **attributes)
    return new_layer
