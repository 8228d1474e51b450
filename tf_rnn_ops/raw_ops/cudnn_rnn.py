"""CudnnRNNV3 and its gradient. See tf_rnn_ops.raw_ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tf_rnn_ops.raw_ops.op import op

if TYPE_CHECKING:
    import tensorflow as tf

    from tf_rnn_ops.raw_ops.types import TensorLike


class CudnnRNNV3Output(NamedTuple):
    """The results of CudnnRNNV3."""

    output: tf.Tensor
    output_h: tf.Tensor
    output_c: tf.Tensor
    reserve_space: tf.Tensor
    host_reserved: tf.Tensor


class CudnnRNNBackpropV3Output(NamedTuple):
    """The results of CudnnRNNBackpropV3."""

    input_backprop: tf.Tensor
    input_h_backprop: tf.Tensor
    input_c_backprop: tf.Tensor
    params_backprop: tf.Tensor


@op(CudnnRNNV3Output)
def CudnnRNNV3(
    *,
    input: TensorLike,
    input_h: TensorLike,
    input_c: TensorLike | None,
    params: TensorLike,
    sequence_lengths: TensorLike,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0,
    seed: int = 0,
    seed2: int = 0,
    num_proj: int = 0,
    is_training: bool = True,
    time_major: bool = True,
    name: str | None = None,
) -> CudnnRNNV3Output:
    """Runs a recurrent network of any number of layers over a batch of sequences.

    One step of a layer, with s the logistic function, * element by element, x the layer's input and h its
    previous hidden state. Each gate g has weights W_g and R_g and two biases bW_g and bR_g:

        rnn_relu, rnn_tanh  h' = relu or tanh(x W + bW + h R + bR)
        lstm                i, f, o = s(x W_g + bW_g + h R_g + bR_g)  for g = i, f, o
                            c~ = tanh(x W_c + bW_c + h R_c + bR_c)
                            c' = f * c + i * c~;  h' = o * tanh(c'), times the projection if there is one
        gru                 r, u = s(x W_g + bW_g + h R_g + bR_g)  for g = r, u
                            h~ = tanh(x W_h + bW_h + r * (h R_h + bR_h));  h' = (1 - u) * h~ + u * h

    Layer l > 0 reads the output of layer l - 1. State number l*D + d belongs to layer l and direction d (0
    forward, 1 backward). The backward direction starts at the last step within the length of a sequence.

    Source of the maths: cuDNN's documentation of cudnnRNNMode_t; LSTM after Hochreiter and Schmidhuber
    (1997) and Gers et al. (2000), GRU after Cho et al. (2014) with the reset gate applied after the
    recurrent product, projection after Sak et al. (2014). Arithmetic is in float32 for bfloat16 and half.

    Differentiable in input, input_h, input_c and params, also with is_training=False. The gradient then
    runs the op once more. With time_major=False, [T, B, ...] below is [B, T, ...] and
    [L*D, B, ...] is [B, L*D, ...].

    Args:
        input: [T, B, I], of type bfloat16, half, float32 or float64.
        input_h: Initial hidden states, [L*D, B, S], in the order of the layers, in each layer forward,
            backward.
        input_c: Initial cell states, [L*D, B, H], for 'lstm'. Otherwise None or any value, such as 0.
        params: All weights and biases, [params_size]; see tf_rnn_ops.params.Layout.
        sequence_lengths: int32 [B], each in [0, T]. Outputs beyond the length are 0. Final states are the
            states after the last valid step.
        rnn_mode: 'lstm', 'gru', 'rnn_tanh' or 'rnn_relu'.
        input_mode: 'linear_input', 'skip_input' (no input weights in layer 0; needs I == H) or
            'auto_select' ('skip_input' if I == H).
        direction: 'unidirectional' or 'bidirectional'.
        dropout: Probability of dropping an element between layers in training; no effect if L is 1.
        seed: Together with seed2 and the number of the call it selects the dropped elements.
        seed2: See seed.
        num_proj: Size of the projection of the hidden state of an LSTM; 0 means none.
        is_training: Whether to apply dropout and to fill reserve_space.
        time_major: Whether time is the first dimension.
        name: Name of the op in a graph.

    Returns:
        A CudnnRNNV3Output: output [T, B, D*S]; output_h [L*D, B, S]; output_c [L*D, B, H], or a
        scalar 0 without 'lstm'; reserve_space, a vector for the gradient op, or a scalar 0 without
        is_training; host_reserved, a scalar for the gradient op.

    Raises:
        tf.errors.InvalidArgumentError: A shape, length or attribute is not as above.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import raw_ops
        >>> size = raw_ops.CudnnRNNParamsSize(
        ...     num_layers=1, num_units=3, input_size=2, T=tf.float32, S=tf.int32)
        >>> result = raw_ops.CudnnRNNV3(
        ...     input=tf.ones([5, 4, 2]), input_h=tf.zeros([1, 4, 3]), input_c=tf.zeros([1, 4, 3]),
        ...     params=tf.zeros(size), sequence_lengths=[5, 3, 1, 0])
        >>> tuple(result.output.shape)
        (5, 4, 3)
    """
    raise NotImplementedError  # op() gives it a body


@op(CudnnRNNBackpropV3Output)
def CudnnRNNBackpropV3(
    *,
    input: TensorLike,
    input_h: TensorLike,
    input_c: TensorLike | None,
    params: TensorLike,
    sequence_lengths: TensorLike,
    output: TensorLike,
    output_h: TensorLike,
    output_c: TensorLike | None,
    output_backprop: TensorLike,
    output_h_backprop: TensorLike,
    output_c_backprop: TensorLike | None,
    reserve_space: TensorLike,
    host_reserved: TensorLike,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0,
    seed: int = 0,
    seed2: int = 0,
    num_proj: int = 0,
    time_major: bool = True,
    name: str | None = None,
) -> CudnnRNNBackpropV3Output:
    """Computes the gradient of CudnnRNNV3. tf.GradientTape calls this function; users rarely need it.

    Args:
        input, input_h, input_c, params, sequence_lengths: As given to CudnnRNNV3.
        output, output_backprop: The result of CudnnRNNV3 and its gradient, [T, B, D*S].
        output_h, output_h_backprop: The result and its gradient, [L*D, B, S].
        output_c, output_c_backprop: The result and its gradient, [L*D, B, H] for 'lstm'. The op ignores the
            gradient otherwise.
        reserve_space: As CudnnRNNV3 with is_training=True returned it. The op does not change it.
        host_reserved: As CudnnRNNV3 returned it. The op reads it only on a GPU.
        rnn_mode, input_mode, direction, dropout, seed, seed2, num_proj, time_major: As given to CudnnRNNV3.
        name: Name of the op in a graph.

    Returns:
        A CudnnRNNBackpropV3Output: input_backprop [T, B, I]; input_h_backprop [L*D, B, S];
        input_c_backprop [L*D, B, H], or a scalar 0 without 'lstm'; params_backprop [params_size].

    Raises:
        tf.errors.InvalidArgumentError: A shape, length or attribute does not fit the others, or
            reserve_space belongs to another call.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import raw_ops
        >>> state = tf.zeros([1, 4, 3])
        >>> inputs = {"input": tf.ones([5, 4, 2]), "input_h": state, "input_c": state}
        >>> inputs |= {"params": tf.zeros([84]), "sequence_lengths": [5, 3, 1, 0]}
        >>> result = raw_ops.CudnnRNNV3(**inputs)
        >>> gradients = raw_ops.CudnnRNNBackpropV3(
        ...     **inputs, **result._asdict(), output_backprop=tf.ones([5, 4, 3]),
        ...     output_h_backprop=state, output_c_backprop=state)
        >>> tuple(gradients.params_backprop.shape)
        (84,)
    """
    raise NotImplementedError  # op() gives it a body
