"""Laws that relate two calls of the ops, so that no reference is needed.

Each law takes the problem, its numbers (a case) and its results, calls the ops on other numbers
that follow from them, or in another way (call_laws.py), and compares. Laws that say "same" compare
bits; the others allow the errors of both calls.
"""

import dataclasses

import numpy as np
import tensorflow as tf

import tf_rnn_ops
from robustness.problem import call_laws, ops
from robustness.problem.check import assert_close, assert_same, without_gradients
from robustness.problem.grammar import BLOCK, FEW_ROWS, INT8, LAYER, LINEAR, STACK
from support import bounds, tf_ops
from support.linear_case import SLOPES
from support.reference import layout
from support.reference.block_lstm import FORWARD_NAMES
from support.reference.rounding import rounder
from tf_rnn_ops import raw_ops
from tf_rnn_ops.native import xla

# Both sides of a law have errors of their own.
_TWO_CALLS = 2.0


@dataclasses.dataclass
class Subject:
    """A problem whose results are known."""

    problem: object
    case: object
    got: dict
    decided: bool  # whether its gradients have one value; see check.py

    @property
    def short(self):
        """Whether the plain ops sum in another order than in longer calls; docs/numerics.md."""
        return self.problem.type != INT8 and self.problem.T * self.problem.B <= FEW_ROWS

    def compare(self, got, want, what):
        if not self.decided:
            got = without_gradients(got)
        assert_close(self.problem, got, want, what, _TWO_CALLS)


# ---- The three kinds of cases ----


def _tensors(case):
    """The object with the inputs of a case."""
    return case.inputs if hasattr(case, "inputs") else case


def _changed(case, **arrays):
    """The case with other arrays, wherever it keeps them."""
    own = {f.name for f in dataclasses.fields(case)}
    inside = {name: a for name, a in arrays.items() if name not in own}
    outside = {name: a for name, a in arrays.items() if name in own}
    if inside:
        outside["inputs"] = dataclasses.replace(case.inputs, **inside)
    return dataclasses.replace(case, **outside)


def _lengths(case, steps, batch):
    """[B]; of BlockLSTMV2 the one length for all."""
    if hasattr(case, "seq_len_max"):
        return np.full(batch, case.seq_len_max)
    found = _tensors(case).lengths
    return np.full(batch, steps) if found is None else found


# Where the rows of the batch are in each array of a case.
_ROW_AXES = {
    STACK: {"x": 1, "h0": 1, "c0": 1, "lengths": 0, "dy": 1, "dh": 1, "dc": 1},
    LAYER: {"x": 1, "h0": 0, "c0": 0, "lengths": 0, "input_mask": 1, "recurrent_mask": 1,
            "dy": 1, "dh": 0, "dc": 0},
    BLOCK: {"x": 1, "cs_prev": 0, "h_prev": 0, "cs_grad": 1, "h_grad": 1},
    LINEAR: dict.fromkeys(("input", "cell_input", *SLOPES), 1),
}  # fmt: skip
_INT8_ROW_AXES = {"x": 1, "h0": 0, "c0": 0, "lengths": 0}
_UPSTREAM = {STACK: ("dy", "dh", "dc"), LAYER: ("dy", "dh", "dc"), BLOCK: ("cs_grad", "h_grad")}
_WEIGHT_GRADIENTS = {
    "params_backprop", "kernel_backprop", "recurrent_kernel_backprop", "bias_backprop",
    "projection_backprop", "peepholes_backprop", "layer_norm_backprop",
    "w_grad", "b_grad", "wci_grad", "wcf_grad", "wco_grad",
}  # fmt: skip


def _array(case, name):
    return getattr(case, name) if hasattr(case, name) else getattr(_tensors(case), name)


def _some_rows(problem, case, rows):
    """The case with these rows of the batch."""
    axes = _INT8_ROW_AXES if problem.type == INT8 else _ROW_AXES[problem.op]
    arrays = {name: (_array(case, name), axis) for name, axis in axes.items()}
    taken = {n: np.take(a, rows, axis) for n, (a, axis) in arrays.items() if a is not None}
    return _changed(case, **taken)


