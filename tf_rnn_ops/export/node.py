"""What a writer says of each recurrent layer that it found."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Node:
    """A recurrent layer of an exported model.

    Attributes:
        name: Of the node in the graph: the names of the Keras layers around it and its own.
        op: The op that it was, such as 'LayerRNNPacked'; the class of a layer that is a loop of Keras.
        became: What it is in the file: 'LSTM', 'UNIDIRECTIONAL_SEQUENCE_LSTM', 'LSTMSequence' and so on,
            or 'loop'.
        reason: Why it is a loop; empty if it is not.
    """

    name: str
    op: str
    became: str
    reason: str = ""
