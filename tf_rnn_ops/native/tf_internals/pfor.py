"""Converters for tf.vectorized_map and jacobians (TensorFlow's pfor)."""

import functools
from typing import Any, Callable, NamedTuple

import tensorflow as tf

from tf_rnn_ops.native.tf_internals.lookup import want

_MODULE = "tensorflow.python.ops.parallel_for.pfor:"
_NAMES = (
    "_pfor_converter_registry",
    "_create_op",
    "_fallback_converter",
    "wrap",
    "ConversionNotImplementedError",
)


@functools.cache
def _members() -> dict[str, Any]:
    loss = "tf.vectorized_map and jacobians run recurrent ops in a loop"
    return {name: want(_MODULE + name, loss) for name in _NAMES}


def register_converter(op_type: str, convert: Callable[..., Any]) -> None:
    """Makes a function the converter of an op, unless it has one.

    Needs _pfor_converter_registry, _create_op, _fallback_converter, wrap and ConversionNotImplementedError of
    parallel_for.pfor. Without one of them this warns, and TensorFlow runs the op in a loop over the iterations.

    Args:
        op_type: The name of the op.
        convert: A function of a Call. It returns a list of results of `result` or Call.loop.
    """
    if None not in _members().values():
        registry = _members()["_pfor_converter_registry"]
        registry.setdefault(op_type, lambda pfor_input: convert(Call(pfor_input)))


def not_converted(reason: str) -> Exception:
    """The error with which a converter leaves a call to TensorFlow's loop; see register_converter."""
    return _members()["ConversionNotImplementedError"](reason)


def result(tensor: tf.Tensor, is_stacked: bool) -> Any:
    """A tensor as a converter returns it.

    Args:
        tensor: The tensor.
        is_stacked: Whether its first dimension counts the iterations. If not, all iterations have this
            tensor.
    """
    return _members()["wrap"](tensor, is_stacked)


class Input(NamedTuple):
    """An input of a Call.

    Attributes:
        tensor: The tensor.
        is_stacked: As in `result`.
    """

    tensor: object
    is_stacked: bool


class Call:
    """A call of an op in the body of a loop whose iterations become one call.

    Needs the attributes pfor.loop_len_vector and pfor.fallback_to_while_loop of the argument of a
    converter. Without them this raises the error of `not_converted`.

    Attributes:
        op: The tf.Operation of one iteration.
        inputs: A list of Input.
        iterations: The number of iterations, int32 [1].
    """

    def __init__(self, pfor_input: Any) -> None:
        self._pfor_input = pfor_input
        self.op = pfor_input.op
        self.inputs = [Input(argument.t, argument.is_stacked) for argument in pfor_input.inputs]
        self.iterations = self._of_loop("loop_len_vector")

    def loop(self) -> Any:
        """The outputs of TensorFlow's loop over the iterations."""
        if not self._of_loop("fallback_to_while_loop"):
            raise not_converted("A result for each iteration needs a loop.")
        return _members()["_fallback_converter"](self._pfor_input)

    def again(self, inputs: Any) -> Any:
        """The list of the op's output tensors for other inputs."""
        dtypes = [output.dtype for output in self.op.outputs]
        create = _members()["_create_op"]
        return create(self.op.type, inputs, dtypes, attrs=self.op.node_def.attr).outputs

    def _of_loop(self, name: str) -> Any:
        value = getattr(self._pfor_input.pfor, name, None)
        if value is None:
            raise not_converted(f"This TensorFlow's pfor has no {name}.")
        return value