def _result_row_axis(op, name):
    if name in _WEIGHT_GRADIENTS:
        return None
    if op == LAYER:
        return 0 if name.startswith(("output_h", "output_c", "input_h", "input_c")) else 1
    return 0 if name in ("cs_prev_grad", "h_prev_grad") else 1


# ---- The laws ----


def rows_in_another_order(s):
    """The rows of the batch may change places: each gives the same bits elsewhere."""
    op, batch = s.problem.op, s.problem.B
    order = np.roll(np.arange(batch), 1)
    got = ops.run(s.problem, _some_rows(s.problem, s.case, order))
    moved = {n: _result_row_axis(op, n) for n in got}
    want = {n: np.take(s.got[n], order, a) for n, a in moved.items() if a is not None}
    assert_same(got, want, "rows in another order")
    sums = {n: got[n] for n, axis in moved.items() if axis is None}
    s.compare(sums, s.got, "rows in another order")


def row_alone(s):
    """A row of int8 weights gives the same bits in a batch of its own."""
    row = [s.problem.seed % s.problem.B]
    got = ops.run(s.problem, _some_rows(s.problem, s.case, row))
    axes = {name: _result_row_axis(s.problem.op, name) for name in got}
    want = {name: np.take(s.got[name], row, axis) for name, axis in axes.items()}
    assert_same(got, want, "row alone")


def scale_moved(s):
    """A factor of 4 may be in x or in the scales of the kernel, to the bit."""
    moved = _changed(s.case, x=4.0 * s.case.x, kernel_scale=s.case.kernel_scale / 4.0)
    assert_same(ops.run(s.problem, moved), s.got, "scale moved")


def padding(s):
    """Steps beyond the length of every row change nothing, NaN or not."""
    p, extra = s.problem, 3
    longer = {}
    for name in ("x", "dy", "cs_grad", "h_grad"):
        if hasattr(s.case, name) or hasattr(_tensors(s.case), name):
            array = _array(s.case, name)
            beyond = np.full((extra, *array.shape[1:]), np.nan)
            longer[name] = np.concatenate([array, beyond])
    if p.op != BLOCK:
        longer["lengths"] = _lengths(s.case, p.T, p.B).astype(np.int32)
    got = ops.run(p, _changed(s.case, **longer))
    for name, array in got.items():
        if array.shape != s.got[name].shape:
            assert not np.any(array[p.T :]), f"padding: {name}: numbers beyond every length"
            got[name] = array[: p.T]
    if s.short and (p.T + extra) * p.B > FEW_ROWS:
        s.compare(got, s.got, "padding")
    else:
        assert_same(got, s.got, "padding")


def cut_in_time(s):
    """Two calls, the second on the states that the first leaves, are one."""
    p = s.problem
    cut = p.T // 2
    lengths = _lengths(s.case, p.T, p.B)
    halves = []
    for low, high in ((0, cut), (cut, p.T)):
        arrays = {"x": _array(s.case, "x")[low:high]}
        for name in ("dy", "cs_grad", "h_grad"):
            if hasattr(s.case, name):
                arrays[name] = getattr(s.case, name)[low:high]
        part = (np.clip(lengths, low, high) - low).astype(np.int32)
        if p.op == BLOCK:
            arrays["seq_len_max"] = min(max(s.case.seq_len_max, low), high) - low
        else:
            arrays["lengths"] = part
        halves.append(_changed(s.case, **arrays))
    first, second = halves
    # The masks of a layer are in its case.
    forward = ops.run(p.replace(run="inference", dropout=0.0), first)
    names = _state_names(p)
    carried = {
        case_name: _last(forward, result, p, cut, first) for case_name, result, _, _ in names
    }
    after = ops.run(p, _changed(second, **carried))
    if p.run == "training":
        before = ops.run(p, _changed(first, **_passed_back(p, first, after, names, cut)))
    else:
        before = forward
    got = {}
    for name, array in s.got.items():
        if name in _WEIGHT_GRADIENTS:
            got[name] = before[name] + after[name]
        elif array.ndim and array.shape[0] == p.T and _is_sequence(p, name):
            got[name] = np.concatenate([before[name], after[name]])
        elif name in ("output_h", "output_c"):
            got[name] = after[name]
        else:
            got[name] = before[name]
    if p.type == INT8:
        assert_same(got, s.got, "cut in time")
        return
    # 16-bit states are rounded where they are carried over.
    wide = p.type in ("float32", "float64")
    (s.compare if wide else _roughly)(got, s.got, "cut in time", **({} if wide else {"s": s}))


