"""The arguments that the constructors of this package pass on to Keras, for editors, type checkers and help()."""

import difflib
import functools
import inspect
from typing import Any, Callable, Mapping, TypeAlias, TypedDict, TypeVar

import keras

_Function = TypeVar("_Function", bound=Callable[..., None])

# An object of Keras, its name, its config, a function, or None.
Initializer: TypeAlias = (
    str | Mapping[str, Any] | Callable[..., Any] | keras.initializers.Initializer | None
)
Regularizer: TypeAlias = (
    str | Mapping[str, Any] | Callable[..., Any] | keras.regularizers.Regularizer | None
)
Constraint: TypeAlias = (
    str | Mapping[str, Any] | Callable[..., Any] | keras.constraints.Constraint | None
)
Activation: TypeAlias = str | Mapping[str, Any] | Callable[..., Any] | None
DType: TypeAlias = str | Mapping[str, Any] | keras.DTypePolicy | None
Seed: TypeAlias = int | keras.random.SeedGenerator | None


class _CellArguments(TypedDict, total=False):
    """The arguments of keras.layers.LSTMCell and GRUCell."""

    activation: Activation
    recurrent_activation: Activation
    use_bias: bool
    kernel_initializer: Initializer
    recurrent_initializer: Initializer
    bias_initializer: Initializer
    kernel_regularizer: Regularizer
    recurrent_regularizer: Regularizer
    bias_regularizer: Regularizer
    kernel_constraint: Constraint
    recurrent_constraint: Constraint
    bias_constraint: Constraint
    dropout: float
    recurrent_dropout: float
    seed: Seed
    implementation: int
    activity_regularizer: Regularizer
    name: str | None
    dtype: DType
    trainable: bool


class LSTMCellArguments(_CellArguments, total=False):
    """The arguments of keras.layers.LSTMCell."""

    unit_forget_bias: bool


class GRUCellArguments(_CellArguments, total=False):
    """The arguments of keras.layers.GRUCell."""

    reset_after: bool


class _LoopArguments(TypedDict, total=False):
    """The arguments of keras.layers.RNN."""

    return_sequences: bool
    return_state: bool
    go_backwards: bool
    stateful: bool
    unroll: bool
    zero_output_for_mask: bool
    input_shape: Any


class LSTMArguments(LSTMCellArguments, _LoopArguments, total=False):
    """The arguments of a layer with an LSTM cell."""


class GRUArguments(GRUCellArguments, _LoopArguments, total=False):
    """The arguments of a layer with a GRU cell."""


class LayerArguments(TypedDict, total=False):
    """The arguments of keras.layers.Layer."""

    activity_regularizer: Regularizer
    name: str | None
    dtype: DType
    trainable: bool
    input_shape: Any


_OF_BOTH = ("dtype", "trainable")
_OF_LAYER = {*_LoopArguments.__annotations__, *LayerArguments.__annotations__}


def divide(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of a layer that its cell gets, and those that the layer itself gets."""
    of_cell = {k: v for k, v in arguments.items() if k in _OF_BOTH or k not in _OF_LAYER}
    return of_cell, {k: v for k, v in arguments.items() if k in _OF_LAYER}


def passes_on(*receivers: type, **others: Any) -> Callable[[_Function], _Function]:
    """Makes a decorator of a constructor that shows the arguments which it passes on, instead of its **kwargs.

    The constructor raises TypeError for any other argument.

    Args:
        *receivers: The classes whose constructors get the arguments.
        **others: {name: default} of further arguments, which Keras does not show.

    Returns:
        The decorator.
    """

    def decorate(init: _Function) -> _Function:
        own = inspect.signature(init)
        shown = dict(own.parameters)
        del shown["kwargs"]
        for receiver in receivers:
            for name, parameter in inspect.signature(vars(receiver)["__init__"]).parameters.items():
                if name not in ("cell", "autocast", "kwargs"):
                    shown.setdefault(name, parameter.replace(kind=parameter.KEYWORD_ONLY))
        for name, default in others.items():
            shown[name] = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)

        @functools.wraps(init)
        def checked(self: Any, *args: Any, **kwargs: Any) -> None:
            for name in kwargs.keys() - shown.keys():
                similar = difflib.get_close_matches(name, shown, 1)
                raise TypeError(
                    f"{type(self).__name__}() got an unexpected keyword argument {name!r}."
                    + "".join(f" Did you mean {known!r}?" for known in similar)
                )
            try:
                own.bind(self, *args, **kwargs)
            except TypeError as error:  # Python's own would name the class that has the constructor
                raise TypeError(f"{type(self).__name__}(): {error}.") from None
            init(self, *args, **kwargs)

        return with_signature(checked, inspect.Signature(list(shown.values())))

    return decorate


def with_signature(function: Any, signature: inspect.Signature) -> Any:
    """Shows a signature.

    WHY not only functools.wraps: Keras reads the signatures of constructors without following __wrapped__.
    """
    function.__signature__ = signature
    return function
