"""Tells which recurrent layers of a model run as one op, and why other layers do not."""

from typing import Any

import keras

from tf_rnn_ops.keras._internals import overridden
from tf_rnn_ops.keras._internals.layers import inner_layers
from tf_rnn_ops.keras.dispatch import changes, switch
from tf_rnn_ops.keras.dispatch.decision import decide, wish_for_keras
from tf_rnn_ops.keras.layers import GRU, LSTM, RNN, SimpleRNN
from tf_rnn_ops.keras.layers.cell_layer import CellLayer
from tf_rnn_ops.keras.layers.stack_layer import CudnnStack
from tf_rnn_ops.native import loader

_OURS = (LSTM, GRU, SimpleRNN, RNN, CellLayer)
_STOCK = (keras.layers.LSTM, keras.layers.GRU, keras.layers.SimpleRNN)

FUSED = "fused"  # all steps in one op of this package
KERAS = "keras"  # Keras's implementation
KERAS_IN_TRAINING = "fused, keras in training"
NOTHING = "none"  # a stack without the ops


def kept_by_keras(model: keras.layers.Layer) -> dict[str, str]:
    """{name: reason} of the recurrent layers that run Keras's implementation although nobody asked for it.

    Args:
        model: A model on the layers of this package. A layer of one time step is left out: it runs Keras's
            implementation because it is faster, and so are all layers if the ops are not loaded, of which
            the import has warned.
    """
    if loader.unavailable() is not None:
        return {}
    reasons = {}
    for name, layer in recurrent_layers(model):
        if is_stack(layer) or wish_for_keras(layer):
            continue
        path, reason = path_of(layer, is_compiled(model), time=None)
        if path == KERAS:
            reasons[name] = reason
    return reasons


def is_compiled(model: keras.Model) -> bool:
    """Whether XLA compiles a model."""
    return bool(getattr(model, "compiled", False) and getattr(model, "jit_compile", False))


def known_time(layer: keras.layers.Layer) -> int | None:
    """The number of time steps that a layer was built for, or None."""
    shape: Any = (layer.get_build_config() or {}).get("input_shape") or ()
    return shape[1] if len(shape) == 3 else None


def recurrent_layers(model: keras.Model) -> list[tuple[str, keras.layers.Layer]]:
    """(names of the layers around it and its own name, layer) of each recurrent layer, in the order of the model."""
    layers: list[tuple[str, keras.layers.Layer]] = []
    seen: set[int] = set()

    def visit(layer: keras.layers.Layer, name: str) -> None:
        if id(layer) in seen:
            return
        seen.add(id(layer))
        if isinstance(layer, keras.layers.RNN) or is_stack(layer):
            layers.append((name or layer.name, layer))
            return
        for inner in inner_layers(layer):
            visit(inner, f"{name}/{inner.name}" if name else inner.name)

    visit(model, "")
    return layers


def is_stack(layer: keras.layers.Layer) -> bool:
    """Whether it is one of the Cudnn* layers, for which Keras has no implementation."""
    return isinstance(layer, CudnnStack)


def is_ours(layer: keras.layers.Layer) -> bool:
    """Whether a recurrent layer is one of this package, which runs on the op without accelerate()."""
    return is_stack(layer) or isinstance(layer, _OURS)


def path_of(layer: keras.layers.Layer, compiled: bool, time: int | None) -> tuple[str, str]:
    """The path of a layer, and the reason.

    Args:
        layer: A recurrent layer.
        compiled: Whether XLA compiles its model.
        time: The number of time steps that a graph knows, or None.
    """
    if is_stack(layer):
        reason = decide(layer, time, training=False, xla=compiled).reason
        return (NOTHING, reason) if reason else (FUSED, "")
    reason = (
        _class_reason(layer)
        or overridden.no_inner_loop()
        # A reason that holds for each call helps more than the advice to convert the layer.
        or decide(layer, None, training=False, xla=False).reason
        or changes.own_loop_reason(layer)
        or _stock_reason(layer)
        or decide(layer, time, training=False, xla=compiled).reason
    )
    if reason:
        return KERAS, reason
    reason = decide(layer, time, training=True, xla=compiled).reason
    return (KERAS_IN_TRAINING, reason) if reason else (FUSED, "")


def _class_reason(layer: keras.layers.Layer) -> str | None:
    """Tells why the class of a layer never runs on ops, also under accelerate(); None if it may."""
    # WHY type(): isinstance(layer, RNN) is true for every recurrent layer of Keras.
    if isinstance(layer, (*_OURS, *_STOCK)) or type(layer) is keras.layers.RNN:
        return None
    return f"there is no op for a layer of class {type(layer).__name__}"


def _stock_reason(layer: keras.layers.Layer) -> str | None:
    """Tells that a layer of Keras runs as Keras's until the user changes that; None if it runs on ops."""
    if isinstance(layer, _OURS) or switch.active():
        return None
    if type(layer) in (*_STOCK, keras.layers.RNN):
        return "stock Keras layer: see tf_rnn_ops.keras.convert and accelerate"
    base = next(cls.__name__ for cls in _STOCK if isinstance(layer, cls))
    return (
        f"{type(layer).__name__} is a subclass of keras.layers.{base}, which convert leaves as it is: "
        f"derive it from tf_rnn_ops.keras.{base}, or see tf_rnn_ops.keras.accelerate"
    )
