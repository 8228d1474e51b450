"""The computation of the stacks."""

from typing import TYPE_CHECKING, Any, Callable, Sequence

import keras
import tensorflow as tf

from tf_rnn_ops import raw_ops
from tf_rnn_ops.keras._internals.layers import untrack
from tf_rnn_ops.keras.dispatch import masks, shapes
from tf_rnn_ops.keras.dispatch.cells import can_keep_packed
from tf_rnn_ops.keras.layers import policies, stack_weights
from tf_rnn_ops.keras.layers.stack_options import NO_INT8, StackOptions
from tf_rnn_ops.native.tf_internals import tracing
from tf_rnn_ops.raw_ops import dropout_seeds

if TYPE_CHECKING:
    from tf_rnn_ops.raw_ops.types import TensorLike

_BAD_MASK = "The mask must be True first and then False in each sequence. Valid steps:"


class CudnnStack(StackOptions):
    """The base of the four stacks."""

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        policies.check_mode(self, NO_INT8)  # with a DTypePolicyMap only now known
        if len(input_shape) != 3 or input_shape[-1] is None:
            raise ValueError(
                "The input must have three dimensions, the last of a known size, but its shape is "
                f"{tuple(input_shape)}."
            )
        self.layout = self.make_layout(input_size=int(input_shape[-1]))
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: self.layout.input_size})
        self.params = self.add_weight(
            name="params",
            shape=(self.layout.size,),
            initializer=lambda shape, dtype: self._initial_params(dtype),
            regularizer=stack_weights.regularizer(self.layout, *self._of_weights("regularizer")),
            constraint=stack_weights.constraint(self.layout, *self._of_weights("constraint")),
        )
        if self.stateful:
            self._create_states(input_shape[self._batch_axis])

    def _initial_params(self, dtype: Any) -> tf.Tensor:
        of_weights = self._of_weights("initializer")
        return stack_weights.initial(self.layout, dtype, *of_weights, self.unit_forget_bias)

    def _of_weights(self, kind: str) -> tuple[Any, Any, Any]:
        """The initializers, regularizers or constraints of kernels, recurrent kernels and biases."""
        kernel, recurrent, bias = (
            getattr(self, f"{name}_{kind}") for name in ("kernel", "recurrent", "bias")
        )
        return kernel, recurrent, bias if self.use_bias else None

    def _create_states(self, batch: Any) -> None:
        if self.states is not None:
            self.reset_state()
            return
        if batch is None:
            raise ValueError(
                f"The batch size of the input of {self.name!r} must be known with stateful=True: "
                "give keras.Input a batch_size."
            )
        for name, size in zip(("_state_h", "_state_c"), self._state_sizes):
            with tf.init_scope():
                state = keras.Variable(
                    "zeros",
                    shape=self._state_shape(batch, size),
                    dtype=self.compute_dtype,
                    trainable=False,
                    name="rnn_state",
                )
            setattr(self, name, state)
            # As in Keras's layers, checkpoints have the state, but it is not a weight.
            untrack(self, state)

    @property
    def states(self) -> list[keras.Variable] | None:
        """The variables of stateful=True, shaped as initial_state; None until the layer is built."""
        states = [state for state in (self._state_h, self._state_c) if state is not None]
        return states or None

    def get_initial_state(self, batch_size: int | None) -> list[tf.Tensor]:
        """The states with which a call begins without initial_state: zeros.

        Args:
            batch_size: B.

        Returns:
            A list of tensors, shaped as initial_state.
        """
        return [
            tf.zeros(self._state_shape(batch_size, size), self.compute_dtype)
            for size in self._state_sizes
        ]

    def reset_state(self) -> None:
        """Sets the states that stateful=True keeps to 0."""
        for state in self.states or ():
            state.assign(tf.zeros(state.shape, state.dtype))

    def reset_states(self) -> None:
        """The same as reset_state()."""
        self.reset_state()

    @property
    def _state_sizes(self) -> list[int]:
        """S and, for an LSTM, H."""
        return [self.hidden_size, self.units][: 2 if self.rnn_mode == "lstm" else 1]

    def _state_shape(self, batch: Any, size: int) -> list[Any]:
        count = self.num_layers * self.num_directions
        return [count, batch, size] if self.time_major else [batch, count, size]

    def call(
        self,
        sequences: "TensorLike",
        initial_state: "TensorLike | Sequence[TensorLike] | None" = None,
        mask: "TensorLike | None" = None,
        training: bool | None = None,
        sequence_lengths: "TensorLike | None" = None,
        dropout_seed: "TensorLike | None" = None,
        sequences_mask: "TensorLike | None" = None,
    ) -> Any:
        """Runs the stack.

        Args:
            sequences: [B, T, I], or [T, B, I] if time_major.
            initial_state: None for zeros; otherwise the hidden states [B, L*D, S] and, for an LSTM,
                the cell states [B, L*D, H], with the first two dimensions swapped if time_major.
                State k*D + d belongs to layer k and direction d.
            mask: Booleans [B, T] ([T, B] if time_major), True first and then False in each sequence; a
                third dimension of size 1 may follow.
            training: Whether to apply dropout.
            sequence_lengths: Integers [B] in [0, T]: the number of valid steps of each sequence. They
                override the mask. Their type may also be float32 or float64.
            dropout_seed: Integers [2] that select the dropped elements of this call. None uses the next
                seed of seed_generator. tf.recompute_grad calls a function again in backward, so draw the
                seed outside of the function: seed_generator.next().
            sequences_mask: Keras sets it to the mask of the previous layer in calls with several tensors.

        Returns:
            The output: [B, T, D*S] ([T, B, D*S] if time_major) with return_sequences, 0 beyond the length
            of a sequence; otherwise [B, D*S], the last layer's final hidden states, forward and backward.
            With return_state a tuple of the output and the final states, which are shaped as
            initial_state.

        Raises:
            ValueError: sequences are a RaggedTensor, initial_state has the wrong number of tensors or a
                wrong shape, sequence_lengths
                have a wrong type or shape, the mask has another shape or is not True first and then False,
                or the batch size does not fit the states of stateful=True.
            tf.errors.InvalidArgumentError: sequences are not numbers, or a length is not in [0, T]; or,
                when a graph runs, the mask has another shape or is not True first and then False. The
                message shows a length of -1 for a length with a fraction, and under XLA for a sequence
                with a wrong mask.
        """
        if isinstance(sequences, tf.RaggedTensor):
            raise ValueError(
                f"The input of {self.name!r} must be a dense tensor, but it is a RaggedTensor: give "
                "sequences.to_tensor(), and sequence_lengths=sequences.row_lengths()."
            )
        inputs = self._in_compute_dtype(tf.convert_to_tensor(sequences))
        if self.stateful:
            self._check_batch(inputs.shape[self._batch_axis])
        batch, time = _size(inputs, self._batch_axis), _size(inputs, self._time_axis)
        if sequence_lengths is None:
            mask = sequences_mask if mask is None else mask
            sequence_lengths = self._lengths_from_mask(mask, inputs, batch, time)
        else:
            sequence_lengths = self._as_lengths(sequence_lengths, inputs)
        if self.go_backwards:
            inputs = self._reverse_valid(inputs, sequence_lengths)
        if initial_state is None and self.stateful:
            initial_state = self.states
        input_h, input_c = self._initial_states(initial_state, inputs, batch)
        tensors = {
            "input": inputs,
            "input_h": input_h,
            "input_c": input_c,
            "sequence_lengths": sequence_lengths,
        }
        result = self._run(tensors, dropout_seed, bool(training))
        if self.stateful:
            for state, new in zip(self.states or (), (result.output_h, result.output_c)):
                state.assign(new)
        output = self._output(result, sequence_lengths)
        if not self.return_state:
            return output
        if self.rnn_mode == "lstm":
            return output, result.output_h, result.output_c
        return output, result.output_h

    def _output(self, result: Any, lengths: tf.Tensor) -> tf.Tensor:
        """The first output of a call, from the results of the op."""
        if not self.return_sequences:
            return self._last_output(result.output_h)
        if not self.go_backwards:
            return result.output
        # As in Keras, step t of the input becomes step T - 1 - t of the output.
        return tf.reverse(self._reverse_valid(result.output, lengths), [self._time_axis])

    @property
    def _batch_axis(self) -> int:
        return 1 if self.time_major else 0

    @property
    def _time_axis(self) -> int:
        return 0 if self.time_major else 1

    def _check_batch(self, batch: Any) -> None:
        if self.states is None:
            raise ValueError(
                f"stateful of {self.name!r} must be True when the layer is built, but it has no states."
            )
        expected = self.states[0].shape[self._batch_axis]
        if batch not in (None, expected):
            raise ValueError(
                f"The input of {self.name!r} must have a batch of {expected}, as the states that "
                f"stateful=True keeps, but its batch is {batch}."
            )

    def _reverse_valid(self, sequences: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
        """Reverses the valid steps of each sequence. The padding does not move."""
        batch_axis, time_axis = self._batch_axis, self._time_axis
        # The op reports lengths out of range, with the name of the argument. WHY not clip_by_value: see
        # MaskedSteps.unpack.
        lengths = tf.minimum(tf.maximum(lengths, 0), tf.shape(sequences)[time_axis])
        return tf.reverse_sequence(sequences, lengths, seq_axis=time_axis, batch_axis=batch_axis)

    @property
    def _network(self) -> dict[str, Any]:
        """The attributes that all ops of the network have in common."""
        return {
            "rnn_mode": self.rnn_mode,
            "input_mode": self.input_mode,
            "direction": self.direction,
            "num_proj": self.num_proj,
        }

    def _params(self) -> tuple[tf.Tensor, tf.Tensor]:
        """The params in the compute type. With use_bias=False no gradient reaches the biases."""
        params = tf.cast(tf.convert_to_tensor(self.params), self.compute_dtype)
        if self.use_bias or not tracing.may_record():
            return params, params
        return params, stack_weights.without_bias_gradient(self.layout, params)

    def op_of_call(self, training: bool | None) -> str:
        """The name of the op that runs a call; see keras/dispatch/decision.py."""
        if training:
            return "CudnnRNNV3" if self.seed_generator is None else "StatelessCudnnRNNV3"
        return "CudnnRNNV3Packed" if can_keep_packed(self) else "CudnnRNNV3"

    def _run(self, tensors: dict[str, tf.Tensor], seed: Any, is_training: bool) -> Any:
        params, tensors["params"] = self._params()
        arguments = {**tensors, **self._network, "time_major": self.time_major}
        op = self.op_of_call(is_training)
        if op == "CudnnRNNV3":
            return raw_ops.CudnnRNNV3(**arguments, is_training=is_training)
        if op == "StatelessCudnnRNNV3":
            seed = (
                tf.cast(seed, tf.int64)
                if seed is not None
                else dropout_seeds.draw(self.seed_generator)
            )
            return raw_ops.StatelessCudnnRNNV3(**arguments, seed=seed, dropout=self.dropout)
        packed = raw_ops.PackCudnnRNNParams(
            params=params,
            num_layers=self.num_layers,
            num_units=self.units,
            input_size=self.layout.input_size,
            keep=True,
            **self._network,
        )
        return raw_ops.CudnnRNNV3Packed(**arguments, packed=packed)

    def rematerialized_call(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Makes keras.RematScope drop the same units in the second computation; see keras.Operation."""
        seeds = [] if self.seed_generator is None else [self.seed_generator]
        return super().rematerialized_call(dropout_seeds.replayed(fn, seeds), *args, **kwargs)

    def _in_compute_dtype(self, inputs: tf.Tensor) -> tf.Tensor:
        if not shapes.is_numeric(inputs.dtype):
            raise tf.errors.InvalidArgumentError(
                None, None, f"sequences must be numbers, but their type is {inputs.dtype.name}."
            )
        return tf.cast(inputs, self.compute_dtype)

    def _lengths_from_mask(
        self, mask: tf.Tensor | None, inputs: tf.Tensor, batch: Any, time: Any
    ) -> tf.Tensor:
        if mask is None:
            return tf.fill([batch], time)
        mask = masks.as_booleans(mask, inputs, batch_axis=self._batch_axis)
        mask = tf.transpose(mask) if self.time_major else mask
        lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
        padded_right = tf.reduce_all(tf.equal(mask, tf.sequence_mask(lengths, time)), axis=1)
        if tracing.may_be_in_xla():
            # WHY: XLA skips an Assert, but the op rejects -1 under XLA too.
            return tf.where(padded_right, lengths, -1)
        if tf.executing_eagerly():
            if not tf.reduce_all(padded_right):
                raise ValueError(f"{_BAD_MASK} {lengths.numpy().tolist()}.")
            return lengths
        check = tf.debugging.Assert(tf.reduce_all(padded_right), [_BAD_MASK, lengths])
        with tf.control_dependencies([check]):
            return tf.identity(lengths)

    def _as_lengths(self, lengths: Any, inputs: tf.Tensor) -> tf.Tensor:
        """The argument sequence_lengths, in the op's type."""
        lengths = tf.convert_to_tensor(lengths)
        if lengths.dtype in (tf.float32, tf.float64):
            # The default type of keras.Input is float32.
            lengths = tf.where(lengths == tf.floor(lengths), lengths, -1)
        elif not lengths.dtype.is_integer:
            # Keras casts float inputs of models to float16 or bfloat16, which rounds large integers.
            raise ValueError(
                f"sequence_lengths of {self.name!r} must be integers, of any integer type or of float32 or "
                f"float64, but their type is {lengths.dtype.name}."
            )
        expected = [inputs.shape[self._batch_axis]]
        if not lengths.shape.is_compatible_with(expected):
            raise ValueError(
                f"sequence_lengths must have shape {expected}, but its shape is "
                f"{list(lengths.shape)}."
            )
        if lengths.dtype == tf.int32:
            return lengths
        # A cast would wrap large values. The op rejects both ends of this range.
        wide = tf.cast(lengths, tf.float64 if lengths.dtype.is_floating else tf.int64)
        lengths = tf.clip_by_value(wide, -1, tf.int32.max)
        return tf.cast(lengths, tf.int32)

    def _initial_states(
        self, states: Any, inputs: tf.Tensor, batch: Any
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns input_h and input_c of the op."""
        sizes = self._state_sizes
        if states is None:
            states = [tf.zeros(self._state_shape(batch, size), inputs.dtype) for size in sizes]
        elif not isinstance(states, (list, tuple)):
            states = [states]
        if len(states) != len(sizes):
            raise ValueError(
                f"initial_state of {type(self).__name__} must be {len(sizes)} tensor(s), but it is "
                f"{len(states)}."
            )
        dtype = inputs.dtype
        states = [tf.cast(tf.convert_to_tensor(s, dtype_hint=dtype), dtype) for s in states]
        # The op derives the numbers of layers and units from the states, so their shapes must be right.
        rows = inputs.shape[self._batch_axis]
        for k, (state, size) in enumerate(zip(states, sizes)):
            expected = self._state_shape(rows, size)
            if not tf.TensorShape(state.shape).is_compatible_with(expected):
                raise ValueError(
                    f"initial_state[{k}] must have shape {expected}, but its shape is "
                    f"{list(state.shape)}."
                )
        return states[0], states[1] if len(states) == 2 else tf.zeros([], inputs.dtype)

    def _last_output(self, output_h: tf.Tensor) -> tf.Tensor:
        last = -self.num_directions
        if self.time_major:
            output_h = tf.transpose(output_h[last:], [1, 0, 2])
        else:
            output_h = output_h[:, last:]
        return tf.reshape(output_h, [-1, self.num_directions * self.hidden_size])

    def quantize(
        self, mode: str | None = None, type_check: bool = True, config: Any = None
    ) -> None:
        """Raises NotImplementedError, which Keras shows as a warning; see keras.layers.Layer."""
        policies.withdraw(self)
        raise NotImplementedError(
            f"The stack {self.name!r} cannot be quantized: {NO_INT8}. "
            "Give layers of Keras its weights with tf_rnn_ops.params.to_keras, and quantize these."
        )

    def compute_output_shape(
        self, sequences_shape: tuple[int | None, ...], initial_state_shape: Any = None
    ) -> Any:
        sequences_shape = tuple(sequences_shape)
        batch = sequences_shape[self._batch_axis]
        size = self.num_directions * self.hidden_size
        output = (*sequences_shape[:2], size) if self.return_sequences else (batch, size)
        if not self.return_state:
            return output
        return (output, *(tuple(self._state_shape(batch, size)) for size in self._state_sizes))

    def compute_mask(self, inputs: Any, previous_mask: Any) -> Any:
        mask = keras.tree.flatten(previous_mask)[0] if previous_mask is not None else None
        output_mask = mask if self.return_sequences else None
        if not self.return_state:
            return output_mask
        return (output_mask, *[None] * (2 if self.rnn_mode == "lstm" else 1))


def _size(tensor: tf.Tensor, axis: int) -> Any:
    """A size: a number if it is known, which saves two ops in an eager call, otherwise a tensor."""
    known = tensor.shape[axis]
    return tf.shape(tensor)[axis] if known is None else known
