"""BlockLSTMV2 and its gradient. See tf_rnn_ops.raw_ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tf_rnn_ops.raw_ops.op import op

if TYPE_CHECKING:
    import tensorflow as tf

    from tf_rnn_ops.raw_ops.types import TensorLike


class BlockLSTMV2Output(NamedTuple):
    """The results of BlockLSTMV2."""

    i: tf.Tensor
    cs: tf.Tensor
    f: tf.Tensor
    o: tf.Tensor
    ci: tf.Tensor
    co: tf.Tensor
    h: tf.Tensor


class BlockLSTMGradV2Output(NamedTuple):
    """The results of BlockLSTMGradV2."""

    x_grad: tf.Tensor
    cs_prev_grad: tf.Tensor
    h_prev_grad: tf.Tensor
    w_grad: tf.Tensor
    wci_grad: tf.Tensor
    wcf_grad: tf.Tensor
    wco_grad: tf.Tensor
    b_grad: tf.Tensor


@op(BlockLSTMV2Output)
def BlockLSTMV2(
    *,
    seq_len_max: TensorLike,
    x: TensorLike,
    cs_prev: TensorLike,
    h_prev: TensorLike,
    w: TensorLike,
    wci: TensorLike,
    wcf: TensorLike,
    wco: TensorLike,
    b: TensorLike,
    cell_clip: float = 0,
    use_peephole: bool = False,
    name: str | None = None,
) -> BlockLSTMV2Output:
    """Runs one LSTM layer over a batch of sequences and returns every intermediate value.

    For each step t, with s the logistic function, * element by element, cs[-1] = cs_prev, h[-1] = h_prev
    and [i~, f~, ci~, o~] the four blocks of H columns of [x[t], h[t-1]] w + b:

        i[t]  = s(i~ + wci * cs[t-1])        without use_peephole, no terms with wci, wcf and wco
        f[t]  = s(f~ + wcf * cs[t-1])
        ci[t] = tanh(ci~)
        cs[t] = ci[t] * i[t] + cs[t-1] * f[t], then clipped if cell_clip > 0
        o[t]  = s(o~ + wco * cs[t])
        co[t] = tanh(cs[t])
        h[t]  = co[t] * o[t]

    Source of the maths: Hochreiter and Schmidhuber (1997), Gers et al. (2000), peepholes after Gers et al.
    (2002), clipping after Sak et al. (2014); gate order as in TensorFlow's op. Arithmetic is in float32 for
    bfloat16 and half.

    Differentiable in every input except seq_len_max. Only the gradients of cs and h count. The op treats
    the gradients of the other outputs as 0, as in TensorFlow. The gradient ignores cell_clip.

    Args:
        seq_len_max: An int64 scalar in [0, T]: the number of steps to run.
        x: [T, B, I], of type bfloat16, half, float32 or float64.
        cs_prev: Initial cell states, [B, H].
        h_prev: Initial hidden states, [B, H].
        w: [I + H, 4*H], with rows for x, then for h, and columns for the gates i, f, ci, o.
        wci, wcf, wco: Peephole weights of the input, forget and output gates, [H].
        b: [4*H], in the order of the columns of w.
        cell_clip: The cell state is clipped to [-cell_clip, cell_clip]; 0 or less means no clipping.
        use_peephole: Whether to use wci, wcf and wco.
        name: Name of the op in a graph.

    Returns:
        A BlockLSTMV2Output of seven tensors [T, B, H]: the input gates i, cell states cs, forget gates f,
        output gates o, cell inputs ci, co = tanh(cs), and hidden states h. All are 0 from step seq_len_max
        on.

    Raises:
        tf.errors.InvalidArgumentError: A shape or seq_len_max is not as above.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import raw_ops
        >>> result = raw_ops.BlockLSTMV2(
        ...     seq_len_max=5, x=tf.ones([5, 4, 2]), cs_prev=tf.zeros([4, 3]),
        ...     h_prev=tf.zeros([4, 3]), w=tf.ones([2 + 3, 4 * 3]), wci=tf.zeros([3]),
        ...     wcf=tf.zeros([3]), wco=tf.zeros([3]), b=tf.zeros([4 * 3]))
        >>> tuple(result.h.shape)
        (5, 4, 3)
    """
    raise NotImplementedError  # op() gives it a body


@op(BlockLSTMGradV2Output)
def BlockLSTMGradV2(
    *,
    seq_len_max: TensorLike,
    x: TensorLike,
    cs_prev: TensorLike,
    h_prev: TensorLike,
    w: TensorLike,
    wci: TensorLike,
    wcf: TensorLike,
    wco: TensorLike,
    b: TensorLike,
    i: TensorLike,
    cs: TensorLike,
    f: TensorLike,
    o: TensorLike,
    ci: TensorLike,
    co: TensorLike,
    h: TensorLike,
    cs_grad: TensorLike,
    h_grad: TensorLike,
    use_peephole: bool,
    name: str | None = None,
) -> BlockLSTMGradV2Output:
    """Computes the gradient of BlockLSTMV2. tf.GradientTape calls this function; users rarely need it.

    Args:
        seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b: As given to BlockLSTMV2.
        i, cs, f, o, ci, co, h: As BlockLSTMV2 returned them, [T, B, H].
        cs_grad, h_grad: Gradients of cs and h at every step, [T, B, H].
        use_peephole: As given to BlockLSTMV2.
        name: Name of the op in a graph.

    Returns:
        A BlockLSTMGradV2Output of the gradients of x, cs_prev, h_prev, w, wci, wcf, wco and b, with
        their shapes. The gradients of the peepholes are 0 without use_peephole.

    Raises:
        tf.errors.InvalidArgumentError: A shape does not fit the others, or seq_len_max is outside
            [0, T].

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import raw_ops
        >>> inputs = {"seq_len_max": 5, "x": tf.ones([5, 4, 2]), "w": tf.ones([2 + 3, 4 * 3])}
        >>> inputs |= {"cs_prev": tf.zeros([4, 3]), "h_prev": tf.zeros([4, 3]), "b": tf.zeros([12])}
        >>> inputs |= dict.fromkeys(["wci", "wcf", "wco"], tf.zeros([3]))
        >>> result = raw_ops.BlockLSTMV2(**inputs)
        >>> gradients = raw_ops.BlockLSTMGradV2(
        ...     **inputs, **result._asdict(), cs_grad=tf.zeros([5, 4, 3]), h_grad=tf.ones([5, 4, 3]),
        ...     use_peephole=False)
        >>> tuple(gradients.w_grad.shape)
        (5, 12)
    """
    raise NotImplementedError  # op() gives it a body
