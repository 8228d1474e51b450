"""The sub-graphs of the grammar that feed a recurrent node."""

import numpy as np
from onnx import numpy_helper

from robustness.graph_problem.grammar import MORE_STEPS, NO_WEIGHTS


def weight(b, form, array, name, x):
    """A weight, by its form; some change its numbers."""
    axis = 1
    if form == "constant":
        return _constant_node(b, array)
    if form == "floats" and b.graph.opset >= 12:  # a Constant of a list, which has one dimension
        flat = b.add("Constant", value_floats=array.ravel().tolist())
        return b.add("Reshape", flat, b.ints(*array.shape))
    if form == "identity":
        return b.add("Identity", b.const(array))
    if form == "half":
        return b.cast(b.const(array.astype(np.float16)), np.float32)
    if form == "wide":
        return b.cast(b.const(array.astype(np.float64)), np.float32)
    if form == "transpose":
        perm = list(range(array.ndim))[::-1]
        return b.add("Transpose", b.const(np.ascontiguousarray(array.T)), perm=perm)
    if form == "reshape":
        return b.add("Reshape", b.const(array.ravel()), b.ints(*array.shape))
    if form == "slice":
        padded = np.concatenate([array, array[:, :1] + 1], axis)
        return b.slice(b.const(padded), 0, array.shape[1], axis)
    if form == "concat":
        return b.add("Concat", b.const(array[:, :1]), b.const(array[:, 1:]), axis=axis)
    if form == "split":
        both = b.const(np.concatenate([array + 1, array], axis))
        return b.split(both, [array.shape[1]] * 2, axis)[1]
    if form == "gather":
        return b.add("Gather", b.const(array[:, ::-1]), b.ints(*range(array.shape[1])), axis=axis)
    if form == "mul":
        return b.add("Mul", b.const(array / 2), b.const(np.float32(2)))
    if form == "quantized":
        scale = np.float32(np.abs(array).max() / 127)
        levels = b.const(np.round(array / scale).astype(np.int8))
        return b.add("DequantizeLinear", levels, b.const(scale), b.const(np.int8(0)))
    if form == "squeeze":
        return b.squeeze(b.const(array[None]), 0)
    if form == "unsqueeze" and len(array) == 1:
        return b.unsqueeze(b.const(array[0]), 0)
    if form == "where":
        return b.add("Where", b.const(array > 0), b.const(array), b.const(-array / 2))
    if form == "fill":
        value = b.normal(name, (1,), 0.1)
        return b.add("ConstantOfShape", b.ints(*array.shape), value=numpy_helper.from_array(value))
    if form == "default":
        kept = b.const(array, f"default_{name}")
        b.input(kept, array, "0" * array.ndim)
        del b.feeds[kept]
        return kept
    if form in NO_WEIGHTS:
        return _open_weight(b, form, array, name, x)
    return b.const(array)


def _open_weight(b, form, array, name, x):
    """A weight that is not constant."""
    if form == "input":
        return b.input(name, array, "0" * array.ndim)
    if form == "computed":
        total = b.add("ReduceMean", b.add("Reshape", x, b.ints(-1)), keepdims=1)
        return b.add("Add", b.const(array), total)
    if form == "sized":
        steps = b.cast(b.size(x, 0), np.float32)
        return b.add("Mul", b.const(array / 5), steps)
    sizes = b.add("Sub", b.size(x, 0), b.size(x, 1))
    return b.add("Mul", b.const(array / 5), b.cast(sizes, np.float32))


def _constant_node(b, array):
    return b.add("Constant", value=numpy_helper.from_array(array))


def _open_shape(b, x, rows, units):
    """[rows, B, units], from the shape of x."""
    return b.add("Concat", b.ints(rows), b.size(x, 1), b.ints(units), axis=0)


def _zeros(b, x, rows, units, dtype=np.float32):
    value = numpy_helper.from_array(np.zeros(1, dtype))
    return b.add("ConstantOfShape", _open_shape(b, x, rows, units), value=value)


