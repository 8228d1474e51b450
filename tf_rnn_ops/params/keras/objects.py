"""Layers and models of Keras 1, 2 and 3 and tf_keras, without importing any of them."""

from typing import Any, Iterator, Sequence

import numpy as np

from tf_rnn_ops.params._classes import KERAS, maker, overridden_method
from tf_rnn_ops.params.keras.internals import flatten_layers

_RECURRENT = ("LSTM", "GRU", "SimpleRNN")
_CUDNN = ("CuDNNLSTM", "CuDNNGRU")
_CALLS = ("__call__", "call")
# Layers that return their input in inference.
_DROPOUT = ("Dropout", "SpatialDropout1D", "GaussianNoise", "GaussianDropout")


def is_layer(source: Any) -> bool:
    """Whether it is a Keras layer or model."""
    return hasattr(source, "get_weights") and hasattr(source, "get_config")


def _stack_of(source: Any, kinds: Sequence[str]) -> list:
    """The layers of one stack.

    Args:
        source: A layer, a sequential model, or a list of layers and sequential models.
        kinds: Names of the classes of the layers.

    Returns:
        A list of layers of these classes, or Bidirectional layers around such layers.

    Raises:
        ValueError: There is no such layer, other layers are between them, another layer or model has a
            recurrent layer inside, or a layer does not compute the function of its class.
    """
    layers = list(_leaves(source if isinstance(source, (list, tuple)) else [source]))
    stack: list = []
    between: list = []
    for layer in layers:
        _check_other(layer, kinds)
        if _kind(layer, kinds) is None:
            between += [layer] if stack and not _is_transparent(layer) else []
            continue
        if between:
            raise ValueError(
                f"The layer {between[0].name!r} of class {type(between[0]).__name__} is "
                f"between the recurrent layers {stack[-1].name!r} and {layer.name!r}, which "
                "therefore are not a stack. Convert each separately."
            )
        stack.append(layer)
    if not stack:
        shown = source if isinstance(source, (list, tuple)) else type(source).__name__
        raise ValueError(f"There is no layer of class {', '.join(kinds)} in {shown}.")
    for layer in stack:
        _check_class(layer, kinds, is_last=layer is stack[-1])
    return stack


def _leaves(layers: Sequence) -> Iterator:
    """Layers, with the layers of a sequential model instead of the model."""
    for layer in layers:
        is_sequential = any(cls.__name__ == "Sequential" for cls in type(layer).__mro__)
        if is_sequential and not overridden_method(layer, _CALLS, KERAS):
            yield from _leaves(layer.layers)
        else:
            yield layer


def _check_other(layer: Any, kinds: Sequence[str]) -> None:
    """Raises ValueError if a layer that is not of a stack is recurrent, or has such a layer inside."""
    if _kind(layer, kinds) is None and any(
        _kind(inner, kinds) or hasattr(inner, "cell") or hasattr(inner, "go_backwards")
        for inner in flatten_layers(layer)
    ):
        raise ValueError(
            f"{layer.name!r} of class {type(layer).__name__} is recurrent or has a recurrent layer inside, "
            f"but a stack has layers of class {', '.join(kinds)} only, also in a Bidirectional or sequential "
            "one. Give a list of the layers of the stack, in their order, such as [model.layers[1], "
            "model.layers[2]], and pass states and masks with each call."
        )


def _is_transparent(layer: Any) -> bool:
    """Whether a layer returns its input and the mask of its input in inference."""
    name = type(layer).__name__
    if name == "InputLayer":
        return True
    is_dropout = name in _DROPOUT and not overridden_method(layer, (*_CALLS, "compute_mask"), KERAS)
    return is_dropout and getattr(layer, "supports_masking", True)


def _check_class(layer: Any, kinds: Sequence[str], is_last: bool) -> None:
    """Raises ValueError unless a layer and its cell run the methods of Keras's class.

    The next layer of the stack gets the mask of the layer, unless it `is_last`.
    """
    methods = _CALLS if is_last else (*_CALLS, "compute_mask")
    directions = [layer]
    if hasattr(layer, "forward_layer"):
        directions = [layer.forward_layer, layer.backward_layer]
        check_not_overridden(layer, "Bidirectional", methods)
    for direction in directions:
        kind = _kind(direction, kinds)
        check_not_overridden(direction, kind, (*methods, "inner_loop", "get_initial_state"))
        cell = getattr(direction, "cell", None)
        if kind in _RECURRENT and cell is not None:
            _check_cell(cell, f"{kind}Cell", direction.name)


