"""Layers that run a whole recurrent stack, all layers and directions, in one CudnnRNNV3."""

import functools

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops import _seeds, raw_ops
from tf_rnn_ops.keras import _eligibility, _masks, _stack_weights
from tf_rnn_ops.keras._fused import can_keep_packed
from tf_rnn_ops.params import Layout

_PACKAGE = "tf_rnn_ops"
# Names in files of weights.
_SEED_STATE = "seed_state"
_NETWORK = "network"


class _CudnnStack(keras.layers.Layer):
    """What the four layers share; CudnnLSTM explains the arguments."""

    rnn_mode: str  # set by the classes below

    def __init__(
        self,
        units,
        *,
        num_layers=1,
        direction="unidirectional",
        dropout=0.0,
        input_mode="linear_input",
        num_proj=0,
        return_sequences=False,
        return_state=False,
        time_major=False,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        unit_forget_bias=True,
        use_bias=True,
        kernel_regularizer=None,
        recurrent_regularizer=None,
        bias_regularizer=None,
        kernel_constraint=None,
        recurrent_constraint=None,
        bias_constraint=None,
        go_backwards=False,
        stateful=False,
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if not isinstance(units, (int, np.integer)) or units < 1:
            raise ValueError(f"units must be a positive integer, but it is {units!r}.")
        self.units = int(units)
        self.num_layers = num_layers
        self.direction = direction
        self.dropout = float(dropout)
        if not 0 <= self.dropout <= 1:
            raise ValueError(f"dropout must be in [0, 1], but it is {dropout}.")
        self.input_mode = input_mode
        self.num_proj = num_proj
        # The size of the input is not known yet; this one is legal with every input_mode.
        self._make_layout(input_size=self.units)
        self.return_sequences = bool(return_sequences)
        self.return_state = bool(return_state)
        self.time_major = bool(time_major)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.recurrent_initializer = keras.initializers.get(recurrent_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.unit_forget_bias = bool(unit_forget_bias)
        self.use_bias = bool(use_bias)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.recurrent_regularizer = keras.regularizers.get(recurrent_regularizer)
        self.bias_regularizer = keras.regularizers.get(bias_regularizer)
        self.kernel_constraint = keras.constraints.get(kernel_constraint)
        self.recurrent_constraint = keras.constraints.get(recurrent_constraint)
        self.bias_constraint = keras.constraints.get(bias_constraint)
        self.go_backwards = bool(go_backwards)
        self.stateful = bool(stateful)
        self._state_h = self._state_c = None
        self.seed = _seeds.checked(seed)
        # Without dropout between layers there is no state.
        drops = self.dropout > 0 and self.num_layers > 1
        self.seed_generator = _seeds.generator(self.seed) if drops else None
        if drops:  # tf.train.Checkpoint does not look into generators
            self._seed_state = self.seed_generator.state.value
        self.supports_masking = True
        self.supports_jit = _eligibility.xla_reason() is None
        self.input_spec = keras.layers.InputSpec(ndim=3)

    @property
    def num_directions(self):
        """D: 1 or 2."""
        return 2 if self.direction == "bidirectional" else 1

    @property
    def hidden_size(self):
        """S: the size of a hidden state."""
        return self.num_proj or self.units

    def build(self, input_shape):
        if len(input_shape) != 3 or input_shape[-1] is None:
            raise ValueError(
                "The input must have three dimensions, the last of a known size, but its shape is "
                f"{tuple(input_shape)}."
            )
        self.layout = self._make_layout(input_size=int(input_shape[-1]))
        self.params = self.add_weight(
            name="params",
            shape=(self.layout.size,),
            initializer=lambda shape, dtype: self._initial_params(dtype),
            regularizer=_stack_weights.regularizer(
                self.layout,
                self.kernel_regularizer,
                self.recurrent_regularizer,
                self.bias_regularizer if self.use_bias else None,
            ),
            constraint=_stack_weights.constraint(
                self.layout,
                self.kernel_constraint,
                self.recurrent_constraint,
                self.bias_constraint if self.use_bias else None,
            ),
        )
        if self.stateful:
            self._create_states(input_shape[1 if self.time_major else 0])

    def _make_layout(self, input_size):
        return Layout(
            self.rnn_mode,
            self.num_layers,
            self.units,
            input_size,
            input_mode=self.input_mode,
            direction=self.direction,
            num_proj=self.num_proj,
        )

    def _initial_params(self, dtype):
        return _stack_weights.initial(
            self.layout,
            dtype,
            self.kernel_initializer,
            self.recurrent_initializer,
            self.bias_initializer if self.use_bias else None,
            self.unit_forget_bias,
        )

    def _create_states(self, batch):
        if self.states is not None:
            self.reset_state()
            return
        if batch is None:
            raise ValueError(
                f"The batch size of the input of {self.name!r} must be known with stateful=True: "
                "give keras.Input a batch_size."
            )
        # Variables of TensorFlow, since Keras does not count states as weights either.
        with tf.init_scope():
            zeros = [
                tf.zeros(self._state_shape(batch, size), self.compute_dtype)
                for size in self._state_sizes
            ]
            self._state_h = tf.Variable(zeros[0], trainable=False)
            self._state_c = tf.Variable(zeros[1], trainable=False) if len(zeros) == 2 else None

    @property
    def states(self):
        """The variables of stateful=True, shaped as initial_state; None until the layer is built."""
        if self._state_h is None:
            return None
        return [self._state_h] if self._state_c is None else [self._state_h, self._state_c]

    def reset_state(self):
        """Sets the states that stateful=True keeps to 0."""
        for state in self.states or ():
            state.assign(tf.zeros_like(state))

    def reset_states(self):
        """As reset_state."""
        self.reset_state()

    @property
    def _state_sizes(self):
        """S and, for an LSTM, H."""
        return [self.hidden_size, self.units][: 2 if self.rnn_mode == "lstm" else 1]

    def _state_shape(self, batch, size):
        count = self.num_layers * self.num_directions
        return [count, batch, size] if self.time_major else [batch, count, size]

    def call(
        self,
        inputs,
        initial_state=None,
        sequence_lengths=None,
        mask=None,
        training=None,
        dropout_seed=None,
    ):
        """Runs the stack.

        Args:
            inputs: [B, T, I], or [T, B, I] if time_major.
            initial_state: None for zeros; otherwise the hidden states [B, L*D, S] and, for an LSTM,
                the cell states [B, L*D, H], with the first two dimensions swapped if time_major.
                State k*D + d belongs to layer k and direction d.
            sequence_lengths: Integers [B] in [0, T]: valid steps of each row. Overrides the mask.
            mask: Booleans [B, T] ([T, B] if time_major), True first and then False in each row; a
                third dimension of size 1 may follow.
            training: Whether to drop out.
            dropout_seed: Integers [2] that select what this call drops. None takes the next of
                seed_generator. In tf.recompute_grad, which calls a function once more in backward,
                draw it outside: seed_generator.next().

        Returns:
            The output: [B, T, D*S] ([T, B, D*S] if time_major) with return_sequences, 0 beyond a
            row's length; otherwise [B, D*S], the last layer's final hidden states, forward and
            backward. With return_state a tuple of it and the final states, shaped as initial_state.

        Raises:
            ValueError: initial_state has the wrong number of tensors or a wrong shape.
            tf.errors.InvalidArgumentError: inputs are no numbers, a length is not in [0, T], or the
                mask has another shape or is not True first and then False.
        """
        if mask is None:
            # Keras fills in `mask` only for calls with a single tensor.
            mask = getattr(inputs, "_keras_mask", None)
        inputs = self._in_compute_dtype(inputs)
        batch = tf.shape(inputs)[1 if self.time_major else 0]
        time = tf.shape(inputs)[0 if self.time_major else 1]
        if sequence_lengths is None:
            sequence_lengths = self._lengths_from_mask(mask, inputs, batch, time)
        sequence_lengths = tf.cast(sequence_lengths, tf.int32)
        if self.go_backwards:
            inputs = self._reverse_valid(inputs, sequence_lengths)
        training = bool(training)
        if initial_state is None and self.stateful:
            initial_state = self.states
        input_h, input_c = self._initial_states(initial_state, inputs, batch)
        tensors = {
            "input": inputs,
            "input_h": input_h,
            "input_c": input_c,
            "params": tf.convert_to_tensor(self.params),
            "sequence_lengths": sequence_lengths,
        }
        result = self._train(tensors, dropout_seed) if training else self._infer(tensors)
        if self.stateful:
            for state, new in zip(self.states, (result.output_h, result.output_c)):
                state.assign(new)
        if not self.return_sequences:
            output = self._last_output(result.output_h)
        elif self.go_backwards:
            # As in Keras, step t of the input is step T - 1 - t of the output.
            output = self._reverse_valid(result.output, sequence_lengths)
            output = tf.reverse(output, [0 if self.time_major else 1])
        else:
            output = result.output
        if not self.return_state:
            return output
        if self.rnn_mode == "lstm":
            return output, result.output_h, result.output_c
        return output, result.output_h

    def _reverse_valid(self, sequences, lengths):
        """Each row with its valid steps the other way round, and its padding where it was."""
        batch_axis = 1 if self.time_major else 0
        return tf.reverse_sequence(
            sequences, lengths, seq_axis=1 - batch_axis, batch_axis=batch_axis
        )

    @property
    def _network(self):
        """The attributes that all ops of the network have."""
        return {
            "rnn_mode": self.rnn_mode,
            "input_mode": self.input_mode,
            "direction": self.direction,
            "num_proj": self.num_proj,
        }

    def _train(self, tensors, seed):
        if not self.use_bias:
            tensors["params"] = _stack_weights.without_bias_gradient(self.layout, tensors["params"])
        if self.seed_generator is None:
            return raw_ops.CudnnRNNV3(**tensors, **self._network, time_major=self.time_major)
        seed = _seeds.draw(self.seed_generator) if seed is None else tf.cast(seed, tf.int64)
        return raw_ops.StatelessCudnnRNNV3(
            **tensors,
            **self._network,
            seed=seed,
            dropout=self.dropout,
            time_major=self.time_major,
        )

    def rematerialized_call(self, fn, *args, **kwargs):
        """Lets keras.RematScope compute again with the same seed; see keras.Operation."""
        drops = self.seed_generator is not None and kwargs.get("training")
        if drops and "dropout_seed" not in kwargs:
            seed = _seeds.draw(self.seed_generator)
            fn = functools.partial(fn, dropout_seed=seed)
        return super().rematerialized_call(fn, *args, **kwargs)

    def _infer(self, tensors):
        if not can_keep_packed(self):
            return raw_ops.CudnnRNNV3(
                **tensors, **self._network, is_training=False, time_major=self.time_major
            )
        packed = raw_ops.PackCudnnRNNParams(
            params=tensors["params"],
            num_layers=self.num_layers,
            num_units=self.units,
            input_size=self.layout.input_size,
            keep=True,
            **self._network,
        )
        return raw_ops.CudnnRNNV3Packed(
            **tensors, **self._network, packed=packed, time_major=self.time_major
        )

    def _in_compute_dtype(self, inputs):
        if not _eligibility.is_numeric(inputs.dtype):
            raise tf.errors.InvalidArgumentError(
                None, None, f"inputs must be numbers, but their type is {inputs.dtype.name}."
            )
        return tf.cast(inputs, self.compute_dtype)

    def _lengths_from_mask(self, mask, inputs, batch, time):
        if mask is None:
            return tf.fill([batch], time)
        mask = _masks.as_booleans(mask, inputs, batch_axis=1 if self.time_major else 0)
        mask = tf.transpose(mask) if self.time_major else mask
        lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
        padded_right = tf.reduce_all(tf.equal(mask, tf.sequence_mask(lengths, time)))
        check = tf.debugging.Assert(
            padded_right,
            ["The mask must be True first and then False in each row; lengths:", lengths],
        )
        with tf.control_dependencies([check] if check is not None else []):
            return tf.identity(lengths)

    def _initial_states(self, states, inputs, batch):
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
        # From a state of another size the op would read another number of layers or units.
        rows = inputs.shape[1 if self.time_major else 0]
        for k, (state, size) in enumerate(zip(states, sizes)):
            expected = self._state_shape(rows, size)
            if not tf.TensorShape(state.shape).is_compatible_with(expected):
                raise ValueError(
                    f"initial_state[{k}] must have shape {expected}, but its shape is "
                    f"{list(state.shape)}."
                )
        states = [tf.cast(state, inputs.dtype) for state in states]
        return states[0], states[1] if len(states) == 2 else tf.zeros([], inputs.dtype)

    def _last_output(self, output_h):
        last = -self.num_directions
        if self.time_major:
            output_h = tf.transpose(output_h[last:], [1, 0, 2])
        else:
            output_h = output_h[:, last:]
        return tf.reshape(output_h, [-1, self.num_directions * self.hidden_size])

    def save_own_variables(self, store):
        super().save_own_variables(store)
        # Keras does not save the states of generators.
        if self.seed_generator is not None:
            store[_SEED_STATE] = self.seed_generator.state
        if self.built:
            store[_NETWORK] = np.frombuffer(_description(self.layout).encode(), np.uint8)

    def load_own_variables(self, store):
        found = {name: store[name] for name in store.keys()}
        seed_state, network = found.pop(_SEED_STATE, None), found.pop(_NETWORK, None)
        if network is not None and self.built:
            saved, own = bytes(np.asarray(network)).decode(), _description(self.layout)
            if saved != own:
                raise ValueError(
                    f"The saved weights are of a network with {saved}, but the layer "
                    f"{self.name!r} has {own}."
                )
        super().load_own_variables(found)
        if self.seed_generator is not None and seed_state is not None:
            self.seed_generator.state.assign(seed_state)

    def compute_output_shape(self, input_shape):
        input_shape = tuple(input_shape)
        batch = input_shape[1 if self.time_major else 0]
        size = self.num_directions * self.hidden_size
        output = (*input_shape[:2], size) if self.return_sequences else (batch, size)
        if not self.return_state:
            return output
        return (output, *(tuple(self._state_shape(batch, size)) for size in self._state_sizes))

    def compute_mask(self, inputs, previous_mask):
        mask = keras.tree.flatten(previous_mask)[0] if previous_mask is not None else None
        output_mask = mask if self.return_sequences else None
        if not self.return_state:
            return output_mask
        return (output_mask, *[None] * (2 if self.rnn_mode == "lstm" else 1))

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "num_layers": self.num_layers,
            "direction": self.direction,
            "dropout": self.dropout,
            "input_mode": self.input_mode,
            "num_proj": self.num_proj,
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
            "time_major": self.time_major,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "recurrent_initializer": keras.initializers.serialize(self.recurrent_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "unit_forget_bias": self.unit_forget_bias,
            "use_bias": self.use_bias,
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
            "recurrent_regularizer": keras.regularizers.serialize(self.recurrent_regularizer),
            "bias_regularizer": keras.regularizers.serialize(self.bias_regularizer),
            "kernel_constraint": keras.constraints.serialize(self.kernel_constraint),
            "recurrent_constraint": keras.constraints.serialize(self.recurrent_constraint),
            "bias_constraint": keras.constraints.serialize(self.bias_constraint),
            "go_backwards": self.go_backwards,
            "stateful": self.stateful,
            "seed": _seeds.to_config(self.seed),
        }

    @classmethod
    def from_converted(cls, converted, **options):
        """Creates a layer with the weights of another framework.

        Args:
            converted: What tf_rnn_ops.params.from_keras, from_torch and their siblings return: a
                layout and a buffer.
            **options: More arguments of the layer, such as return_sequences.

        Returns:
            The layer, which is built.

        Raises:
            ValueError: The weights are of another kind of cell, or an option contradicts them.
        """
        layout, params = converted
        if layout.rnn_mode != cls.rnn_mode:
            raise ValueError(
                f"The weights are of rnn_mode={layout.rnn_mode!r}, but {cls.__name__} computes "
                f"{cls.rnn_mode!r}."
            )
        network = {
            "units": layout.num_units,
            "num_layers": layout.num_layers,
            "direction": layout.direction,
            "input_mode": layout.input_mode,
            "num_proj": layout.num_proj,
        }
        for name in network.keys() & options.keys():
            raise ValueError(f"{name} is {network[name]!r} in the weights and no option.")
        layer = cls(**network, **options)
        if not layer.use_bias and np.any(layout.unpack(params)[1]):
            raise ValueError("use_bias=False needs biases of 0, but the weights have others.")
        layer.build((None, None, layout.input_size))
        layer.params.assign(params)
        return layer


def _description(layout):
    """What a buffer is of, in words."""
    names = ("rnn_mode", "num_layers", "num_units", "input_size")
    names += ("input_mode", "direction", "num_proj")
    return ", ".join(f"{name}={getattr(layout, name)!r}" for name in names)


@keras.saving.register_keras_serializable(package=_PACKAGE)
class CudnnLSTM(_CudnnStack):
    """A stack of LSTM layers in one op, with all its parameters in one opaque weight.

    Letters: T time steps, B batch, I input size, H units, L num_layers, D directions, S the size
    of a hidden state (num_proj if that is set, otherwise H).

    Args:
        units: H, at least 1. All other arguments are given by name.
        num_layers: L, at least 1. Layer k reads the output of layer k - 1.
        direction: 'unidirectional', or 'bidirectional' for a second direction in each layer.
        dropout: Fraction, in [0, 1], of what one layer hands to the next that is dropped in
            training. Without effect for one layer.
        input_mode: 'linear_input'; 'skip_input' for a first layer without input weights, which needs
            I == H; or 'auto_select', which is 'skip_input' if I == H.
        num_proj: Size to which the hidden state is projected, at most H; 0 for none. LSTM only.
        return_sequences: Whether to return the output of every step or of the last valid one.
        return_state: Whether to return the final states too.
        time_major: Whether inputs, outputs and masks have time first, and states layers first.
        kernel_initializer: For the input weights of each layer and direction, as a matrix
            [inputs, G*H] for G gates, and for the projections.
        recurrent_initializer: For the recurrent weights, as a matrix [S, G*H].
        bias_initializer: For the input biases [G*H]; the recurrent biases start at 0.
        unit_forget_bias: Whether the input bias of an LSTM's forget gate starts at 1.
        use_bias: Whether there are biases. If not, the buffer has them as zeros, which stay.
        kernel_regularizer: For each matrix that kernel_initializer draws.
        recurrent_regularizer: For each recurrent matrix.
        bias_regularizer: For the bias [G*H] of each layer and direction, the sum of the two; for both
            [2, 3*H] of a GRU.
        kernel_constraint: For each matrix that kernel_initializer draws.
        recurrent_constraint: For each recurrent matrix.
        bias_constraint: For each of the two biases of a layer and direction.
        go_backwards: Whether to run each row from its last valid step to its first. Step t of the
            input then is step T - 1 - t of the output, as in Keras.
        stateful: Whether each call begins with the final states of the call before. The batch size
            must be known. reset_state() sets them to 0.
        seed: For dropout: an integer; None for one from Python's `random`, which
            keras.utils.set_random_seed seeds; or a keras.random.SeedGenerator.
        **kwargs: name, dtype and the like, as for every Keras layer.

    There is no recurrent_dropout. keras.layers.Bidirectional takes the layer: two stacks, joined at
    the end, where direction='bidirectional' joins the directions after each layer.

    Attributes:
        params: The weight, a vector in the order of docs/param-layout.md.
        layout: A tf_rnn_ops.params.Layout of it, for tf_rnn_ops.params; both exist once it is built.
        seed_generator: The keras.random.SeedGenerator of dropout, whose state is a variable of the
            layer and in its checkpoints; None without dropout between layers. Each replica of a
            tf.distribute strategy drops other elements.

    Example:
        >>> import keras
        >>> from tf_rnn_ops.keras import CudnnLSTM
        >>> layer = CudnnLSTM(8, num_layers=2, direction="bidirectional")
        >>> tuple(layer(keras.ops.ones((4, 10, 3)), sequence_lengths=[10, 7, 1, 0]).shape)
        (4, 16)
    """

    rnn_mode = "lstm"


@keras.saving.register_keras_serializable(package=_PACKAGE)
class CudnnGRU(_CudnnStack):
    """A stack of GRU layers, with the reset gate after the product as keras.layers.GRU has it.

    Takes the arguments of CudnnLSTM; num_proj must be 0 and unit_forget_bias has no effect.
    """

    rnn_mode = "gru"


@keras.saving.register_keras_serializable(package=_PACKAGE)
class CudnnRNNTanh(_CudnnStack):
    """A stack of simple recurrent layers with tanh.

    Takes the arguments of CudnnLSTM; num_proj must be 0 and unit_forget_bias has no effect.
    """

    rnn_mode = "rnn_tanh"


@keras.saving.register_keras_serializable(package=_PACKAGE)
class CudnnRNNRelu(_CudnnStack):
    """A stack of simple recurrent layers with relu.

    Takes the arguments of CudnnLSTM; num_proj must be 0 and unit_forget_bias has no effect.
    """

    rnn_mode = "rnn_relu"
