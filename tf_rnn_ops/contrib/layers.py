"""The layers of TensorFlow 1's tf.contrib.cudnn_rnn: CudnnLSTM and its siblings with variables.

They are tf.Modules, and work eagerly, in tf.function and in the graphs of tf.compat.v1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import tensorflow as tf

from tf_rnn_ops import raw_ops
from tf_rnn_ops.contrib import _cell_parts, _network, _saveable_base, saveables
from tf_rnn_ops.contrib.models import check_dtype
from tf_rnn_ops.native.tf_internals import checkpoints
from tf_rnn_ops.params.initializers import nth_use
from tf_rnn_ops.raw_ops import dropout_seeds

if TYPE_CHECKING:
    from tf_rnn_ops.raw_ops.types import TensorLike

__all__ = ["CudnnGRU", "CudnnLSTM", "CudnnRNNRelu", "CudnnRNNTanh"]


class _CudnnRNN(_network.Network, checkpoints.Module):
    """The base of the four layers; CudnnLSTM explains the arguments."""

    _rnn_mode: str  # the subclasses set this attribute and the next two
    _base_name: str
    _saveable_cls: type

    @checkpoints.untracked
    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_mode: str = "linear_input",
        direction: str = "unidirectional",
        dropout: float = 0.0,
        seed: object = None,
        dtype: tf.DType = tf.float32,
        kernel_initializer: object = None,
        bias_initializer: object = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        # The size of the input is not known yet. num_units is valid with every input_mode.
        self.attributes, _ = _network.described(
            self._rnn_mode, num_layers, num_units, num_units, input_mode, direction
        )
        self._dropout = _network.checked_dropout(float(dropout))
        self._dtype = check_dtype(dtype)
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer
        self._seed = dropout_seeds.checked(seed)
        self._drops = self._dropout > 0 and self.num_layers > 1
        self.seed_generator = self._seed_state = None
        if self._drops and tf.executing_eagerly():
            self.seed_generator = dropout_seeds.generator(self._seed)
            self._seed_state = self.seed_generator.state.value
        self._scope_name = name or self._base_name
        self._scope = None
        self._layout = None
        self._saveable = None
        self._parts: dict[str, Any] = {}

    @property
    def name(self):
        """The scope of the tensors in a checkpoint."""
        return self._scope_name

    @property
    def input_size(self):
        """I, once the layer is built."""
        return self._built_layout().input_size

    @property
    def dtype(self):
        """The type of the buffer, the inputs and the outputs."""
        return self._dtype

    @property
    def built(self):
        """Whether the variable exists."""
        return self._layout is not None

    @property
    def saveable(self):
        """The saveable of the buffer as variables of cells; None until the layer is built."""
        return self._saveable

    @property
    def trainable_weights(self):
        """The buffer in a list, once the layer is built."""
        return [self.kernel] if self.built else []

    @property
    def canonical_weight_shapes(self):
        """Shapes of the matrices that params_to_canonical of a model returns."""
        return [block.shape for block in self._built_layout().weights]

    @property
    def canonical_bias_shapes(self):
        """Shapes of the vectors that params_to_canonical returns; the layer need not be built."""
        per_layer = {"lstm": 8, "gru": 6}.get(self._rnn_mode, 2) * self.num_dirs
        return [[self.num_units]] * (per_layer * self.num_layers)

    def state_shape(self, batch_size: int) -> tuple[list[int], ...]:
        """Shapes of the states, with time_major=True.

        Args:
            batch_size: B.

        Returns:
            A tuple of one list, or of two lists for CudnnLSTM.
        """
        shape = [self.num_layers * self.num_dirs, batch_size, self.num_units]
        return (shape, list(shape)) if self._rnn_mode == "lstm" else (shape,)

    def build(self, input_shape: Sequence[int | None]) -> None:
        """Creates the variable. Calling the layer does so too.

        Args:
            input_shape: [T, B, I]. Only I must be known.

        Raises:
            ValueError: The shape does not have rank 3, or I is not known or does not fit.
        """
        if self.built:
            return
        shape = tf.TensorShape(input_shape)
        if shape.rank != 3 or shape[-1] is None:
            raise ValueError(
                "The input must have three dimensions, the last of a known size, but its shape is "
                f"{shape}."
            )
        _, layout = _network.described(**{**self.attributes, "input_size": shape[-1]})
        with tf.init_scope():  # because branches and functions cannot own the variable
            if _saveable_base.in_v1_graph():
                self._build_in_v1_graph(layout)
            else:
                kernel = tf.Variable(self._initial_buffer(layout), name="opaque_kernel")
                self._take_variable(kernel, layout, scope=self._scope_name)
        self.restore_deferred(self._parts)

    def __call__(
        self,
        inputs: TensorLike,
        initial_state: tuple[TensorLike, ...] | None = None,
        sequence_lengths: TensorLike | None = None,
        time_major: bool = True,
        training: bool = True,
    ) -> tuple[tf.Tensor, tuple[tf.Tensor, ...]]:
        """Runs the layer.

        Args:
            inputs: [T, B, I], or [B, T, I] without time_major.
            initial_state: None for zeros; otherwise a tuple of the hidden states [L*D, B, H] and,
                for CudnnLSTM, the cell states. With time_major=False they are [B, L*D, H].
            sequence_lengths: Integers [B] in [0, T]: valid steps of each sequence; None for T.
            time_major: Whether time is the first dimension.
            training: Whether to apply dropout, a Python bool.

        Returns:
            The outputs, [T, B, D*H] or [B, T, D*H], and a tuple of final states with the shapes of
            initial_state.

        Raises:
            TypeError: initial_state is not a tuple.
            ValueError: initial_state has a wrong number of tensors or a wrong shape; inputs have
                another type, or, before the layer is built, a wrong number of dimensions.
            tf.errors.InvalidArgumentError: A shape or a length is wrong.
        """
        inputs = tf.convert_to_tensor(inputs, self._dtype)
        if not self.built:
            with tf.init_scope(), self._variable_scope():
                self.build(inputs.shape)
        batch = tf.shape(inputs)[1 if time_major else 0]
        states = self._states(initial_state, batch, time_major)
        if sequence_lengths is None:
            sequence_lengths = tf.fill([batch], tf.shape(inputs)[0 if time_major else 1])
        has_c = self._rnn_mode == "lstm"
        result = self._run(
            training,
            input=inputs,
            input_h=states[0],
            input_c=states[1] if has_c else tf.zeros([], self._dtype),
            params=tf.convert_to_tensor(self.kernel),
            sequence_lengths=tf.cast(sequence_lengths, tf.int32),
            time_major=bool(time_major),
            rnn_mode=self._rnn_mode,
            input_mode=self.input_mode,
            direction=self.direction,
        )
        return result.output, (result.output_h, result.output_c)[: 1 + has_c]

    def _run(self, training, **arguments):
        if not training or not self._drops:
            return raw_ops.CudnnRNNV3(**arguments, is_training=bool(training))
        if self.seed_generator is not None:
            seed = dropout_seeds.draw(self.seed_generator)
            return raw_ops.StatelessCudnnRNNV3(**arguments, dropout=self._dropout, seed=seed)
        # WHY attributes in a graph of TensorFlow 1: its checkpoints have no variable for a seed.
        seed, seed2 = tf.compat.v1.get_seed(self._seed)
        return raw_ops.CudnnRNNV3(
            **arguments, dropout=self._dropout, seed=seed or 0, seed2=seed2 or 0
        )

    def _states(self, states, batch, time_major):
        shapes = self.state_shape(batch)
        if states is None:
            lead = shapes[0][:2] if time_major else shapes[0][1::-1]
            return [tf.zeros([*lead, self.num_units], self._dtype) for _ in shapes]
        if not isinstance(states, tuple):
            raise TypeError(
                f"initial_state must be a tuple of tensors, but it is a {type(states).__name__}."
            )
        if len(states) != len(shapes):
            raise ValueError(
                f"initial_state of {type(self).__name__} must be {len(shapes)} tensor(s), but it "
                f"is {len(states)}."
            )
        states = [tf.convert_to_tensor(state, self._dtype) for state in states]
        layers, _, units = shapes[0]
        expected = [layers, None, units] if time_major else [None, layers, units]
        for k, state in enumerate(states):
            if not state.shape.is_compatible_with(expected):
                raise ValueError(
                    f"initial_state[{k}] must have shape {expected}, None for the batch, but it has "
                    f"shape {state.shape}."
                )
        return states

    def _build_in_v1_graph(self, layout):
        v1 = tf.compat.v1
        with self._variable_scope():
            # A partitioner cannot split an opaque buffer.
            v1.get_variable_scope().set_partitioner(None)
            kernel = v1.get_variable(
                "opaque_kernel",
                dtype=self._dtype,
                initializer=self._initial_buffer(layout),
                validate_shape=False,
            )
        # If build() is called directly, TensorFlow 1 leaves out the scope of the layer.
        self._take_variable(kernel, layout, scope=v1.get_variable_scope().name)
        if (
            v1.get_variable_scope().reuse is not True
        ):  # otherwise the collection already has a saveable of this variable
            v1.add_to_collection(v1.GraphKeys.SAVEABLE_OBJECTS, self._saveable)

    def _variable_scope(self):
        """The scope of the variable. In graphs of TensorFlow 1 a scope in use gets a number."""
        if not _saveable_base.in_v1_graph():
            return tf.name_scope(self._scope_name)
        if self._scope is None:
            with tf.compat.v1.variable_scope(None, default_name=self._scope_name) as self._scope:
                pass
        return tf.compat.v1.variable_scope(self._scope, auxiliary_name_scope=False)

    def _initial_buffer(self, layout):
        # Initializers of Keras ignore the seed of a graph.
        default = _v1_glorot_uniform if _saveable_base.in_v1_graph() else "glorot_uniform"
        kernel = tf.keras.initializers.get(self._kernel_initializer or default)
        bias = tf.keras.initializers.get(self._bias_initializer or "zeros")
        weights, biases = (
            [
                tf.cast(nth_use(initializer, k)(block.shape, dtype=self._dtype), self._dtype)
                for k, block in enumerate(blocks)
            ]
            for initializer, blocks in ((kernel, layout.weights), (bias, layout.biases))
        )
        return raw_ops.CudnnRNNCanonicalToParamsV2(
            **{**self.attributes, "input_size": layout.input_size}, weights=weights, biases=biases
        )

    def _built_layout(self):
        if self._layout is None:
            raise ValueError(
                f"The size of the input of {self._scope_name!r} is not known before it is built."
            )
        return self._layout

    @checkpoints.untracked
    def _take_variable(self, kernel, layout, scope):
        self.kernel = kernel
        self._layout = layout
        self._saveable = self._saveable_cls(
            self.kernel,
            self.num_layers,
            self.num_units,
            layout.input_size,
            input_mode=self.input_mode,
            direction=self.direction,
            scope=scope,
            name=f"{checkpoints.name_of_variable(kernel)}_saveable",
        )
        # TensorFlow 1.15 writes object-based checkpoints only for cells with one kernel.
        one_kernel = self._rnn_mode != "gru" and self.num_dirs == 1
        self._parts = (
            _cell_parts.children(self._saveable) if one_kernel else {"saveable": self._saveable}
        )

    def dependencies(self, in_checkpoint):
        """See checkpoints.Module; _cell_parts.py has the dependencies in a checkpoint."""
        dependencies = {} if self._seed_state is None else {"seed_state": self._seed_state}
        if in_checkpoint:
            return {**dependencies, **self._parts}
        return {**dependencies, **({"opaque_kernel": self.kernel} if self.built else {})}


def _v1_glorot_uniform(shape, dtype):
    return tf.compat.v1.glorot_uniform_initializer()(shape, dtype)


class CudnnLSTM(_CudnnRNN):
    """A stack of LSTM layers with one variable, the opaque buffer.

    Args:
        num_layers: L.
        num_units: H.
        input_mode: 'linear_input'; 'skip_input' for a first layer without input weights, which
            needs I == H; or 'auto_select', which is 'skip_input' if I == H.
        direction: 'unidirectional' or 'bidirectional'.
        dropout: Fraction, in [0, 1], of the inputs of each later layer that is dropped in training.
        seed: Seed of dropout: an integer, None or a keras.random.SeedGenerator, whose state is saved in
            checkpoints. In a graph of tf.compat.v1 it is the seed of an op.
        dtype: The type of the buffer, the inputs and the outputs.
        kernel_initializer: Initializer of each matrix [H, in] of a gate; None for glorot_uniform.
        bias_initializer: Initializer of each vector [H] of a gate; None for zeros.
        name: The scope of the tensors in a checkpoint; None for the name in TensorFlow 1.

    Attributes:
        kernel: The variable, once the layer is built.
        seed_generator: The generator of dropout, or None.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import contrib
        >>> layer = contrib.layers.CudnnLSTM(2, 4, direction="bidirectional")
        >>> outputs, (h, c) = layer(tf.ones([7, 5, 3]))
        >>> tuple(outputs.shape), tuple(h.shape)
        ((7, 5, 8), (4, 5, 4))
    """

    _rnn_mode = "lstm"
    _base_name = "cudnn_lstm"
    _saveable_cls = saveables.CudnnLSTMSaveable


class CudnnGRU(_CudnnRNN):
    """A stack of GRU layers with the arguments of CudnnLSTM.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import contrib
        >>> outputs, (h,) = contrib.layers.CudnnGRU(num_layers=1, num_units=4)(tf.ones([7, 5, 3]))
        >>> tuple(outputs.shape)
        (7, 5, 4)
    """

    _rnn_mode = "gru"
    _base_name = "cudnn_gru"
    _saveable_cls = saveables.CudnnGRUSaveable


class CudnnRNNTanh(_CudnnRNN):
    """A stack of simple recurrent layers with tanh and the arguments of CudnnLSTM.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import contrib
        >>> outputs, (h,) = contrib.layers.CudnnRNNTanh(num_layers=1, num_units=4)(tf.ones([7, 5, 3]))
        >>> tuple(outputs.shape)
        (7, 5, 4)
    """

    _rnn_mode = "rnn_tanh"
    _base_name = "cudnn_rnn_tanh"
    _saveable_cls = saveables.CudnnRNNTanhSaveable


class CudnnRNNRelu(_CudnnRNN):
    """A stack of simple recurrent layers with max(x, 0) and the arguments of CudnnLSTM.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import contrib
        >>> outputs, (h,) = contrib.layers.CudnnRNNRelu(num_layers=1, num_units=4)(tf.ones([7, 5, 3]))
        >>> tuple(outputs.shape)
        (7, 5, 4)
    """

    _rnn_mode = "rnn_relu"
    _base_name = "cudnn_rnn_relu"
    _saveable_cls = saveables.CudnnRNNReluSaveable
