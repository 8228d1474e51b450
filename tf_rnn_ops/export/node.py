"""The report of a writer on a recurrent layer."""

import dataclasses

LOOP = "loop"  # of ordinary ops, over the time steps


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
    """

    name: str
    op: str
    became: str
    reason: str = ""