def _roughly(got, want, what, s):
    if not s.decided or s.problem.has_jumps:
        got = without_gradients(got)
    assert_close(s.problem, got, want, what, 16.0)


def _is_sequence(p, name):
    if p.op == BLOCK:
        return not name.endswith("_grad") or name == "x_grad"
    return name in ("output", "input_backprop")


def _state_names(p):
    """(array of the case, result that is carried, gradient of the case, gradient of the state)."""
    if p.op == BLOCK:
        return [
            ("cs_prev", "cs", "cs_grad", "cs_prev_grad"),
            ("h_prev", "h", "h_grad", "h_prev_grad"),
        ]
    found = [("h0", "output_h", "dh", "input_h_backprop")]
    if p.cell == "lstm":
        found.append(("c0", "output_c", "dc", "input_c_backprop"))
    return found


def _last(results, name, p, cut, first):
    """The state after the first half."""
    if p.op != BLOCK:
        return results[name]
    if first.seq_len_max == 0:
        return first.inputs.cs_prev if name == "cs" else first.inputs.h_prev
    return results[name][first.seq_len_max - 1]


def _passed_back(p, first, after, names, cut):
    """The upstream gradients of the first half: what the second half says of its first states."""
    if p.op != BLOCK:
        return {grad: after[of_state] for _, _, grad, of_state in names}
    arrays = {}
    for _, _, grad, of_state in names:
        array = getattr(first, grad).copy()
        if first.seq_len_max == cut > 0:
            array[cut - 1] = rounder(p.type)(array[cut - 1] + after[of_state])
        arrays[grad] = array
    return arrays


def _reversed(array, lengths):
    """Each row backwards, up to its length."""
    found = np.zeros_like(array)
    for b, n in enumerate(lengths):
        found[:n, b] = array[:n, b][::-1]
    return found


def layer_by_layer(s):
    """A stack equals its layers and directions in separate calls, the backward layers on reversed sequences."""
    p, case = s.problem, s.case
    weights = layout.unpack(case.spec, case.params)
    lengths = case.lengths
    width = case.spec.output_units
    one = p.replace(L=1, D=1, dropout=0.0, run="inference", lengths="full", input="linear", I=1)
    x, h_n, c_n, output, parts = case.x, [], [], None, []
    for layer in range(p.L):
        outputs = []
        for d in range(p.D):
            k = layer * p.D + d
            spec = dataclasses.replace(
                case.spec, layers=1, direction="unidirectional", input_size=x.shape[2],
                input_mode=case.spec.input_mode if layer == 0 else "linear_input",
            )  # fmt: skip
            part = dataclasses.replace(
                case, spec=spec, params=layout.pack(spec, [weights[k]]),
                x=_reversed(x, lengths) if d else x, h0=case.h0[k : k + 1], c0=case.c0[k : k + 1],
                dh=case.dh[k : k + 1], dc=case.dc[k : k + 1],
            )  # fmt: skip
            parts.append(part)
            got = ops.run(one, part)
            outputs.append(_reversed(got["output"], lengths) if d else got["output"])
            h_n.append(got["output_h"])
            c_n.append(got.get("output_c"))
        output = x = np.concatenate(outputs, axis=2)
    assert output.shape[2] == p.D * width
    got = {"output": output, "output_h": np.concatenate(h_n)}
    if p.cell == "lstm":
        got["output_c"] = np.concatenate(c_n)
    # 16-bit outputs and gradients are rounded between the layers.
    wide = "16" not in p.type
    if p.run == "training" and wide and s.decided:
        got |= _gradients_layer_by_layer(one.replace(run="training"), s, parts)
    assert_close(p, got, s.got, "layer by layer", _TWO_CALLS * p.L if wide else 16.0)


