"""Inference with int8 weights. See tf_rnn_ops.raw_ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tf_rnn_ops.raw_ops.op import op

if TYPE_CHECKING:
    import tensorflow as tf

    from tf_rnn_ops.raw_ops.types import TensorLike


class QuantizedLayerRNNOutput(NamedTuple):
    """The results of QuantizedLayerRNN."""

    output: tf.Tensor
    output_h: tf.Tensor
    output_c: tf.Tensor


@op()
def PackQuantizedLayerRNN(
    *,
    kernel: TensorLike,
    kernel_scale: TensorLike,
    recurrent_kernel: TensorLike,
    recurrent_kernel_scale: TensorLike,
    bias: TensorLike | None = (),
    projection: TensorLike | None = (),
    projection_scale: TensorLike | None = (),
    rnn_mode: str = "lstm",
    keep: bool = False,
    name: str | None = None,
) -> tf.Tensor:
    """Packs the weights of QuantizedLayerRNN in the format of the CPU kernels.

    The op has no gradient.

    Args:
        kernel: int8 [I, G*H], in [-127, 127].
        kernel_scale: The scale of each column, float32 [G*H].
        recurrent_kernel: int8 [S, G*H], in [-127, 127].
        recurrent_kernel_scale: float32 [G*H].
        bias: [G*H], or [2, G*H] for 'gru', of the type of the input: bfloat16, half or float32; None or empty
            for none.
        projection: int8 [H, P], in [-127, 127], for 'lstm'; None or empty for none.
        projection_scale: float32 [P]; None or empty without a projection.
        rnn_mode: As in LayerRNN.
        keep: As in PackLayerRNN.
        name: Name of the op in a graph.

    Returns:
        A vector of bytes, for this kind of CPU and this version of the library.

    Raises:
        tf.errors.InvalidArgumentError: A shape or attribute is not as above.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import raw_ops
        >>> packed = raw_ops.PackQuantizedLayerRNN(
        ...     kernel=tf.ones([2, 4 * 3], tf.int8), kernel_scale=tf.ones([4 * 3]),
        ...     recurrent_kernel=tf.ones([3, 4 * 3], tf.int8),
        ...     recurrent_kernel_scale=tf.ones([4 * 3]))
        >>> packed.dtype.name
        'uint8'
    """
    raise NotImplementedError  # op() gives it a body


@op(QuantizedLayerRNNOutput)
def QuantizedLayerRNN(
    *,
    input: TensorLike,
    input_h: TensorLike,
    input_c: TensorLike | None,
    kernel: TensorLike,
    kernel_scale: TensorLike,
    recurrent_kernel: TensorLike,
    recurrent_kernel_scale: TensorLike,
    packed: TensorLike,
    bias: TensorLike | None = (),
    projection: TensorLike | None = (),
    projection_scale: TensorLike | None = (),
    sequence_lengths: TensorLike | None = (),
    rnn_mode: str = "lstm",
    activation: str = "tanh",
    recurrent_activation: str = "sigmoid",
    time_major: bool = True,
    name: str | None = None,
) -> QuantizedLayerRNNOutput:
    """Runs inference of LayerRNN with int8 weights.

    The weight of row j and column k is kernel[j, k] * kernel_scale[k]. At each step the op quantizes each
    row of an operand (input, h, the output before a projection, and r * h of 'gru_reset_before') to 8 bits
    by the largest absolute value of that row. Sums of products are int32, and gates and states float32. So
    the result of a sequence does not depend on the other sequences. A row with NaN or infinity gives NaN
    in that row only.

    A gradient raises LookupError. There is no kernel for XLA. The kernel for GPUs does not round operands
    to 8 bits.

    Args:
        input: [T, B, I], of type bfloat16, half or float32.
        input_h, input_c, sequence_lengths: As given to LayerRNN.
        kernel, kernel_scale, recurrent_kernel, recurrent_kernel_scale, bias, projection, projection_scale: As
            given to PackQuantizedLayerRNN.
        packed: The result of PackQuantizedLayerRNN for these weights.
        rnn_mode, activation, recurrent_activation, time_major: As in LayerRNN.
        name: Name of the op in a graph.

    Returns:
        A QuantizedLayerRNNOutput: output [T, B, S], output_h [B, S] and output_c [B, H] (a scalar 0
        unless 'lstm').

    Raises:
        tf.errors.InvalidArgumentError: A shape, length or attribute is not as above, `packed` belongs to
            another layer, or a matrix has more than 132104 rows, whose sums might not fit 32 bits.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import raw_ops
        >>> weights = {
        ...     "kernel": tf.ones([2, 4 * 3], tf.int8), "kernel_scale": tf.ones([4 * 3]) / 127,
        ...     "recurrent_kernel": tf.ones([3, 4 * 3], tf.int8),
        ...     "recurrent_kernel_scale": tf.ones([4 * 3]) / 127}
        >>> packed = raw_ops.PackQuantizedLayerRNN(**weights)
        >>> result = raw_ops.QuantizedLayerRNN(
        ...     input=tf.ones([5, 4, 2]), input_h=tf.zeros([4, 3]), input_c=tf.zeros([4, 3]),
        ...     packed=packed, **weights)
        >>> tuple(result.output.shape)
        (5, 4, 3)
    """
    raise NotImplementedError  # op() gives it a body
