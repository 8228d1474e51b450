"""The calls of recurrent layers in functional models of Keras 2 and 3, and the sources of their inputs."""

from typing import Any, NamedTuple

import numpy as np

from tf_rnn_ops.params._chain import (
    CALLER,
    CONSTANT,
    FOLLOWS,
    LAYER,
    NOTHING,
    OTHER,
    Fed,
    Link,
    capital,
)
from tf_rnn_ops.params._classes import KERAS, own_method
from tf_rnn_ops.params.keras.internals import call_of, has_history, is_symbolic, mask_of

# Layers that return their input in inference.
TRANSPARENT = ("Dropout", "SpatialDropout1D", "GaussianNoise", "GaussianDropout", "InputLayer")
# The position of `training` in call(sequence, initial_state, mask, training) of a recurrent layer.
_TRAINING = 3


class _Frame(NamedTuple):
    """A model inside of another model, its call, and the frame of the outer model."""

    model: Any
    node: Any
    outer: Any


class _Origin(NamedTuple):
    """The source of a tensor.

    Attributes:
        fed: The Fed of the tensor as a sequence.
        mask: The mask that Keras attaches to the tensor, or None.
        call: The call of the recurrent layer that makes a sequence, or None.
    """

    fed: Fed
    mask: Any
    call: Any = None


def is_transparent(layer):
    """Whether a layer returns its input in inference, unless a call asks for training."""
    return type(layer).__name__ in TRANSPARENT and not own_method(
        layer, ("__call__", "call"), KERAS
    )


def is_functional(model):
    """Whether Keras has the graph of a model's calls, and the model runs this graph."""
    if own_method(model, ("__call__", "call"), KERAS):
        return False
    return isinstance(getattr(model, "layers", None), (list, tuple)) and bool(_outputs(model))


def links(model, is_link):
    """The calls of recurrent layers that the outputs of a functional model come from.

    Args:
        model: The model.
        is_link: A function that tells whether an operation is such a layer.

    Returns:
        {id of a layer: [a Link for each call]}.
    """
    found = {}
    waiting = [(tensor, None) for tensor in _outputs(model)]
    seen = set()
    while waiting:
        tensor, frame = _outside(*waiting.pop())
        if not has_history(tensor):
            continue
        node, operation, index = call_of(tensor)
        place = (id(node), id(frame.node) if frame else None)
        if not is_link(operation) and is_functional(operation):
            waiting.append((_outputs(operation)[index], _Frame(operation, node, frame)))
            continue
        if place in seen:
            continue
        seen.add(place)
        if is_link(operation) and _inputs(node):
            found.setdefault(id(operation), []).append(_link(node, operation, frame, is_link))
        waiting += [(given, frame) for given in _inputs(node)]
    return found


def end(model, is_link):
    """The Fed of the first output of a functional model."""
    return _origin(_outputs(model)[0], None, is_link).fed


def name_of(layer):
    """The name of a layer in error messages."""
    return f"the recurrent layer {layer.name!r}"


def _link(node, layer, frame, is_link):
    if _has_dropout(layer) and _is_training(node, frame, place=_TRAINING):
        raise ValueError(
            f"{capital(name_of(layer))} has dropout and is called with training=True, so its output is "
            "random, and a buffer holds only weights: call it without training=True."
        )
    given = _arguments(node)
    origin = _origin(given["sequence"], frame, is_link)
    return Link(
        key=id(layer),
        name=name_of(layer),
        sequence=origin.fed,
        states={
            f"initial_state[{k}]": _state(state, frame, is_link)
            for k, state in enumerate(given["states"])
        },
        lengths=_mask(given["mask"], origin, frame),
        lengths_name="mask",
        inputs="an Input of the model",
    )


def _call(node):
    """The positional arguments and the keyword arguments of a call."""
    # Keras 3 has the attribute `arguments`, Keras 2 does not.
    given = getattr(node, "arguments", node)
    args = list(getattr(given, "args", None) or getattr(given, "call_args", None) or ())
    return args, getattr(given, "kwargs", None) or getattr(given, "call_kwargs", None) or {}


def _is_training(node, frame, place=1):
    """Whether a call, or the call of a model around it, has training=True.

    Args:
        node: The call.
        frame: Its _Frame or None.
        place: Number of the positional argument `training` of the called layer.
    """
    args, kwargs = _call(node)
    training = kwargs.get("training", args[place] if len(args) > place else None)
    if is_symbolic(training) or (training is not None and bool(training)):
        return True
    return frame is not None and _is_training(frame.node, frame.outer)


def _has_dropout(layer):
    ones = [getattr(layer, f"{name}_layer", layer) for name in ("forward", "backward")]
    return any(getattr(one, name, 0) for one in ones for name in ("dropout", "recurrent_dropout"))


