"""The models of tf.contrib.cudnn_rnn: a configuration and functions of an opaque buffer.

They hold no variables; the user makes one of params_size() elements.
"""

import tensorflow as tf

from tf_rnn_ops import raw_ops
from tf_rnn_ops.contrib import _formats
from tf_rnn_ops.params.layout import DIRECTIONS, INPUT_MODES, num_directions

_DTYPES = (tf.bfloat16, tf.float16, tf.float32, tf.float64)

# The name that the conversion op had in TensorFlow 1's graphs: the earliest checkpoints use it.
CANONICAL_OP_NAME = "CudnnRNNParamsToCanonical"


def check_dtype(dtype):
    """Returns the type, which must be one of the ops'.

    Raises:
        ValueError: It is not.
    """
    dtype = tf.as_dtype(dtype)
    if dtype not in _DTYPES:
        names = ", ".join(valid.name for valid in _DTYPES)
        raise ValueError(f"dtype must be one of {names}, but it is {dtype.name}.")
    return dtype


def check_configuration(num_layers, num_units, input_size, input_mode, direction):
    """Checks the arguments that models and saveables share.

    Raises:
        ValueError: One of them is wrong; the text names it.
    """
    for name, value in (
        ("num_layers", num_layers),
        ("num_units", num_units),
        ("input_size", input_size),
    ):
        if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < 1:
            raise ValueError(f"{name} must be a positive integer, but it is {value!r}.")
    for name, value, valid in (
        ("input_mode", input_mode, INPUT_MODES),
        ("direction", direction, DIRECTIONS),
    ):
        if value not in valid:
            raise ValueError(f"{name} must be one of {', '.join(valid)}, but it is {value!r}.")
    if input_mode == "skip_input" and input_size != num_units:
        raise ValueError(
            "input_mode='skip_input' needs input_size equal to num_units, but they are "
            f"{input_size} and {num_units}."
        )


class CudnnRNNModel:
    """What the four models share; use CudnnLSTM, CudnnGRU, CudnnRNNTanh or CudnnRNNRelu."""

    _rnn_mode: str  # set by the classes below

    def __init__(
        self,
        num_layers,
        num_units,
        input_size,
        input_mode="auto_select",
        direction="unidirectional",
        dropout=0.0,
        seed=0,
        *,
        dtype=tf.float32,
    ):
        """Describes a model.

        Args:
            num_layers: Number of layers, L.
            num_units: Number of units, H.
            input_size: Size of the input, I.
            input_mode: 'linear_input', 'skip_input' (layer 0 has no input weights; needs I == H) or
                'auto_select' ('skip_input' if I == H). The first versions of TensorFlow 1 and this
                class default to 'auto_select', the later ones to 'linear_input'.
            direction: 'unidirectional' or 'bidirectional'.
            dropout: Probability of dropping an element between two layers in training.
            seed: Seed of the dropout, which tf.random.set_seed influences too.
            dtype: Type of the buffer and of everything else.

        Raises:
            ValueError: An argument is wrong.
        """
        check_configuration(num_layers, num_units, input_size, input_mode, direction)
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout must be in [0, 1], but it is {dropout!r}.")
        self._num_layers = num_layers
        self._num_units = num_units
        self._input_size = input_size
        self._input_mode = input_mode
        self._direction = direction
        self._dropout = dropout
        self._dtype = check_dtype(dtype)
        seed, seed2 = tf.compat.v1.get_seed(seed)
        self._seed, self._seed2 = seed or 0, seed2 or 0

    @property
    def num_layers(self):
        """L."""
        return self._num_layers

    @property
    def num_units(self):
        """H."""
        return self._num_units

    @property
    def input_size(self):
        """I."""
        return self._input_size

    @property
    def input_mode(self):
        """As given."""
        return self._input_mode

    @property
    def direction(self):
        """'unidirectional' or 'bidirectional'."""
        return self._direction

    @property
    def rnn_mode(self):
        """'lstm', 'gru', 'rnn_tanh' or 'rnn_relu'."""
        return self._rnn_mode

    def params_size(self):
        """Computes the number of elements of the opaque buffer.

        Returns:
            An int32 scalar tensor.
        """
        return raw_ops.CudnnRNNParamsSize(
            **self._sizes(), **self._attributes(), T=self._dtype, S=tf.int32
        )[0]

    def params_to_canonical(self, params):
        """Takes the opaque buffer apart.

        Args:
            params: The buffer, of params_size() elements.

        Returns:
            Lists of weights and of biases. For each layer and within it for each direction: the
            matrices [H, in] of the gates that work on the input, then those [H, H] that work on
            the previous hidden state; likewise the biases, [H]. The gates are i, f, c, o for an
            LSTM and r, u, h for a GRU.
        """
        count = self._num_layers * num_directions(self._direction)
        count *= 2 * _formats.FORMATS[self._rnn_mode].gates
        result = raw_ops.CudnnRNNParamsToCanonicalV2(
            **self._sizes(),
            **self._attributes(),
            params=params,
            num_params_weights=count,
            num_params_biases=count,
            name=CANONICAL_OP_NAME,
        )
        return list(result.weights), list(result.biases)

    def canonical_to_params(self, weights, biases):
        """Makes the opaque buffer; the inverse of params_to_canonical.

        Args:
            weights: The matrices, which may be flat.
            biases: The vectors.

        Returns:
            The buffer, a vector.
        """
        return raw_ops.CudnnRNNCanonicalToParamsV2(
            **self._sizes(), **self._attributes(), weights=weights, biases=biases
        )

    def _run(self, input_data, input_h, input_c, params, is_training, sequence_lengths):
        input_data = tf.convert_to_tensor(input_data, self._dtype)
        if sequence_lengths is None:
            shape = tf.shape(input_data)
            sequence_lengths = tf.fill([shape[1]], shape[0])
        result = raw_ops.CudnnRNNV3(
            input=input_data,
            input_h=tf.convert_to_tensor(input_h, self._dtype),
            input_c=tf.convert_to_tensor(0 if input_c is None else input_c, self._dtype),
            params=tf.convert_to_tensor(params, self._dtype),
            sequence_lengths=sequence_lengths,
            **self._attributes(),
            dropout=self._dropout,
            seed=self._seed,
            seed2=self._seed2,
            is_training=is_training,
        )
        return result.output, result.output_h, result.output_c

    def _sizes(self):
        return {
            "num_layers": self._num_layers,
            "num_units": self._num_units,
            "input_size": self._input_size,
        }

    def _attributes(self):
        return {
            "rnn_mode": self._rnn_mode,
            "input_mode": self._input_mode,
            "direction": self._direction,
        }