def state(b, k, kind, x, seen):
    """initial_h or initial_c of node k, [D, B, H]; '' for none."""
    graph = b.graph
    form = getattr(graph, kind)[k]
    dirs = 1 + (graph.direction[k] == "bidirectional")
    shape = (dirs, b.batch, graph.units[k])
    name = f"{kind}{k}"
    if form == "none":
        return ""
    if form.startswith("zero"):
        return _zero_state(b, form, x, shape)
    if form.startswith("joint"):
        return _joint_state(b, k, kind, form)
    if form in _OF_INPUT:
        return _OF_INPUT[form](b, name, shape)
    if form == "previous" and k:
        before = b.last[k - 1][1 if kind == "h" else -1]
        same = all(
            getattr(graph, key)[k] == getattr(graph, key)[k - 1] for key in ("units", "direction")
        )
        if same:
            return before
    if form == "of_x" and graph.I >= shape[2] and b.steps >= dirs:
        return b.slice(b.slice(x, 0, dirs, 0), 0, shape[2], 2)
    one = b.const(b.normal(name, (dirs, 1, shape[2])))
    if form == "constant_expand":
        return b.add("Expand", one, _open_shape(b, x, dirs, shape[2]))
    if form == "learned_open":  # as PyTorch writes expand(-1, B, -1)
        wanted = b.add("Concat", b.ints(-1), b.size(x, 1), b.ints(-1), axis=0)
        value = numpy_helper.from_array(np.ones(1, np.int64))
        ones = b.add("ConstantOfShape", b.add("Shape", wanted), value=value)
        keep = b.add("Equal", wanted, b.add("Mul", ones, b.ints(-1)))
        return b.add("Expand", one, b.add("Where", keep, ones, wanted))
    if form == "mixed":
        given = b.input(name, b.normal(name, (dirs, b.batch, 1)), "0b0")
        return b.add("Concat", given, _zeros(b, x, dirs, shape[2] - 1), axis=2)
    if form == "sized":
        steps = b.cast(b.size(x, 0), np.float32)
        tenth = b.add("Mul", steps, b.const(np.float32(0.1)))
        return b.add("Expand", tenth, _open_shape(b, x, dirs, shape[2]))
    if form in ("compared", "floored"):  # 0 at few steps and 1 at many
        more = b.graph.T + MORE_STEPS
        if form == "compared":
            many = b.add("Equal", b.size(x, 0), b.ints(more))
        else:
            share = b.add("Mul", b.cast(b.size(x, 0), np.float32), b.const(np.float32(1 / more)))
            many = b.cast(share, np.int32)
        return b.add("Expand", b.cast(many, np.float32), _open_shape(b, x, dirs, shape[2]))
    return b.const(b.normal(name, shape))


def _zero_state(b, form, x, shape):
    dirs, _, units = shape
    if form == "zero_open":
        return _zeros(b, x, dirs, units)
    if form == "zero_expand":
        small = b.const(np.zeros((dirs, 1, units), np.float32))
        return b.add("Expand", small, _open_shape(b, x, dirs, units))
    if form == "zero_cast":
        return b.cast(_zeros(b, x, dirs, units, np.float64), np.float32)
    if form == "zero_slice":
        return b.slice(_zeros(b, x, dirs + 2, units), 1, dirs + 1, 0)
    return b.const(np.zeros(shape, np.float32))


def _joint_state(b, k, kind, form):
    """Rows of one input for all nodes with `units` units."""
    graph = b.graph
    units = graph.units[k]
    rows = [
        (1 + (direction == "bidirectional")) * (u == units)
        for u, direction in zip(graph.units, graph.direction)
    ]
    name = f"joint_{kind}{units}"
    joint = b.input(name, b.normal(name, (sum(rows), b.batch, units)), "0b0")
    start = sum(rows[:k])
    if form == "joint_swapped":
        start = sum(rows) - start - rows[k]
    return b.slice(joint, start, start + rows[k], 0)


def _whole(b, name, shape, dtype=np.float32):
    return b.input(name, b.normal(name, shape).astype(dtype), "0b0")


def _squeezed(b, name, shape):
    dirs, batch, units = shape
    if dirs == 1:
        return b.unsqueeze(b.input(name, b.normal(name, (batch, units)), "b0"), 0)
    return b.squeeze(b.input(name, b.normal(name, (dirs, batch, 1, units)), "0b00"), 2)


def _batch_first(b, name, shape):
    dirs, batch, units = shape
    given = b.input(name, b.normal(name, (batch, dirs, units)), "b00")
    return b.add("Transpose", given, perm=[1, 0, 2])


_OF_INPUT = {
    "input": _whole,
    "input_identity": lambda b, *given: b.add("Identity", _whole(b, *given)),
    "input_cast": lambda b, *given: b.cast(_whole(b, *given, np.float16), np.float32),
    "input_narrow": lambda b, *given: b.cast(_whole(b, *given, np.float64), np.float32),
    "input_squeeze": _squeezed,
    "input_batch": _batch_first,
    "computed": lambda b, *given: b.add("Tanh", _whole(b, *given)),
    "flipped": lambda b, *given: b.flip(_whole(b, *given), 1),
}