def _gradients_layer_by_layer(one, s, parts):
    """By the chain rule: an upstream gradient of a layer is that of the input of the next."""
    p, case = s.problem, s.case
    width, dy = case.spec.output_units, case.dy
    dh, dc, weights = [None] * len(parts), [None] * len(parts), [None] * len(parts)
    for layer in reversed(range(p.L)):
        dx = 0.0
        for d in range(p.D):
            k = layer * p.D + d
            own = dy[..., d * width : (d + 1) * width]
            part = dataclasses.replace(parts[k], dy=_reversed(own, case.lengths) if d else own)
            got = ops.run(one, part)
            from_d = got["input_backprop"]
            dx = dx + (_reversed(from_d, case.lengths) if d else from_d)
            dh[k], dc[k] = got["input_h_backprop"], got.get("input_c_backprop")
            (weights[k],) = layout.unpack(part.spec, got["params_backprop"])
        dy = dx
    found = {
        "input_backprop": dy, "input_h_backprop": np.concatenate(dh),
        "params_backprop": layout.pack(case.spec, weights),
    }  # fmt: skip
    return found | ({"input_c_backprop": np.concatenate(dc)} if p.cell == "lstm" else {})


def scaled_gradients(s):
    """Upstream gradients times 4 give gradients times 4, to the bit."""
    arrays = {name: 4.0 * getattr(s.case, name) for name in _UPSTREAM[s.problem.op]}
    got = ops.run(s.problem, _changed(s.case, **arrays))
    want = {n: a if n in without_gradients(s.got) else 4.0 * a for n, a in s.got.items()}
    assert_same(got, want, "gradients times 4")


def wider_type(s):
    """float32 is float64 except for rounding errors. A 16-bit type is float32, rounded once."""
    p = s.problem
    wide = p.replace(type="float64" if p.type == "float32" else "float32")
    got = ops.run(wide, dataclasses.replace(s.case, dtype=wide.type))
    if p.type == "float32":
        s.compare(s.got, got, "float64")
        return
    # Gradients differ by more: backward of the 16-bit op is given the rounded outputs.
    rounded = {n: rounder(p.type)(a) for n, a in without_gradients(got).items()}
    if p.type == "float16":
        assert_same(without_gradients(s.got), rounded, "float32, rounded once")
    else:  # with products in bfloat16 close only
        assert_close(p, without_gradients(s.got), rounded, "float32, rounded once", _TWO_CALLS)


def scaled_inputs(s):
    """Inputs of a linear recurrence times 4 give outputs times 4, to the bit."""
    inputs = {name: getattr(s.case, name) for name in ("input", "cell_input")}
    arrays = {name: 4.0 * array for name, array in inputs.items() if array is not None}
    got = ops.run(s.problem, _changed(s.case, **arrays))
    assert_same(got, {name: 4.0 * array for name, array in s.got.items()}, "inputs times 4")


def adjoint(s):
    """<A u, v> = <u, A' v>, whatever the recurrence A is."""
    draw = np.random.default_rng(s.problem.seed)
    inputs = {"output": s.case.input, "cell_output": s.case.cell_input}
    others = {n: rounder(s.problem.type)(draw.uniform(-1, 1, a.shape)) for n, a in s.got.items()}
    arrays = {"input": others["output"], "cell_input": others.get("cell_output")}
    turned = dataclasses.replace(s.case, transposed=not s.case.transposed, **arrays)
    back = ops.run(s.problem, turned)
    left = sum(np.sum(array * others[name]) for name, array in s.got.items())
    right = sum(np.sum(inputs[name] * array) for name, array in back.items())
    size = sum(np.sum(np.abs(array * others[name])) for name, array in s.got.items())
    size += sum(np.sum(np.abs(inputs[name] * array)) for name, array in back.items())
    allowed = bounds.limit("output", s.problem.type) * max(size, 1.0)
    assert abs(left - right) <= allowed, f"adjoint: {left} and {right}, allowed {allowed:.3e}"


