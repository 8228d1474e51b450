"""The sources of tensors in an ONNX graph: constants, or elements of inputs and of recurrent outputs.

Note [Probes]
    The tracer evaluates each tensor at two probes. Each open dimension has different sizes at the two
    probes.

        tensor that depends on                      at each probe the tensor has
        no input, or the shapes of inputs only      values
        elements of inputs or recurrent outputs     labels: the number of the element at each place
        anything else                               a `stop`: text that names the node

    onnx's reference evaluator runs the nodes on these values and labels, so that every axis,
    permutation and target of a Reshape counts. Two sizes of a dimension represent all sizes unless a
    node compares a size with a constant, cuts a dimension or divides a size. _cuts() finds such nodes.
"""

from typing import Any, NamedTuple

import numpy as np

from tf_rnn_ops.params.onnx.tensors import (
    array_of,
    dimensions,
    evaluate,
    inferred_shapes,
    numpy_type,
)

RECURRENT = ("LSTM", "GRU", "RNN")
DOMAINS = ("", "ai.onnx")
# Nodes that move elements without changing their values.
_MOVES = (
    "Cast", "Concat", "Dropout", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice",
    "Split", "Squeeze", "Transpose", "Unsqueeze",
)  # fmt: skip
# Other nodes that compute with sizes of dimensions.
_SIZES = ("Add", "ConstantOfShape", "Equal", "Mul", "Neg", "Shape", "Size", "Sub", "Where")
_RANDOM = (
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
    "RandomUniformLike",
)  # fmt: skip
# AttributeProto.AttributeType: GRAPH and GRAPHS.
_GRAPHS = (5, 10)
_PROBES = 2
# Labels are int32.
_MOST_LABELS = 2**31 - 1
# TensorProto.DataType of float32, int32, int64 and float64, which represent every size exactly.
_WIDE = (1, 6, 7, 11)
# TensorProto.DataType of bfloat16, which numpy does not have.
_BFLOAT16 = 16
# A slice with this end or a larger one reaches the end of every dimension.
_TO_THE_END = 2**31 - 1


class Traced(NamedTuple):
    """A tensor at each probe; see Note [Probes]. A constant has the same array at both probes.

    Attributes:
        values: The values, or None.
        labels: The numbers of the elements, or None.
        shapes: The shapes, or None where they are unknown.
        dtype: The numpy type of the elements, or None if it is unknown.
        stop: Text that names the source if neither values nor labels are known.
    """

    values: Any = None
    labels: Any = None
    shapes: Any = None
    dtype: Any = None
    stop: str = ""

    @property
    def is_constant(self):
        """Whether the values are the same for all sizes of all dimensions."""
        return self.values is not None and self.values[0] is self.values[1]


class Source(NamedTuple):
    """A tensor whose elements have labels.

    Attributes:
        what: Text that names the tensor.
        name: Its name.
        node: The recurrent node that makes it, or None for an input of the graph.
        output: The number of the output of the node.
    """

    what: str
    name: str
    node: Any = None
    output: int = 0


def name_of(node):
    """The name of a node in error messages."""
    if node.name:
        return f"the node {node.name!r}"
    outputs = [name for name in node.output if name]
    return f"the node {node.op_type} with the output {outputs[0] if outputs else ''!r}"


