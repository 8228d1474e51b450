"""Checks that a functional model of Keras 2 or 3 calls its recurrent layers one after the other."""

from tf_rnn_ops.params._classes import KERAS, own_method
from tf_rnn_ops.params.keras.internals import call_of, mask_of

# Layers that return their input in inference.
TRANSPARENT = ("Dropout", "SpatialDropout1D", "GaussianNoise", "GaussianDropout", "InputLayer")
# The position of `training` in call(sequence, initial_state, mask, training) of a recurrent layer.
_TRAINING = 3
_ADVICE = (
    "give a list of the recurrent layers, in their order, and pass states and masks with each call."
)


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


def check_stack(model, layers):
    """Raises ValueError unless a functional model runs layers as one stack, without states of their own.

    Args:
        model: The model.
        layers: Its recurrent layers, from the first to the last.
    """
    nodes = _nodes(model)
    for k, layer in enumerate(layers):
        name = f"The recurrent layer {layer.name!r}"
        calls = [node for node, operation in nodes if operation is layer]
        if not calls:
            raise ValueError(
                f"{name} is inside of another layer or model of {model.name!r}: give that model, or {_ADVICE}"
            )
        for node in calls:
            source, index, what = _source(_sequence(name, node))
            if k and (source is not layers[k - 1] or index):
                raise ValueError(
                    f"{name} does not get the output of {layers[k - 1].name!r} before it, but {what}, so they "
                    "are not a stack. Convert each separately."
                )
            if not k and any(source is one for one in layers):
                raise ValueError(
                    f"{name} gets {what}, but it comes first in the model {model.name!r}, so they are not a "
                    "stack. Convert each separately."
                )
            if _has_dropout(layer) and _is_training(node, place=_TRAINING):
                raise ValueError(
                    f"{name} has dropout and is called with training=True, so its output is random, and a "
                    "buffer holds only weights: call it without training=True."
                )
    check_masks(model, layers)


def check_masks(model, layers):
    """Raises ValueError if a model with a graph calls only some of the layers of a stack with a mask.

    Args:
        model: The model.
        layers: Recurrent layers, from the first to the last. Those inside of other models are not checked.
    """
    nodes = _nodes(model)
    masked = {}
    for layer in layers:
        for node, operation in nodes:
            if operation is layer:
                masked.setdefault(mask_of(_inputs(node)[0]) is not None, layer)
    if len(masked) == 2:
        raise ValueError(
            f"The recurrent layer {masked[True].name!r} gets a mask and {masked[False].name!r} gets none, but a stack "
            "has one mask for all of its layers: let the layers between them pass the mask on, or convert each "
            "separately."
        )


def _sequence(name, node):
    """The tensor that a call of a recurrent layer reads. It must read no other."""
    args, kwargs = _call(node)
    inputs, mask = _inputs(node), kwargs.get("mask")
    given = [*args[1:_TRAINING], kwargs.get("initial_state")]
    others = [tensor for tensor in inputs[1:] if tensor is not mask]
    own_mask = mask is not None and mask is not mask_of(inputs[0])
    if own_mask or others or any(one is not None for one in given):
        raise ValueError(f"{name} is called with initial states or a mask of its own: {_ADVICE}")
    return inputs[0]


def _source(tensor):
    """The operation behind transparent layers that makes a tensor, the number of its output, and a text."""
    while True:
        node, operation, index = call_of(tensor)
        transparent = is_transparent(operation)
        training = transparent and _is_training(node)
        if not transparent or training or not _inputs(node):
            break
        tensor = _inputs(node)[0]
    what = f"output {index} of {operation.name!r} of class {type(operation).__name__}"
    return operation, index, what + (" with training=True" if training else "")


def _call(node):
    """The positional arguments and the keyword arguments of a call."""
    # Keras 3 has the attribute `arguments`, Keras 2 does not.
    given = getattr(node, "arguments", node)
    args = list(getattr(given, "args", None) or getattr(given, "call_args", None) or ())
    return args, getattr(given, "kwargs", None) or getattr(given, "call_kwargs", None) or {}


def _is_training(node, place=1):
    """Whether a call has training=True. `place`: number of the positional argument `training`."""
    args, kwargs = _call(node)
    training = kwargs.get("training", args[place] if len(args) > place else None)
    return training is not None and training is not False  # a symbolic value may be True


def _has_dropout(layer):
    ones = [getattr(layer, f"{name}_layer", layer) for name in ("forward", "backward")]
    return any(getattr(one, name, 0) for one in ones for name in ("dropout", "recurrent_dropout"))


def _nodes(model):
    """[(a call, the called operation)] of all calls that the outputs of a functional model come from."""
    found, waiting = {}, list(_outputs(model))
    for tensor in waiting:
        node, operation, _ = call_of(tensor)
        if id(node) not in found:
            found[id(node)] = node, operation
            waiting += _inputs(node)
    return list(found.values())


def _outputs(model):
    """The symbolic outputs of a functional model; [] for other models."""
    try:
        outputs = getattr(model, "outputs", None)
    except Exception:  # a Sequential model without inputs raises
        return []
    return list(outputs) if isinstance(outputs, (list, tuple)) else []


def _inputs(node):
    """The symbolic tensors of a call of Keras 3 or 2."""
    if getattr(node, "is_input", False):  # Keras 2 lists the output as input
        return []
    given = getattr(node, "keras_inputs", None)
    return list(node.input_tensors if given is None else given)
