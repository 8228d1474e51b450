"""Layers and models of Keras 1, 2 and 3 and tf_keras, without importing any of them."""

from tf_rnn_ops.params._classes import KERAS, maker, own_method
from tf_rnn_ops.params.keras import graph
from tf_rnn_ops.params.keras.internals import flatten_layers

_RECURRENT = ("LSTM", "GRU", "SimpleRNN")
_CUDNN = ("CuDNNLSTM", "CuDNNGRU")
_CALLS = ("__call__", "call")


def is_layer(thing):
    """Whether it is a Keras layer or model."""
    return hasattr(thing, "get_weights") and hasattr(thing, "get_config")


def stack_of(thing, kinds):
    """The layers of one stack.

    Args:
        thing: A layer, a model, or a list of layers and models.
        kinds: Names of the classes of the layers.

    Returns:
        A list of layers of these classes, or Bidirectional layers around such layers.

    Raises:
        ValueError: There is no such layer, other layers are between them, a layer does not read the
            previous layer, a layer is called with initial states or a mask, or a layer does not
            compute the function of its class.
    """
    items = list(thing) if isinstance(thing, (list, tuple)) else [thing]
    found, between = [], []
    for layer in _leaves(items, kinds):
        if _kind(layer, kinds) is not None:
            if between:
                raise ValueError(
                    f"The layer {between[0].name!r} of class {type(between[0]).__name__} is "
                    f"between the recurrent layers {found[-1].name!r} and {layer.name!r}, which "
                    "therefore are not a stack. Convert each separately."
                )
            found.append(layer)
        elif found and not graph.is_transparent(layer):
            between.append(layer)
    if not found:
        what = thing if isinstance(thing, (list, tuple)) else type(thing).__name__
        raise ValueError(f"There is no layer of class {', '.join(kinds)} in {what}.")
    for layer in found:
        _check_class(layer, kinds)
    _check_others(items, kinds)
    _check_items(items, kinds, len(found))
    return found


def _check_others(items, kinds):
    """Raises ValueError if a layer outside of the stack is recurrent, or has such a layer inside."""
    for leaf in _leaves(items, kinds):
        if _kind(leaf, kinds) is None and any(
            _kind(one, kinds) or hasattr(one, "cell") or hasattr(one, "go_backwards")
            for one in flatten_layers(leaf)
        ):
            raise ValueError(
                f"The layer {leaf.name!r} of class {type(leaf).__name__} is recurrent or has a recurrent "
                f"layer inside, but a stack has layers of class {', '.join(kinds)} only, also in a "
                "Bidirectional one. Give a list of the layers of the stack, without this one."
            )


def _check_items(items, kinds, count):
    """Raises ValueError unless consecutive models use their recurrent layers as one stack.

    The list of layers is not enough: operations such as `+` and slices are not layers, and a layer may be
    called twice.

    Args:
        items: Layers and models.
        kinds: Names of the classes of the layers.
        count: The number of recurrent layers in the stack.
    """
    own = [[leaf for leaf in _leaves([item], kinds) if _kind(leaf, kinds)] for item in items]
    for k, (item, layers) in enumerate(zip(items, own)):
        if _kind(item, kinds) is not None or not hasattr(item, "layers"):
            continue
        is_between = any(own[:k]) and any(own[k + 1 :])
        if type(item).__name__ == "Sequential" and not own_method(item, _CALLS, KERAS):
            _check_items(list(item.layers), kinds, count)
            if layers:
                graph.check_masks(item, layers)
        elif not graph.is_functional(item):
            if layers and count > 1:
                raise ValueError(
                    f"The model {item.name!r} of class {type(item).__name__} overrides call(), so "
                    "the order of its recurrent layers is not known: give a list of them, in their order."
                )
        elif is_between or 0 < len(layers) < count:
            raise ValueError(
                f"The model {item.name!r} has a part of the stack only, so its place in the stack is not known: "
                "give a list of the recurrent layers, in their order."
            )
        elif layers:
            graph.check_stack(item, layers)


