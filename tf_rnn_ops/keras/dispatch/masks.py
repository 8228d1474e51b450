"""Runs sequences with any mask on ops that only support lengths.

A masked step does not change the state, so a sequence with masked steps gives the same states as a
sequence of only its valid steps. `MaskedSteps` moves the valid steps of each sequence to the front, for
the op with lengths, and then moves the outputs to their steps.
"""

import tensorflow as tf

from tf_rnn_ops.native.tf_internals import tracing
from tf_rnn_ops.plain.names import MASK_CONDITION


def as_booleans(mask: tf.Tensor, sequences: tf.Tensor, batch_axis: int = 0) -> tf.Tensor:
    """Converts a mask to bool [B, T].

    Args:
        mask: [B, T] or [B, T, 1]; True or nonzero for valid steps. A mask with one row applies to all
            rows.
        sequences: [B, T, I].
        batch_axis: 1 if both have time first.

    Returns:
        A bool tensor [B, T], or [T, B] with batch_axis=1.

    Raises:
        ValueError: The mask has another shape.
        tf.errors.InvalidArgumentError: The same, when a graph runs that does not know the shape.
    """
    mask = tf.cast(mask, tf.bool)
    if mask.shape.rank == 3 and mask.shape[2] in (None, 1):
        mask = tf.squeeze(mask, 2)
    if mask.shape.is_fully_defined() and mask.shape == sequences.shape[:2]:
        return mask
    if mask.shape.rank not in (None, 2):
        raise ValueError(
            f"mask must have two dimensions, or a third one of size 1, but its shape is {mask.shape}."
        )
    _refuse_known_sizes(mask.shape.with_rank(2), sequences.shape[:2], batch_axis)
    sizes, mask_sizes = tf.shape(sequences)[:2], tf.shape(mask)
    one_for_all = tf.constant([batch_axis == 0, batch_axis == 1]) & (mask_sizes == 1)
    fits = tf.reduce_all((mask_sizes == sizes) | one_for_all)
    check = tf.debugging.Assert(
        fits, ["mask must have the first two sizes of the input,", sizes, "but it has", mask_sizes]
    )
    with tf.control_dependencies([] if check is None else [check]):
        one_or_all_rows = (
            [sizes[0], mask_sizes[1]] if batch_axis == 0 else [mask_sizes[0], sizes[1]]
        )
        mask = tf.broadcast_to(mask, one_or_all_rows)
    # WHY: XLA skips the Assert, but rejects a stack of different shapes.
    mask = tf.stack([mask, tf.ones(sizes, tf.bool)])[0]
    mask.set_shape(sequences.shape[:2])
    return mask


def _refuse_known_sizes(mask_sizes: tf.TensorShape, sizes: tf.TensorShape, batch_axis: int) -> None:
    """Raises an error for wrong sizes of a mask, as far as the sizes are known."""
    for axis, (mask_size, size) in enumerate(zip(mask_sizes, sizes)):
        if (
            None not in (mask_size, size)
            and mask_size != size
            and (mask_size, axis) != (1, batch_axis)
        ):
            raise ValueError(
                f"mask must have the first two sizes of the input, {sizes}, but it has {mask_sizes}."
            )


def _count(mask: tf.Tensor) -> tf.Tensor:
    """The number of True values in each row of [B, T], up to each column, inclusive."""
    ones = tf.cast(mask, tf.int32)
    if mask.shape[1] is not None or not tracing.may_be_in_xla():
        return tf.cumsum(ones, axis=1)
    # WHY not cumsum: XLA computes it wrongly over a dynamic dimension.
    step = tf.range(tf.shape(mask)[1])
    return tf.reduce_sum(tf.where(step <= step[:, None], ones[:, None, :], 0), axis=2)


