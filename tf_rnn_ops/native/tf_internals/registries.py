"""TensorFlow's own registries of ops."""

import contextlib
import functools
from typing import Any, Callable, Iterable

from tf_rnn_ops._python import patches
from tf_rnn_ops.native.tf_internals.lookup import need, want

_OUTPUTS = "tensorflow.python.debug.lib.check_numerics_callback:IGNORE_OP_OUTPUTS"
_OPS = "tensorflow.python.framework.ops:"
_OP_DEF = "tensorflow.python.framework.op_def_registry:get"


def leave_out_of_check_numerics(outputs: Iterable[tuple[str, int]]) -> None:
    """Makes tf.debugging.enable_check_numerics skip outputs of ops, in the whole process.

    Needs IGNORE_OP_OUTPUTS of check_numerics_callback. Without it this warns, and the check reports these outputs.

    Args:
        outputs: Pairs of the name of an op and the number of its output.
    """
    known = want(
        _OUTPUTS, "tf.debugging.enable_check_numerics may report the reserve space of an op"
    )
    if known is not None:
        from tensorflow.python.debug.lib import check_numerics_callback

        pairs = [(name.encode(), number) for name, number in outputs]
        both = (*known, *(p for p in pairs if p not in known))
        patches.put(check_numerics_callback, "IGNORE_OP_OUTPUTS", both)


@functools.cache
def _statistics() -> Any:
    loss = "TensorFlow's profiler does not count the operations of recurrent ops"
    return want(f"{_OPS}RegisterStatistics", loss), want(f"{_OPS}OpStats", loss)


def register_flops(op_types: Iterable[str], count: Callable[..., Any]) -> None:
    """Registers the number of operations of ops for TensorFlow's profiler. A second call changes nothing.

    Needs RegisterStatistics and OpStats of framework.ops. Without them this warns, and the profiler counts nothing.

    Args:
        op_types: Names of ops.
        count: A function from a tf.Operation to a number. It may raise ValueError.
    """
    register, op_stats = _statistics()
    if register is None or op_stats is None:
        return

    def statistics(graph: Any, node: Any) -> Any:
        return op_stats("flops", count(graph.get_operation_by_name(node.name)))

    for op_type in op_types:
        with contextlib.suppress(KeyError):  # registered already
            register(op_type, "flops")(statistics)


def op_def(op_type: str) -> Any:
    """The OpDef of an op, or None if there is no such op.

    Needs get() of framework.op_def_registry. Without it tf_rnn_ops.portable raises RuntimeError.
    """
    return need(_OP_DEF, "tf_rnn_ops.portable cannot read the definitions of ops")(op_type)