def _arguments(node):
    """{'sequence': tensor, 'states': list, 'mask': tensor or None} of a call."""
    args, kwargs = _call(node)
    names = {**dict(zip(("sequence", "initial_state", "mask"), args)), **kwargs}
    mask, states = names.get("mask"), _flat(names.get("initial_state"))
    given = (names[name] for name in ("sequence", "sequences", "inputs") if name in names)
    # Keras 2 gives the sequence and the states as one list.
    sequence, *others = _flat(next(given, None)) or _inputs(node)
    states += [state for state in others if not _is_in(state, states)]
    used = (sequence, mask, *states)
    states += [tensor for tensor in _inputs(node) if not _is_in(tensor, used)]
    return {"sequence": sequence, "mask": mask, "states": states}


def _is_in(tensor, tensors):
    return any(tensor is other for other in tensors)


def _flat(value):
    """A list of the tensors in lists and tuples."""
    if isinstance(value, (list, tuple)):
        return [tensor for inner in value for tensor in _flat(inner)]
    return [] if value is None else [value]


def _state(state, frame, is_link):
    if not is_symbolic(state) and not has_history(state):
        if hasattr(state, "assign"):
            return Fed(OTHER, f"the variable {state.name!r}")
        return Fed(CONSTANT, "a constant") if np.any(np.asarray(state)) else Fed(NOTHING)
    fed = _origin(state, frame, is_link).fed
    return fed if fed.kind == CALLER else Fed(OTHER, fed.what)


def _mask(mask, origin, frame):
    """The Fed of a mask: NOTHING for all steps. Any tensor of the model counts as an input of the caller."""
    if mask is None or mask is origin.mask:
        mask = origin.mask
        if mask is not None and _follows(mask, origin):
            return Fed(CALLER, "the mask of the layer before it", FOLLOWS)
    if mask is None:
        return Fed(NOTHING)
    if is_symbolic(mask):
        tensor, _ = _outside(mask, frame)
        return Fed(CALLER, f"the mask {getattr(tensor, 'name', '')!r}", id(tensor))
    return Fed(NOTHING) if np.all(np.asarray(mask)) else Fed(CONSTANT, "a constant", id(mask))


def _follows(mask, origin):
    """Whether a mask of the output of a layer is the mask of the layer's input."""
    if origin.fed.kind != LAYER:
        return False
    used = _arguments(origin.call)["mask"]
    return used is None or used is mask


def _origin(tensor, frame, is_link):
    """The source of a tensor behind inner models and transparent layers."""
    mask = None
    while True:
        if mask is None:
            mask = mask_of(tensor)
        outside = _outside(tensor, frame)
        if outside[0] is not tensor:
            tensor, frame = outside
            continue
        if not has_history(tensor):
            return _Origin(Fed(OTHER, "a tensor that is not the result of a layer"), mask)
        node, operation, index = call_of(tensor)
        if is_link(operation):
            what = f"the output of {name_of(operation)}"
            if index:
                return _Origin(Fed(OTHER, f"output {index} of {name_of(operation)}"), mask)
            return _Origin(Fed(LAYER, what, id(operation)), mask, node)
        if is_functional(operation):
            tensor, frame = _outputs(operation)[index], _Frame(operation, node, frame)
            continue
        inputs = _inputs(node)
        if not inputs:
            return _Origin(Fed(CALLER, f"the input {operation.name!r} of the model"), mask)
        transparent = is_transparent(operation)
        training = transparent and _is_training(node, frame)
        if training or not transparent:
            what = f"the output of {operation.name!r} of class {type(operation).__name__}"
            what += " with training=True" if training else ""
            return _Origin(Fed(OTHER, what), mask)
        tensor = inputs[0]


def _outside(tensor, frame):
    """The tensor outside of an inner model that one of its inputs is."""
    while frame is not None:
        outside = next((outer for inner, outer in _pairs(frame) if inner is tensor), None)
        if outside is None:
            break
        tensor, frame = outside, frame.outer
    return tensor, frame


def _pairs(frame):
    """[(an input of an inner model, the tensor that its call gives)]."""
    inputs = _flat(getattr(frame.model, "inputs", None))
    args, kwargs = _call(frame.node)
    given = args[0] if args else kwargs.get("inputs")
    if not isinstance(given, dict):
        return list(zip(inputs, _inputs(frame.node)))
    own = getattr(frame.model, "input", None)  # a dict if the inputs have names
    named = own if isinstance(own, dict) else {call_of(one)[1].name: one for one in inputs}
    return [(one, given[name]) for name, one in named.items() if name in given]


def _outputs(model):
    """The symbolic outputs of a functional model; [] for other models."""
    try:
        outputs = getattr(model, "outputs", None)
    except Exception:  # a Sequential model without inputs raises
        return []
    tensors = list(outputs) if isinstance(outputs, (list, tuple)) else []
    if not all(is_symbolic(tensor) or has_history(tensor) for tensor in tensors):
        return []
    for tensor in tensors:
        call_of(tensor)  # Raises an error if this Keras stores the calls in another way.
    return tensors


def _inputs(node):
    """The symbolic tensors of a call of Keras 3 or 2."""
    if getattr(node, "is_input", False):  # Keras 2 lists the output as input
        return []
    given = getattr(node, "keras_inputs", None)
    return list(node.input_tensors if given is None else given)
