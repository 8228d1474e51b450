"""Packing the weights of inference once, and the ops that take them. See tf_rnn_ops.raw_ops."""

from typing import Any, NamedTuple

from tf_rnn_ops.raw_ops.op import op


class CudnnRNNV3PackedOutput(NamedTuple):
    """The results of CudnnRNNV3Packed."""

    output: Any
    output_h: Any
    output_c: Any


class LayerRNNPackedOutput(NamedTuple):
    """The results of LayerRNNPacked."""

    output: Any
    output_h: Any
    output_c: Any


@op()
def PackCudnnRNNParams(
    *,
    params,
    num_layers,
    num_units,
    input_size,
    rnn_mode="lstm",
    input_mode="linear_input",
    direction="unidirectional",
    num_proj=0,
    keep=False,
    name=None,
) -> Any:
    """Packs the parameters of CudnnRNNV3 as the CPU kernels read them, for CudnnRNNV3Packed.

    CudnnRNNV3 packs them at every call, which short calls spend most of their time on. On a GPU
    nothing is packed. Without gradient.

    Args:
        params: The opaque buffer, [params_size], of type bfloat16, half, float32 or float64.
        num_layers: L, a Python int, as the two below.
        num_units: H.
        input_size: I.
        rnn_mode: As in CudnnRNNV3, like the attributes below up to num_proj.
        input_mode: As in CudnnRNNV3.
        direction: As in CudnnRNNV3.
        num_proj: As in CudnnRNNV3.
        keep: Whether the process keeps the result and params, and returns the result again when it
            gets the same tensor. Only for the value of a resource variable or a constant, whose
            memory does not change while a tensor refers to it. They are dropped at the first
            packing with keep after nothing else refers to params.
        name: Name of the op in a graph.

    Returns:
        A vector of bytes, for the kind of CPU of this machine and this version of the library.

    Raises:
        tf.errors.InvalidArgumentError: params has not the size that the attributes ask for, or an
            attribute is not as above.
    """
    raise NotImplementedError  # op() gives it a body


@op()
def PackLayerRNN(
    *, kernel, recurrent_kernel, bias=(), projection=(), rnn_mode="lstm", keep=False, name=None
) -> Any:
    """Packs the weights of LayerRNN as the CPU kernels read them, for LayerRNNPacked.

    LayerRNN packs them at every call, which short calls spend most of their time on. Without
    gradient.

    Args:
        kernel: [I, G*H], of type bfloat16, half, float32 or float64.
        recurrent_kernel: [S, G*H].
        bias: [G*H], for 'gru' [2, G*H]; None or empty for none.
        projection: [H, P], of 'lstm'; None or empty for none.
        rnn_mode: As in LayerRNN.
        keep: Whether the process keeps the result and the weights, and returns the result again
            when it gets the same tensors. Only for the values of resource variables and constants,
            whose memory does not change while a tensor refers to it. They are dropped at the first
            packing with keep after nothing else refers to one of the weights.
        name: Name of the op in a graph.

    Returns:
        A vector of bytes, for the kind of CPU of this machine and this version of the library.

    Raises:
        tf.errors.InvalidArgumentError: A shape or attribute is not as above.
    """
    raise NotImplementedError  # op() gives it a body


@op(CudnnRNNV3PackedOutput)
def CudnnRNNV3Packed(
    *,
    input,
    input_h,
    input_c,
    params,
    sequence_lengths,
    packed,
    rnn_mode="lstm",
    input_mode="linear_input",
    direction="unidirectional",
    num_proj=0,
    time_major=True,
    name=None,
) -> CudnnRNNV3PackedOutput:
    """Runs inference of CudnnRNNV3 with parameters that PackCudnnRNNParams packed before.

    The results are those of CudnnRNNV3 with is_training=False, to the bit but for calls of at most
    4 rows (T*B). params is read where `packed` cannot be: on a GPU, and where it was made on another
    kind of CPU or by another version. That `packed` was made of params is not checked.

    Differentiable as CudnnRNNV3 with is_training=False is.

    Args:
        input: [T, B, I], of type bfloat16, half, float32 or float64.
        input_h: Initial hidden states, [L*D, B, S].
        input_c: Initial cell states, [L*D, B, H], for 'lstm'; None, or anything such as 0, otherwise.
        params: All weights and biases, [params_size].
        sequence_lengths: int32 [B], each in [0, T].
        packed: What PackCudnnRNNParams returned for params and these attributes.
        rnn_mode: As in CudnnRNNV3, like each attribute below.
        input_mode: As in CudnnRNNV3.
        direction: As in CudnnRNNV3.
        num_proj: As in CudnnRNNV3.
        time_major: As in CudnnRNNV3.
        name: Name of the op in a graph.

    Returns:
        A CudnnRNNV3PackedOutput: output [T, B, D*S]; output_h [L*D, B, S]; output_c [L*D, B, H], or
        a scalar 0 without 'lstm'.

    Raises:
        tf.errors.InvalidArgumentError: A shape, length or attribute is not as above, or `packed` is
            of another network.

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
    input,
    input_h,
    input_c,
    kernel,
    recurrent_kernel,
    packed,
    bias=(),
    projection=(),
    peepholes=(),
    layer_norm=(),
    sequence_lengths=(),
    rnn_mode="lstm",
    activation="tanh",
    recurrent_activation="sigmoid",
    cell_clip=0.0,
    proj_clip=0.0,
    zoneout_h=0.0,
    zoneout_c=0.0,
    layer_norm_epsilon=1e-3,
    time_major=True,
    name=None,
) -> LayerRNNPackedOutput:
    """Runs inference of LayerRNN, without masks, with weights that PackLayerRNN packed before.

    The results are those of LayerRNN with is_training=False, to the bit but for calls of at most 4
    rows (T*B). The plain weights are read where `packed` cannot be: where it was made on another
    kind of CPU or by another version. That `packed` was made of these weights is not checked.

    Differentiable as LayerRNN with is_training=False is.

    Args:
        input: [T, B, I], of type bfloat16, half, float32 or float64.
        input_h: Initial hidden states, [B, S].
        input_c: Initial cell states, [B, H], of 'lstm'; None, or anything such as 0, otherwise.
        kernel: [I, G*H].
        recurrent_kernel: [S, G*H].
        packed: What PackLayerRNN returned for these weights.
        bias: [G*H], for 'gru' [2, G*H]; None or empty for none.
        projection: [H, P], of 'lstm'; None or empty for none.
        peepholes: [3, H], of 'lstm'; None or empty for none. They are not packed.
        layer_norm: [18, H], of 'lstm'; None or empty for none. It is not packed.
        sequence_lengths: int32 steps of each row, [B], each in [0, T]; None or empty if all have T.
        rnn_mode: As in LayerRNN, like the seven below.
        activation: As in LayerRNN.
        recurrent_activation: As in LayerRNN.
        cell_clip: As in LayerRNN.
        proj_clip: As in LayerRNN.
        zoneout_h: As in LayerRNN.
        zoneout_c: As in LayerRNN.
        layer_norm_epsilon: As in LayerRNN.
        time_major: Whether the first dimension of input and output is time; otherwise the batch is.
        name: Name of the op in a graph.

    Returns:
        A LayerRNNPackedOutput: output [T, B, S], output_h [B, S] and output_c [B, H] (a scalar 0
        unless 'lstm').

    Raises:
        tf.errors.InvalidArgumentError: A shape, length or attribute is not as above, or `packed` is
            of another layer.

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
