"""Finds the stack that recurrent nodes form, and checks the order of the elements between its nodes.

Note [Numbered elements]

    node a              between                       node b

    Y [T, D, B, H] ---> Transpose, Reshape, ... ---> X [T, B, D*H]

The nodes between run in onnx.reference on a Y whose elements differ, and X must have the elements in the order of a
stack. H, D and the sizes that the model fixes are those of the model. The nodes run twice. An open T is larger than B
and than all integers in the nodes between in the first run, and an open B is in the second run. Then a Slice with a
constant end, or with another size as its end, cuts Y in one of the runs. The elements of the second run have the other
sign.
"""

import math
from typing import Any, Iterable, NamedTuple, Sequence

import numpy as np

from tf_rnn_ops._python.one_line import one_line
from tf_rnn_ops.params.cells import as_array
from tf_rnn_ops.params.onnx.graph import (
    DOMAINS,
    SEQUENCE,
    capital,
    input_of,
    is_recurrent,
    name_of,
    source_of,
    title,
)

# Nodes that read the shape of their input, not its values.
_SHAPES = ("Shape", "Size")
# Integers from here on mean "to the end" in a Slice.
_TO_THE_END = 2**31 - 1
# The most elements that are compared: 256 MiB of float32.
_MOST = 2**26
# Factors of the elements, which fit float16. A Clip changes large elements, and a threshold changes small elements.
_FACTORS = (4096, 1 / 4096, 256, 1 / 256, 16, 1 / 16, 1)
# Nodes that pass a shape on to a Reshape.
_OF_SHAPES = ("Cast", "Concat", "Identity", "Unsqueeze")
REMEDY = "Convert each separately."


def check_chain(nodes: Sequence) -> None:
    """Raises ValueError unless each node reads values of the node before it.

    Args:
        nodes: All recurrent nodes of a graph, in topological order.
    """
    chains: list[list] = []
    for node in nodes:
        sources = _recurrent_sources(node)
        chain = next((chain for chain in chains if chain[-1] in sources), None)
        if chain is None:
            chains.append([node])
        else:
            chain.append(node)
    if len(chains) > 1:
        names = " or ".join(str([name_of(node) for node in chain]) for chain in chains)
        raise ValueError(
            f"node must name the nodes of one stack in their order, such as {names}, because the model has "
            f"{len(chains)} chains of LSTM, GRU or RNN nodes, but node is None."
        )


def check_order(nodes: Sequence, opsets: dict[str, int]) -> None:
    """Raises ValueError unless each node reads Y of the node before it in the order of a stack.

    Args:
        nodes: Recurrent nodes. Their weights are constants.
        opsets: {domain: version of its operators}.
    """
    opsets = {"" if domain in DOMAINS else domain: version for domain, version in opsets.items()}
    x = input_of(nodes[0], SEQUENCE)
    dims = (None, None) if x is None or x.shape is None or len(x.shape) != 3 else x.shape[:2]
    steps, batch = dims[::-1] if _batch_first(nodes[0]) else dims
    for before, node in zip(nodes, nodes[1:]):
        link = _Link(before, node)
        for run in _runs(steps, batch, link.integers()):
            link.check(run, opsets)


def _recurrent_sources(node: Any) -> set:
    """The recurrent nodes whose values the sequence of a node has."""
    found, done, waiting = set(), set(), [input_of(node, SEQUENCE)]
    while waiting:
        value = waiting.pop()
        producer = None if value is None or value.const_value is not None else value.producer()
        if producer is None or producer in done:
            continue
        done.add(producer)
        if is_recurrent(producer):
            found.add(producer)
        elif producer.op_type not in _SHAPES:
            waiting += producer.inputs
    return found


def _batch_first(node: Any) -> bool:
    layout = node.attributes.get("layout")
    return bool(layout and layout.value)


class _Run(NamedTuple):
    """The difference between the two runs.

    Attributes:
        steps, batch: T and B.
        names: {name of an open size of the model: T or B}; a size without a name is None.
        other: The number for other open sizes.
        sign: 1 or -1, a factor of the elements.
    """

    steps: int
    batch: int
    names: dict[str | None, int]
    other: int
    sign: int


def _is_open(size: Any) -> bool:
    """Whether the model does not fix a size. Some exporters write -1 or 0 for an open size."""
    return not isinstance(size, int) or size <= 0


