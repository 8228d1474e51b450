"""The report of a writer on a recurrent layer."""

import dataclasses

LOOP = "loop"  # of ordinary ops, over the time steps
_QUANTIZED = "QuantizedLayerRNN"


@dataclasses.dataclass(frozen=True)
class Node:
    """A recurrent layer of an exported model.

    Attributes:
        name: Name of the node in the graph: the names of the Keras layers around it, and its own name.
        op: The original op, such as 'LayerRNNPacked', or the class of a layer that runs Keras's
            implementation.
        became: The node in the file: 'LSTM', 'UNIDIRECTIONAL_SEQUENCE_LSTM', 'LSTMSequence' and so on, or
            'loop'.
        reason: The reason for a loop; empty if there is no loop.
        note: A sentence if int8 weights of the layer are stored as floats; otherwise empty.
    """

    name: str
    op: str
    became: str
    reason: str = ""
    note: str = ""

    def with_float_weights(self) -> "Node":
        """The Node in a file that has no int8 weights for it."""
        if self.op != _QUANTIZED:
            return self
        return dataclasses.replace(self, note="its int8 weights are stored as floats")

    @property
    def why(self) -> str:
        """The reason and the note."""
        return "; ".join(filter(None, (self.reason, self.note)))
