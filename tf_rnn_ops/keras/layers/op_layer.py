"""The base of all layers that run the loop over time of keras.layers.RNN as one op."""

import functools
import inspect
from typing import TYPE_CHECKING, Any, Callable, TypeVar

import keras
import tensorflow as tf

from tf_rnn_ops._python import patches
from tf_rnn_ops.keras._internals.layers import is_set_by_keras
from tf_rnn_ops.keras.dispatch import changes, fused
from tf_rnn_ops.keras.dispatch.decision import cells_of, decide
from tf_rnn_ops.keras.layers import cell_options, quantization
from tf_rnn_ops.keras.layers.arguments import with_signature
from tf_rnn_ops.raw_ops import dropout_seeds

_Class = TypeVar("_Class", bound=type)


def jit_property(concerns: Callable[[keras.layers.Layer], bool] = lambda layer: True) -> property:
    """Makes the property `supports_jit`, by which `compile` decides whether XLA may compile a layer.

    For a layer on the op it is True if XLA can compile the op. Layers on Keras's implementation, and
    layers that `concerns` rejects, have the value that Keras assigned. False from a user has priority.
    """

    def get(layer: keras.layers.Layer) -> bool:
        try:
            wanted = layer.__dict__["supports_jit"]
        except KeyError:
            # Keras skips an assignment if the attribute already has the value.
            raise AttributeError("supports_jit is not set yet") from None
        if layer.__dict__.get("_jit_forbidden"):
            return False
        if not concerns(layer) or decide(layer, None, training=False, xla=False).reason:
            return wanted
        return not decide(layer, None, training=False, xla=True).reason

    def set_(layer: keras.layers.Layer, value: bool) -> None:
        layer.__dict__["supports_jit"] = value
        # Keras's own constructors forbid XLA for cuDNN.
        patches.put(layer, "_jit_forbidden", not value and not is_set_by_keras())

    return property(get, set_, doc="Whether Keras may compile the layer with XLA.")


class OpLayer(keras.layers.RNN):
    """The methods of keras.layers.RNN that all layers override."""

    supports_jit = jit_property()

    # Editors and type checkers see the arguments of Keras's constructors.
    if not TYPE_CHECKING:

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            quantization.adopt(self)

    def quantized_call(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the layer, whose cells have int8 weights; see keras.layers.Layer."""
        return self.call(*args, **kwargs)

    def inner_loop(
        self, sequences: tf.Tensor, initial_state: Any, mask: Any, training: bool | None = False
    ) -> tuple[tf.Tensor, tf.Tensor, Any]:
        """Runs all time steps; see keras.layers.RNN."""
        return fused.inner_loop(self, super().inner_loop, sequences, initial_state, mask, training)

    def rematerialized_call(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Makes keras.RematScope drop the same units in the second computation; see keras.Operation."""
        cells = [c for c in cells_of(self) if hasattr(c, "seed_generator")]
        seeds = [cell.seed_generator for cell in cells]
        return super().rematerialized_call(dropout_seeds.replayed(fn, seeds), *args, **kwargs)

    def __repr__(self) -> str:
        return with_package(self, super().__repr__())


changes.count_as_known(OpLayer.inner_loop)


def with_package(layer: keras.layers.Layer, text: str) -> str:
    """Keras's `repr` of a layer with the package of its class, to distinguish it from a layer of Keras."""
    name = type(layer).__name__
    package = type(layer).__module__
    if package.startswith("tf_rnn_ops."):
        package = "tf_rnn_ops.keras"
    return text.replace(name, f"{package}.{name}", 1)


class WithKerasCell(OpLayer):
    """The methods that layers with a cell of Keras override."""

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, including arguments that Keras omits."""
        config = {**super().get_config(), **cell_options.implementation(self.cell)}
        use_cudnn = getattr(self, "use_cudnn", "auto")
        return config if use_cudnn == "auto" else {**config, "use_cudnn": use_cudnn}


def as_in_keras(cls: _Class) -> _Class:
    """A decorator that shows the signature of Keras's constructor, whose arguments a layer passes on."""
    original = vars(cls.__bases__[-1])["__init__"]

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        OpLayer.__init__(self, *args, **kwargs)

    cls.__init__ = with_signature(__init__, inspect.signature(original))  # type: ignore[misc]
    return cls
