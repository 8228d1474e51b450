"""The tensors between the layers of a stepper."""

from typing import Any, NamedTuple, Protocol, Sequence

import keras
import tensorflow as tf


class Value(NamedTuple):
    """A tensor between two layers.

    Attributes:
        name: Its name in the file.
        has_time: Whether its second dimension is the time of the stream.
    """

    name: str
    has_time: bool


class Nodes(Protocol):
    """The part of a tracer.Tracer that layers use."""

    time: int | None
    is_window: bool

    def add(
        self, op: str, layer: str, inputs: Sequence[Value], has_time: bool, **fields: Any
    ) -> Value: ...

    def state(self, tensor: tf.Tensor) -> str | None: ...

    def value(self, tensor: Any, user: str) -> Value: ...

    def tokens(self, tensor: Any, user: str) -> Value: ...

    def lengths(self, sequence: Any, number: float | None, user: str) -> Value: ...

    def mask(self, layer: keras.layers.Layer, inputs: Any) -> Value | None: ...
