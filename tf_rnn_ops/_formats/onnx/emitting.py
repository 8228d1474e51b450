"""Replaces recurrent nodes of TensorFlow by nodes of ONNX, in a graph of tf2onnx.

It uses only ops with one form in all versions of ONNX from 13 on, so that it can write a graph of any of
these versions.
"""

from typing import Any, Sequence

import numpy as np
from onnx import TensorProto
from tf2onnx import utils
from tf2onnx.graph import Graph, Node

from tf_rnn_ops._formats.onnx import weights
from tf_rnn_ops._formats.onnx.nodes import CannotWrite
from tf_rnn_ops.params import OnnxNode

# Our ops compute in float32 for these types, and not every runtime of ONNX has nodes of these types.
_NARROW = (TensorProto.FLOAT16, TensorProto.BFLOAT16)


class Builder:
    """Makes the nodes that replace other nodes.

    Args:
        ctx: The tf2onnx.graph.Graph.
        replaced: The nodes to remove. Their names and outputs are free afterwards.
        name: The beginning of the names of the nodes; None for that of the first node to remove.
    """

    def __init__(self, ctx: Graph, *replaced: Node, name: str | None = None) -> None:
        self.ctx, self._name = ctx, replaced[0].name if name is None else name
        self._unconnected = {}
        for node in replaced:
            for output in node.output:
                if ctx.find_output_consumers(output) or output in ctx.outputs:
                    self._unconnected[output] = ctx.get_dtype(output), ctx.get_shape(output)
        for node in replaced:
            ctx.remove_node(node.name)

    def is_used(self, output: str) -> bool:
        """Whether a node reads an output of a removed node that is not connected yet."""
        return output in self._unconnected

    def connect(self, output: str, tensor: str) -> None:
        """Gives a tensor to all readers of an output."""
        dtype, shape = self._unconnected.pop(output)
        name = utils.make_name(self._name)
        self.ctx.make_node(
            "Identity", [tensor], outputs=[output], name=name, dtypes=[dtype], shapes=[shape]
        )

    def close(self, *outputs: Sequence[str]) -> None:
        """Connects the outputs that are always 0.

        Args:
            *outputs: The names of the outputs of each removed node.

        Raises:
            CannotWrite: A node reads an output that is not connected.
        """
        for names in outputs:
            if self.is_used(zero := "".join(names[2:3])):  # output_c without a cell state
                self.connect(zero, self.cast(self.constant(0), self._unconnected[zero][0]))
        if self._unconnected:
            raise CannotWrite(
                f"The node {self._name!r} cannot be written: its output {next(iter(self._unconnected))!r}, "
                "which ONNX does not have, is read."
            )

    def node(
        self,
        op_type: str,
        inputs: Sequence[str],
        count: int = 1,
        name: str | None = None,
        **attrs: Any,
    ) -> list[str]:
        """Adds a node; the names of its outputs."""
        name = utils.make_name(f"{self._name}/{op_type}") if name is None else name
        made = self.ctx.make_node(op_type, inputs, attr=attrs, output_count=count, name=name)
        return list(made.output)

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        """Adds a constant; its name."""
        name = utils.make_name(f"{self._name}/const")
        return self.ctx.make_const(name, np.asarray(value, dtype)).output[0]

    def transpose(self, tensor: str, perm: list[int]) -> str:
        """The tensor with its axes in another order."""
        return self.node("Transpose", [tensor], perm=perm)[0]

    def reshape(self, tensor: str, shape: Sequence[int]) -> str:
        """The tensor in another shape: 0 keeps the size of an axis, -1 is computed from the other sizes."""
        return self.node("Reshape", [tensor, self.constant(shape)])[0]

    def pick(self, tensor: str, index: int | list[int], axis: int) -> str:
        """One element of an axis, or several elements if `index` is a list."""
        return self.node("Gather", [tensor, self.constant(index)], axis=axis)[0]

    def concat(self, tensors: list[str], axis: int) -> str:
        """The tensors, concatenated along an axis."""
        return tensors[0] if len(tensors) == 1 else self.node("Concat", tensors, axis=axis)[0]

    def cast(self, tensor: str, to: int) -> str:
        """The tensor in another type."""
        return self.node("Cast", [tensor], to=to)[0]

    def recurrent(
        self, node: OnnxNode, x: str, lengths: str = "", states: Sequence[str] = ("", "")
    ) -> tuple[str, list[str]]:
        """Adds an LSTM, GRU or RNN.

        Args:
            node: An OnnxNode.
            x: Name of the input, [T, B, I].
            lengths: Name of the lengths, [B]; empty for none.
            states: Names of h and c, [D, B, H]; empty for zeros.

        Returns:
            The name of the output [T, D, B, H], and a list of the names of the final states [D, B, H]: h
            and, for an LSTM, c.
        """
        dtype = self.ctx.get_dtype(x)
        states = list(states[: 2 if node.op_type == "LSTM" else 1])
        if dtype in _NARROW:
            x, *states = (self.cast(t, TensorProto.FLOAT) if t else t for t in (x, *states))
        arrays = [node.W, node.R, node.B]
        inputs = [x, *(self.constant(a, np.float32) if a is not None else "" for a in arrays)]
        inputs += [lengths, *states]
        if node.P is not None:
            inputs.append(self.constant(node.P, np.float32))
        while not inputs[-1]:
            inputs.pop()
        attributes = weights.attributes(node)
        y, *final = self.node(node.op_type, inputs, len(states) + 1, **attributes)
        if lengths:
            final = [self._rows_without_steps(*pair, lengths) for pair in zip(final, states)]
        if dtype in _NARROW:
            y, *final = (self.cast(tensor, dtype) for tensor in (y, *final))
        return y, final

    def _rows_without_steps(self, final: str, initial: str, lengths: str) -> str:
        """The final states, with the initial state in rows of length 0.

        ONNX does not define the final state of such a row. ONNX Runtime returns 0.
        """
        if not initial:
            return final
        has_steps = self.reshape(self.cast(lengths, TensorProto.BOOL), [1, -1, 1])
        return self.node("Where", [has_steps, final, initial])[0]

    def sequence(self, y: str, directions: int, units: int, time_major: bool) -> str:
        """Reshapes [T, D, B, H] to [T, B, D*H] or [B, T, D*H].

        WHY known sizes: if a size is 1, tf2onnx replaces the Transpose by a Reshape and merges it with the
        next Reshape. The 0 of the next Reshape then stands for another axis.
        """
        shape = self.ctx.get_shape(y) or [-1] * 4
        time, batch = shape[0], shape[2]
        if directions == 1:
            y = self.reshape(y, [*_two_sizes(time, batch, [0, -1]), units])
            return y if time_major else self.transpose(y, [1, 0, 2])
        first, second = (time, batch) if time_major else (batch, time)
        y = self.transpose(y, [0, 2, 1, 3] if time_major else [2, 0, 1, 3])
        return self.reshape(y, [*_two_sizes(first, second, [0, 0]), directions * units])


def _two_sizes(first: int, second: int, both_unknown: list[int]) -> list[int]:
    """Two sizes for a Reshape. An unknown size is -1."""
    return both_unknown if first < 0 and second < 0 else [first, second]