class CudnnLSTM(CudnnRNNModel):
    """A stack of LSTM layers.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import contrib
        >>> model = contrib.CudnnLSTM(num_layers=2, num_units=4, input_size=3)
        >>> params = tf.Variable(tf.random.uniform([model.params_size()], -0.1, 0.1))
        >>> state = tf.zeros([2, 5, 4])
        >>> output, output_h, output_c = model(tf.ones([7, 5, 3]), state, state, params)
        >>> tuple(output.shape)
        (7, 5, 4)
    """

    _rnn_mode = "lstm"

    def __call__(
        self, input_data, input_h, input_c, params, is_training=True, *, sequence_lengths=None
    ):
        """Runs the model.

        Args:
            input_data: [T, B, I].
            input_h: Initial hidden states, [L*D, B, H].
            input_c: Initial cell states, [L*D, B, H].
            params: The opaque buffer.
            is_training: Whether to apply dropout.
            sequence_lengths: Number of valid steps of each row, int32 [B]; None means all T.

        Returns:
            Output [T, B, D*H], final hidden states and final cell states [L*D, B, H].
        """
        return self._run(input_data, input_h, input_c, params, is_training, sequence_lengths)


class _ModelWithoutCellState(CudnnRNNModel):
    def __call__(self, input_data, input_h, params, is_training=True, *, sequence_lengths=None):
        """Runs the model.

        Args:
            input_data: [T, B, I].
            input_h: Initial hidden states, [L*D, B, H].
            params: The opaque buffer.
            is_training: Whether to apply dropout.
            sequence_lengths: Number of valid steps of each row, int32 [B]; None means all T.

        Returns:
            Output [T, B, D*H] and final hidden states [L*D, B, H].
        """
        return self._run(input_data, input_h, None, params, is_training, sequence_lengths)[:2]


class CudnnGRU(_ModelWithoutCellState):
    """A stack of GRU layers, with the reset gate applied after the recurrent product."""

    _rnn_mode = "gru"


class CudnnRNNTanh(_ModelWithoutCellState):
    """A stack of simple recurrent layers with tanh."""

    _rnn_mode = "rnn_tanh"


class CudnnRNNRelu(_ModelWithoutCellState):
    """A stack of simple recurrent layers with max(x, 0)."""

    _rnn_mode = "rnn_relu"
