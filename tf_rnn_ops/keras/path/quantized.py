"""Runs inference with int8 weights, on the op or on TensorFlow's ordinary ops with the same results."""

from tf_rnn_ops import plain, raw_ops


def run(inputs, weights, others, keep=False):
    """Runs a layer on the op.

    Args:
        inputs: The arguments of QuantizedLayerRNN that come from a call.
        weights: The first result of cells.quantized_arguments.
        others: The second result.
        keep: Whether the packed weights can be kept between calls.

    Returns:
        A tuple with output, output_h and output_c.
    """
    packed = raw_ops.PackQuantizedLayerRNN(**weights, keep=keep)
    return raw_ops.QuantizedLayerRNN(**inputs, **weights, **others, packed=packed)


def run_plain(inputs, weights, others):
    """As run(), on ordinary ops."""
    bias = weights["bias"] if weights["bias"].shape[0] else None
    return plain.quantized_layer_rnn(**{**inputs, **weights, **others, "bias": bias})
