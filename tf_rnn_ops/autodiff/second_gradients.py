"""Registers the gradients of the gradient ops, and with them derivatives of every order.

The gradient of a gradient op is that of the same network in ordinary ops (tf_rnn_ops.plain), which
can be differentiated any number of times; its loops over time run in kernels. Among the inputs of a gradient op are results of the
forward op, which are functions of the other inputs: the gradients of those others are complete, and
the results have none.
"""

import contextlib
import functools

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tf_rnn_ops import plain
from tf_rnn_ops.autodiff.kernel_loops import KernelLoops
from tf_rnn_ops.params import Layout

try:
    from tensorflow.python.eager import forwardprop as _forwardprop

    _jvp_traces = _forwardprop._TRACE_COUNT
except (ImportError, AttributeError):  # private parts of TensorFlow, which another version may lack
    _jvp_traces = {}

_CUDNN_VARIABLES = ("input", "input_h", "input_c", "params")
_LAYER_VARIABLES = (
    *("input", "input_h", "input_c"),
    *("kernel", "recurrent_kernel", "bias", "projection", "peepholes", "layer_norm"),
)
_BLOCK_VARIABLES = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
_UPSTREAM = ("output_backprop", "output_h_backprop", "output_c_backprop")
_STOCK = ("CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3")


def _gradient_of(*op_types):
    """Registers a function as the gradient of ops, once: a module may be loaded again."""

    def register(function):
        for op_type in op_types:
            with contextlib.suppress(KeyError):
                tf.RegisterGradient(op_type)(function)
        return function

    return register


def register_stock_gradients():
    """Registers the gradients of TensorFlow's own gradient ops, where they have none."""
    _gradient_of(*_STOCK)(_cudnn_rnn)


@_gradient_of("TfRnnOps>CudnnRNNBackpropV3")
def _cudnn_rnn(op, *cotangents):
    """Gradients for input, the states, params and the gradients of the outputs."""
    attrs = {name: _attribute(op, name) for name in ("rnn_mode", "input_mode", "direction")}
    has_lengths = op.type.endswith("V3")  # the other versions lack these three
    attrs["num_proj"] = op.get_attr("num_proj") if has_lengths else 0
    time_major = op.get_attr("time_major") if has_lengths else True
    layout = _of_known_sizes(op, plain.layout_of, _shapes(op), attrs, time_major)
    dropout = op.get_attr("dropout") if layout.num_layers > 1 else 0.0
    identity = (layout.rnn_mode, layout.num_layers, layout.num_units, layout.input_size)
    identity += (layout.input_mode, layout.direction, layout.num_proj)
    directions = 2 if layout.direction == "bidirectional" else 1
    H, S = layout.num_units, layout.num_proj or layout.num_units  # noqa: N806
    rows = layout.num_layers * directions
    shapes = {
        "input": ["T", "B", layout.input_size],
        "input_h": [rows, "B", S],
        "input_c": [rows, "B", H],
        "params": [layout.size],
        "output": ["T", "B", directions * S],
    }
    fixed = ["sequence_lengths"] if has_lengths else []
    if dropout > 0:
        fixed.append("reserve_space")
    return _gradients(
        op,
        (_cudnn_network, identity, time_major, dropout),
        _with_cell_state(layout.rnn_mode, _CUDNN_VARIABLES),
        _with_cell_state(layout.rnn_mode, _UPSTREAM),
        fixed,
        _with_cell_state(layout.rnn_mode, cotangents),
        _with_outputs(shapes, time_major),
    )


def _cudnn_network(identity, time_major, dropout, inputs):
    layout = Layout(*identity)
    masks = None
    if dropout > 0:
        shape = tf.unstack(tf.shape(inputs["input"]))
        steps, batch = shape[:2] if time_major else shape[1::-1]
        columns = layout.num_proj or layout.num_units
        columns *= 2 if layout.direction == "bidirectional" else 1
        reserve_space = inputs.pop("reserve_space")
        masks = plain.dropout_masks(
            reserve_space, dropout, steps, batch, columns, layout.num_layers
        )
    inputs.setdefault("input_c", None)
    return plain.cudnn_rnn(layout, **inputs, time_major=time_major, masks=masks, loops=_loops())


