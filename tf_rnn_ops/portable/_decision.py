"""The decision of an exporter on a forward node."""

import dataclasses
from typing import Any, Callable, ClassVar, NamedTuple, Sequence

import tensorflow as tf

from tf_rnn_ops.params import Layout
from tf_rnn_ops.plain.sizes import Layer


class NodeInfo(NamedTuple):
    """A forward node.

    Attributes:
        place: Name of the function that the node is in; '' for the graph itself.
        name: Name of the node.
        op: Its op without the package, such as 'LayerRNNPacked'.
        network: Its network: a plain.sizes.Layer for the LayerRNN ops, a params.Layout for the CudnnRNN
            ops, None for BlockLSTMV2.
        dtype: The type of its tensors.
        shapes: The shapes of its inputs, without packed weights and seeds: lists with None for an unknown
            size, or None for an unknown rank.
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
    def _input(self) -> Sequence[int | None]:
        shape = self.shapes[1 if self.network is None else 0]
        return shape if shape is not None and len(shape) == 3 else [None] * 3


@dataclasses.dataclass(frozen=True)
class Keep:
    """The node does not change.

    Attributes:
        name: The node of the format that it becomes later.
    """

    name: str
    reason: ClassVar[str] = ""


@dataclasses.dataclass(frozen=True)
class Loop:
    """The node becomes ordinary ops.

    Attributes:
        reason: Why there is no other node for it; empty if ordinary ops are the best choice.
        name: The name of these ops, if they are not a loop.
    """

    reason: str
    name: str = ""


@dataclasses.dataclass(frozen=True)
class Replace:
    """The node becomes a function.

    Attributes:
        function: A function of the tensors of NodeInfo.shapes. It returns the first outputs of the op, except
            the reserve space.
        name: The name of the function.
    """

    function: Callable[..., Sequence[Any]]
    name: str
    reason: ClassVar[str] = ""


Decision = Keep | Loop | Replace
