"""TensorFlow's own registries of ops."""

from typing import Any, Iterable

from tf_rnn_ops._python import patches
from tf_rnn_ops.native.tf_internals.lookup import need, want

_OUTPUTS = "tensorflow.python.debug.lib.check_numerics_callback:IGNORE_OP_OUTPUTS"
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


def op_def(op_type: str) -> Any:
    """The OpDef of an op, or None if there is no such op.

    Needs get() of framework.op_def_registry. Without it tf_rnn_ops.portable raises RuntimeError.
    """
    return need(_OP_DEF, "tf_rnn_ops.portable cannot read the definitions of ops")(op_type)
