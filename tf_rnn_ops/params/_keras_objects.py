"""Layers and models of Keras 1, 2 and 3 and tf_keras, without importing any of them."""

_RECURRENT = ("LSTM", "GRU", "SimpleRNN")
_CUDNN = ("CuDNNLSTM", "CuDNNGRU")
# What may stand between two layers of a stack: in inference these hand on what they get.
_TRANSPARENT = ("Dropout", "SpatialDropout1D", "GaussianNoise", "GaussianDropout", "InputLayer")


def is_layer(thing):
    """Whether it is a Keras layer or model."""
    return hasattr(thing, "get_weights") and hasattr(thing, "get_config")


def check_lists(weights):
    """Raises ValueError unless the weights of every layer are a list."""
    for k, layer in enumerate(weights):
        if not isinstance(layer, (list, tuple)):
            raise ValueError(f"The weights of layer {k} must be a list of arrays, not {layer!r}.")


def stack_of(thing, kinds):
    """The layers of one stack.

    Args:
        thing: A layer, a model, or a list of layers.
        kinds: Names of the classes of the layers.

    Returns:
        A list of layers: of these classes or Bidirectional ones around such.

    Raises:
        ValueError: There is none, or others stand between them.
    """
    found, between = [], []
    for layer in _leaves(thing if isinstance(thing, (list, tuple)) else [thing], kinds):
        if _kind(layer, kinds) is not None:
            if between:
                raise ValueError(
                    f"The layer {between[0].name!r} of class {type(between[0]).__name__} stands "
                    f"between the recurrent layers {found[-1].name!r} and {layer.name!r}, which "
                    "therefore are no stack. Give each of them for itself."
                )
            found.append(layer)
        elif found and type(layer).__name__ not in _TRANSPARENT:
            between.append(layer)
    if not found:
        what = thing if isinstance(thing, (list, tuple)) else type(thing).__name__
        raise ValueError(f"There is no layer of class {', '.join(kinds)} in {what}.")
    return found


def _leaves(layers, kinds):
    for layer in layers:
        inner = getattr(layer, "layers", None)
        if _kind(layer, kinds) is None and isinstance(inner, (list, tuple)):
            yield from _leaves(inner, kinds)
        else:
            yield layer


def _kind(layer, kinds):
    """Which of the classes a layer is of, a Bidirectional one looked into; None for another."""
    names = [cls.__name__ for cls in type(layer).__mro__]
    if "Bidirectional" in names:
        return _kind(layer.forward_layer, kinds)
    return next((kind for kind in kinds if kind in names), None)


def keras_stack(thing):
    """The LSTM, GRU and SimpleRNN layers of a stack, which compute what the op does.

    Returns:
        Their weights, a list for each, and the rnn_mode of a SimpleRNN, otherwise None.

    Raises:
        ValueError: A layer computes something else, or the layers are of different kinds.
    """
    layers = stack_of(thing, _RECURRENT)
    ones = [one for layer in layers for one in _directions(layer)]
    modes = [_mode(one) for one in ones]
    _one_of_each(ones, modes)
    return [layer.get_weights() for layer in layers], modes[0]


def cudnn_stack(thing):
    """Weights of the CuDNNLSTM or CuDNNGRU layers of a stack, a list for each.

    Raises:
        ValueError: The layers are of different kinds, or not as the op is.
    """
    layers = stack_of(thing, _CUDNN)
    ones = [one for layer in layers for one in _directions(layer)]
    _one_of_each(ones, [_kind(one, _CUDNN) for one in ones])
    return [layer.get_weights() for layer in layers]


def _directions(layer):
    """The layer, or both of a Bidirectional one: the backward layer may have other arguments."""
    ones = [layer]
    if hasattr(layer, "forward_layer"):
        _require(layer, "merge_mode", layer.merge_mode, "concat")
        ones = [layer.forward_layer, layer.backward_layer]
    for one, backwards in zip(ones, (False, True)):
        _require(one, "go_backwards", one.get_config().get("go_backwards", False), backwards)
    return ones


def _mode(layer):
    """The rnn_mode of a layer for one direction, or None if it is no recurrent one."""
    config, kind = layer.get_config(), _kind(layer, _RECURRENT)
    activation = _name(config.get("activation", "tanh"))
    if kind == "SimpleRNN" and activation == "relu":
        return "rnn_relu"
    _require(layer, "activation", activation, "tanh")
    if kind != "SimpleRNN":
        recurrent = _name(config.get("recurrent_activation", "sigmoid"))
        _require(layer, "recurrent_activation", recurrent, "sigmoid")
    if kind == "GRU":
        # Keras 2.0 had no such argument and reset before.
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
    """The name of an activation in a config: a string, or what Keras 3 serializes."""
    if isinstance(activation, dict):
        return _name(activation.get("config", activation.get("class_name")))
    return activation
