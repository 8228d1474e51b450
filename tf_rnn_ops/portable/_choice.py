"""What a caller of the rewriting knows of a forward node, and what it may put in its place."""

from typing import Any, Callable, NamedTuple, Sequence

import tensorflow as tf

from tf_rnn_ops.params import Layout
from tf_rnn_ops.plain.sizes import Layer


class Facts(NamedTuple):
    """A forward node.

    Attributes:
        place: Name of the function that the node is in; '' for the graph itself.
        name: Of the node.
        op: Its op without the package, such as 'LayerRNNPacked'.
        network: What it computes: a plain.Layer of the LayerRNN ops, a params.Layout of the CudnnRNN
            ops, None of BlockLSTMV2.
        dtype: Of its tensors.
        shapes: What the graph knows of the shapes of its inputs, packed weights and seeds left out: lists
            with None for an unknown size, or None for an unknown rank.
        time_major: Whether time is the first dimension.
        read: The names of the outputs that the results of the graph depend on.
    """

    place: str
    name: str
    op: str
    network: Layer | Layout | None
    dtype: tf.DType
    shapes: Sequence[Sequence[int | None] | None]
    time_major: bool
    read: frozenset[str]

    @property
    def steps(self) -> int | None:
        """T, None if it is not known."""
        axis = 0 if self.time_major or self.network is None else 1
        return self._input[axis]

    @property
    def batch(self) -> int | None:
        """B, None if it is not known."""
        axis = 1 if self.time_major or self.network is None else 0
        return self._input[axis]

    @property
    def _input(self):
        shape = self.shapes[1 if self.network is None else 0]
        return shape if shape is not None and len(shape) == 3 else [None] * 3


class Instead(NamedTuple):
    """A function for a node.

    Attributes:
        function: Takes the tensors of Facts.shapes and returns the first outputs of the op, but for the
            reserve space.
        became: What to call it in the report.
    """

    function: Callable[..., Sequence[Any]]
    became: str


KEEP = "keep"
"""What a Choice returns for a node that stays as it is."""

Choice = Callable[[Facts], Instead | str]
"""Returns an Instead, KEEP, or the reason why the node becomes ordinary ops."""
