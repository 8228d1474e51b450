"""Traces the first two sizes of tensors in a graph of tf2onnx, B and T of sequences and masks."""

from onnx import TensorProto
from tf2onnx.graph import Graph, Node

from tf_rnn_ops._formats.onnx import nodes
from tf_rnn_ops._formats.passes import mask_conditions

# Ops whose output has the shape of the first input.
_UNARY = (
    *("Cast", "Cumsum", "ReverseV2", "ReverseSequence", "LogicalNot", "Neg", "Abs", "BiasAdd"),
    *("Relu", "Relu6", "Elu", "Selu", "Tanh", "Sigmoid", "Softmax", "Exp", "Sqrt", "Rsqrt"),
)
# Ops that broadcast their inputs.
_ELEMENTWISE = (
    *("Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference"),
    *("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"),
    *("LogicalAnd", "LogicalOr", "SelectV2"),
)
_REDUCING = ("Any", "All", "Sum", "Max", "Mean")


class Leading:
    """Finds tensors with equal first two sizes."""

    def __init__(self, ctx: Graph) -> None:
        self._ctx = ctx
        self._found: dict[str, str] = {}
        # {op: a function of its node that returns what _before() does}.
        self._rules = {
            **dict.fromkeys(_UNARY, lambda node: node.input[0]),
            **dict.fromkeys(_ELEMENTWISE, self._of_broadcast),
            **dict.fromkeys(_REDUCING, self._of_reduction),
            **dict.fromkeys(nodes.LAYERS, self._of_layer),
            **dict.fromkeys(("If", "StatelessIf"), self._of_condition),
            "ConcatV2": self._of_concatenation,
            "ExpandDims": self._of_expansion,
            "GatherV2": self._of_gather,
            "Reshape": self._of_reshape,
            "StridedSlice": self._of_check,
        }

    def of(self, name: str) -> str:
        """The name of a tensor, as near to the inputs as possible, with the first two sizes of a tensor."""
        path = []
        while name not in self._found:
            path.append(name)
            before = self._before(name)
            if before is None:
                self._found[name] = name
                break
            name = before
        for one in path:
            self._found[one] = self._found[name]
        return self._found[name]

    def _before(self, name: str) -> str | None:
        """A tensor that the node of a tensor reads, with the same first two sizes; None if there is none."""
        node = nodes.producer(self._ctx, name)
        if node is None or node.is_const():
            return None
        if node.type in nodes.LAYERS and name != node.output[0]:
            return None
        rule = self._rules.get(node.type)
        return rule(node) if rule else None

    def _of_layer(self, node: Node) -> str | None:
        return None if nodes.attribute(node, "time_major", True) else node.input[0]

    def _of_reduction(self, node: Node) -> str | None:
        return node.input[0] if self._is_beyond(node, node.input[1]) else None

    def _of_concatenation(self, node: Node) -> str | None:
        return node.input[0] if self._is_beyond(node, node.input[-1]) else None

    def _of_expansion(self, node: Node) -> str | None:
        axis = nodes.value(self._ctx, node.input[1])
        return node.input[0] if axis == -1 or axis == self._rank(node.input[0]) else None

    def _of_condition(self, node: Node) -> str | None:
        is_of_mask = mask_conditions.kind(node.type, node.name) is not None
        return mask_of_condition(self._ctx, node) if is_of_mask else None

    def _of_check(self, node: Node) -> str | None:
        checked = of_check(self._ctx, node)
        return checked[1] if checked else None

    def _rank(self, name: str) -> int | None:
        shape = self._ctx.get_shape(name)
        return None if shape is None else len(shape)

    def _is_beyond(self, node: Node, axis: str) -> bool:
        """Whether an axis of the first input is none of the first two."""
        value, rank = nodes.value(self._ctx, axis), self._rank(node.input[0])
        axes = value if isinstance(value, list) else [value]
        return rank is not None and all(a is not None and a % rank >= 2 for a in axes)

    def _of_broadcast(self, node: Node) -> str | None:
        """The only input that decides on the sizes, or an input whose sizes the others have."""
        rank = self._rank(node.output[0])
        ranks = [self._rank(name) for name in node.input]
        if rank is None or rank < 2 or None in ranks:
            return None
        # An input with rank - 2 axes does not reach the first two.
        deciding = [name for name, own in zip(node.input, ranks) if (own or 0) > rank - 2]
        deciding = [name for name in deciding if self._ctx.get_shape(name)[:-1] != [1] * (rank - 1)]
        if any(self._rank(name) != rank for name in deciding):
            return None
        return deciding[0] if len({self.of(name) for name in deciding}) == 1 else None

    def _of_gather(self, node: Node) -> str | None:
        """Reversed steps of each row, or rows of a table such as an Embedding."""
        batch, axis = nodes.attribute(node, "batch_dims", 0), nodes.value(self._ctx, node.input[2])
        is_known = batch == axis in (0, 1)
        return node.input[1] if is_known and self._rank(node.input[1]) == 2 else None

    def _of_reshape(self, node: Node) -> str | None:
        """The end of a Dense layer: [*shape(x)[:2], units]."""
        shape = nodes.producer(self._ctx, node.input[1])
        if shape is None or shape.type != "ConcatV2" or nodes.value(self._ctx, shape.input[-1]):
            return None
        first = nodes.producer(self._ctx, shape.input[0])
        if first is None or first.type != "GatherV2":
            return None
        of = nodes.producer(self._ctx, first.input[0])
        two = nodes.value(self._ctx, first.input[1]) == [0, 1]
        return of.input[0] if two and of is not None and of.type == "Shape" else None


def mask_of_condition(ctx: Graph, node: Node) -> str:
    """The mask that the condition of a masked layer reads, its only input of this type after the predicate."""
    (mask,) = {name for name in node.input[1:] if ctx.get_dtype(name) == TensorProto.BOOL}
    return mask


def of_check(ctx: Graph, node: Node) -> tuple[str, str] | None:
    """A mask and the sequences that it must fit, if a node is the result of keras/dispatch/masks.as_booleans.

    Such a mask has one row or B rows, and the result has B rows:
    stack([broadcast(mask), ones(shape(sequences)[:2])])[0].
    """
    if node.type != "StridedSlice" or nodes.value(ctx, node.input[1]) != [0]:
        return None
    stack = nodes.producer(ctx, node.input[0])
    if stack is None or stack.type != "Pack" or len(stack.input) != 2:
        return None
    broadcast, ones = (nodes.producer(ctx, name) for name in stack.input)
    if broadcast is None or broadcast.type != "BroadcastTo" or ones is None or ones.type != "Fill":
        return None
    size = nodes.producer(ctx, ones.input[0])
    if size is None or size.type != "StridedSlice":
        return None
    shape = nodes.producer(ctx, size.input[0])
    bounds = [nodes.value(ctx, name) for name in size.input[1:3]]
    if shape is None or shape.type != "Shape" or bounds != [[0], [2]]:
        return None
    return broadcast.input[0], shape.input[0]
