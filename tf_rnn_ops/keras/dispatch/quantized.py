"""Runs inference with int8 weights, on the op or on TensorFlow's ordinary ops with the same results."""

import ctypes
import sys
from typing import Any

import tensorflow as tf

from tf_rnn_ops import plain, raw_ops
from tf_rnn_ops.native import loader


def run(
    inputs: dict[str, Any], weights: dict[str, Any], other_arguments: dict[str, Any]
) -> list[tf.Tensor]:
    """Runs a layer on the op.

    The op runs in the type of the bias. WHY not in that of the input: packed weights are kept between calls only if
    the bias is the value of its variable, and a cast makes another value.

    Args:
        inputs: The arguments of QuantizedLayerRNN that come from a call.
        weights: The first result of cells.quantized_arguments.
        other_arguments: The second result.

    Returns:
        A list with output, output_h and output_c, of the type of the input.
    """
    packed = raw_ops.PackQuantizedLayerRNN(**weights, keep=True)
    dtype, of_call = weights["bias"].dtype, inputs["input"].dtype
    tensors = {name: _cast(inputs[name], dtype) for name in ("input", "input_h", "input_c")}
    result = raw_ops.QuantizedLayerRNN(
        **{**inputs, **tensors}, **weights, **other_arguments, packed=packed
    )
    return [_cast(tensor, of_call) for tensor in result]


def _cast(tensor: tf.Tensor, dtype: Any) -> tf.Tensor:
    # WHY not tf.cast: an eager call takes twice as long.
    return tensor if tensor.dtype == dtype else tf.raw_ops.Cast(x=tensor, DstT=dtype)


def run_plain(
    inputs: dict[str, Any], weights: dict[str, Any], other_arguments: dict[str, Any]
) -> Any:
    """As run(), on ordinary ops."""
    bias = weights["bias"] if weights["bias"].shape[0] else None
    return plain.quantized_layer_rnn(**{**inputs, **weights, **other_arguments, "bias": bias})


def free_kept() -> None:
    """Frees the kept packed weights of values that no variable has, and returns freed memory to the system."""
    if loader.unavailable() is None:
        # Packing drops them; see docs/design/packed-weights.md.
        with tf.init_scope():
            weight = tf.zeros([1, 1])
            raw_ops.PackLayerRNN(
                kernel=weight, recurrent_kernel=weight, rnn_mode="rnn_tanh", keep=True
            )
    trim_heap()


def trim_heap() -> None:
    """Returns freed memory to the system. Does nothing with a C library that lacks malloc_trim, which glibc has."""
    if sys.platform.startswith("linux"):
        function = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if function is not None:
            function(ctypes.c_size_t(0))