class Tracer:
    """Traces tensors of a model; see Note [Probes].

    Args:
        model: A ModelProto.
    """

    def __init__(self, model):
        self._model = model
        graph = model.graph
        self.nodes = list(graph.node)
        versions = {entry.domain: entry.version for entry in model.opset_import}
        self._opset = versions.get("", versions.get("ai.onnx", 1))
        self._makers = {
            name: (node, k) for node in self.nodes for k, name in enumerate(node.output) if name
        }
        self._tensors = {tensor.name: tensor for tensor in graph.initializer}
        self._sparse = {tensor.values.name for tensor in graph.sparse_initializer}
        self._inputs = {value.name: value for value in graph.input}
        self._inferred = None
        # The dimensions of inputs of recurrent nodes: X, W, R, B, sequence_lens, initial_h, initial_c.
        self._ranks = {
            name: [None] * rank
            for node in self.nodes if is_recurrent(node)
            for name, rank in zip(node.input, (3, 3, 3, 2, 1, 3, 3))
        }  # fmt: skip
        self._sizes = {}
        # The first label of each source, and the first free label.
        self._starts = {}
        self._sources = []
        self._free = 0
        self._done = {}
        # Names of the tensors that do not depend on an input.
        self._fixed = {"", *self._tensors}
        for node in self.nodes:
            plain = node.domain in DOMAINS and node.op_type not in RECURRENT
            if plain and not _has_graphs(node) and self._fixed.issuperset(node.input):
                if not self._is_random(node):
                    self._fixed.update(node.output)

    def _is_random(self, node):
        """Whether a node may draw random numbers."""
        if node.op_type != "Dropout":
            return node.op_type in _RANDOM
        if self._opset < 7:
            return not any(one.name == "is_test" and one.i for one in node.attribute)
        if len(node.input) < 3 or not node.input[2]:
            return False
        training = self.trace(node.input[2])
        return training.values is None or any(np.any(values) for values in training.values)

    def trace(self, name):
        """The Traced of a tensor."""
        stack, open_names = [name], set()
        while stack:
            top = stack[-1]
            waiting = [n for n in self._needs(top) if n not in self._done and n not in open_names]
            if top in self._done or not waiting:
                stack.pop()
                if top not in self._done:
                    self._done[top] = self._look(top)
            else:
                open_names.add(top)
                stack += waiting
        return self._done[name]

    def steps(self, node):
        """[(T, B) at each probe] of a recurrent node."""
        x = next(iter(node.input), "")
        shapes = self.trace(x).shapes if x else None
        if shapes is None or any(len(shape) != 3 for shape in shapes):
            sizes = [self._size((x, axis), None) for axis in range(2)]
            return list(zip(*sizes))
        first = 1 if batch_first(node) else 0
        return [(shape[first], shape[1 - first]) for shape in shapes]

    def feeds(self, labels):
        """The Sources of the elements with these labels, at one probe."""
        starts = list(self._starts.values())
        first, last = np.searchsorted(starts, [labels.min(), labels.max()], "right") - 1
        if first == last:  # WHY: unique() takes seconds for long sequences
            return [self._sources[first]]
        return [self._sources[k] for k in np.unique(np.searchsorted(starts, labels, "right") - 1)]

    # ---- one tensor ----

    def _needs(self, name):
        """The tensors that must be traced before this one."""
        node, _ = self._makers.get(name, (None, 0))
        if node is None or name in self._tensors:
            return []
        if is_recurrent(node):
            return [n for n in node.input[:3] if n]
        follow = node.domain in DOMAINS and node.op_type in (*_MOVES, *_SIZES)
        return [n for n in node.input if n] if follow or name in self._fixed else []

    def _look(self, name):
        if name in self._tensors:
            return _constant(array_of(self._tensors[name]))
        if name in self._sparse:
            return Traced(stop=f"the sparse tensor {name!r}")
        if name not in self._makers:
            return self._input(name)
        node, k = self._makers[name]
        if is_recurrent(node):
            return self._output(node, k, name)
        inputs = {n: self._done.get(n, Traced(stop=name_of(node))) for n in node.input if n}
        traced = self._follow(node, k, inputs)
        if traced.stop and traced.shapes is None:
            return traced._replace(shapes=self._shapes_of(name))
        return traced

    def _input(self, name):
        """An input of the graph, or a tensor without a node that makes it."""
        source = Source(f"the input {name!r} of the graph", name)
        value = self._inputs.get(name)
        dims = dimensions(value) if value is not None else None
        dims = self._ranks.get(name) if dims is None else dims
        if dims is None:
            return Traced(stop=f"{source.what}, whose shape the model does not have")
        dtype = numpy_type(value.type.tensor_type.elem_type) if value is not None else None
        return self._number(name, source, self._probe(name, dims), dtype)

    def _output(self, node, k, name):
        """Output k of a recurrent node."""
        recurrent = self.trace(node.input[2]) if len(node.input) > 2 else Traced()
        if (
            recurrent.values is None
            or recurrent.values[0].ndim != 3
            or not recurrent.values[0].size
        ):
            return Traced(stop=name_of(node), shapes=self._shapes_of(name))
        dirs, _, units = recurrent.values[0].shape
        shapes = []
        for steps, batch in self.steps(node):
            if batch_first(node):
                shapes.append((batch, steps, dirs, units) if k == 0 else (batch, dirs, units))
            else:
                shapes.append((steps, dirs, batch, units) if k == 0 else (dirs, batch, units))
        what = f"the output {('Y', 'Y_h', 'Y_c')[k]} of {name_of(node)}"
        return self._number(name, Source(what, name, node, k), shapes, recurrent.values[0].dtype)

    def _number(self, name, source, shapes, dtype):
        """Gives labels to the elements of a source."""
        start, size = self._free, max(int(np.prod(shape)) for shape in shapes)
        if start + size > _MOST_LABELS:
            return Traced(stop=f"{source.what}, which is too large to be followed", shapes=shapes)
        self._free += size
        self._starts[name] = start
        self._sources.append(source)
        labels = [
            np.arange(start, start + np.prod(shape), dtype=np.int32).reshape(shape)
            for shape in dict.fromkeys(shapes)
        ]
        return Traced(labels=(labels[0], labels[-1]), shapes=tuple(shapes), dtype=dtype)

    # ---- shapes ----

    def _shapes_of(self, name):
        """The shapes of a tensor at each probe as onnx infers them, or None."""
        if self._inferred is None:
            self._inferred = inferred_shapes(self._model)
        dims = self._inferred.get(name)
        return None if dims is None else tuple(self._probe(name, dims))

    def _probe(self, name, dims):
        sizes = [self._size((name, axis), dim) for axis, dim in enumerate(dims)]
        return [tuple(size[probe] for size in sizes) for probe in range(_PROBES)]

    def _size(self, place, dim):
        """The sizes of a dimension, from its number, its name, or its place."""
        if isinstance(dim, int):
            return (dim,) * _PROBES
        key = dim or place
        if key not in self._sizes:
            # All sizes differ, and their differences between the probes differ too.
            count = len(self._sizes)
            self._sizes[key] = (11 + 2 * count, 13 + 3 * count)
        return self._sizes[key]

    # ---- one node ----

    def _follow(self, node, k, inputs):
        """Output k of a node that is not recurrent."""
        here = Traced(stop=f"{name_of(node)} ({node.op_type})")
        constant = self._fixed.issuperset(node.output)
        plain = node.domain in DOMAINS and not _has_graphs(node)
        if (
            not plain
            or not (constant or node.op_type in (*_MOVES, *_SIZES))
            or self._is_random(node)
        ):
            return here
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            return _constant(array_of(node.attribute[0].t))
        if node.op_type in ("Shape", "Size"):
            return self._shape(node, k, inputs)
        stop = next((t.stop for t in inputs.values() if t.stop), "")
        if stop:
            return Traced(stop=stop)
        if node.op_type in ("Identity", "Dropout", "Cast"):
            if node.op_type == "Dropout" or inputs[node.input[0]].labels is not None:
                return _same(node, k, inputs) or here
        moved = [n for n in node.input if n and inputs[n].labels is not None]
        if moved:
            data = node.input if node.op_type == "Concat" else node.input[:1]
            if node.op_type not in _MOVES or set(moved) != set(data):
                return here
        if not constant and _cuts(node, inputs):
            return here
        return self._run(node, k, inputs, moved) or here

    def _shape(self, node, k, inputs):
        (given,) = inputs.values() or [Traced()]
        if given.shapes is None:
            return Traced(stop=given.stop or f"{name_of(node)} ({node.op_type})")
        (name,) = inputs
        blank = [np.broadcast_to(np.int8(0), shape) for shape in dict.fromkeys(given.shapes)]
        blank = Traced(values=(blank[0], blank[-1]))
        return self._run(node, k, {name: blank}, []) or Traced(stop=name_of(node))

    def _run(self, node, k, inputs, moved):
        """The output of the node at each probe; None if it cannot run."""
        given = {n: t.labels if n in moved else t.values for n, t in inputs.items()}
        found = []
        for probe in range(_PROBES):
            arrays = {n: array[probe] for n, array in given.items()}
            if found and all(array[0] is array[1] for array in given.values()):
                found.append(found[0])
                continue
            try:
                results = evaluate(node, self._opset, arrays)
            except Exception:  # the evaluator rejects these arrays
                return None
            found.append(np.asarray(results[[n for n in node.output if n].index(node.output[k])]))
        shapes = tuple(array.shape for array in found)
        if moved:
            dtype = inputs[moved[0]].dtype
            if any(inputs[n].dtype != dtype for n in moved):
                return None
            return Traced(labels=_once(found), shapes=shapes, dtype=dtype)
        return Traced(values=_once(found), shapes=shapes, dtype=found[0].dtype)


