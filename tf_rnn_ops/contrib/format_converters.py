"""Conversion between the opaque buffer and the weights of equivalent cells, as tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

from tf_rnn_ops import raw_ops
from tf_rnn_ops.contrib import _formats, _network
from tf_rnn_ops.params.layout import num_directions

if TYPE_CHECKING:
    import tensorflow as tf

    from tf_rnn_ops.raw_ops.types import TensorLike


class CudnnParamsFormatConverter:
    """The base of the four converters; use the converter of the model."""

    rnn_mode: str  # set by the classes below

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_size: int,
        input_mode: str = "linear_input",
        direction: str = "unidirectional",
    ) -> None:
        """Describes the network.

        Args:
            num_layers: As in the model.
            num_units: As in the model.
            input_size: As in the model.
            input_mode: As in the model, but with another default.
            direction: As in the model.

        Raises:
            ValueError: An argument is wrong.
        """
        self.attributes, layout = _network.described(
            self.rnn_mode, num_layers, num_units, input_size, input_mode, direction
        )
        self._format = _formats.FORMATS[self.rnn_mode]
        # One width for each cell. The backward cell of a layer follows its forward cell.
        self._widths = _network.input_widths(layout)

    @property
    def tensor_names(self) -> list[str]:
        """Names of the cells' tensors, weights first."""
        layers, direction = self.attributes["num_layers"], self.attributes["direction"]
        prefixes = [
            _formats.cell_prefix(layer, self._format.cell_name, direction, backward)
            for layer in range(layers)
            for backward in (False, True)[: num_directions(direction)]
        ]
        kinds = (self._format.weight_names, self._format.bias_names)
        return [f"{prefix}/{n}" for kind in kinds for prefix in prefixes for n in kind]

    @property
    def tensor_shapes(self) -> list[list[int]]:
        """The shapes of the cells' tensors, in the order of tensor_names."""
        units = self.attributes["num_units"]
        shapes = [s for width in self._widths for s in self._format.weight_shapes(width, units)]
        return shapes + [s for _ in self._widths for s in self._format.bias_shapes(units)]

    def opaque_to_tf_canonical(
        self, opaque_param: TensorLike
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Splits the buffer into the tensors of cells.

        Args:
            opaque_param: The buffer.

        Returns:
            A list of weights and a list of biases, of the cells of layer 0, then of layer 1 and so on. In
            a bidirectional layer the forward cell comes first. A cell has a kernel and a bias. A GRU cell
            has three kernels and three biases: one of the gates, and two of the candidate, for the input
            and for the state.
        """
        count = 2 * self._format.gates * len(self._widths)
        result = raw_ops.CudnnRNNParamsToCanonicalV2(
            **self.attributes,
            params=opaque_param,
            num_params_weights=count,
            num_params_biases=count,
        )
        weights, biases = [], []
        for k in range(len(self._widths)):
            of_cell = slice(2 * self._format.gates * k, 2 * self._format.gates * (k + 1))
            weights += self._format.weights_to_cell(result.weights[of_cell])
            biases += self._format.biases_to_cell(result.biases[of_cell])
        return weights, biases

    def tf_canonical_to_opaque(self, tf_canonicals: Sequence[TensorLike]) -> tf.Tensor:
        """Makes the buffer from the tensors of cells.

        Args:
            tf_canonicals: The weights and the biases in one list, in the order of
                opaque_to_tf_canonical. The buffer has two biases for one bias of a cell. Each is half of
                it.

        Returns:
            The buffer, a vector.

        Raises:
            ValueError: The list has another number of tensors.
        """
        tensors, wanted = list(tf_canonicals), len(self.tensor_shapes)
        if len(tensors) != wanted:
            raise ValueError(f"tf_canonicals must be {wanted} tensors, but it is {len(tensors)}.")
        per_cell = len(self._format.weight_names)
        of_cells = [tensors[k : k + per_cell] for k in range(0, len(tensors), per_cell)]
        weights, biases = [], []
        for k, width in enumerate(self._widths):
            weights += self._format.weights_from_cell(of_cells[k], width)
            biases += self._format.biases_from_cell(of_cells[len(self._widths) + k])
        return raw_ops.CudnnRNNCanonicalToParamsV2(
            **self.attributes, weights=weights, biases=biases
        )


class CudnnParamsFormatConverterLSTM(CudnnParamsFormatConverter):
    """Converts between the buffer of a CudnnLSTM and the tensors of CudnnCompatibleLSTMCells.

    Example:
        >>> import tensorflow as tf
        >>> from tf_rnn_ops import contrib
        >>> converter = contrib.CudnnParamsFormatConverterLSTM(1, num_units=4, input_size=3)
        >>> buffer = converter.tf_canonical_to_opaque([tf.ones([3 + 4, 16]), tf.ones([16])])
        >>> weights, biases = converter.opaque_to_tf_canonical(buffer)
        >>> tuple(weights[0].shape), tuple(biases[0].shape)
        ((7, 16), (16,))
    """

    rnn_mode = "lstm"


class CudnnParamsFormatConverterGRU(CudnnParamsFormatConverter):
    """Converts between the buffer of a CudnnGRU and the tensors of CudnnCompatibleGRUCells.

    Example:
        >>> from tf_rnn_ops import contrib
        >>> converter = contrib.CudnnParamsFormatConverterGRU(1, num_units=4, input_size=3)
        >>> converter.tensor_shapes
        [[7, 8], [3, 4], [4, 4], [8], [4], [4]]
    """

    rnn_mode = "gru"


class CudnnParamsFormatConverterTanh(CudnnParamsFormatConverter):
    """Converts between the buffer of a CudnnRNNTanh and the tensors of basic cells.

    Example:
        >>> from tf_rnn_ops import contrib
        >>> converter = contrib.CudnnParamsFormatConverterTanh(1, num_units=4, input_size=3)
        >>> converter.tensor_shapes
        [[7, 4], [4]]
    """

    rnn_mode = "rnn_tanh"


class CudnnParamsFormatConverterRelu(CudnnParamsFormatConverter):
    """Converts between the buffer of a CudnnRNNRelu and the tensors of basic cells.

    Example:
        >>> from tf_rnn_ops import contrib
        >>> converter = contrib.CudnnParamsFormatConverterRelu(1, num_units=4, input_size=3)
        >>> converter.tensor_shapes
        [[7, 4], [4]]
    """

    rnn_mode = "rnn_relu"
