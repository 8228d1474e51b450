"""The ops that handle the opaque parameter buffer. See tf_rnn_ops.raw_ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Sequence

from tf_rnn_ops.raw_ops.op import op

if TYPE_CHECKING:
    import tensorflow as tf

    from tf_rnn_ops.raw_ops.types import TensorLike


class CudnnRNNParamsToCanonicalV2Output(NamedTuple):
    """The results of CudnnRNNParamsToCanonicalV2."""

    weights: list[tf.Tensor]
    biases: list[tf.Tensor]


@op()
def CudnnRNNParamsSize(
    *,
    num_layers: TensorLike,
    num_units: TensorLike,
    input_size: TensorLike,
    T: tf.DType,
    S: tf.DType,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0,
    seed: int = 0,
    seed2: int = 0,
    num_proj: int = 0,
    name: str | None = None,
) -> tf.Tensor:
    """Computes the number of elements of the `params` of CudnnRNNV3.

    Args:
        num_layers, num_units, input_size: L, H and I, int32 scalars.
        T: Type of the parameters, which does not affect the number.
        S: Type of the result, tf.int32 or tf.int64.
        rnn_mode, input_mode, direction, num_proj, dropout, seed, seed2: As in CudnnRNNV3. The last three have no
            effect.
        name: Name of the op in a graph.

    Returns:
        A tensor of type S and shape [1].

    Raises:
        tf.errors.InvalidArgumentError: A size is below 1, an attribute is wrong, or S cannot hold
            the result.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import raw_ops
        >>> raw_ops.CudnnRNNParamsSize(
        ...     num_layers=1, num_units=3, input_size=2, T=tf.float32, S=tf.int32).numpy().tolist()
        [84]
    """
    raise NotImplementedError  # op() gives it a body


@op()
def CudnnRNNCanonicalToParamsV2(
    *,
    num_layers: TensorLike,
    num_units: TensorLike,
    input_size: TensorLike,
    weights: Sequence[TensorLike],
    biases: Sequence[TensorLike],
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0,
    seed: int = 0,
    seed2: int = 0,
    num_proj: int = 0,
    name: str | None = None,
) -> tf.Tensor:
    """Joins canonical weights and biases to the `params` of CudnnRNNV3.

    Differentiable in the weights and biases.

    Args:
        num_layers, num_units, input_size: L, H and I, int32 scalars.
        weights: A list. For each layer and direction: the gates' input weights ([H, I] in layer 0,
            [H, 0] if the input is skipped, then [H, D*S]), the gates' recurrent weights [H, S] and,
            with num_proj, the projection [num_proj, H]. Gates: LSTM i, f, c, o; GRU r, u, h.
        biases: A list. For each layer and direction: the gates' input biases [H], then the gates'
            recurrent biases [H].
        rnn_mode, input_mode, direction, num_proj, dropout, seed, seed2: As in CudnnRNNV3. The last three have no
            effect.
        name: Name of the op in a graph.

    Returns:
        A tensor [params_size].

    Raises:
        tf.errors.InvalidArgumentError: A size, the length of a list or the number of elements of a
            tensor is wrong. The message names the tensor.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import raw_ops
        >>> weights = 4 * [tf.ones([3, 2])] + 4 * [tf.ones([3, 3])]
        >>> params = raw_ops.CudnnRNNCanonicalToParamsV2(
        ...     num_layers=1, num_units=3, input_size=2, weights=weights, biases=8 * [tf.ones([3])])
        >>> tuple(params.shape)
        (84,)
    """
    raise NotImplementedError  # op() gives it a body


@op(CudnnRNNParamsToCanonicalV2Output)
def CudnnRNNParamsToCanonicalV2(
    *,
    num_layers: TensorLike,
    num_units: TensorLike,
    input_size: TensorLike,
    params: TensorLike,
    num_params_weights: int,
    num_params_biases: int,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0,
    seed: int = 0,
    seed2: int = 0,
    num_proj: int = 0,
    name: str | None = None,
) -> CudnnRNNParamsToCanonicalV2Output:
    """Splits the `params` of CudnnRNNV3 into canonical weights and biases.

    Differentiable in params, for example for a penalty on only the matrices.

    Args:
        num_layers, num_units, input_size: L, H and I, int32 scalars.
        params: [params_size].
        num_params_weights: L*D*2*G for G gates (LSTM 4, GRU 3, otherwise 1), and L*D more with
            num_proj.
        num_params_biases: L*D*2*G.
        rnn_mode, input_mode, direction, num_proj, dropout, seed, seed2: As in CudnnRNNV3. The last three have no
            effect.
        name: Name of the op in a graph.

    Returns:
        A CudnnRNNParamsToCanonicalV2Output of two lists, in the order and with the shapes that
        CudnnRNNCanonicalToParamsV2 explains.

    Raises:
        tf.errors.InvalidArgumentError: A size, a number of tensors or the shape of params is wrong.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import raw_ops
        >>> result = raw_ops.CudnnRNNParamsToCanonicalV2(
        ...     num_layers=1, num_units=3, input_size=2, params=tf.zeros([84]),
        ...     num_params_weights=8, num_params_biases=8)
        >>> [tuple(weight.shape) for weight in result.weights[3:5]]
        [(3, 2), (3, 3)]
    """
    raise NotImplementedError  # op() gives it a body
