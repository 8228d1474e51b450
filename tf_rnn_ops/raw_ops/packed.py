"""Ops that pack the weights of inference once, and ops for packed weights. See tf_rnn_ops.raw_ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tf_rnn_ops.raw_ops.op import op

if TYPE_CHECKING:
    import tensorflow as tf

    from tf_rnn_ops.raw_ops.types import TensorLike


class CudnnRNNV3PackedOutput(NamedTuple):
    """The results of CudnnRNNV3Packed."""

    output: tf.Tensor
    output_h: tf.Tensor
    output_c: tf.Tensor


class LayerRNNPackedOutput(NamedTuple):
    """The results of LayerRNNPacked."""

    output: tf.Tensor
    output_h: tf.Tensor
    output_c: tf.Tensor


@op()
def PackCudnnRNNParams(
    *,
    params: TensorLike,
    num_layers: int,
    num_units: int,
    input_size: int,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    num_proj: int = 0,
    keep: bool = False,
    name: str | None = None,
) -> tf.Tensor:
    """Packs the parameters of CudnnRNNV3 in the format of the CPU kernels, for CudnnRNNV3Packed.

    CudnnRNNV3 packs them at every call, which takes most of the time of short calls. On a GPU nothing is
    packed. The op has no gradient.

    Args:
        params: The opaque buffer, [params_size], of type bfloat16, half, float32 or float64.
        num_layers: L. The three sizes are Python ints.
        num_units: H.
        input_size: I.
        rnn_mode, input_mode, direction, num_proj: As in CudnnRNNV3.
        keep: Whether the process keeps the result and params, and returns the result again for the same
            tensor. Use it only for the value of a resource variable or a constant, whose memory does not
            change while a tensor refers to it. The next packing with keep=True frees the result after all
            other references to params are gone.
        name: Name of the op in a graph.

    Returns:
        A vector of bytes, for this kind of CPU and this version of the library.

    Raises:
        tf.errors.InvalidArgumentError: params does not have the size that the attributes need, or an
            attribute is not as above.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import raw_ops
        >>> packed = raw_ops.PackCudnnRNNParams(
        ...     params=tf.zeros([84]), num_layers=1, num_units=3, input_size=2)
        >>> packed.dtype.name
        'uint8'
    """
    raise NotImplementedError  # op() gives it a body


@op()
def PackLayerRNN(
    *,
    kernel: TensorLike,
    recurrent_kernel: TensorLike,
    bias: TensorLike | None = (),
    projection: TensorLike | None = (),
    rnn_mode: str = "lstm",
    keep: bool = False,
    name: str | None = None,
) -> tf.Tensor:
    """Packs the weights of LayerRNN in the format of the CPU kernels, for LayerRNNPacked.

    LayerRNN packs them at every call, which takes most of the time of short calls. The op has no gradient.

    Args:
        kernel, recurrent_kernel, bias, projection, rnn_mode: As given to LayerRNN.
        keep: Whether the process keeps the result and the weights, and returns the result again for the
            same tensors. Use it only for the values of resource variables and constants, whose memory does
            not change while a tensor refers to it. The next packing with keep=True frees the result after
            all other references to one of the weights are gone.
        name: Name of the op in a graph.

    Returns:
        A vector of bytes, for this kind of CPU and this version of the library.

    Raises:
        tf.errors.InvalidArgumentError: A shape or attribute is not as above.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import raw_ops
        >>> packed = raw_ops.PackLayerRNN(
        ...     kernel=tf.ones([2, 4 * 3]), recurrent_kernel=tf.ones([3, 4 * 3]))
        >>> packed.dtype.name
        'uint8'
    """
    raise NotImplementedError  # op() gives it a body


@op(CudnnRNNV3PackedOutput)
def CudnnRNNV3Packed(
    *,
    input: TensorLike,
    input_h: TensorLike,
    input_c: TensorLike | None,
    params: TensorLike,
    sequence_lengths: TensorLike,
    packed: TensorLike,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    num_proj: int = 0,
    time_major: bool = True,
    name: str | None = None,
) -> CudnnRNNV3PackedOutput:
    """Runs inference of CudnnRNNV3 with parameters that PackCudnnRNNParams packed.

    The results are the results of CudnnRNNV3 with is_training=False, identical to the bit if T*B > 12. The
    op reads params instead of `packed` on a GPU, and if `packed` belongs to another instruction set or
    another version of the library. The op does not check that `packed` was made of params.

    Differentiable like CudnnRNNV3 with is_training=False.

    Args:
        input, input_h, input_c, params, sequence_lengths: As given to CudnnRNNV3.
        packed: The result of PackCudnnRNNParams for params and these attributes.
        rnn_mode, input_mode, direction, num_proj, time_major: As in CudnnRNNV3.
        name: Name of the op in a graph.

    Returns:
        A CudnnRNNV3PackedOutput: output [T, B, D*S]; output_h [L*D, B, S]; output_c [L*D, B, H], or
        a scalar 0 without 'lstm'.

    Raises:
        tf.errors.InvalidArgumentError: A shape, length or attribute is not as above, or `packed` belongs
            to another network.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import raw_ops
        >>> params = tf.zeros(
        ...     raw_ops.CudnnRNNParamsSize(
        ...         num_layers=1, num_units=3, input_size=2, T=tf.float32, S=tf.int32))
        >>> packed = raw_ops.PackCudnnRNNParams(
        ...     params=params, num_layers=1, num_units=3, input_size=2)
        >>> result = raw_ops.CudnnRNNV3Packed(
        ...     input=tf.ones([5, 4, 2]), input_h=tf.zeros([1, 4, 3]), input_c=tf.zeros([1, 4, 3]),
        ...     params=params, sequence_lengths=[5, 3, 1, 0], packed=packed)
        >>> tuple(result.output.shape)
        (5, 4, 3)
    """
    raise NotImplementedError  # op() gives it a body


@op(LayerRNNPackedOutput)
def LayerRNNPacked(
    *,
    input: TensorLike,
    input_h: TensorLike,
    input_c: TensorLike | None,
    kernel: TensorLike,
    recurrent_kernel: TensorLike,
    packed: TensorLike,
    bias: TensorLike | None = (),
    projection: TensorLike | None = (),
    peepholes: TensorLike | None = (),
    layer_norm: TensorLike | None = (),
    sequence_lengths: TensorLike | None = (),
    rnn_mode: str = "lstm",
    activation: str = "tanh",
    recurrent_activation: str = "sigmoid",
    cell_clip: float = 0.0,
    proj_clip: float = 0.0,
    zoneout_h: float = 0.0,
    zoneout_c: float = 0.0,
    layer_norm_epsilon: float = 1e-3,
    time_major: bool = True,
    name: str | None = None,
) -> LayerRNNPackedOutput:
    """Runs inference of LayerRNN, without masks, with weights that PackLayerRNN packed.

    The results are the results of LayerRNN with is_training=False, identical to the bit if T*B > 12. The op
    reads the unpacked weights instead of `packed` if `packed` belongs to another instruction set or
    another version of the library. The op does not check that `packed` was made of these weights.

    Differentiable like LayerRNN with is_training=False.

    Args:
        input, input_h, input_c, kernel, recurrent_kernel, bias, projection, peepholes, layer_norm,
            sequence_lengths: As given to LayerRNN. The peepholes and layer_norm are not packed.
        packed: The result of PackLayerRNN for these weights.
        rnn_mode, activation, recurrent_activation, cell_clip, proj_clip, zoneout_h, zoneout_c,
            layer_norm_epsilon, time_major: As in LayerRNN.
        name: Name of the op in a graph.

    Returns:
        A LayerRNNPackedOutput: output [T, B, S], output_h [B, S] and output_c [B, H] (a scalar 0
        unless 'lstm').

    Raises:
        tf.errors.InvalidArgumentError: A shape, length or attribute is not as above, or `packed` belongs
            to another layer.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import raw_ops
        >>> weights = {"kernel": tf.ones([2, 4 * 3]), "recurrent_kernel": tf.ones([3, 4 * 3])}
        >>> packed = raw_ops.PackLayerRNN(**weights)
        >>> result = raw_ops.LayerRNNPacked(
        ...     input=tf.ones([5, 4, 2]), input_h=tf.zeros([4, 3]), input_c=tf.zeros([4, 3]),
        ...     packed=packed, **weights)
        >>> tuple(result.output.shape)
        (5, 4, 3)
    """
    raise NotImplementedError  # op() gives it a body