@_gradient_of("TfRnnOps>LayerRNNBackprop")
def _layer_rnn(op, *cotangents):
    """Gradients for input, the states, the weights and the gradients of the outputs."""
    shapes = _shapes(op)
    attrs = {name: _attribute(op, name) for name in plain.LAYER_ATTRS}
    layer = _of_known_sizes(op, plain.layer_of, shapes, attrs)
    others = ("input_mask", "recurrent_mask", "seed")
    fixed = [name for name in others if name not in layer.absent]
    if shapes["sequence_lengths"] != [0]:
        fixed.append("sequence_lengths")
    H, I, S = layer.units, layer.input_size, layer.num_proj or layer.units  # noqa: E741, N806
    gates = len(plain.GATES[layer.rnn_mode])
    known = {
        "input": ["T", "B", I],
        "input_h": ["B", S],
        "input_c": ["B", H],
        "kernel": [I, gates * H],
        "recurrent_kernel": [S, gates * H],
        "bias": [2, gates * H] if layer.rnn_mode == "gru" else [gates * H],
        "projection": [H, S],
        "peepholes": [3, H],
        "input_mask": [gates, "B", I],
        "recurrent_mask": [gates, "B", S],
        "output": ["T", "B", S],
    }
    cotangents = dict(zip(_LAYER_VARIABLES, cotangents))
    variables = [n for n in _LAYER_VARIABLES if n not in layer.absent]
    variables = _with_cell_state(layer.rnn_mode, variables)
    return _gradients(
        op,
        (_layer_network, layer, op.get_attr("time_major")),
        variables,
        _with_cell_state(layer.rnn_mode, _UPSTREAM),
        fixed,
        [cotangents[name] for name in variables],
        _with_outputs(known, op.get_attr("time_major")),
    )


def _layer_network(layer, time_major, inputs):
    if "sequence_lengths" in inputs:
        # An empty vector, which an unknown shape may hide, means that every row has all steps.
        lengths, shape = inputs["sequence_lengths"], tf.shape(inputs["input"])
        steps, batch = (shape[0], shape[1]) if time_major else (shape[1], shape[0])
        missing = tf.fill([batch - tf.size(lengths)], steps)
        inputs["sequence_lengths"] = tf.concat([lengths, missing], 0)
    inputs.setdefault("input_c", None)
    return plain.layer_rnn(**layer.attrs(), **inputs, time_major=time_major, loops=_loops())


@_gradient_of("TfRnnOps>BlockLSTMGradV2")
def _block_lstm(op, *cotangents):
    """Gradients for all tensors that BlockLSTMV2 takes, and for cs_grad and h_grad."""
    H, I = _of_known_sizes(op, plain.block_sizes_of, _shapes(op))  # noqa: E741, N806
    sequence, state, peephole = ["T", "B", H], ["B", H], [H]
    shapes = {
        "x": ["T", "B", I], "w": [I + H, 4 * H], "b": [4 * H],
        **dict.fromkeys(("cs", "cs_grad", "h_grad"), sequence),
        **dict.fromkeys(("cs_prev", "h_prev"), state),
        **dict.fromkeys(("wci", "wcf", "wco"), peephole),
    }  # fmt: skip
    return _gradients(
        op,
        (_block_network, op.get_attr("use_peephole")),
        _BLOCK_VARIABLES,
        ("cs_grad", "h_grad"),
        ("seq_len_max", "cs"),
        cotangents,
        shapes,
    )


def _block_network(use_peephole, inputs):
    return plain.block_lstm(**inputs, use_peephole=use_peephole, loops=_loops())


def _loops():
    """Kernels for the CPU; where TensorFlow may place the rest on a GPU, its own loops."""
    return plain.Loops() if tf.config.get_visible_devices("GPU") else KernelLoops()


def _with_outputs(shapes, time_major):
    """Shapes of a network, also of the gradients of its outputs, as the op lays them out."""
    found = shapes | {
        "output_backprop": shapes["output"],
        "output_h_backprop": shapes["input_h"],
        "output_c_backprop": shapes["input_c"],
    }
    if time_major:
        return found
    # Of the states of a stack the first two dimensions change places too.
    swapped = {
        name for name, shape in found.items()
        if len(shape) == 3 and shape[1] == "B" and "mask" not in name
    }  # fmt: skip
    return {n: [s[1], s[0], s[2]] if n in swapped else s for n, s in found.items()}