class MaskedSteps:
    """Moves the valid steps of each sequence to the front, for one mask and one direction of time.

    A step is a position in the order of processing: with go_backwards, step 0 is the last time.

    Note [Reversed rows]
        With go_backwards the valid steps are packed in the order of time, as without go_backwards, and
        then each sequence is reversed up to its length. The outputs are reversed in the same way. So both
        layers of a Bidirectional pack in the same way, and tf_rnn_ops._formats recognises the pair by this
        gather, whose indices are a ReverseSequence of 0, 1, 2, ...

    Note [Conditions of masks]
        The writer of ONNX replaces the conditions by its own nodes. It knows them by the end of their names: 'pack'
        moves valid steps to the front, and 'zero', 'before' and 'after' move outputs to their steps, where that of
        a masked time is 0, that of the time before or that of the time after. Apart from the predicate, the mask is
        the only input of type bool of a condition, and the sequences are the only input of three dimensions.

    Attributes:
        lengths: Number of valid steps of each sequence, int32 [B].
    """

    def __init__(
        self, mask: tf.Tensor, sequences: tf.Tensor, go_backwards: bool, zero_output_for_mask: bool
    ) -> None:
        """Prepares the indices.

        Args:
            mask: See as_booleans.
            sequences: [B, T, I], for its shape.
            go_backwards: Whether to process the last time first.
            zero_output_for_mask: Whether the output of a masked step is 0 rather than the previous
                output.
        """
        self._mask = as_booleans(mask, sequences)
        self._go_backwards = go_backwards
        self._zero = zero_output_for_mask
        # A number if the size is static, as converters of graphs need it.
        self._time = self._mask.shape[1] or tf.shape(self._mask)[1]
        self._count = _count(self._mask)
        self.lengths = tf.reduce_sum(tf.cast(self._mask, tf.int32), axis=1)
        self._prefix = tf.reduce_all(
            tf.equal(self._mask, tf.sequence_mask(self.lengths, maxlen=self._time))
        )
        if go_backwards:
            steps = tf.expand_dims(tf.range(self._time), 0)
            steps = tf.tile(steps, [tf.shape(self._mask)[0], 1])
            self._reversed = tf.reverse_sequence(steps, self.lengths, seq_axis=1, batch_axis=0)

    def pack(self, sequences: tf.Tensor) -> tf.Tensor:
        """Moves the valid steps of [B, T, I] to the front. The values behind them are arbitrary."""
        packed = tf.cond(
            self._prefix,
            lambda: tf.identity(sequences),
            lambda: tf.gather(sequences, self._valid_times(), batch_dims=1),
            name=f"{MASK_CONDITION}_pack",
        )
        return self._in_other_order(packed)

    def _in_other_order(self, packed: tf.Tensor) -> tf.Tensor:
        """Converts packed sequences from the order of time to the order of processing, or back."""
        if not self._go_backwards:
            return packed
        return tf.gather(packed, self._reversed, axis=1, batch_dims=1)

    def _valid_times(self) -> tf.Tensor:
        """The valid times of each sequence in order, [B, T]. The values behind them are arbitrary."""
        if tracing.may_be_in_xla():
            # WHY: XLA has no top_k of a dynamic size. The n-th valid step is the first step at which the
            # count reaches n. After the last valid step the search returns T.
            nth = tf.tile(tf.range(1, self._time + 1)[None], [tf.shape(self._count)[0], 1])
            return tf.minimum(tf.searchsorted(self._count, nth), self._time - 1)
        # WHY not tf.searchsorted: LiteRT and OpenVINO lack it. Each key occurs once in a row.
        early = tf.range(self._time, 0, -1)
        return tf.math.top_k(tf.where(self._mask, early + self._time, early), self._time).indices

    def unpack(self, packed: tf.Tensor, last: tf.Tensor) -> tf.Tensor:
        """Moves packed outputs to their steps.

        Args:
            packed: Outputs of the packed steps, [B, T, H], 0 beyond the lengths.
            last: The output of the last valid step of each sequence, [B, H]; see last_valid.

        Returns:
            [B, T, H] in the order of processing.
        """
        packed = self._in_other_order(packed)

        def gather() -> tf.Tensor:
            # The output of a masked time is the output of the previous valid time, or with go_backwards of
            # the next. WHY not tf.where for times without such an output: the step T - 1 of a sequence with
            # a masked time is behind the valid steps, so its output is 0.
            last_step = self._time - 1
            index = self._count - 1
            if self._zero:
                index = tf.where(self._mask, index, last_step)
            elif self._go_backwards:
                index = tf.where(self._mask, index, self._count)
            else:
                index = tf.where(index < 0, last_step, index)
            return tf.gather(packed, index, batch_dims=1)

        def prefix() -> tf.Tensor:
            if self._zero or self._go_backwards:
                return tf.identity(packed)
            return tf.where(tf.expand_dims(self._mask, 2), packed, tf.expand_dims(last, 1))

        masked = "zero" if self._zero else "after" if self._go_backwards else "before"
        spread = tf.cond(self._prefix, prefix, gather, name=f"{MASK_CONDITION}_{masked}")
        return tf.reverse(spread, [1]) if self._go_backwards else spread

    def last_valid(self, state: tf.Tensor) -> tf.Tensor:
        """The output of each sequence's last valid step, which is its final state; 0 without a valid step."""
        return tf.where(tf.expand_dims(self.lengths, 1) > 0, state, tf.zeros([], state.dtype))

    def last_step(self, state: tf.Tensor) -> tf.Tensor:
        """The output of the last step, the result with return_sequences=False."""
        if self._zero:
            # WHY not [:, -1:]: in a dynamic dimension XLA reads the end of the allocated memory.
            is_last = tf.range(self._time) == (0 if self._go_backwards else self._time - 1)
            last = tf.reduce_any(self._mask & is_last, axis=1, keepdims=True)
            return tf.where(last, state, tf.zeros([], state.dtype))
        return self.last_valid(state)

    def clear_padding(self, packed: tf.Tensor) -> tf.Tensor:
        """Sets the values behind the valid steps of packed sequences to 0."""
        valid = tf.sequence_mask(self.lengths, maxlen=self._time)
        return tf.where(tf.expand_dims(valid, 2), packed, tf.zeros([], packed.dtype))

    def at_last_valid(self, packed: tf.Tensor, initial: tf.Tensor) -> tf.Tensor:
        """The packed values of the last valid step, or `initial` for sequences without a valid step."""
        picked = tf.gather(packed, tf.maximum(self.lengths - 1, 0), axis=1, batch_dims=1)
        return tf.where(tf.expand_dims(self.lengths, 1) > 0, picked, initial)