def _runs(steps: Any, batch: Any, integers: Iterable[int]) -> list[_Run]:
    """The two runs. See Note [Numbered elements].

    Args:
        steps: T of the model: an int, or something else if it is open.
        batch: B of the model.
        integers: The integers in the nodes between.
    """
    longest = 2 + max((abs(k) for k in integers if abs(k) < _TO_THE_END), default=1)
    runs = []
    for t, b, other, sign in ((longest, 2, 1, 1), (3, longest + 1, longest + 2, -1)):
        t = t if _is_open(steps) else steps
        b = b if _is_open(batch) else batch
        names = {dim.value: k for dim, k in ((steps, t), (batch, b)) if hasattr(dim, "value")}
        runs.append(_Run(t, b, names, other, sign))
    return runs


class _Link:
    """Two recurrent nodes, and the nodes between them.

    Attributes:
        before, node: The recurrent nodes.
        between: The nodes from Y of `before` to X of `node` as keys, in topological order.
        measured: Tensors that do not come from Y, of which only the shape is read.

    Raises:
        ValueError: The sequence of `node` has other sources than Y of `before`.
    """

    def __init__(self, before: Any, node: Any):
        self.before, self.node = before, node
        self.y = before.outputs[0] if before.outputs else None
        self.x = input_of(node, SEQUENCE)
        self.measured: list = []
        of_y = _downstream(before.outputs[:1])
        between: set = set()
        others: list[tuple] = []
        waiting = [(self.x, node)]
        reached = False
        while waiting:
            value, reader = waiting.pop()
            if value is None or value.const_value is not None:
                continue
            producer = value.producer()
            if value is self.y:
                reached = True
            elif producer in between:
                continue
            elif producer is None or is_recurrent(producer) or _has_graphs(producer):
                others.append((value, reader))
            else:
                between.add(producer)
                inputs = [v for v in producer.inputs if v is not None]
                if producer.op_type in _SHAPES and not of_y.issuperset(inputs):
                    self.measured += inputs
                else:
                    waiting += [(v, producer) for v in inputs]
        if not reached:
            source = source_of(others[0][0] if others else self.x)
            raise ValueError(
                f"{capital(title(node))} does not get the output of {title(before)} before it, but {source}, so they "
                f"are not a stack. {REMEDY}"
            )
        if others:
            value, reader = others[0]
            raise self._error(f"{title(reader)} between them also reads {source_of(value)}")
        self.between = dict.fromkeys(one for one in node.graph if one in between)

    def integers(self) -> Iterable[int]:
        """The integers in constants and attributes of the nodes between that can be the end of a part of Y."""
        for node in self.between:
            for value in node.inputs:
                if value is None or value.const_value is None or self._is_shape(value):
                    continue
                array = value.const_value.numpy()
                yield from array.ravel().tolist() if array.dtype.kind in "iu" else ()
            for attribute in node.attributes.values():
                values = (
                    attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
                )
                yield from (k for k in values if isinstance(k, int))

    def _is_shape(self, value: Any) -> bool:
        """Whether the nodes between read a tensor only as the shape of a Reshape, which cannot cut Y."""
        done, waiting = set(), [value]
        while waiting:
            for node, k in waiting.pop().uses():
                if node not in self.between or node in done:
                    continue
                if node.op_type in _OF_SHAPES:
                    done.add(node)
                    waiting.append(node.outputs[0])
                elif node.op_type != "Reshape" or k != 1:
                    return False
        return True

    def check(self, run: _Run, opsets: dict[str, int]) -> None:
        """Raises ValueError unless X has the elements of Y in the order of a stack."""
        y = self._numbered(run)
        arrays = {self.y: y}
        for value in self.measured:
            if value.shape is None:
                raise self._error(
                    f"the shape of {value.name!r}, which nodes between them read, is unknown"
                )
            shape = [
                dim
                if isinstance(dim, int)
                else run.other
                if dim.value is None
                else run.names.get(dim.value, run.other)
                for dim in value.shape
            ]
            arrays[value] = np.broadcast_to(np.float32(0), shape)
        for node in self.between:
            try:
                outputs = _outputs(node, arrays, opsets)
            except Exception as error:
                raise self._error(
                    f"{title(node)} between them does not run in onnx.reference: {one_line(error).rstrip('.')}"
                ) from error
            arrays.update(zip(node.outputs, outputs))
        if not np.array_equal(arrays[self.x], self._wanted(y)):
            raise self._error(self._fault(arrays))

    def _numbered(self, run: _Run) -> np.ndarray:
        """Y of `before` with elements that differ."""
        w, r = (getattr(input_of(self.before, k), "const_value", None) for k in (1, 2))
        name = title(self.before)
        dtype = as_array(f"W of {name}", w, rank=3).dtype
        dirs, _, units = as_array(f"R of {name}", r, rank=3).shape
        shape = [run.steps, dirs, run.batch, units]
        if _batch_first(self.before):
            shape = [run.batch, run.steps, dirs, units]
        if math.prod(shape) > _MOST:
            raise self._error(
                f"the check of the nodes between them would need an output of the shape {shape}, which has more than "
                f"{_MOST} elements"
            )
        y = np.random.default_rng(1).standard_normal(shape, np.float32)
        y *= np.resize(np.array(_FACTORS, np.float32) * run.sign, shape)
        if y.size > 1:
            y.flat[-1] = 0  # Masks often change 0.
        return y.astype(dtype, copy=False)

    def _wanted(self, y: np.ndarray) -> np.ndarray:
        """X of a stack: [T, B, D*H], or [B, T, D*H]."""
        y = y.swapaxes(0, 1) if _batch_first(self.before) else y.transpose(0, 2, 1, 3)
        x = y.reshape(*y.shape[:2], y.shape[2] * y.shape[3])
        return x.swapaxes(0, 1) if _batch_first(self.node) else x

    def _fault(self, arrays: dict) -> str:
        """Text that names the node at fault."""
        y = arrays[self.y]
        moves = []
        for node in self.between:
            outputs = [array for value in node.outputs for array in _floats(arrays[value])]
            if any(_has_others(array, y) for array in outputs):
                return f"{title(node)} between them changes its elements"
            if outputs:
                moves.append(title(node))
        if not moves:
            return "no node between them joins the directions"
        return (
            f"the order of its elements differs, or some are missing, behind {' and '.join(moves)}"
        )

    def _error(self, reason: str) -> ValueError:
        return ValueError(
            f"{capital(title(self.node))} does not read the output of {title(self.before)} in the order of a stack: "
            f"{reason}. {REMEDY}"
        )


