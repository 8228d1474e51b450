"""Registers the gradients of the gradient ops, and with them derivatives of every order.

The gradient of a gradient op is computed through the same network in ordinary ops (tf_rnn_ops.plain),
which can be differentiated any number of times. The loops over time run in kernels. A gradient op also has
results of the forward op as inputs. They are functions of the other inputs, so the gradients of the other
inputs are complete, and the results have no gradient.
"""

import functools
from typing import Any, Callable

import tensorflow as tf

from tf_rnn_ops import plain
from tf_rnn_ops.autodiff.kernel_loops import KernelLoops
from tf_rnn_ops.autodiff.ops import attributes, gradient_of, inputs_of
from tf_rnn_ops.native.tf_internals import tracing
from tf_rnn_ops.params import Layout
from tf_rnn_ops.params.layout import num_directions
from tf_rnn_ops.plain import sizes
from tf_rnn_ops.plain.dropout import dropout_masks
from tf_rnn_ops.plain.recurrence import Loops
from tf_rnn_ops.raw_ops.table import (
    LAYER_ATTRS,
    MAJOR_ATTR,
    PREFIX,
    RESULTS,
    STACK_ATTRS,
    signature,
)

_STOCK = ("CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3")
# An input that a network without a cell state does not read, and the gradient of an output that it lacks.
_OF_CELL_STATE = ("input_c", "output_c_backprop")


def register_stock_gradients() -> None:
    """Registers the gradients of TensorFlow's own gradient ops that have none."""
    gradient_of(*_STOCK)(_cudnn_rnn)


@gradient_of(f"{PREFIX}CudnnRNNBackpropV3")
def _cudnn_rnn(op: tf.Operation, *cotangents: Any) -> Any:
    """Gradients for input, the states, params and the gradients of the outputs."""
    attrs, time_major = attributes(op, STACK_ATTRS), _time_major(op)
    layout = _of_known_sizes(op, sizes.layout_of, _shapes(op), attrs, time_major)
    dropout = op.get_attr("dropout") if layout.num_layers > 1 else 0.0
    # The first versions have no lengths.
    fixed = [name for name in ("sequence_lengths",) if name in inputs_of(op)]
    return _gradients(
        op,
        cotangents,
        network=(_cudnn_network, layout, time_major, dropout),
        fixed=fixed + ["reserve_space"] * (dropout > 0),
        left_out=() if layout.rnn_mode == "lstm" else _OF_CELL_STATE,
        shapes=_with_upstream(sizes.stack_shapes(layout, time_major)),
    )


def _cudnn_network(layout: Layout, time_major: bool, dropout: float, inputs: dict[str, Any]) -> Any:
    masks = None
    if dropout > 0:
        shape = tf.unstack(tf.shape(inputs["input"]))
        steps, batch = shape[:2] if time_major else shape[1::-1]
        columns = (layout.num_proj or layout.num_units) * num_directions(layout.direction)
        reserve_space = inputs.pop("reserve_space")
        masks = dropout_masks(reserve_space, dropout, steps, batch, columns, layout.num_layers)
    inputs.setdefault("input_c", None)
    return plain.cudnn_rnn(layout, **inputs, time_major=time_major, masks=masks, loops=_loops())


@gradient_of(f"{PREFIX}LayerRNNBackprop")
def _layer_rnn(op: tf.Operation, *cotangents: Any) -> Any:
    """Gradients for input, the states, the weights and the gradients of the outputs."""
    shapes, time_major = _shapes(op), _time_major(op)
    layer = _of_known_sizes(op, sizes.layer_of, shapes, attributes(op, LAYER_ATTRS))
    absent = [*layer.absent, *["sequence_lengths"] * (shapes["sequence_lengths"] == [0])]
    fixed = ("input_mask", "recurrent_mask", "seed", "sequence_lengths")
    return _gradients(
        op,
        cotangents,
        network=(_layer_network, layer, time_major),
        fixed=[name for name in fixed if name not in absent],
        left_out=(*absent, *(() if layer.rnn_mode == "lstm" else _OF_CELL_STATE)),
        shapes=_with_upstream(sizes.layer_shapes(layer, time_major)),
    )


def _layer_network(layer: sizes.Layer, time_major: bool, inputs: dict[str, Any]) -> Any:
    if "sequence_lengths" in inputs:
        # An empty vector means that every sequence has all steps. A vector of unknown size may be empty.
        lengths, shape = inputs["sequence_lengths"], tf.shape(inputs["input"])
        steps, batch = (shape[0], shape[1]) if time_major else (shape[1], shape[0])
        missing = tf.fill([batch - tf.size(lengths)], steps)
        inputs["sequence_lengths"] = tf.concat([lengths, missing], 0)
    inputs.setdefault("input_c", None)
    attrs: dict[str, Any] = layer.attrs()
    return plain.layer_rnn(**attrs, **inputs, time_major=time_major, loops=_loops())


@gradient_of(f"{PREFIX}BlockLSTMGradV2")
def _block_lstm(op: tf.Operation, *cotangents: Any) -> Any:
    """Gradients for all inputs of BlockLSTMV2, and for cs_grad and h_grad."""
    shapes = sizes.block_shapes(*_of_known_sizes(op, sizes.block_sizes_of, _shapes(op)))
    return _gradients(
        op,
        cotangents,
        network=(_block_network, op.get_attr("use_peephole")),
        fixed=["seq_len_max", "cs"],
        left_out=(),
        shapes={**shapes, "cs_grad": shapes["cs"], "h_grad": shapes["h"]},
    )


