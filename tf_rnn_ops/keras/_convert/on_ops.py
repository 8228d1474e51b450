"""A model on the layers of this package, if it can be copied, and otherwise under accelerate()."""

import contextlib
from typing import Any, Iterator

import keras

from tf_rnn_ops.keras._convert.accelerate import Acceleration
from tf_rnn_ops.keras._convert.convert import convert_silently


@contextlib.contextmanager
def on_ops(model: keras.Model) -> Iterator[keras.Model]:
    """The model on the layers of this package, or under accelerate() if it cannot be copied."""
    path: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
    try:
        ours = convert_silently(model, compiled=False)
    except ValueError:
        ours, path = model, Acceleration()
    with path:
        yield ours