def _check_cell(cell: Any, kind: str, layer_name: str) -> None:
    check_not_overridden(cell, kind, (*_CALLS, "get_initial_state"), of=f" of layer {layer_name!r}")
    cls = maker(cell, "call")
    if cls is not None and cls.__name__ != kind:
        raise ValueError(
            f"The cell of layer {layer_name!r} must be a {kind} of Keras, but it is a {type(cell).__name__}."
        )


def check_not_overridden(
    layer: Any, kind: str | None, methods: Sequence[str], of: str = ""
) -> None:
    """Raises ValueError if one of the methods is defined outside of Keras and this package."""
    name = overridden_method(layer, methods, KERAS)
    if name:
        raise ValueError(
            f"{type(layer).__name__}{of or f' (layer {layer.name!r})'} overrides the method {name}, so "
            f"its weights may not be the weights of a {kind} of Keras. Convert the result of get_weights() if it "
            "computes the same function."
        )


def _kind(layer: Any, kinds: Sequence[str]) -> str | None:
    """The class of a layer among `kinds`, or of the layer inside of a Bidirectional layer; None for another."""
    names = [cls.__name__ for cls in type(layer).__mro__]
    if "Bidirectional" in names:
        return _kind(layer.forward_layer, kinds)
    return next((kind for kind in kinds if kind in names), None)


def keras_stack(source: Any) -> tuple[list[list[np.ndarray]], str | None]:
    """The weights of the LSTM, GRU and SimpleRNN layers of a stack.

    Returns:
        A list of arrays for each layer, and the rnn_mode of a SimpleRNN, otherwise None.

    Raises:
        ValueError: A layer does not compute the function of the op, or the layers are of different kinds.
    """
    layers = _stack_of(source, _RECURRENT)
    directions = _directions(layers)
    modes = [_mode(layer) for layer in directions]
    _check_same(directions, modes)
    return [layer.get_weights() for layer in layers], modes[0]


def cudnn_stack(source: Any) -> tuple[list[list[np.ndarray]], None]:
    """The weights of the CuDNNLSTM or CuDNNGRU layers of a stack, a list of arrays for each, and None.

    Raises:
        ValueError: The layers are of different kinds, or do not compute the function of the op.
    """
    layers = _stack_of(source, _CUDNN)
    directions = _directions(layers)
    _check_same(directions, [_kind(layer, _CUDNN) for layer in directions])
    return [layer.get_weights() for layer in layers], None


def _directions(layers: list) -> list:
    """The layers, with both layers of a Bidirectional instead of it.

    Raises:
        ValueError: A layer has no weights, or its directions do not go as in the op.
    """
    directions: list = []
    for layer in layers:
        if not getattr(layer, "built", True):
            raise ValueError(
                f"The layer {layer.name!r} of class {type(layer).__name__} is not built, so it has no "
                "weights yet: build it, or call it once."
            )
        both = [layer]
        if hasattr(layer, "forward_layer"):
            _require(layer, "merge_mode", layer.merge_mode, "concat")
            both = [layer.forward_layer, layer.backward_layer]
        for direction, backwards in zip(both, (False, True)):
            actual = direction.get_config().get("go_backwards", False)
            _require(direction, "go_backwards", actual, backwards)
        directions += both
    return directions


def _mode(layer: Any) -> str | None:
    """The rnn_mode of a layer for one direction, or None if it is not recurrent."""
    config, kind = layer.get_config(), _kind(layer, _RECURRENT)
    activation = _name(config.get("activation", "tanh"))
    if kind == "SimpleRNN" and activation == "relu":
        return "rnn_relu"
    _require(layer, "activation", activation, "tanh")
    if kind != "SimpleRNN":
        recurrent = _name(config.get("recurrent_activation", "sigmoid"))
        _require(layer, "recurrent_activation", recurrent, "sigmoid")
    if kind == "GRU":
        # Keras 2.0 had no such argument, and applied the reset gate before the product.
        _require(layer, "reset_after", config.get("reset_after", False), True)
    return {"LSTM": "lstm", "GRU": "gru", "SimpleRNN": "rnn_tanh"}.get(kind or "")


def _check_same(layers: list, modes: list) -> None:
    """Raises ValueError if layers have different modes."""
    if len(set(modes)) > 1:
        raise ValueError(
            f"All layers must be of one kind, but {[layer.name for layer in layers]} are {modes}."
        )


def _require(layer: Any, name: str, value: Any, wanted: Any) -> None:
    if value != wanted:
        raise ValueError(
            f"{name} of layer {layer.name!r} must be {wanted!r} for the op, but it is {value!r}."
        )


def _name(activation: Any) -> Any:
    """The name of an activation in a config, which has a string or Keras 3's serialized form."""
    if isinstance(activation, dict):
        return _name(activation.get("config", activation.get("class_name")))
    return activation