def is_recurrent(node):
    """Whether it is an LSTM, GRU or RNN of ONNX."""
    return node.domain in DOMAINS and node.op_type in RECURRENT


def batch_first(node):
    """Whether the layout of a recurrent node has the batch before the time."""
    return any(attribute.name == "layout" and attribute.i for attribute in node.attribute)


def _has_graphs(node):
    return any(attribute.type in _GRAPHS for attribute in node.attribute)


def _constant(array):
    return Traced(values=(array, array), shapes=(array.shape,) * _PROBES, dtype=array.dtype)


def _once(arrays):
    """The arrays of all probes. Equal arrays become the same array."""
    first, second = arrays
    if first.shape == second.shape and first.dtype == second.dtype:
        if first is second or first.tobytes() == second.tobytes():
            return first, first
    return first, second


def _same(node, k, inputs):
    """The output of a node that returns its input unchanged; None for other nodes."""
    given = inputs[node.input[0]]
    if node.op_type == "Dropout":
        return None if k else given
    if node.op_type == "Cast":
        (to,) = [attribute.i for attribute in node.attribute if attribute.name == "to"]
        to = None if to == _BFLOAT16 else numpy_type(to)
        if to is None or given.dtype is None:
            return None
        # The traced type stays the type of the source, so each cast must keep the values.
        integers = all(dtype.kind in "iu" for dtype in (to, given.dtype)) and to.itemsize >= 4
        return given if integers or np.can_cast(given.dtype, to) else None
    return given


