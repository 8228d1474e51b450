"""convert: the same model on the layers of this package, or back on Keras's layers."""

import warnings
from typing import TypeVar

import keras

from tf_rnn_ops.keras import _layer_paths as paths
from tf_rnn_ops.keras._convert import copying, slots
from tf_rnn_ops.keras._convert.stacks.counterparts import STACKS, reason_against
from tf_rnn_ops.keras.dispatch import eligibility, environment
from tf_rnn_ops.keras.layers import GRU, LSTM, RNN, SimpleRNN, quantization
from tf_rnn_ops.keras.layers.op_layer import OpLayer
from tf_rnn_ops.params.keras.internals import flatten_layers

_PAIRS = (
    (keras.layers.LSTM, LSTM),
    (keras.layers.GRU, GRU),
    (keras.layers.SimpleRNN, SimpleRNN),
    (keras.layers.RNN, RNN),
)
_CLASSES = {
    "tf_rnn_ops": dict(_PAIRS),
    "keras": {ours: stock for stock, ours in _PAIRS},
}
# The number of layers that a warning names.
_NAMED = 5
_Model = TypeVar("_Model", bound=keras.layers.Layer)
_PACKAGE = __name__.split(".")[0]


def convert(model: _Model, to: str = "tf_rnn_ops", quantize: str | None = None) -> _Model:
    """Copies a model with every LSTM, GRU, SimpleRNN and RNN replaced, at any depth.

    The copy has the same structure, names, weights, states, seeds and predictions. A compiled model is
    compiled again with the same optimizer (with its state), loss and metrics, and so are compiled models
    inside of it. The copy is made in the scope of the model's distribution strategy. The given model does
    not change, but no other thread may train it in the meantime. Other layers stay as they are, also
    subclasses of Keras's layers and an RNN with cells that are not Keras's; `explain` lists them. A warning
    names the recurrent layers of the copy that run Keras's implementation for such a reason or because of an
    argument. It leaves out layers whose arguments ask for it, unroll=True and use_cudnn=False. See explain.

    With to='keras' each CudnnLSTM, CudnnGRU, CudnnRNNTanh and CudnnRNNRelu of a functional or sequential
    model becomes layers of Keras that compute the same function: one layer for each layer of the stack,
    with Dropout between them. Their names are the name of the stack with _0, _1, ..., or with __0, __1,
    ... if the model already has such a name. The initial and final states and the lengths of a call keep
    their shapes. If `model` is a stack, the result is a model.

    to='keras' assumes that the model is called without the argument `mask`, so that all masks come from its layers,
    such as Masking and Embedding. A copy that is called with a mask may have other outputs in masked steps.
    A stack raises an error for sequence_lengths below 0 or above the number of steps. The copy clips such
    lengths to this range. The copy of an optimizer that trained a stack begins again, with a warning.

    Args:
        model: A Keras 3 model or layer: functional, sequential, nested, or of a user's class that
            from_config can create.
        to: 'tf_rnn_ops', or 'keras' for the opposite direction.
        quantize: 'int8' quantizes the weights of the recurrent layers of the copy that have int8 kernels, as
            quantize("int8") of a model does for all layers. Stacks become layers first, as with to='keras',
            if Keras has such layers; other stacks keep float weights. None keeps the type of the weights.

    Returns:
        The copy.

    Raises:
        TypeError: model is not a Keras 3 model or layer.
        ValueError: to or quantize is unknown; quantize is given and to is not 'tf_rnn_ops', or no recurrent
            layer can be quantized; to is not 'tf_rnn_ops' and a layer has int8 weights; the model, its
            optimizer or a metric cannot be copied; or to is 'keras' and Keras has no counterpart of a layer or
            function of this package, or of a subclass.

    Example:
        >>> import keras
        >>> import tf_rnn_ops.keras
        >>> model = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(4)])
        >>> type(tf_rnn_ops.keras.convert(model).layers[0]).__module__
        'tf_rnn_ops.keras.layers.lstm'
        >>> tf_rnn_ops.keras.convert(model, quantize="int8").layers[0].dtype_policy.name
        'int8_from_float32'
        >>> stack = tf_rnn_ops.keras.CudnnLSTM(4, num_layers=2, name="stack")
        >>> model = keras.Sequential([keras.Input((None, 3)), stack])
        >>> [layer.name for layer in tf_rnn_ops.keras.convert(model, to="keras").layers]
        ['stack_0', 'stack_1']
    """
    copy = convert_silently(model, to, quantize)
    kept = paths.kept_by_keras(copy) if to != "keras" else {}
    if kept:
        several = len(kept) > 1
        shown = [f"{name!r} ({reason})" for name, reason in list(kept.items())[:_NAMED]]
        more = f" and {len(kept) - _NAMED} more" if len(kept) > _NAMED else ""
        warnings.warn(
            f"The layer{'s' if several else ''} {', '.join(shown)}{more} of the copy "
            f"run{'' if several else 's'} Keras's implementation. See tf_rnn_ops.keras.explain(copy).",
            stacklevel=2,
        )
    if to == "keras" or quantize:
        for name in _restarted(model):
            warnings.warn(
                f"convert: the optimizer {name!r} has trained a stack, whose weights are other variables in the "
                "copy. Its copy begins again, with the learning rate of the first step.",
                stacklevel=2,
            )
    return copy