def lengths(b, form, x):
    """sequence_lens, [B]; '' for none."""
    rng = np.random.default_rng(b.graph.seed)
    short = rng.integers(1, b.steps + 1, b.batch)
    short[0] = b.steps
    if form == "none":
        return ""
    if form == "full_open":
        return b.cast(b.add("Expand", b.size(x, 0), b.size(x, 1)), np.int32)
    if form == "full_product":
        value = numpy_helper.from_array(np.ones(1, np.int64))
        ones = b.add("ConstantOfShape", b.size(x, 1), value=value)
        return b.cast(b.add("Mul", ones, b.size(x, 0)), np.int32)
    if form == "minus_open":
        less = b.add("Sub", b.size(x, 0), b.ints(1))
        return b.cast(b.add("Expand", less, b.size(x, 1)), np.int32)
    if form == "full":
        return b.const(np.full(b.batch, b.graph.T, np.int32))
    if form == "short":
        return b.const(short.astype(np.int32))
    if form == "short_cast":
        return b.cast(b.const(short), np.int32)
    if form == "short_identity":
        return b.add("Identity", b.const(short.astype(np.int32)))
    if form == "short_expand":
        return b.add("Expand", b.const(np.array([b.graph.T - 1], np.int32)), b.size(x, 1))
    if form == "input_cast":
        return b.cast(b.input("n64", short, "b"), np.int32)
    if form == "input_reshape":
        given = b.input("n_column", short.astype(np.int32)[:, None], "b0")
        return b.add("Reshape", given, b.ints(-1))
    given = b.input("n", short.astype(np.int32), "b")
    if form == "computed":
        return b.add("Sub", b.const(np.int32(b.graph.T + 1)), given)
    return b.flip(given, 0) if form == "input_flipped" else given


def between(b, k, form, before, x):
    """(X of node k, its last dimension), from Y of the node before it."""
    graph = b.graph
    y = b.last[k - 1][0]
    dirs, units = 1 + (graph.direction[k - 1] == "bidirectional"), graph.units[k - 1]
    width = dirs * units
    if form == "of_x":
        return x, graph.I
    if form == "skip" and k > 1:  # the output of the node two before, where there is one
        dirs, units = 1 + (graph.direction[k - 2] == "bidirectional"), graph.units[k - 2]
        swapped = b.add("Transpose", b.last[k - 2][0], perm=[0, 2, 1, 3])
        return b.add("Reshape", swapped, b.ints(0, 0, -1)), dirs * units
    if form in ("squeeze", "squeeze_all", "reshape"):
        if form == "reshape":
            return b.add("Reshape", y, b.ints(0, -1, units)), width
        return b.squeeze(
            y, *([] if form == "squeeze_all" and min(b.batch, b.steps) > 1 else [1])
        ), width
    if form in _DIRECTIONS:
        return _DIRECTIONS[form](b, y, dirs), width
    if form == "reshape_wrong":
        wanted = b.add("Concat", b.size(y, 0), b.size(y, 2), b.ints(width), axis=0)
        return b.add("Reshape", y, wanted), width
    if form == "last_state":
        row = b.add("Transpose", b.last[k - 1][1], perm=[1, 0, 2])
        row = b.add("Reshape", row, b.ints(1, -1, width))
        wanted = b.add("Concat", b.size(y, 0), b.size(y, 2), b.ints(width), axis=0)
        return b.add("Expand", row, wanted), width
    if form == "double":
        wide = b.add("Transpose", b.cast(y, np.float64), perm=[0, 2, 1, 3])
        return b.cast(b.add("Reshape", wide, b.ints(0, 0, width)), np.float32), width
    swapped = b.add("Transpose", y, perm=[0, 2, 1, 3])
    if form == "reshape_open":
        wanted = b.add("Concat", b.size(y, 0), b.size(y, 2), b.ints(width), axis=0)
        return b.add("Reshape", swapped, wanted), width
    joined = b.add("Reshape", swapped, b.ints(0, 0, -1))
    return _CHANGES.get(form, lambda b, joined, x: joined)(b, joined, x), width


def _sliced(b, y, order):
    return b.add("Concat", *(b.squeeze(b.slice(y, d, d + 1, 1), 1) for d in order), axis=2)