def _cuts(node, inputs):
    """Whether the result of a node may depend on a dimension in a way that the probes do not show."""
    kind, (data, *others) = node.op_type, [inputs[n] if n else None for n in node.input]
    if kind == "Equal":
        return not _is_decided(data.values, others[0].values)
    if kind == "Cast":  # may truncate a fraction
        wide = data.dtype.kind in "iu" and node.attribute[0].i in _WIDE
        return not wide and len(np.unique(np.concatenate([v.ravel() for v in data.values]))) > 1
    if kind == "Slice":
        return _slice_cuts(node, data.shapes, others)
    if kind in ("Gather", "Split"):
        axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
        changing = _changing(data.shapes)
        chosen = all(other is None or other.is_constant for other in others)
        return not chosen or axis % max(len(data.shapes[0]), 1) in changing
    return False


def _changing(shapes):
    """The axes whose sizes the model does not fix."""
    return {axis for axis, sizes in enumerate(zip(*shapes)) if len(set(sizes)) > 1}


def _slice_cuts(node, shapes, others):
    """_cuts() for a Slice.

    It must take all of an open axis, and the same range of a fixed axis at each probe.
    """
    # Until opset 9 the arguments are attributes.
    lists = {a.name: [list(a.ints)] * _PROBES for a in node.attribute}
    for name, given in zip(("starts", "ends", "axes", "steps"), others):
        if given is not None:
            lists[name] = [np.ravel(array).tolist() for array in given.values]
    count = len(lists["starts"][0])
    axes = lists.get("axes", [list(range(count))])[0]
    steps = lists.get("steps", [[1] * count])[0]
    changing = _changing(shapes)
    for k, axis in enumerate(axes):
        starts, ends = ([given[k] for given in lists[name]] for name in ("starts", "ends"))
        if axis % len(shapes[0]) not in changing:
            if len(set(starts)) > 1 or len(set(ends)) > 1:
                return True
            continue
        sizes = [shape[axis] for shape in shapes]
        whole = ends == sizes or min(ends) >= _TO_THE_END
        if steps[k] != 1 or any(starts) or not whole:
            return True
    return False


def _is_decided(first, second):
    """Whether two values are equal for all sizes or unequal for all sizes. A changing value is not negative."""
    try:
        a, b = (np.broadcast_arrays(*pair) for pair in zip(first, second))
    except ValueError:
        return False
    if a[0].shape != b[0].shape:
        return False
    changing = (a[0] != b[0]) | (a[1] != b[1])
    negative = ((a[0] < 0) & (a[0] == b[0])) | ((a[1] < 0) & (a[1] == b[1]))
    return bool(np.all(~changing | negative))
