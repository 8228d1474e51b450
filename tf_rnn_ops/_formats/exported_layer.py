"""The report of a writer on a recurrent layer, and the type of the inputs and outputs of files."""

import dataclasses
import re
from typing import Any

import numpy.typing as npt

from tf_rnn_ops.raw_ops.table import PREFIX

Arrays = dict[str, npt.NDArray[Any]]
"""{name of an input or output: array}."""

LOOP = "loop"  # of ordinary ops, over the time steps
_QUANTIZED = "QuantizedLayerRNN"
_CALL = r"^(Stateful)?PartitionedCall(_\d+)?/"


def layer_of(node: str, op: str) -> str:
    """The names of the layers around a node of an op, without the parts that TensorFlow adds."""
    name = re.sub(_CALL, "", node)
    path, _, last = name.rpartition("/")
    return path if path and (last.startswith(PREFIX) or last == op.removeprefix(PREFIX)) else name


@dataclasses.dataclass(frozen=True)
class ExportedLayer:
    """A recurrent layer of an exported model.

    Attributes:
        name: The names of the layers around it and its own name, as in explain(). For a SavedModel the name of
            the node, whose parts may have other numbers at their ends.
        op: The original op, such as 'LayerRNNPacked', or the class of a layer that runs Keras's
            implementation.
        target_op: The node in the file: 'LSTM', 'UNIDIRECTIONAL_SEQUENCE_LSTM', 'LSTMSequence' and so on, or
            'loop'.
        reason: The reason for a loop; empty if there is no loop.
        note: The type of int8 weights in the file if it is not int8; otherwise empty.

    Example:
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.ExportedLayer("gru", "GRU", "loop", "its activation is unknown")
        >>> layer.remarks
        'its activation is unknown'
    """

    name: str
    op: str
    target_op: str
    reason: str = ""
    note: str = ""

    def with_float_weights(
        self, note: str = "its int8 weights are stored as floats"
    ) -> "ExportedLayer":
        """The ExportedLayer with a note if it had int8 weights."""
        return dataclasses.replace(self, note=note) if self.op == _QUANTIZED else self

    @property
    def remarks(self) -> str:
        """The reason and the note."""
        return "; ".join(filter(None, (self.reason, self.note)))
