"""The models of tf.contrib.cudnn_rnn: a configuration and functions of an opaque buffer.

A model has no variables. The user creates a variable of params_size() elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

import tensorflow as tf

from tf_rnn_ops import raw_ops
from tf_rnn_ops.contrib import _formats, _network

if TYPE_CHECKING:
    from tf_rnn_ops.raw_ops.types import TensorLike

_DTYPES = (tf.bfloat16, tf.float16, tf.float32, tf.float64)

# The name of the conversion op in graphs of TensorFlow 1, which the earliest checkpoints contain.
CANONICAL_OP_NAME = "CudnnRNNParamsToCanonical"


def check_dtype(dtype):
    """Returns the type.

    Raises:
        ValueError: The ops do not have the type.
    """
    dtype = tf.as_dtype(dtype)
    if dtype not in _DTYPES:
        names = ", ".join(valid.name for valid in _DTYPES)
        raise ValueError(f"dtype must be one of {names}, but it is {dtype.name}.")
    return dtype


class CudnnRNNModel(_network.Network):
    """The base of the four models; use CudnnLSTM, CudnnGRU, CudnnRNNTanh or CudnnRNNRelu."""

    _rnn_mode: str  # set by the classes below

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_size: int,
        input_mode: str = "auto_select",
        direction: str = "unidirectional",
        dropout: float = 0.0,
        seed: int | None = 0,
        *,
        dtype: tf.DType = tf.float32,
    ) -> None:
        """Describes a model.

        Args:
            num_layers: Number of layers, L.
            num_units: Number of units, H.
            input_size: Size of the input, I.
            input_mode: 'linear_input', 'skip_input' (layer 0 has no input weights; needs I == H) or
                'auto_select' ('skip_input' if I == H). The default is 'auto_select' here and in the first
                versions of TensorFlow 1, and 'linear_input' in later versions.
            direction: 'unidirectional' or 'bidirectional'.
            dropout: Probability of dropping an element between two layers in training.
            seed: Seed of the dropout, in addition to tf.random.set_seed.
            dtype: Type of the buffer, the inputs and the outputs.

        Raises:
            ValueError: An argument is wrong.
        """
        self.attributes, self.layout = _network.described(
            self._rnn_mode, num_layers, num_units, input_size, input_mode, direction
        )
        self._dropout = _network.checked_dropout(dropout)
        self._dtype = check_dtype(dtype)
        seed, seed2 = tf.compat.v1.get_seed(seed)
        self._seed, self._seed2 = seed or 0, seed2 or 0

    def params_size(self) -> tf.Tensor:
        """Computes the number of elements of the opaque buffer.

        Returns:
            An int32 scalar tensor.
        """
        return raw_ops.CudnnRNNParamsSize(**self.attributes, T=self._dtype, S=tf.int32)[0]

    def params_to_canonical(self, params: TensorLike) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Splits the opaque buffer into canonical weights and biases.

        Args:
            params: The buffer, of params_size() elements.

        Returns:
            Lists of weights and of biases. For each layer, and in it for each direction: the gates'
            matrices [H, in] for the input, then the gates' matrices [H, H] for the previous hidden state.
            The biases [H] have the same order. The gates are i, f, c, o for an LSTM and r, u, h for a GRU.
        """
        count = self.num_layers * self.num_dirs * 2 * _formats.FORMATS[self._rnn_mode].gates
        result = raw_ops.CudnnRNNParamsToCanonicalV2(
            **self.attributes,
            params=params,
            num_params_weights=count,
            num_params_biases=count,
            name=CANONICAL_OP_NAME,
        )
        return list(result.weights), list(result.biases)

    def canonical_to_params(
        self, weights: Sequence[TensorLike], biases: Sequence[TensorLike]
    ) -> tf.Tensor:
        """Makes the opaque buffer; the inverse of params_to_canonical.

        Args:
            weights: The matrices, which may be flat.
            biases: The vectors.

        Returns:
            The buffer, a vector.
        """
        return raw_ops.CudnnRNNCanonicalToParamsV2(
            **self.attributes, weights=weights, biases=biases
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
            rnn_mode=self._rnn_mode,
            input_mode=self.input_mode,
            direction=self.direction,
            dropout=self._dropout,
            seed=self._seed,
            seed2=self._seed2,
            is_training=is_training,
        )
        return result.output, result.output_h, result.output_c


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
        self,
        input_data: TensorLike,
        input_h: TensorLike,
        input_c: TensorLike,
        params: TensorLike,
        is_training: bool = True,
        *,
        sequence_lengths: TensorLike | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Runs the model.

        Args:
            input_data: [T, B, I].
            input_h: Initial hidden states, [L*D, B, H].
            input_c: Initial cell states, [L*D, B, H].
            params: The opaque buffer.
            is_training: Whether to apply dropout.
            sequence_lengths: Number of valid steps of each sequence, int32 [B]; None means all T.

        Returns:
            Output [T, B, D*H], final hidden states and final cell states [L*D, B, H].
        """
        return self._run(input_data, input_h, input_c, params, is_training, sequence_lengths)


class _ModelWithoutCellState(CudnnRNNModel):
    def __call__(
        self,
        input_data: TensorLike,
        input_h: TensorLike,
        params: TensorLike,
        is_training: bool = True,
        *,
        sequence_lengths: TensorLike | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Runs the model.

        Args:
            input_data: [T, B, I].
            input_h: Initial hidden states, [L*D, B, H].
            params: The opaque buffer.
            is_training: Whether to apply dropout.
            sequence_lengths: Number of valid steps of each sequence, int32 [B]; None means all T.

        Returns:
            Output [T, B, D*H] and final hidden states [L*D, B, H].
        """
        return self._run(input_data, input_h, None, params, is_training, sequence_lengths)[:2]


class CudnnGRU(_ModelWithoutCellState):
    """A stack of GRU layers, with the reset gate applied after the recurrent product.

    Example:
        >>> from tf_rnn_ops import contrib
        >>> model = contrib.CudnnGRU(num_layers=1, num_units=4, input_size=3)
        >>> int(model.params_size())
        108
    """

    _rnn_mode = "gru"


class CudnnRNNTanh(_ModelWithoutCellState):
    """A stack of simple recurrent layers with tanh.

    Example:
        >>> from tf_rnn_ops import contrib
        >>> model = contrib.CudnnRNNTanh(num_layers=1, num_units=4, input_size=3)
        >>> int(model.params_size())
        36
    """

    _rnn_mode = "rnn_tanh"


class CudnnRNNRelu(_ModelWithoutCellState):
    """A stack of simple recurrent layers with max(x, 0).

    Example:
        >>> from tf_rnn_ops import contrib
        >>> model = contrib.CudnnRNNRelu(num_layers=1, num_units=4, input_size=3)
        >>> int(model.params_size())
        36
    """

    _rnn_mode = "rnn_relu"