def _restarted(model):
    """The names of the optimizers that trained a stack which layers of Keras replace."""
    stacks = [one for one in _replaced(model) if not reason_against(one)]
    trained = [variable for stack in stacks for variable in stack.trainable_variables]
    optimizers = (getattr(one, "optimizer", None) for one in flatten_layers(model))
    built = [one for one in optimizers if one is not None and one.built]
    return [one.name for one in built if slots.has_trained(one, trained)]


def _replaced(model):
    """The stacks that layers of Keras may replace."""
    replaceable = copying.stacks_that_are_replaceable(model)
    return [layer for layer in flatten_layers(model) if id(layer) in replaceable]


def convert_silently(
    model: _Model, to: str = "tf_rnn_ops", quantize: str | None = None, compiled: bool = True
) -> _Model:
    """As convert(), without the warnings. For callers that report the path of each layer.

    With compiled=False the copy is not compiled, and the optimizer need not be one that can be copied.
    """
    environment.refuse_keras_2(model, "model")
    if not isinstance(model, keras.layers.Layer):
        raise TypeError(
            f"model must be a Keras model or layer, but it is a {type(model).__name__}."
        )
    if to not in _CLASSES:
        raise ValueError(f"to must be one of {sorted(_CLASSES)}, but it is {to!r}.")
    if quantize not in (None, "int8") or (quantize and to != "tf_rnn_ops"):
        wanted = "'int8' or None" if to == "tf_rnn_ops" else f"None with to={to!r}"
        raise ValueError(f"quantize must be {wanted}, but it is {quantize!r}.")
    if to != "tf_rnn_ops":
        _check_not_quantized(model, to)
    if to == "keras":
        check_counterparts(model)
        _check_functions(model)
    if quantize is None:
        return converted(model, to, compiled)
    copy = converted(_with_layers_for_stacks(model, compiled), to, compiled)
    _quantize(copy, quantize)
    return copy


def recurrent_layers(model):
    """The layers with a cell of a model on the layers of this package, at any depth."""
    return [layer for layer in flatten_layers(model) if isinstance(layer, OpLayer)]


def _check_not_quantized(model, to):
    for layer in filter(eligibility.is_quantized, recurrent_layers(model)):
        raise ValueError(
            f"The layer {layer.name!r} has int8 weights, which to={to!r} cannot convert: convert the model "
            "that has not been quantized."
        )


def _with_layers_for_stacks(model, compiled):
    """The model, or a copy with layers of Keras for the stacks that have counterparts there."""
    if all(map(reason_against, _replaced(model))):
        return model
    return copying.copy_of(model, {}, True, compiled)


def _quantize(model, mode):
    """Quantizes the recurrent layers for which there are int8 kernels, and that are not yet quantized."""
    layers = recurrent_layers(model)
    reasons = [f"{model.name!r} has no recurrent layer"]
    for layer in layers:
        try:
            if not eligibility.is_quantized(layer):
                quantization.quantize(layer, mode)
        except NotImplementedError as error:
            reasons.append(str(error).removesuffix("."))
    if not any(map(eligibility.is_quantized, layers)):
        raise ValueError(f"convert: nothing can be quantized: {reasons[-1]}.")


def converted(model, to, compiled=True):
    """As convert(), without the checks. Functions of this package do not change."""
    return copying.copy_of(model, _CLASSES[to], to == "keras", compiled)


def check_counterparts(model):
    """Raises ValueError for layers of this package without a counterpart in Keras."""
    replaceable = copying.stacks_that_are_replaceable(model)
    for layer in flatten_layers(model):
        cls = type(layer)
        # A user's subclass of our class needs this package too.
        ours = any(base.__module__.split(".")[0] == _PACKAGE for base in cls.__mro__)
        if not ours or cls in _CLASSES["keras"]:
            continue
        if cls not in STACKS:
            raise ValueError(
                f"The layer {layer.name!r} is a {cls.__name__}, which has no counterpart in "
                "keras.layers; to='keras' can convert LSTM, GRU, SimpleRNN, RNN and the stacks, but not "
                "subclasses of them."
            )
        if id(layer) not in replaceable:
            raise ValueError(
                f"The layer {layer.name!r} is a {cls.__name__} inside of a layer or a model of a class "
                "of its own; to='keras' can convert stacks only if they are layers of functional and sequential "
                "models."
            )
        if reason := reason_against(layer):
            raise ValueError(
                f"The layer {layer.name!r} cannot become layers of Keras, since it {reason}."
            )


def _check_functions(model):
    for layer in flatten_layers(model):
        for argument in ("activation", "recurrent_activation"):
            function = getattr(layer, argument, None)
            if str(getattr(function, "__module__", "")).split(".")[0] == _PACKAGE:
                raise ValueError(
                    f"{argument} of the layer {layer.name!r} is {function.__name__} of this package, "
                    "without which Keras cannot load the model; to='keras' needs a function of Keras."
                )
