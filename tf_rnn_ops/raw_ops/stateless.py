"""CudnnRNNV3 with the seed of its dropout as a tensor. See tf_rnn_ops.raw_ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tf_rnn_ops.raw_ops.op import op

if TYPE_CHECKING:
    import tensorflow as tf

    from tf_rnn_ops.raw_ops.types import TensorLike


class StatelessCudnnRNNV3Output(NamedTuple):
    """The results of StatelessCudnnRNNV3, the same as of CudnnRNNV3."""

    output: tf.Tensor
    output_h: tf.Tensor
    output_c: tf.Tensor
    reserve_space: tf.Tensor
    host_reserved: tf.Tensor


@op(StatelessCudnnRNNV3Output)
def StatelessCudnnRNNV3(
    *,
    input: TensorLike,
    input_h: TensorLike,
    input_c: TensorLike | None,
    params: TensorLike,
    sequence_lengths: TensorLike,
    seed: TensorLike,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0,
    num_proj: int = 0,
    time_major: bool = True,
    name: str | None = None,
) -> StatelessCudnnRNNV3Output:
    """Runs CudnnRNNV3 in training, with the seed of dropout as a tensor.

    CudnnRNNV3 has its seeds as attributes, like TensorFlow's op, and counts its calls. This op has no
    counter: two calls with equal inputs drop the same elements, in any graph and process. Differentiable
    in input, input_h, input_c and params.

    Args:
        input, input_h, input_c, params, sequence_lengths: As given to CudnnRNNV3.
        seed: int64 [2]. All bits count. On a GPU the op reads it on the host.
        rnn_mode, input_mode, direction, dropout, num_proj, time_major: As in CudnnRNNV3.
        name: Name of the op in a graph.

    Returns:
        A StatelessCudnnRNNV3Output: output [T, B, D*S]; output_h [L*D, B, S]; output_c [L*D, B, H],
        or a scalar 0 without 'lstm'; reserve_space, a vector for the gradient op; host_reserved, a
        scalar for the gradient op.

    Raises:
        tf.errors.InvalidArgumentError: A shape, length or attribute is not as above.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import raw_ops
        >>> state = tf.zeros([2, 4, 3])
        >>> result = raw_ops.StatelessCudnnRNNV3(
        ...     input=tf.ones([5, 4, 2]), input_h=state, input_c=state, params=tf.zeros([180]),
        ...     sequence_lengths=[5, 3, 1, 0], seed=[1, 2], dropout=0.5)
        >>> tuple(result.output.shape)
        (5, 4, 3)
    """
    raise NotImplementedError  # op() gives it a body