def _gradients(op, network, variables, upstream, fixed, cotangents, shapes):
    """The gradients of a gradient op for all of its inputs.

    Args:
        op: The op.
        network: A function and its first arguments, all of them hashable. It takes a dict of the
            tensors named in `variables` and `fixed` too, and returns outputs of the forward op.
        variables: Names of the inputs for which the op returns gradients.
        upstream: Names of the inputs that are the gradients of the outputs.
        fixed: Names of other inputs that the network needs.
        cotangents: For each of `variables` the gradient of what the op returned for it, or None.
        shapes: By name of an input its dimensions: sizes, None, or a letter that stands for the same
            size wherever it is.

    Returns:
        A list with a tensor or None for each input.
    """
    inputs = _inputs(op)
    sources = [*variables, *upstream]
    wanted = tuple(name for name in sources if name not in _skipped(op))
    if not wanted:
        raise tf.errors.InvalidArgumentError(
            None,
            None,
            f"{op.type} has no derivative with respect to what the forward op returned (its outputs "
            "and reserve_space), because that is a function of the other inputs: take the derivative "
            f"with respect to {', '.join(sources[:-1])} or {sources[-1]}.",
        )
    cotangents = [
        tf.zeros_like(inputs[name]) if gradient is None else gradient
        for name, gradient in zip(variables, cotangents, strict=True)
    ]
    # After 32 traces of an op TensorFlow takes jvps of unknown shapes, in which our ops have no sizes.
    forward = op.type.replace("Backprop", "").replace("Grad", "")
    for op_type in (op.type, forward, forward.replace("CudnnRNN", "StatelessCudnnRNN")):
        _jvp_traces.pop(op_type, None)
    shapes = tuple((name, tuple(shape)) for name, shape in sorted(shapes.items()))
    function = _function(network, tuple(variables), tuple(upstream), wanted, shapes)
    found = function({n: inputs[n] for n in (*sources, *fixed)}, cotangents)
    found = dict(zip(wanted, found, strict=True))
    return [found.get(name) for name in inputs]


@functools.lru_cache(maxsize=256)
def _function(network, variables, upstream, wanted, shapes):
    """A tf.function of all inputs that `network` and `upstream` name, and of the cotangents."""
    build, *arguments = network

    def second(inputs, cotangents):
        inputs = _of_shapes(inputs, dict(shapes))
        with tf.GradientTape() as outer:
            outer.watch([inputs[name] for name in (*variables, *upstream)])
            with tf.GradientTape() as inner:
                inner.watch([inputs[name] for name in variables])
                taken = {n: t for n, t in inputs.items() if n not in upstream}
                outputs = build(*arguments, taken)[: len(upstream)]
            first = inner.gradient(
                outputs,
                [inputs[name] for name in variables],
                output_gradients=[inputs[name] for name in upstream],
                unconnected_gradients="zero",
            )
        return outer.gradient(
            first,
            [inputs[name] for name in wanted],
            output_gradients=cotangents,
            unconnected_gradients="zero",
        )

    # WHY a function: eager loops would run op by op.
    return tf.function(second, autograph=False, reduce_retracing=True)


def _of_shapes(inputs, shapes):
    """The inputs with all that is known of their shapes, also from those of the others.

    Loops need it, whose carried tensors may not be known better than what a step makes of them.
    """
    sizes = {}
    for name, shape in shapes.items():
        if name in inputs and inputs[name].shape.rank == len(shape):
            pairs = zip(shape, inputs[name].shape.as_list(), strict=True)
            sizes |= {d: size for d, size in pairs if isinstance(d, str) and size is not None}
    known = {n: [sizes.get(d) if isinstance(d, str) else d for d in s] for n, s in shapes.items()}
    return {n: tf.ensure_shape(t, known[n]) if n in known else t for n, t in inputs.items()}


def _of_known_sizes(op, find, *arguments):
    try:
        return find(*arguments)
    except plain.UnknownSize as reason:
        raise tf.errors.InvalidArgumentError(
            None,
            None,
            f"The gradient of {op.type} needs the sizes of the network when the graph is built, but "
            f"{reason}.",
        ) from None


def _inputs(op):
    """The inputs of an op by name."""
    names = [argument.name for argument in op_def_registry.get(op.type).input_arg]
    return dict(zip(names, op.inputs, strict=True))


def _shapes(op):
    """Their shapes, as tf_rnn_ops.plain takes them."""
    shapes = {name: tensor.shape for name, tensor in _inputs(op).items()}
    return {n: None if shape.rank is None else shape.as_list() for n, shape in shapes.items()}


def _skipped(op):
    """The names of inputs for which a tape needs no gradient."""
    skipped = getattr(op, "skip_input_indices", None) or ()
    return {name for k, name in enumerate(_inputs(op)) if k in skipped}


def _with_cell_state(rnn_mode, values):
    """Leaves out the third value, that of the cell state, where there is none."""
    values = list(values)
    return values if rnn_mode == "lstm" else values[:2] + values[3:]


def _attribute(op, name):
    value = op.get_attr(name)
    return value.decode() if isinstance(value, bytes) else value