def _check_class(layer, kinds):
    """Raises ValueError unless a layer and its cell run the methods of Keras's class."""
    if hasattr(layer, "forward_layer"):
        ones = [layer.forward_layer, layer.backward_layer]
        check_own(layer, "Bidirectional", _CALLS)
    else:
        ones = [layer]
    for one in ones:
        kind = _kind(one, kinds)
        check_own(one, kind, (*_CALLS, "inner_loop", "get_initial_state"))
        cell = getattr(one, "cell", None)
        if kind not in _RECURRENT or cell is None:
            continue
        check_own(cell, f"{kind}Cell", (*_CALLS, "get_initial_state"), of=f" of layer {one.name!r}")
        made = maker(cell, "call")
        if made is not None and made.__name__ != f"{kind}Cell":
            raise ValueError(
                f"The cell of layer {one.name!r} must be a {kind}Cell of Keras, but it is a "
                f"{type(cell).__name__}."
            )


def check_own(thing, kind, methods, of=""):
    """Raises ValueError if one of the methods is defined outside of Keras and this package."""
    name = own_method(thing, methods, KERAS)
    if name:
        raise ValueError(
            f"{type(thing).__name__}{of or f' (layer {thing.name!r})'} overrides the method {name}, so "
            f"its weights may not be the weights of a {kind} of Keras. Convert the result of get_weights() if it "
            "computes the same function."
        )


def _leaves(layers, kinds):
    for layer in layers:
        inner = getattr(layer, "layers", None)
        if _kind(layer, kinds) is None and isinstance(inner, (list, tuple)):
            yield from _leaves(inner, kinds)
        else:
            yield layer


def _kind(layer, kinds):
    """The class of a layer among `kinds`, or of the layer inside of a Bidirectional layer; None for another."""
    names = [cls.__name__ for cls in type(layer).__mro__]
    if "Bidirectional" in names:
        return _kind(layer.forward_layer, kinds)
    return next((kind for kind in kinds if kind in names), None)


def keras_stack(thing):
    """The weights of the LSTM, GRU and SimpleRNN layers of a stack.

    Returns:
        A list of arrays for each layer, and the rnn_mode of a SimpleRNN, otherwise None.

    Raises:
        ValueError: A layer does not compute the function of the op, or the layers are of different kinds.
    """
    layers = stack_of(thing, _RECURRENT)
    _check_built(layers)
    ones = [one for layer in layers for one in _directions(layer)]
    modes = [_mode(one) for one in ones]
    _one_of_each(ones, modes)
    return [layer.get_weights() for layer in layers], modes[0]


def cudnn_stack(thing):
    """The weights of the CuDNNLSTM or CuDNNGRU layers of a stack, a list of arrays for each, and None.

    Raises:
        ValueError: The layers are of different kinds, or do not compute the function of the op.
    """
    layers = stack_of(thing, _CUDNN)
    _check_built(layers)
    ones = [one for layer in layers for one in _directions(layer)]
    _one_of_each(ones, [_kind(one, _CUDNN) for one in ones])
    return [layer.get_weights() for layer in layers], None


def _check_built(layers):
    """Raises ValueError if a layer has no weights."""
    for layer in layers:
        if not getattr(layer, "built", True):
            raise ValueError(
                f"The layer {layer.name!r} of class {type(layer).__name__} is not built, so it has no "
                "weights yet: build it, or call it once."
            )


def _directions(layer):
    """The layer, or both layers of a Bidirectional. The backward layer may have other arguments."""
    ones = [layer]
    if hasattr(layer, "forward_layer"):
        _require(layer, "merge_mode", layer.merge_mode, "concat")
        ones = [layer.forward_layer, layer.backward_layer]
    for one, backwards in zip(ones, (False, True)):
        _require(one, "go_backwards", one.get_config().get("go_backwards", False), backwards)
    return ones


def _mode(layer):
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
    return {"LSTM": "lstm", "GRU": "gru", "SimpleRNN": "rnn_tanh"}.get(kind)


def _one_of_each(layers, modes):
    if len(set(modes)) > 1:
        raise ValueError(
            f"All layers must be of one kind, but {[layer.name for layer in layers]} are {modes}."
        )


def _require(layer, name, value, wanted):
    if value != wanted:
        raise ValueError(
            f"{name} of layer {layer.name!r} must be {wanted!r} for the op, but it is {value!r}."
        )


def _name(activation):
    """The name of an activation in a config, which has a string or Keras 3's serialized form."""
    if isinstance(activation, dict):
        return _name(activation.get("config", activation.get("class_name")))
    return activation