def _split(b, y, dirs):
    parts = b.split(y, [1] * dirs, 1)
    parts = [parts] if dirs == 1 else parts
    return b.add("Concat", *(b.squeeze(part, 1) for part in parts), axis=2)


def _gathered(b, y, order):
    parts = [b.add("Gather", y, b.const(np.int64(d)), axis=1) for d in order]
    return b.add("Concat", *parts, axis=2)


_DIRECTIONS = {
    "slices": lambda b, y, dirs: _sliced(b, y, range(dirs)),
    "swapped": lambda b, y, dirs: _sliced(b, y, range(dirs)[::-1]),
    "one_direction": lambda b, y, dirs: _gathered(b, y, [0] * dirs),
    "gather": lambda b, y, dirs: _gathered(b, y, range(dirs)),
    "split": _split,
}


def _there_and_back(b, joined, x):
    there = b.add("Transpose", joined, perm=[2, 0, 1])
    return b.add("Transpose", there, perm=[1, 2, 0])


def _flatten(b, joined, x):
    return b.add("Reshape", b.add("Flatten", joined, axis=2), b.add("Shape", joined))


def _shifted(b, joined, x):
    return b.add("Concat", b.slice(joined, 1, 2**62, 0), b.slice(joined, 0, 1, 0), axis=0)


def _add_x(b, joined, x):
    mean = (
        b.add("ReduceMean", x, axes=[2], keepdims=1) if b.graph.opset < 18 else b.slice(x, 0, 1, 2)
    )
    return b.add("Add", joined, mean)


def _shuffled(b, joined, x):
    """Moves that a random part of the same moves undoes, all of them in most cases."""
    rng = np.random.default_rng(b.graph.seed)
    rank, moves = 3, []
    for _ in range(int(rng.integers(1, 5))):
        kind = ("transpose", "unsqueeze", "flip", "rotate", "identity")[int(rng.integers(5))]
        axis = int(rng.integers(rank))
        move = {
            "transpose": lambda: ("transpose", rng.permutation(rank).tolist()),
            "unsqueeze": lambda: ("unsqueeze", axis),
            "flip": lambda: ("flip", axis),
            "rotate": lambda: ("rotate", axis),
            "identity": lambda: ("identity", 0),
        }[kind]()
        rank += kind == "unsqueeze"
        moves.append(move)
    for move in moves:
        joined = _moved(b, joined, *move)
    kept = [move for move in moves if rng.integers(6) or move[0] in ("unsqueeze", "transpose")]
    for move in kept[::-1]:
        joined = _moved(b, joined, *move, back=True)
    return joined


def _moved(b, x, kind, how, back=False):
    if kind == "transpose":
        return b.add("Transpose", x, perm=np.argsort(how).tolist() if back else how)
    if kind == "unsqueeze":
        return b.squeeze(x, how) if back else b.unsqueeze(x, how)
    if kind == "flip":
        return b.flip(x, how)
    if kind == "rotate":
        cut = -1 if back else 1
        halves = b.slice(x, cut, 2**62, how), b.slice(x, 0, cut, how)
        return b.add("Concat", *halves, axis=how)
    return b.add("Identity", x)


_CHANGES = {
    "identity": lambda b, joined, x: b.add("Identity", joined),
    "dropout": lambda b, joined, x: b.add("Dropout", joined),
    "there_and_back": _there_and_back,
    "flatten": _flatten,
    "relu": lambda b, joined, x: b.add("Relu", joined),
    "twice": lambda b, joined, x: b.add("Add", joined, joined),
    "reversed": lambda b, joined, x: b.flip(joined, 0),
    "batch_flipped": lambda b, joined, x: b.flip(joined, 1),
    "half": lambda b, joined, x: b.cast(b.cast(joined, np.float16), np.float32),
    "times_swapped": lambda b, joined, x: (
        b.add("Transpose", joined, perm=[1, 0, 2]) if b.steps == b.batch else b.flip(joined, 0)
    ),
    "add_x": _add_x,
    "cut": lambda b, joined, x: b.slice(joined, 0, b.graph.T, 0),
    "cut_batch": lambda b, joined, x: b.add(
        "Slice", joined, b.ints(0), b.size(x, 1), b.ints(0), b.ints(1)
    ),
    "cut_far": lambda b, joined, x: b.slice(joined, 0, MORE_STEPS - 5, 0),
    "shifted": _shifted,
    "shuffled": _shuffled,
}
