"""Makes the functions of raw_ops from their signatures."""

import functools
import inspect
import re
from typing import Any, Callable, Mapping, TypeVar, cast

from tf_rnn_ops.native import loader
from tf_rnn_ops.raw_ops import arguments

_Function = TypeVar("_Function", bound=Callable[..., Any])

_FLOATS = ("dropout", "cell_clip")
_SPECIAL_TYPES = {"sequence_lengths": "optional_lengths({})", "seed": "optional_seed({})"}
_SOURCE = """
def {name}(*, {parameters}):
    try:
        return {call}
    except (TypeError, ValueError):
        reject_none({name}, locals())
        raise
"""


def op(output: Callable[..., Any] | None = None) -> Callable[[_Function], _Function]:
    """Makes a decorator that gives a function the body that calls the op of the same name.

    The body passes each argument on. An optional tensor, whose default is (), may also be None. The cell
    state of a network without a cell state may be None too. The body raises ValueError, with the name of
    the argument, for any other None.

    WHY source code: an eager call of LayerRNN with a batch of 1 takes 65 us. It takes 70 us if the function handles its
    arguments as a dict, and 67 us if a decorator catches the errors of a function that is written out. Functions that are
    written out and catch their errors themselves are as fast, but name each argument three times.

    Args:
        output: The type of the results of the op; None for an op with one result.

    Returns:
        The decorator.
    """

    def decorate(function: _Function) -> _Function:
        name, parameters = function.__name__, inspect.signature(function).parameters
        snake = re.sub("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
        call = ", ".join(f"{n}={_passed(n, p, parameters)}" for n, p in parameters.items())
        # WHY a method: Python passes more than 15 keywords to a function in a dict, which is slower.
        call = f"native_ops.tf_rnn_ops_{snake}({call})"
        shown = (n if p.default is p.empty else f"{n}={p.default!r}" for n, p in parameters.items())
        source = _SOURCE.format(
            name=name,
            parameters=", ".join(shown),
            call=call if output is None else f"_output(*{call})",
        )
        scope = {**vars(arguments), "native_ops": loader.ops(), "_output": output}
        # A traceback names the op and not only "<string>".
        exec(compile(source, f"<body of raw_ops.{name}>", "exec"), scope)
        generated = cast(_Function, scope[name])
        functools.update_wrapper(generated, function)
        return generated

    return decorate


def _passed(
    name: str, parameter: inspect.Parameter, parameters: Mapping[str, inspect.Parameter]
) -> str:
    """The source code of an argument in the call of the op."""
    if parameter.default == ():
        like = _same_type(name, parameters)
        return _SPECIAL_TYPES.get(name, "optional_tensor({}, " + like + ")").format(name)
    if name in arguments.STATES_C:
        return f"state_c({name}, rnn_mode)"
    return f"float_attr({name})" if name in _FLOATS and type(parameter.default) is int else name


def _same_type(name: str, parameters: Mapping[str, inspect.Parameter]) -> str:
    """The name of an input that has the type of an optional tensor."""
    if "kernel_scale" not in parameters:
        return next(iter(parameters))
    if name == "bias" and "input" in parameters:
        return "input"
    return "kernel" if name == "projection" else "kernel_scale"
