"""A model whose calls get whole windows and begin with zeros, so that it keeps nothing from call to call."""

import dataclasses
import functools
from collections.abc import Collection, Mapping
from typing import Any, Callable, ClassVar

import keras
import tensorflow as tf

from tf_rnn_ops.keras._convert import layer_calls
from tf_rnn_ops.keras._export import signatures, time_axes
from tf_rnn_ops.keras._export.outputs import named
from tf_rnn_ops.keras._internals.layers import flatten_layers


@dataclasses.dataclass(frozen=True, eq=False)
class Window:
    """A model as a function of whole windows, with the attributes of a Stream that a tracer.Tracer reads.

    Attributes:
        model: The model. It does not change.
        signature: A list with a structure of tf.TensorSpec for each argument, of known sizes except for B.
        time: T, the number of steps of the first input with steps.
        observe: A function for layer_calls.replaced that `function` calls layers with, or None.
        states: Empty: a call begins with zeros.
        all_sequences: Empty: no input has the steps of a stream.
    """

    model: keras.Model
    signature: list
    time: int
    observe: Callable | None = None
    states: ClassVar[Mapping[str, str | None]] = {}
    all_sequences: ClassVar[Collection[str]] = frozenset()

    def observed_by(self, observe: Callable) -> "Window":
        """The same model, whose layers `observe` calls."""
        return dataclasses.replace(self, observe=observe)

    def function(self, *arguments: Any) -> dict[str, Any]:
        """The outputs of the model by their names in a signature."""

        def run(original: Callable, layer: keras.layers.Layer, *args: Any, **kwargs: Any) -> Any:
            observed = functools.partial(self.observe, original) if self.observe else original
            return observed(layer, *args, **kwargs)

        with layer_calls.replaced(run):
            return named(time_axes.of_any_length(self.model)(*arguments, training=False))


def signature_of(model: keras.Model, given: Any, time: int | None) -> list:
    """The signature of a model for windows. See signatures.of for the arguments."""
    signature = signatures.of(model, given)
    steps = {spec.shape[1] for spec in _sequences(signature)}
    if time is not None and steps != {time}:
        signature = signatures.of(model, given, None, time)
    return signatures.named_for_users(signature)


def window_of(model: keras.Model, signature: list) -> Window:
    """The Window of a model.

    Args:
        model: The model.
        signature: The signature of its arguments.

    Raises:
        ValueError: A layer is stateful, or a size other than B is open.
    """
    for layer in flatten_layers(model):
        if getattr(layer, "stateful", False):
            raise ValueError(
                f"A window begins with zeros, but the layer {layer.name!r} is stateful: make the model with stateful=False, "
                "or a stepper of a stream of it."
            )
    for spec in keras.tree.flatten(signature):
        if spec.shape.rank is None or None in spec.shape[1:]:
            raise ValueError(
                f"A window must have known sizes, but the input {spec.name!r} has {spec.shape}: give its number of steps as "
                "time, and other sizes in keras.Input or input_signature."
            )
    sequences = _sequences(signature)
    time = next((spec.shape[1] for spec in sequences if spec.shape.rank > 2), None)
    time = time or next((spec.shape[1] for spec in sequences), 1)
    return Window(model, signature, time)


def _sequences(signature: list) -> list[tf.TensorSpec]:
    """The specs that may have steps."""
    return [spec for spec in keras.tree.flatten(signature) if (spec.shape.rank or 0) > 1]
