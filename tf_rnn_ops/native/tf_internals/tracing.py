"""The state of TensorFlow's recording, tracing and compilation."""

import functools
from typing import Any, Iterable

import tensorflow as tf

from tf_rnn_ops.native.tf_internals.lookup import want

_RECORD = "tensorflow.python.eager.record:could_possibly_record"
_IN_XLA = "tensorflow.python.ops.control_flow_util:GraphOrParentsInXlaContext"
_TRACES = "tensorflow.python.eager.forwardprop:_TRACE_COUNT"


@functools.cache
def _could_possibly_record() -> Any:
    return want(_RECORD, "eager calls of stacks with use_bias=False take longer")


def may_record() -> bool:
    """Whether a tape or forward mode may record the ops that run now.

    Needs could_possibly_record() of eager.record. Without it this warns once, and the result is True.
    """
    if not tf.executing_eagerly():
        return True
    could = _could_possibly_record()
    return could is None or could()


@functools.cache
def _graph_in_xla() -> Any:
    loss = "layers in a tf.function always compute masks in the way that XLA needs, and never leave their op for XLA"
    return want(_IN_XLA, loss)


def in_xla() -> bool:
    """Whether TensorFlow certainly traces a tf.function(jit_compile=True) or a TPU program now.

    Needs GraphOrParentsInXlaContext() of control_flow_util. Without it this warns once, and the result is
    False.
    """
    if tf.executing_eagerly():
        return False
    is_in = _graph_in_xla()
    return is_in is not None and is_in(tf.compat.v1.get_default_graph())


def may_be_in_xla() -> bool:
    """Whether XLA may compile the function that is traced now.

    Without GraphOrParentsInXlaContext() the result is True in every graph. WHY not in_xla: XLA would
    silently compute some numbers wrongly, so these need the safe answer. in_xla only decides on the op.
    """
    return in_xla() or (not tf.executing_eagerly() and _graph_in_xla() is None)


@functools.cache
def _traces() -> Any:
    loss = "forward mode may lose the sizes of networks after 32 different shapes"
    return want(_TRACES, loss)


def keep_sizes_in_forward_mode(op_types: Iterable[str]) -> None:
    """Keeps forward mode from tracing ops without their sizes, as it does from the 33rd trace of an op on.

    Needs _TRACE_COUNT of eager.forwardprop. Without it this warns once, and an op of unknown size raises
    an error.
    """
    traces = _traces()
    for op_type in op_types:
        if traces is not None:
            traces.pop(op_type, None)


def unneeded_inputs(op: tf.Operation) -> Any:
    """The numbers of the inputs of an op for which a tape needs no gradient, as far as known.

    Needs the attribute skip_input_indices, which the op of an eager tape has and a tf.Operation lacks.
    Without it the result is empty, and gradients are computed that nobody reads.
    """
    return getattr(op, "skip_input_indices", None) or ()
