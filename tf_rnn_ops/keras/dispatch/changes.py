"""Tells what a user has changed on a layer or cell that Keras's implementation obeys and an op does not.

An op computes what known methods compute with the weights that the cell has built. So the methods of a class are
remembered when it is defined or imported, and each call compares them with those of today.
"""

import types
import weakref
from typing import Any, Callable

import keras

from tf_rnn_ops.keras._internals import overridden
from tf_rnn_ops.params.gates import COUNTS

_GATES = {
    keras.layers.LSTMCell: COUNTS["lstm"],
    keras.layers.GRUCell: COUNTS["gru"],
    keras.layers.SimpleRNNCell: COUNTS["rnn"],
}
_LAYERS = (keras.layers.LSTM, keras.layers.GRU, keras.layers.SimpleRNN, keras.layers.RNN)

# The methods of any layer by which Keras runs a step of a cell.
_OF_EVERY_LAYER = ("__call__", "quantized_call", "rematerialized_call")
# The methods of cells that do not run in a step.
_NOT_IN_STEPS = {
    "__init__",
    "__init_subclass__",
    "__repr__",
    "build",
    "add_weight",
    "get_config",
    "get_initial_state",
    "op_reason",
    "op_arguments",
}
# {class of cells: {name of a method in a step: function}}. None stands for a function that is not the class's own.
_methods: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def remember(cls: type) -> dict[str, Callable[..., Any] | None]:
    """Remembers the methods of a class of cells, and returns them. Later calls have no effect."""
    if cls not in _methods:
        bases = [base for base in cls.__mro__ if base not in keras.layers.Layer.__mro__]
        _methods[cls] = {
            name: value if _is_of(value, base) else None
            for base in reversed(bases)
            for name, value in vars(base).items()
            if isinstance(value, types.FunctionType) and name not in _NOT_IN_STEPS
        }
    return _methods[cls]


def _is_of(function: Any, cls: type) -> bool:
    """Whether a function is from the package of a class: a user may have replaced it before the import."""
    of_function = getattr(function, "__globals__", {}).get("__name__") or ""
    return of_function.split(".")[0] == cls.__module__.split(".")[0]


for _cls in (*_GATES, keras.layers.StackedRNNCells, keras.layers.LayerNormalization):
    remember(_cls)

# The implementations of the loop over time that an op replaces, and those that run the op.
_loops = weakref.WeakSet(
    cls.inner_loop
    for cls in _LAYERS
    if hasattr(cls, "inner_loop") and _is_of(cls.inner_loop, keras.layers.RNN)
)


def count_as_known(loop: Callable[..., Any], original: Callable[..., Any] | None = None) -> None:
    """Counts `loop`, an inner_loop that runs the op, as known if `original`, which it replaces, is known."""
    if original is None or original in _loops:
        _loops.add(loop)


def loop_reason(layer: keras.layers.Layer) -> str | None:
    """Tells which inner_loop of Keras's classes a user has replaced; None if there is none."""
    for cls in _LAYERS:
        if isinstance(layer, cls) and cls.inner_loop not in _loops:
            return f"inner_loop of keras.layers.{cls.__name__} has been replaced"
    return None


def own_loop_reason(layer: keras.layers.Layer) -> str | None:
    """Tells whether Keras calls an inner_loop that is neither Keras's nor that of this package."""
    cls: Any = next(cls for cls in type(layer).__mro__ if "inner_loop" in vars(cls))
    # The method of a user's class calls that of this package.
    is_users = cls.__module__.split(".")[0] not in ("keras", "tf_rnn_ops")
    if "inner_loop" in vars(layer) or not (is_users or cls.inner_loop in _loops):
        return "inner_loop of the layer is neither Keras's nor that of tf_rnn_ops.keras"
    return None


def reason(cell: keras.layers.Layer) -> str | None:
    """Tells why an op does not compute what a cell computes for Keras; None if it does.

    Args:
        cell: A cell of a class that runs on an op.
    """
    return step_reason(cell) or (_weights_reason(cell) if cell.built else None)


def step_reason(cell: keras.layers.Layer) -> str | None:
    """As reason(), of the calls of a cell, or of a layer that holds cells or belongs to one."""
    cls, attributes, known = type(cell), vars(cell), remember(type(cell))
    for name in _OF_EVERY_LAYER:
        usual = getattr(keras.layers.Layer, name, None)
        if name in attributes or (name not in known and getattr(cls, name, None) is not usual):
            return f"the method {name} of {cell.name!r} has been replaced"
    for name, function in known.items():
        if name in attributes or getattr(cls, name, None) is not function:
            return f"the method {name} of {cell.name!r} has been replaced"
    if cell.activity_regularizer is not None:
        return f"Keras applies activity_regularizer of {cell.name!r} at every step"
    return None


def _weights_reason(cell: keras.layers.Layer) -> str | None:
    columns = cell.units * _gates(cell)
    if cell.kernel is None or cell.recurrent_kernel is None:
        return "it has no kernel or no recurrent_kernel"
    if cell.kernel.shape[-1] not in (columns, None):
        return (
            f"units={cell.units} does not fit the kernel, which has {cell.kernel.shape[-1]} columns"
        )
    if not uses_bias(cell):
        return None
    wanted = (2, columns) if getattr(cell, "reset_after", False) else (columns,)
    shape = None if cell.bias is None else tuple(cell.bias.shape)
    if shape != wanted:
        return f"the shape of the bias must be {wanted}, but it is {shape}"
    return None


def _gates(cell: keras.layers.Layer) -> int:
    return next(number for cls, number in _GATES.items() if isinstance(cell, cls))


def uses_bias(cell: keras.layers.Layer) -> bool:
    """Whether a cell adds its bias. SimpleRNNCell does not look at use_bias."""
    if isinstance(cell, keras.layers.SimpleRNNCell):
        return cell.bias is not None
    return bool(cell.use_bias)


def dropout_reason(cell: keras.layers.Layer) -> str | None:
    """Tells why the dropout masks of a cell do not fit its arguments; None if they do.

    A cell draws a mask for each gate if it was made with implementation=1, which recurrent_dropout needs. Keras
    multiplies by them as `implementation` says later.
    """
    if isinstance(cell, keras.layers.SimpleRNNCell) or not (cell.dropout or cell.recurrent_dropout):
        return None
    if not overridden.counts_dropout_masks():
        return None
    has_masks = getattr(cell, "dropout_mask_count", None) == _gates(cell)
    wants_masks = cell.implementation == 1
    if has_masks != wants_masks:
        return f"implementation={cell.implementation} was set after the cell was made"
    if cell.recurrent_dropout and not wants_masks:
        return "recurrent_dropout was set after the cell was made"
    return None
