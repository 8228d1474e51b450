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
        ValueError: There is none, others stand between them, or one of them is not fed by the one
            before it.
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
    _check_chains(thing, kinds)
    return found


def _check_chains(thing, kinds):
    """Refuses functional models in which a recurrent layer gets anything but what the one before gave.

    Its layers alone do not say so: operations such as `+` and slices are no layers, and a layer may be
    called twice.
    """
    for model in thing if isinstance(thing, (list, tuple)) else [thing]:
        inner = getattr(model, "layers", None)
        if _kind(model, kinds) is not None or not isinstance(inner, (list, tuple)):
            continue
        _check_chains(list(inner), kinds)
        # A model inside that has recurrent layers stands for them.
        links = [layer for layer in inner if _is_link(layer, kinds)]
        calls = _calls(model)
        for before, link in zip([None, *links], links):
            for given in calls.get(id(link), ()):
                if (source := _source(given, kinds)) is not before:
                    raise ValueError(
                        f"The recurrent layer {link.name!r} gets {_made_by(source)}, expected "
                        f"{_made_by(before)}: the layers are no stack. Give each of them for itself."
                    )


def _made_by(link):
    return "what no recurrent layer made" if link is None else f"the output of {link.name!r}"


def _is_link(layer, kinds):
    return any(_kind(leaf, kinds) is not None for leaf in _leaves([layer], kinds))


def _calls(model):
    """{id of an operation: the first input of each call of it} of a functional model."""
    outputs = getattr(model, "outputs", None)
    tensors = list(outputs) if isinstance(outputs, (list, tuple)) else []
    found, seen = {}, set()
    while tensors:
        tensor = tensors.pop()
        if not hasattr(tensor, "_keras_history"):
            continue
        node, operation = _node(tensor)
        if id(node) in seen:
            continue
        seen.add(id(node))
        inputs = _inputs(node)
        if inputs:
            found.setdefault(id(operation), []).append(inputs[0])
        tensors += inputs
    return found


def _node(tensor):
    """The call that made a symbolic tensor, and what was called."""
    # Of Keras 3 and 2: operation or layer, node_index, tensor_index.
    history = tensor._keras_history
    return history[0]._inbound_nodes[history[1]], history[0]


def _inputs(node):
    """The symbolic tensors of a call, of Keras 3 or 2."""
    if getattr(node, "is_input", False):  # in Keras 2 it has its own output as input
        return []
    given = getattr(node, "keras_inputs", None)
    return list(node.input_tensors if given is None else given)


def _source(tensor, kinds):
    """The link that made a tensor, seen through what hands on what it gets; None for anything else."""
    while hasattr(tensor, "_keras_history"):
        node, operation = _node(tensor)
        if _is_link(operation, kinds):
            return operation
        leaves, inputs = list(_leaves([operation], kinds)), _inputs(node)
        if not inputs or any(type(leaf).__name__ not in _TRANSPARENT for leaf in leaves):
            return None
        tensor = inputs[0]
    return None


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
