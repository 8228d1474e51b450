"""LayerRNN and its gradient. See tf_rnn_ops.raw_ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tf_rnn_ops.raw_ops.op import op

if TYPE_CHECKING:
    import tensorflow as tf

    from tf_rnn_ops.raw_ops.types import TensorLike


class LayerRNNOutput(NamedTuple):
    """The results of LayerRNN."""

    output: tf.Tensor
    output_h: tf.Tensor
    output_c: tf.Tensor
    reserve_space: tf.Tensor


class LayerRNNBackpropOutput(NamedTuple):
    """The results of LayerRNNBackprop."""

    input_backprop: tf.Tensor
    input_h_backprop: tf.Tensor
    input_c_backprop: tf.Tensor
    kernel_backprop: tf.Tensor
    recurrent_kernel_backprop: tf.Tensor
    bias_backprop: tf.Tensor
    projection_backprop: tf.Tensor
    peepholes_backprop: tf.Tensor
    layer_norm_backprop: tf.Tensor


@op(LayerRNNOutput)
def LayerRNN(
    *,
    input: TensorLike,
    input_h: TensorLike,
    input_c: TensorLike | None,
    kernel: TensorLike,
    recurrent_kernel: TensorLike,
    bias: TensorLike | None = (),
    projection: TensorLike | None = (),
    peepholes: TensorLike | None = (),
    layer_norm: TensorLike | None = (),
    sequence_lengths: TensorLike | None = (),
    input_mask: TensorLike | None = (),
    recurrent_mask: TensorLike | None = (),
    seed: TensorLike | None = (),
    rnn_mode: str = "lstm",
    activation: str = "tanh",
    recurrent_activation: str = "sigmoid",
    cell_clip: float = 0.0,
    proj_clip: float = 0.0,
    zoneout_h: float = 0.0,
    zoneout_c: float = 0.0,
    layer_norm_epsilon: float = 1e-3,
    is_training: bool = True,
    time_major: bool = True,
    name: str | None = None,
) -> LayerRNNOutput:
    """Runs one recurrent layer in one direction, with weights in Keras's format.

    The Keras layers of this package call this op on a CPU, and on a GPU where CudnnRNNV3 cannot run the
    call. S is the size of a hidden state: P with a projection, otherwise H. G is the number of gates:

        'lstm'              4, in the order i, f, c, o
        'gru'               3, in the order z, r, h; reset gate after the product (reset_after=True)
        'gru_reset_before'  3, in the order z, r, h; reset gate before the product
        'rnn'               1; 'rnn_tanh' and 'rnn_relu' have that activation compiled in

    One step, with s the recurrent_activation, a the activation, * element by element, x the input and h the
    previous output. For gate g, x_g = x * input_mask[g] and h_g = h * recurrent_mask[g]; without a mask x_g
    is x and h_g is h. W_g, R_g and b_g are the g-th of G blocks of H columns of kernel, recurrent_kernel and
    bias:

        rnn_relu, rnn_tanh  h' = relu or tanh(x_0 W + h_0 R + b); rnn: h' = a(x_0 W + h_0 R + b)
        lstm                i, f, o = s(x_g W_g + h_g R_g + b_g)  for g = i, f, o
                            c' = f * c + i * a(x_c W_c + h_c R_c + b_c);  h' = o * a(c')
        gru                 z, r = s(x_g W_g + bias[0]_g + h_g R_g + bias[1]_g)  for g = z, r
                            n = a(x_h W_h + bias[0]_h + r * (h_h R_h + bias[1]_h))
                            h' = z * h + (1 - z) * n
        gru_reset_before    z, r = s(x_g W_g + h_g R_g + b_g)  for g = z, r
                            n = a(x_h W_h + (r * h_h) R_h + b_h);  h' = z * h + (1 - z) * n

    In an 'lstm', peepholes p add p_0 * c, p_1 * c and p_2 * c' before s of i, f and o; then c' is clipped,
    and a projection makes h' = (o * a(c')) projection. A norm of v is gamma * (v - mean) / sqrt(variance +
    layer_norm_epsilon) + beta. The new cell state is the normalised c'.

    Source of the maths: Hochreiter and Schmidhuber (1997) with Gers et al. (2000) for LSTM, Cho et al. (2014)
    for GRU, Gers and Schmidhuber (2000) for peepholes, Sak et al. (2014) for the projection, Gal and
    Ghahramani (2016) for masks that do not change over time. Arithmetic is in float32 for bfloat16 and half.

    An 'lstm' with a projection, peepholes and clipping computes tf.compat.v1.nn.rnn_cell.LSTMCell;
    tf_rnn_ops.keras.ProjectedLSTM has the same weights.

    With zoneout (Krueger et al., 2017) each unit of an 'lstm' or a 'gru' keeps its old state at each step
    with probability zoneout_h, and its old cell state with probability zoneout_c. `seed` selects the
    units. Without a seed the states are the weighted means of old and new states. Zoneout needs a network
    without projection, peepholes and clipping.

    With layer_norm (Ba et al., 2016) an 'lstm' computes tensorflow_addons.rnn.LayerNormLSTMCell;
    tf_rnn_ops.keras.LayerNormLSTM has the same weights. input * kernel and output * recurrent_kernel are
    normalised over all values of a sequence at a step before the bias is added. The cell state is
    normalised too. Layer normalization needs a network without projection, peepholes, clipping and
    zoneout.

    Differentiable in all tensors except sequence_lengths, the masks and the seed.

    Args:
        input: [T, B, I], of type bfloat16, half, float32 or float64.
        input_h: Initial hidden states, [B, S].
        input_c: Initial cell states, [B, H], for 'lstm'. Otherwise None or any value, such as 0.
        kernel: [I, G*H].
        recurrent_kernel: [S, G*H].
        bias: [G*H], or [2, G*H] for 'gru' (for the input product and the recurrent product); None or empty
            for none.
        projection: Matrix that multiplies the output of an 'lstm', [H, P]; None or empty for none.
        peepholes: Weights of the cell state in the gates i, f and o of an 'lstm', [3, H]. The gates i and
            f read the previous cell state, o reads the new cell state. None or empty for none.
        layer_norm: Weights of the norms of an 'lstm', [18, H]: gamma (4 rows, for i, f, c, o) and beta (4
            rows) for input * kernel, gamma and beta (4 rows each) for output * recurrent_kernel, then
            gamma and beta (1 row each) for the cell state. None or empty for none.
        sequence_lengths: Number of steps of each sequence, int32 [B], each in [0, T]; None or empty if all
            have T steps.
        input_mask: Factors of the input for the product of each gate, [G, B, I], the same for all steps;
            None or empty for none.
        recurrent_mask: Factors of the previous output for the product of each gate, [G, B, S]; None or
            empty for none.
        seed: int64 [2]. It selects the units that zoneout keeps; equal seeds select equal units. None or
            empty for none.
        rnn_mode: 'lstm', 'gru', 'gru_reset_before', 'rnn', 'rnn_tanh' or 'rnn_relu'.
        activation: Function of the candidate, of the cell state of 'lstm', and of 'rnn': 'tanh',
            'sigmoid', 'relu', 'linear', 'hard_sigmoid' (x / 6 + 1/2 between 0 and 1, as in Keras 3) or
            'hard_sigmoid_keras2' (x / 5 + 1/2, as in Keras 1 and 2). It must be 'tanh' for 'rnn_tanh' and
            'rnn_relu', and has no effect on them.
        recurrent_activation: Function of the other gates, one of the same names. It must be 'sigmoid' for
            the modes without other gates.
        cell_clip: The cell state of 'lstm' is clipped to [-cell_clip, cell_clip]; 0 for no clipping. The
            gradient of a clipped state is 0. This number and the next four must be 0 or at least 1.2e-38
            in size.
        proj_clip: The projected output is clipped to [-proj_clip, proj_clip] in the same way; 0 for
            no clipping.
        zoneout_h: Probability of zoneout of the hidden state of 'lstm' and 'gru', between 0 (no zoneout)
            and 1.
        zoneout_c: Probability of zoneout of the cell state of 'lstm', between 0 (no zoneout) and 1.
        layer_norm_epsilon: A positive number that layer_norm adds to each variance.
        is_training: Whether to prepare for gradients. If False, gradients need a second forward pass.
        time_major: Whether the first dimension of input and output is time; otherwise it is the batch.
        name: Name of the op in a graph.

    Returns:
        A LayerRNNOutput: output [T, B, S], 0 beyond the length of a sequence; the states after the last
        step of each sequence, output_h [B, S] and output_c [B, H] (a scalar 0 unless 'lstm'); and
        reserve_space, for the gradient.

    Raises:
        tf.errors.InvalidArgumentError: A shape, length or attribute is not as above.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import raw_ops
        >>> result = raw_ops.LayerRNN(
        ...     input=tf.ones([5, 4, 2]), input_h=tf.zeros([4, 3]), input_c=tf.zeros([4, 3]),
        ...     kernel=tf.ones([2, 4 * 3]), recurrent_kernel=tf.ones([3, 4 * 3]))
        >>> tuple(result.output.shape)
        (5, 4, 3)
    """
    raise NotImplementedError  # op() gives it a body


@op(LayerRNNBackpropOutput)
def LayerRNNBackprop(
    *,
    input: TensorLike,
    input_h: TensorLike,
    input_c: TensorLike | None,
    kernel: TensorLike,
    recurrent_kernel: TensorLike,
    bias: TensorLike | None = (),
    projection: TensorLike | None = (),
    peepholes: TensorLike | None = (),
    sequence_lengths: TensorLike | None = (),
    input_mask: TensorLike | None = (),
    recurrent_mask: TensorLike | None = (),
    output: TensorLike,
    output_h: TensorLike,
    output_c: TensorLike | None,
    output_backprop: TensorLike,
    output_h_backprop: TensorLike,
    output_c_backprop: TensorLike | None,
    reserve_space: TensorLike,
    layer_norm: TensorLike | None = (),
    seed: TensorLike | None = (),
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
) -> LayerRNNBackpropOutput:
    """Computes the gradient of LayerRNN. tf.GradientTape calls this function; users rarely need it.

    Args:
        input, input_h, input_c, kernel, recurrent_kernel, bias, projection, peepholes, sequence_lengths,
            input_mask, recurrent_mask, layer_norm, seed: As given to LayerRNN.
        output, output_backprop: The result of LayerRNN and its gradient, [T, B, S].
        output_h, output_h_backprop: The result and its gradient, [B, S].
        output_c, output_c_backprop: The result and its gradient, [B, H].
        reserve_space: As LayerRNN returned it with is_training=True.
        rnn_mode, activation, recurrent_activation, cell_clip, proj_clip, zoneout_h, zoneout_c,
            layer_norm_epsilon, time_major: As given to LayerRNN.
        name: Name of the op in a graph.

    Returns:
        A LayerRNNBackpropOutput of the gradients of input, input_h, input_c (a scalar 0 unless
        'lstm'), kernel, recurrent_kernel, bias, projection, peepholes and layer_norm.

    Raises:
        tf.errors.InvalidArgumentError: A shape does not fit the others, or reserve_space belongs to
            another call.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import raw_ops
        >>> state = tf.zeros([4, 3])
        >>> inputs = {"input": tf.ones([5, 4, 2]), "input_h": state, "input_c": state}
        >>> inputs |= {"kernel": tf.ones([2, 4 * 3]), "recurrent_kernel": tf.ones([3, 4 * 3])}
        >>> result = raw_ops.LayerRNN(**inputs)
        >>> gradients = raw_ops.LayerRNNBackprop(
        ...     **inputs, **result._asdict(), output_backprop=tf.ones([5, 4, 3]),
        ...     output_h_backprop=state, output_c_backprop=state)
        >>> tuple(gradients.kernel_backprop.shape)
        (2, 12)
    """
    raise NotImplementedError  # op() gives it a body
