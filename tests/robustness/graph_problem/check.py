"""Converts the model of a Graph and compares with ONNX Runtime: converted and equal, or rejected."""

import numpy as np
import onnx
import onnxruntime

from robustness.graph_problem import grammar
from robustness.graph_problem.build import build

ATOL = 2e-5
_SURE = grammar.BETWEEN + grammar.ONE_DIRECTION


def check(graph, layers=True):
    """Converts a Graph and compares the results.

    Args:
        graph: A Graph.
        layers: Whether to check the layers of Keras, too.

    Returns:
        {'layers': 'converted' or 'rejected', 'stack': the same}, or {'graph': 'not valid'} if lengths or
        states do not fit what a part made of the sequence, so that ONNX Runtime raises an error.

    Raises:
        AssertionError: A result differs, or a graph that must be converted was rejected.
    """
    model, _, _ = build(graph, graph.T, graph.B, oracle=False)
    onnx.checker.check_model(model)
    sizes = [(graph.T, graph.B)]
    if graph.dims != "static":
        sizes.append((graph.T + grammar.MORE_STEPS, graph.B + 1))
    runs = [_run(graph, *size) for size in sizes]
    if runs[0] is None:
        return {"graph": "not valid"}
    runs = [run for run in runs if run is not None]
    found = {"stack": _check_stack(graph, model, runs)}
    if layers:
        found["layers"] = _check_layers(graph, model, runs)
    return found


def _run(graph, steps, batch):
    """[(values of a Seen by their place, or None)] of each node, and the inputs; None if it cannot run."""
    model, inputs, seen = build(graph, steps, batch, oracle=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    names = [value.name for value in model.graph.output]
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        values = dict(zip(names, session.run(names, inputs)))
    except Exception:  # the constants of a graph may not fit other sizes
        return None
    return [tuple(values.get(name) for name in one) for one in seen], inputs


# ---- inputs of the caller ----


def _state(graph, k, kind, run):
    """The state that a caller passes to node k, or None: the values of an input as they are."""
    seen, inputs = run
    form = getattr(graph, kind)[k]
    given = seen[k][1 + "hc".index(kind)]
    if form.startswith(("joint", "input")):
        return given
    raw = inputs.get(f"{kind}{k}")
    return raw if raw is not None and raw.shape == np.shape(given) else None


def _lengths(graph, k, run):
    """The lengths that a caller gives, or None."""
    form = graph.lengths[k]
    for name in ("n", "n64", "n_column"):
        if name in run[1] and form in _LENGTHS_OF[name]:
            return run[1][name].ravel()
    return None


_LENGTHS_OF = {
    "n": ("input", "computed", "input_flipped"),
    "n64": ("input_cast",),
    "n_column": ("input_reshape",),
}


def _valid(run, k, shape):
    """[T, B, 1]: the steps within the lengths that node k has."""
    lengths = run[0][k][3]
    if lengths is None:
        lengths = np.full(shape[1], shape[0])
    return (np.arange(shape[0])[:, None] < lengths)[:, :, None]


def _assert_equal(got, want, valid, what):
    assert got.shape == want.shape, f"{what} has the shape {got.shape}, not {want.shape}"
    error = np.abs(np.where(valid, got - want, 0)).max()
    assert error < ATOL, f"{what} differs by {error:.2g}"


# ---- layers ----


def _check_layers(graph, model, runs):
    import tf_rnn_ops.keras

    try:
        layers = tf_rnn_ops.keras.from_onnx(model)
    except ValueError as error:
        assert not _fits_layers(graph), f"from_onnx rejects: {error}"
        return "rejected"
    for run in runs:
        for k, layer in enumerate(layers):
            want = run[0][k][4]
            got = np.asarray(_call(graph, k, layer, run)).swapaxes(0, 1)
            _assert_equal(got, want, _valid(run, k, want.shape), f"layer {k}")
    return "converted"


def _call(graph, k, layer, run):
    x = run[0][k][0].swapaxes(0, 1)
    arguments = {}
    states = [_state(graph, k, kind, run) for kind in "hc"[: 1 + (graph.ops[k] == "LSTM")]]
    if any(state is not None for state in states):
        dirs = 1 + (graph.direction[k] == "bidirectional")
        zeros = np.zeros((dirs, len(x), graph.units[k]), np.float32)
        states = [zeros if state is None else state for state in states]
        arguments["initial_state"] = [state[d] for d in range(dirs) for state in states]
    lengths = _lengths(graph, k, run)
    if lengths is not None:
        arguments["mask"] = np.arange(x.shape[1]) < lengths[:, None]
    return layer(x, **arguments)


def _fits_layers(graph):
    """Whether from_onnx of tf_rnn_ops.keras must convert a graph."""
    # onnx computes DequantizeLinear from opset 19 on.
    weights = (*grammar.WEIGHTS, *(["quantized"] if graph.opset >= 19 else []))
    return all(
        set(getattr(graph, key)) <= set(fitting)
        for key, fitting in (
            ("weights", weights), ("h", grammar.STATES), ("c", grammar.STATES),
            ("lengths", grammar.LENGTHS),
        )
    )  # fmt: skip


# ---- stack ----


def _check_stack(graph, model, runs):
    from tf_rnn_ops import params

    names = [node.name for node in model.graph.node if node.op_type in grammar.OPS]
    try:
        layout, buffer = params.from_onnx(model, names)
    except ValueError as error:
        assert not _fits_stack(graph), f"params.from_onnx rejects: {error}"
        return "rejected"
    np.testing.assert_array_equal(params.from_onnx(model).params, buffer)
    for run in runs:
        want = run[0][-1][4]
        got = _run_op(graph, layout, buffer, run)
        _assert_equal(got, want, _valid(run, -1, want.shape), "the stack")
    return "converted"


def _run_op(graph, layout, buffer, run):
    from tf_rnn_ops import raw_ops

    x = run[0][0][0]
    lengths = _lengths(graph, 0, run)
    steps, batch = x.shape[:2]
    h, c = (_stack_state(graph, kind, run, batch) for kind in "hc")
    return raw_ops.CudnnRNNV3(
        input=x,
        input_h=h,
        input_c=c,
        params=buffer,
        sequence_lengths=np.full(batch, steps, np.int32) if lengths is None else np.int32(lengths),
        rnn_mode=layout.rnn_mode,
        input_mode=layout.input_mode,
        direction=layout.direction,
        num_proj=layout.num_proj,
        is_training=False,
    ).output.numpy()


def _stack_state(graph, kind, run, batch):
    """[L*D, B, H]: the states of the nodes in their order."""
    dirs, units = 1 + (graph.direction[0] == "bidirectional"), graph.units[0]
    rows = [_state(graph, k, kind, run) for k in range(len(graph.ops))]
    zeros = np.zeros((dirs, batch, units), np.float32)
    return np.concatenate([zeros if row is None else row for row in rows])


def _fits_stack(graph):
    """Whether params.from_onnx must convert a graph."""
    one = all(
        len(set(getattr(graph, key))) == 1 for key in ("ops", "direction", "units", "lengths")
    )
    fits = one and "reverse" not in graph.direction and not any(graph.peepholes)
    fits = fits and (graph.ops[0] != "GRU" or all(graph.reset_after))
    return fits and _fits_layers(graph) and set(graph.between) <= set(_SURE)
