"""Finds the stack that recurrent nodes form, and checks the order of the elements between its nodes.

Note [Numbered elements]

    node a              between                       node b

    Y [T, D, B, H] ---> Transpose, Reshape, ... ---> X [T, B, D*H]

The nodes between run in onnx.reference on a Y whose elements differ. X must have these elements in the order of a
stack. Sizes that the model fixes are those of the model. An open size runs twice, each time longer than the other
one and than the integers in the nodes between, so that a Slice with a constant end, or with another size as its
end, cuts Y in one of the runs.
"""

from typing import Any, Iterable, Sequence

import numpy as np

from tf_rnn_ops.params.onnx.graph import (
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
# Powers of 2 of the elements. Each fits float16, and each changes in another function: a Clip changes large
# elements, and a threshold changes small ones.
_EXPONENTS = (12, -12, 8, -8, 4, -4, 0)
_REMEDY = "Convert each separately."


def chain_of(nodes: Sequence) -> list:
    """The nodes in the order in which each reads values of the node before it.

    Args:
        nodes: All recurrent nodes of a graph, in topological order.

    Raises:
        ValueError: The nodes are several chains.
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
            f"node must name the nodes of one stack in their order, because the model has {len(chains)} chains of "
            f"LSTM, GRU or RNN nodes: {names}; but node is None."
        )
    return list(nodes)


def check_order(nodes: Sequence, opsets: dict[str, int]) -> None:
    """Raises ValueError unless each node reads Y of the node before it in the order of a stack.

    Args:
        nodes: Recurrent nodes. Their weights are constants.
        opsets: {domain: version of its operators}.
    """
    x = input_of(nodes[0], SEQUENCE)
    dims = (None, None) if x is None or x.shape is None or len(x.shape) != 3 else x.shape[:2]
    steps, batch = dims[::-1] if _batch_first(nodes[0]) else dims
    for before, node in zip(nodes, nodes[1:]):
        link = _Link(before, node)
        for sizes in _sizes(steps, batch, link.integers()):
            link.run(sizes, opsets)


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


def _sizes(steps: Any, batch: Any, integers: Iterable[int]) -> list[tuple[int, int, dict]]:
    """(T, B, {name of a size: its number}) of the runs.

    Args:
        steps: T of the model: an int, or something else if it is open.
        batch: B of the model.
        integers: The integers in the nodes between.
    """
    longest = 2 + max((abs(k) for k in integers if abs(k) < _TO_THE_END), default=1)
    runs = []
    for t, b, other in ((longest, 2, 1), (3, longest + 1, longest + 2)):
        t = steps if isinstance(steps, int) else t
        b = batch if isinstance(batch, int) else b
        names = {
            dim.value: size
            for dim, size in ((steps, t), (batch, b))
            if getattr(dim, "value", None) is not None
        }
        runs.append((t, b, {**names, None: other}))
    return runs


class _Link:
    """Two recurrent nodes, and the nodes between them.

    Attributes:
        before, node: The recurrent nodes.
        between: The nodes from Y of `before` to X of `node`, in topological order.
        measured: Tensors that do not come from Y, of which only the shape is read.

    Raises:
        ValueError: The sequence of `node` has other sources than Y of `before`.
    """

    def __init__(self, before: Any, node: Any):
        self.before, self.node = before, node
        self.y, self.x = before.outputs[0], input_of(node, SEQUENCE)
        self.measured: list = []
        of_y = _downstream(self.y)
        between: set = set()
        others: list[tuple] = []
        waiting = [(self.x, node)]
        reached = False
        while waiting:
            value, reader = waiting.pop()
            producer = value.producer() if value is not None else None
            if value is self.y:
                reached = True
            elif value is None or value.const_value is not None or producer in between:
                continue
            elif producer is None or is_recurrent(producer):
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
                f"are not a stack. {_REMEDY}"
            )
        if others:
            value, reader = others[0]
            raise self._error(f"{title(reader)} between them also reads {source_of(value)}")
        self.between = [one for one in node.graph if one in between]

    def integers(self) -> Iterable[int]:
        """The integers in constants and attributes of the nodes between."""
        for node in self.between:
            for value in node.inputs:
                if value is not None and value.const_value is not None:
                    array = value.const_value.numpy()
                    yield from array.ravel().tolist() if array.dtype.kind in "iu" else ()
            for attribute in node.attributes.values():
                values = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
                yield from (k for k in values if isinstance(k, int))

    def run(self, sizes: tuple[int, int, dict], opsets: dict[str, int]) -> None:
        """Raises ValueError unless X has the elements of Y in the order of a stack. See Note [Numbered elements]."""
        steps, batch, names = sizes
        y = self._numbered(steps, batch)
        arrays = {self.y: y}
        for value in self.measured:
            if value.shape is None:
                raise self._error(f"the shape of {value.name!r}, which nodes between them read, is unknown")
            shape = [d if isinstance(d, int) else names.get(d.value, names[None]) for d in value.shape]
            arrays[value] = np.broadcast_to(np.float32(0), shape)
        for node in self.between:
            try:
                outputs = _outputs(node, arrays, opsets)
            except Exception as error:
                raise self._error(
                    f"{title(node)} between them does not run in onnx.reference: {type(error).__name__}: {error}"
                ) from error
            arrays.update(zip(node.outputs, outputs))
        if not np.array_equal(arrays[self.x], self._wanted(y)):
            raise self._error(self._fault(arrays))

    def _numbered(self, steps: int, batch: int) -> np.ndarray:
        """Y of `before` with elements that differ."""
        weights = [input_of(self.before, k).const_value.numpy() for k in (1, 2)]
        dirs, units = weights[1].shape[0], weights[1].shape[-1]
        shape = [steps, dirs, batch, units]
        if _batch_first(self.before):
            shape = [batch, steps, dirs, units]
        if np.prod(shape, dtype=object) > _MOST:
            raise self._error(
                f"its output has too many elements to check the nodes between them: the shape {shape} has more than "
                f"{_MOST}. Export the model with open sizes of time and batch"
            )
        y = np.random.default_rng(1).standard_normal(shape, np.float32)
        y *= np.resize(np.ldexp(np.float32(1), _EXPONENTS), shape)
        return y.astype(weights[0].dtype, copy=False)

    def _wanted(self, y: np.ndarray) -> np.ndarray:
        """X of a stack: [T, B, D*H], or [B, T, D*H]."""
        y = y.swapaxes(0, 1) if _batch_first(self.before) else y.transpose(0, 2, 1, 3)
        x = y.reshape(*y.shape[:2], -1)
        return x.swapaxes(0, 1) if _batch_first(self.node) else x

    def _fault(self, arrays: dict) -> str:
        """Text that names the node at fault."""
        moved = []
        for node in self.between:
            outputs = [arrays[v] for v in node.outputs if v in arrays]
            outputs = [array for array in outputs if array.dtype.kind not in "iub"]
            if not outputs:
                continue
            moved.append(title(node))
            if not all(np.isin(array, arrays[self.y]).all() for array in outputs):
                return f"{title(node)} between them changes its elements"
        if not moved:
            return "no node between them joins the directions"
        return f"the elements between them have another order, or some are missing, after {', '.join(moved)}"

    def _error(self, reason: str) -> ValueError:
        return ValueError(
            f"{capital(title(self.node))} does not read the output of {title(self.before)} in the order of a stack: "
            f"{reason}. {_REMEDY}"
        )


def _downstream(value: Any) -> set:
    """The tensors that are computed from a tensor, and the tensor itself."""
    found, waiting = set(), [value]
    while waiting:
        value = waiting.pop()
        if value not in found:
            found.add(value)
            waiting += [output for node, _ in value.uses() for output in node.outputs]
    return found


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
    graph = helper.make_graph(
        [onnx_ir.serde.serialize_node(node)],
        "between",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in feeds.items()
        ],
        [onnx.ValueInfoProto(name=value.name) for value in node.outputs if value.name],
    )
    with np.errstate(all="ignore"):
        found = ReferenceEvaluator(graph, opsets=opsets).run(None, feeds, intermediate=True)
    return [found.get(value.name) for value in node.outputs]