def _downstream(values: Sequence) -> set:
    """The tensors, and all tensors that nodes compute from them."""
    found, waiting = set(), list(values)
    while waiting:
        value = waiting.pop()
        if value not in found:
            found.add(value)
            waiting += [output for node, _ in value.uses() for output in node.outputs]
    return found


def _has_graphs(node: Any) -> bool:
    """Whether a node is a branch or a loop, which may read other tensors and may not end."""
    return any(attribute.type.name in ("GRAPH", "GRAPHS") for attribute in node.attributes.values())


def _floats(output: Any) -> list:
    """The arrays of floating point numbers in an output, which may be a list or None."""
    arrays = output if isinstance(output, list) else [output]
    return [a for a in arrays if hasattr(a, "dtype") and a.dtype.kind not in "biu"]


def _has_others(array: np.ndarray, y: np.ndarray) -> bool:
    """Whether an array has other elements than Y."""
    if array.size == y.size:
        return not np.array_equal(np.sort(array, axis=None), np.sort(y, axis=None))
    return not np.isin(array, y).all()


def _outputs(node: Any, arrays: dict, opsets: dict[str, int]) -> list:
    """The outputs of a node in onnx.reference."""
    import onnx
    import onnx_ir
    from onnx.reference import ReferenceEvaluator

    feeds = {
        value.name: arrays[value] if value in arrays else value.const_value.numpy()
        for value in node.inputs
        if value is not None
    }
    helper = onnx.helper
    proto = onnx_ir.serde.serialize_node(node)
    if proto.domain in DOMAINS:
        proto.domain = ""
    graph = helper.make_graph(
        [proto],
        "between",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in feeds.items()
        ],
        [onnx.ValueInfoProto(name=value.name) for value in node.outputs if value.name],
    )
    with np.errstate(all="ignore"):
        outputs = iter(ReferenceEvaluator(graph, opsets=opsets).run(None, feeds))
    return [next(outputs) if value.name else None for value in node.outputs]