def _block_network(use_peephole: bool, inputs: dict[str, Any]) -> Any:
    return plain.block_lstm(**inputs, use_peephole=use_peephole, loops=_loops())


def _loops() -> Loops:
    """Kernels for the CPU, or TensorFlow's loops if TensorFlow may place the other ops on a GPU."""
    return Loops() if tf.config.get_visible_devices("GPU") else KernelLoops()


def _time_major(op: tf.Operation) -> bool:
    return attributes(op, MAJOR_ATTR)["time_major"]


def _with_upstream(shapes: Any) -> dict[str, Any]:
    """The shapes, with the shapes of the gradients of the outputs added."""
    like = zip(RESULTS, ("output", "input_h", "input_c"))
    # A vector of lengths may be empty even if the graph does not know its size.
    known = {name: shape for name, shape in shapes.items() if name != "sequence_lengths"}
    return {**known, **{f"{name}_backprop": shapes[other] for name, other in like}}


def _gradients(
    op: tf.Operation,
    cotangents: Any,
    network: tuple[Any, ...],
    fixed: list[str],
    left_out: tuple[str, ...],
    shapes: Any,
) -> list[tf.Tensor | None]:
    """The gradients of a gradient op for all of its inputs.

    Args:
        op: The op.
        cotangents: A gradient or None for each output of the op.
        network: A function and its first arguments, all of them hashable. Its last argument is a dict of
            the tensors for which the op returns gradients and of the tensors that `fixed` names. It
            returns outputs of the forward op.
        fixed: Names of other inputs that the network needs.
        left_out: Names of inputs that the network does not have.
        shapes: {name of an input: its dimensions}. A dimension is a size, None, or a letter, which stands
            for the same size in all shapes.

    Returns:
        A list with a tensor or None for each input.
    """
    inputs = inputs_of(op)
    # The names without the suffix _backprop or _grad.
    of_outputs = [name.rpartition("_")[0] for name in signature(op.type).outputs]
    of_results = {n: c for n, c in zip(of_outputs, cotangents, strict=True) if n not in left_out}
    upstream = [n for n in inputs if n.endswith(("_backprop", "_grad")) and n not in left_out]
    sources = [*of_results, *upstream]
    skipped = [name for k, name in enumerate(inputs) if k in tracing.unneeded_inputs(op)]
    wanted = tuple(name for name in sources if name not in skipped)
    if not wanted:
        raise tf.errors.InvalidArgumentError(
            None,
            None,
            f"{op.type} has no derivative with respect to the results of the forward op (its outputs "
            "and reserve_space), because they are functions of the other inputs. Take the derivative "
            f"with respect to {', '.join(sources[:-1])} or {sources[-1]}.",
        )
    cotangents = [
        tf.zeros_like(inputs[name]) if gradient is None else gradient
        for name, gradient in of_results.items()
    ]
    # After 32 traces of an op TensorFlow traces its jvp with unknown shapes, but our ops need the sizes.
    forward = op.type.replace("Backprop", "").replace("Grad", "")
    stateless = forward.replace("CudnnRNN", "StatelessCudnnRNN")
    tracing.keep_sizes_in_forward_mode((op.type, forward, stateless))
    shapes = tuple((n, tuple(s)) for n, s in sorted(shapes.items()) if n in (*sources, *fixed))
    function = _function(network, tuple(of_results), tuple(upstream), wanted, shapes)
    gradients = function({n: inputs[n] for n in (*sources, *fixed)}, cotangents)
    by_name = dict(zip(wanted, gradients, strict=True))
    return [by_name.get(name) for name in inputs]


@functools.lru_cache(maxsize=256)
def _function(
    network: tuple[Any, ...],
    variables: tuple[str, ...],
    upstream: tuple[str, ...],
    wanted: tuple[str, ...],
    shapes: Any,
) -> Callable[..., Any]:
    """A tf.function of all inputs that `network` and `upstream` name, and of the cotangents."""
    build, *arguments = network

    def second(inputs: dict[str, tf.Tensor], cotangents: Any) -> Any:
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


def _of_shapes(inputs: dict[str, Any], shapes: Any) -> dict[str, tf.Tensor]:
    """The inputs with static shapes as complete as possible, also from the shapes of the other inputs.

    Loops need them: a carried tensor must not have a more specific static shape than the result of a step.
    """
    letters: dict[str, int] = {}
    for name, shape in shapes.items():
        if name in inputs and inputs[name].shape.rank == len(shape):
            pairs = zip(shape, inputs[name].shape.as_list(), strict=True)
            letters |= {d: size for d, size in pairs if isinstance(d, str) and size is not None}
    known = {n: [letters.get(d) if isinstance(d, str) else d for d in s] for n, s in shapes.items()}
    return {n: tf.ensure_shape(t, known[n]) if n in known else t for n, t in inputs.items()}


def _of_known_sizes(op: tf.Operation, find: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return find(*arguments)
    except sizes.UnknownSize as reason:
        raise tf.errors.InvalidArgumentError(
            None,
            None,
            f"The gradient of {op.type} needs the sizes of the network when the graph is built, but "
            f"{reason}.",
        ) from None


def _shapes(op: tf.Operation) -> dict[str, Any]:
    """The shapes of the inputs in the form that plain.sizes accepts."""
    shapes = {name: tensor.shape for name, tensor in inputs_of(op).items()}
    return {n: None if shape.rank is None else shape.as_list() for n, shape in shapes.items()}
