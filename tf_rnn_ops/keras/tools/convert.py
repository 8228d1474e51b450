"""convert: the same model on the layers of this package, or back on Keras's."""

from typing import TypeVar

import keras

from tf_rnn_ops.keras.layers.drop_in import GRU, LSTM, RNN, SimpleRNN
from tf_rnn_ops.keras.path import environment
from tf_rnn_ops.keras.tools import chains, copying
from tf_rnn_ops.keras.tools.counterparts import STACKS, reason_against
from tf_rnn_ops.params.keras_internals import flatten_layers

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
_STACK = "stack"
_Model = TypeVar("_Model", bound=keras.layers.Layer)
_PACKAGE = __name__.split(".")[0]


def convert(model: _Model, to: str = "tf_rnn_ops") -> _Model:
    """Copies a model with every LSTM, GRU, SimpleRNN and RNN replaced, wherever they are nested.

    The copy has the same structure, names, weights, states and seeds, and predicts the same. A
    compiled model is compiled again with the same optimizer (with its state), loss and metrics, and so
    are compiled models inside of it. The copy is made in the scope of the model's distribution
    strategy. The given model does not change, but no other thread may train it in the meantime.
    Layers of other classes, subclasses of Keras's included, and an RNN with cells of other classes
    than Keras's stay what they are: see explain.

    With to='keras' each CudnnLSTM, CudnnGRU, CudnnRNNTanh and CudnnRNNRelu of a functional or
    sequential model becomes the layers of Keras that compute the same: one for each of its layers,
    under the name of the stack with _0, _1, ..., or __0, __1, ... if the model has such a name already,
    and Dropout between them. The initial and final states
    and the lengths of a call keep their shapes. A stack that is given as `model` becomes a model.

    With to='stack' each chain of LSTM, GRU or SimpleRNN layers, or Bidirectional ones around them, of a
    functional or sequential model becomes one stack under the name of the first layer. The layers of a
    chain have the same units and other arguments, and nothing but one Dropout between each two. Layers
    in no chain are converted as with to='tf_rnn_ops'. A stack raises an error for masks other than
    padding on the right, which the layers accept.

    For 'keras' and 'stack' the model is taken to be called without the argument `mask`: masks are those
    that its layers make, such as Masking and Embedding. A copy that is called with a mask may differ in
    masked steps. A stack raises an error for sequence_lengths below 0 or above the number of steps,
    and a copy with to='keras' clips such lengths to this range.

    Args:
        model: A Keras 3 model or layer: functional, sequential, nested, or of a class of its own
            that from_config can create again.
        to: 'tf_rnn_ops'; 'keras' for the way back; or 'stack'.

    Returns:
        The copy.

    Raises:
        TypeError: model is not a Keras 3 model or layer.
        ValueError: to is unknown; the model, its optimizer or a metric cannot be copied; to is 'keras'
            and a layer or a function is of this package, or a subclass of such, and Keras has none that
            computes the same; or to is 'stack' and there is no chain.

    Example:
        >>> import keras
        >>> import tf_rnn_ops.keras
        >>> model = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(4)])
        >>> type(tf_rnn_ops.keras.convert(model).layers[0]).__module__
        'tf_rnn_ops.keras.layers.drop_in'
        >>> stack = tf_rnn_ops.keras.CudnnLSTM(4, num_layers=2, name="stack")
        >>> model = keras.Sequential([keras.Input((None, 3)), stack])
        >>> [layer.name for layer in tf_rnn_ops.keras.convert(model, to="keras").layers]
        ['stack_0', 'stack_1']
    """
    environment.refuse_keras_2(model, "model")
    if not isinstance(model, keras.layers.Layer):
        raise TypeError(
            f"model must be a Keras model or layer, but it is a {type(model).__name__}."
        )
    if to not in (*_CLASSES, _STACK):
        known = sorted([*_CLASSES, _STACK])
        raise ValueError(f"to must be one of {known}, but it is {to!r}.")
    if to == "keras":
        check_counterparts(model)
        _check_functions(model)
    return converted(model, to)


def converted(model, to):
    """As convert, of a model that can be converted; functions of this package stay where they are."""
    if to == _STACK:
        found = chains.find(model, copying.can_be_rebuilt)
        return copying.copy_of(model, _CLASSES["tf_rnn_ops"], chains=found)
    return copying.copy_of(model, _CLASSES[to], stacks=to == "keras")


def check_counterparts(model):
    """Raises ValueError for layers of this package that no layers of Keras can take the place of."""
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
                "keras.layers; to='keras' can convert LSTM, GRU, SimpleRNN, RNN and the stacks, but no "
                "subclass of them."
            )
        if id(layer) not in replaceable:
            raise ValueError(
                f"The layer {layer.name!r} is a {cls.__name__} inside of a layer or a model of a class "
                "of its own; to='keras' can convert stacks that are layers of functional and sequential "
                "models only."
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