def parameter_buffer(s):
    """The ops of the opaque buffer: the size and the matrices of the reference's layout, and back."""
    spec, params = s.case.spec, tf_ops.constant(s.case.params, s.problem.type)
    sizes = {
        "num_layers": spec.layers, "num_units": spec.units, "input_size": spec.input_size,
        **spec.attrs(),
    }  # fmt: skip
    size = raw_ops.CudnnRNNParamsSize(**sizes, T=params.dtype, S=tf.int64).numpy().tolist()
    assert size == [layout.params_size(spec)], f"parameter buffer: size {size}"
    want = layout.canonical(spec, tf_ops.to_float64(params))
    counts = {"num_params_weights": len(want[0]), "num_params_biases": len(want[1])}
    weights, biases = raw_ops.CudnnRNNParamsToCanonicalV2(params=params, **sizes, **counts)
    for kind, found, wanted in (("weights", weights, want[0]), ("biases", biases, want[1])):
        got = {f"{kind} {k}": tf_ops.to_float64(array) for k, array in enumerate(found)}
        assert_same(got, {f"{kind} {k}": a for k, a in enumerate(wanted)}, "parameter buffer")
    back = raw_ops.CudnnRNNCanonicalToParamsV2(weights=weights, biases=biases, **sizes)
    same = {"params": tf_ops.to_float64(params)}
    assert_same({"params": tf_ops.to_float64(back)}, same, "parameter buffer")


def tensorflows_op(s):
    """TensorFlow's op of that name: CudnnRNNV3 on our kernels, to the bit; BlockLSTMV2 on its own."""
    if s.problem.op == STACK:
        tf_rnn_ops.enable_stock_ops()
        assert_same(ops.run(s.problem, s.case, raw=tf.raw_ops), s.got, "TensorFlow's op")
        return
    want = ops.run(s.problem, s.case, raw=tf.raw_ops)
    got = dict(s.got)
    for name in set(FORWARD_NAMES) - {"cs", "h"}:  # not written beyond seq_len_max
        got[name], want[name] = (a[name][: s.case.seq_len_max] for a in (got, want))
    s.compare(got, want, "TensorFlow's op")


def applicable(problem):
    """The laws that say something about a problem."""
    ways_to_call = [call_laws.unknown_shapes]
    if problem.type == INT8:
        return _laws_of_int8(problem) + ways_to_call + [call_laws.mapped]
    if xla.unavailable() is None:
        ways_to_call.append(call_laws.under_xla)
    if not (problem.op == STACK and problem.dropout):  # which counts calls
        ways_to_call.append(call_laws.mapped)
        if problem.run == "training" and problem.op != LINEAR and not problem.has_jumps:
            ways_to_call.append(call_laws.second_derivatives)
    return _laws_of_numbers(problem) + ways_to_call


def _laws_of_int8(problem):
    laws = [scale_moved]
    if problem.B:
        laws.append(row_alone)
    if problem.B > 1:
        laws.append(rows_in_another_order)
    if problem.T and problem.B:
        laws.append(padding)
    if problem.T > 1 and problem.B:
        laws.append(cut_in_time)
    return laws


def _laws_of_numbers(problem):
    if problem.op == LINEAR:
        laws = [rows_in_another_order] if problem.B > 1 else []
        laws += [scaled_inputs, adjoint]
        return laws + ([wider_type] if problem.type == "float32" else [])
    # The random numbers depend on the place of a row, and of a step.
    drawn = problem.drawn == "yes"
    laws = [rows_in_another_order] if problem.B > 1 and not (problem.dropout or drawn) else []
    between_layers = problem.op == STACK and problem.dropout
    if problem.T and problem.B and not between_layers:
        laws.append(padding)
        if problem.D == 1 and problem.T > 1 and problem.run != "packed" and not drawn:
            laws.append(cut_in_time)
    if problem.op == STACK and problem.L * problem.D > 1 and not between_layers and problem.T:
        laws.append(layer_by_layer)
    if problem.run == "training" and problem.type in ("float32", "float64"):
        laws.append(scaled_gradients)
    if problem.type != "float64":
        laws.append(wider_type)
    if problem.op == STACK:
        laws.append(parameter_buffer)
    # TensorFlow's BlockLSTMV2 has no other wide type, and stops at sizes of 0.
    own_kernel = problem.op == BLOCK and problem.type == "float32" and problem.T * problem.B
    if own_kernel or problem.op == STACK and problem.run != "packed":
        laws.append(tensorflows_op)
    return laws


def check(problem, case, got, decided, only=None):
    """Raises AssertionError; checks all laws that apply, or the one of number `only`."""
    laws = applicable(problem)
    if only is not None and laws:
        laws = [laws[only % len(laws)]]
    for law in laws:
        law(Subject(problem, case, got, decided))
