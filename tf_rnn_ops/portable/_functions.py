"""Functions that replace a node."""

import collections
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

import tensorflow as tf

from tf_rnn_ops import plain
from tf_rnn_ops.params import Layout
from tf_rnn_ops.plain import sizes
from tf_rnn_ops.plain.block_gates import block_lstm_gates
from tf_rnn_ops.raw_ops.table import signature

_PREFIX = "tf_rnn_ops_portable"
_FUNCTIONS = ("rnn_mode", "activation", "recurrent_activation")
_TYPES = {"sequence_lengths": tf.int32, "seed": tf.int64, "seq_len_max": tf.int64}
_INT8 = {
    **dict.fromkeys(("kernel", "recurrent_kernel", "projection"), tf.int8),
    **dict.fromkeys(("kernel_scale", "recurrent_kernel_scale", "projection_scale"), tf.float32),
}
_CALL_ATTRS = ("Tin", "Tout", "f", "config", "config_proto", "executor_type")


class StandIn(NamedTuple):
    """A call that replaces a node.

    Attributes:
        op: PartitionedCall or StatefulPartitionedCall.
        attrs: Its attributes, by name.
    """

    op: str
    attrs: dict[str, Any]


class StandIns:
    """Makes replacements, one for each node, with names that are free in a library.

    WHY one for each node, even for equal nodes: LiteRT cannot convert a loop that is called twice.

    Attributes:
        functions: The FunctionDefs that the replacements made so far need.
    """

    def __init__(self, library: Any) -> None:
        self.functions: list[Any] = []
        self._taken = {function.signature.name for function in library.function}
        # {label: number of the next name}.
        self._numbers: collections.Counter[str] = collections.Counter()
        self._traced: dict[Any, Any] = {}

    def make(
        self, label: str, function: Callable[..., Any], specs: Sequence[Any], /, **options: Any
    ) -> StandIn:
        """Replaces a node.

        Args:
            label: A part of the names of the new functions.
            function: A function of tensors and of the options that returns the outputs of the node.
            specs: A tf.TensorSpec for each tensor.
            **options: Hashable values. Nodes with the same function, specs and options share one trace.

        Returns:
            A StandIn.
        """
        key = (function, *specs, *sorted(options.items()))
        if key not in self._traced:
            self._traced[key] = _trace(function, specs, options)
        graph_def = type(self._traced[key])()
        graph_def.CopyFrom(self._traced[key])
        (call,) = [n for n in graph_def.node if n.op.endswith("PartitionedCall")]
        names = self._free_names(label, call.attr["f"].func.name, graph_def.library.function)
        attrs = {name: call.attr[name] for name in _CALL_ATTRS if name in call.attr}
        _rename(attrs.values(), names)
        for function_def in graph_def.library.function:
            function_def.signature.name = names[function_def.signature.name]
            for node in function_def.node_def:
                _rename(node.attr.values(), names)
            if function_def.signature.name == attrs["f"].func.name:
                _put_in_scope(function_def)
        self.functions += graph_def.library.function
        return StandIn(call.op, attrs)

    def _free_names(self, label: str, main: str, functions: Iterable[Any]) -> dict[str, str]:
        base = f"{_PREFIX}_{label}_{self._numbers[label]}"
        while any(name.startswith(base) for name in self._taken):
            self._numbers[label] += 1
            base = f"{_PREFIX}_{label}_{self._numbers[label]}"
        self._numbers[label] += 1
        old = [f.signature.name for f in functions if f.signature.name != main]
        return {main: base, **{name: f"{base}_part_{k}" for k, name in enumerate(old)}}


def plain_stack(
    *tensors: Any,
    layout: Layout,
    dtype: tf.DType,
    time_major: bool,
    is_training: bool,
    num_outputs: int,
) -> list[Any]:
    """A forward CudnnRNN op in ordinary ops."""
    inputs: dict[str, Any] = dict(zip(signature("CudnnRNNV3").inputs, tensors))
    result = plain.cudnn_rnn(layout, **inputs, time_major=time_major)
    reserves = [_reserve_space(dtype, is_training), tf.zeros([], tf.int8)]
    return [*result, *reserves][:num_outputs]


def plain_layer(
    *tensors: Any,
    layer: sizes.Layer,
    dtype: tf.DType,
    time_major: bool,
    is_training: bool,
    num_outputs: int,
) -> list[Any]:
    """LayerRNN in ordinary ops. `layer`: a Layer."""
    inputs = _present(dict(zip(signature("LayerRNN").inputs, tensors)), layer.absent, time_major)
    attrs: dict[str, Any] = layer.attrs()
    result = plain.layer_rnn(**attrs, **inputs, time_major=time_major)
    return [*result, _reserve_space(dtype, is_training)][:num_outputs]


def plain_quantized_layer(
    *tensors: Any, layer: sizes.Layer, time_major: bool, num_outputs: int
) -> list[Any]:
    """QuantizedLayerRNN in ordinary ops with the same integers. `layer`: a Layer."""
    inputs = dict(zip(signature("QuantizedLayerRNN").inputs, tensors))
    inputs = _present(inputs, absent_with_scales(layer), time_major)
    attrs: dict[str, Any] = {name: layer.attrs()[name] for name in _FUNCTIONS}
    return list(plain.quantized_layer_rnn(**attrs, **inputs, time_major=time_major))[:num_outputs]


def plain_block(*tensors: Any, use_peephole: bool, cell_clip: float) -> list[Any]:
    """BlockLSTMV2 in ordinary ops."""
    inputs = dict(zip(signature("BlockLSTMV2").inputs, tensors))
    cs, h = plain.block_lstm(**inputs, use_peephole=use_peephole, cell_clip=cell_clip)
    i, *rest = block_lstm_gates(**inputs, cs=cs, h=h, use_peephole=use_peephole)
    return [i, cs, *rest, h]


def replacement(
    *tensors: Any, function: Callable[..., Sequence[Any]], dtype: tf.DType, num_outputs: int
) -> list[Any]:
    """The function of a Replace, with empty reserve spaces."""
    reserves = [_reserve_space(dtype, False), tf.zeros([], tf.int8)]
    return [*function(*tensors), *reserves][:num_outputs]


def absent_with_scales(layer: sizes.Layer) -> set[str]:
    """The names of the absent inputs of a QuantizedLayerRNN, whose scales are absent too."""
    return {*layer.absent, *(f"{name}_scale" for name in layer.absent)}


def _present(inputs: dict[str, Any], absent: Iterable[str], time_major: bool) -> dict[str, Any]:
    """The inputs of a layer that are not absent, with the lengths of all sequences."""
    lengths = lengths_of_rows(inputs["input"], inputs["sequence_lengths"], time_major)
    present = {name: tensor for name, tensor in inputs.items() if name not in absent}
    return {**present, "sequence_lengths": lengths}


def _trace(function: Callable[..., Any], specs: Sequence[Any], options: dict[str, Any]) -> Any:
    """The GraphDef of a call of the function."""

    def call(*tensors: Any) -> Any:
        return function(*tensors, **options)

    graph = tf.Graph()
    with graph.as_default():
        arguments = [tf.compat.v1.placeholder(s.dtype, s.shape) for s in specs]
        tf.function(call, input_signature=specs)(*arguments)
    return graph.as_graph_def()


def specs(
    op: str, shapes: dict[str, Any], dtype: tf.DType, known: Sequence[Any]
) -> list[tf.TensorSpec]:
    """The specs of the inputs of an op with all sizes that are known.

    LiteRT cannot convert loops of unknown size.

    Args:
        op: The name of the op.
        shapes: {name of an input: its sizes, or letters for unknown sizes}.
        dtype: The type of most inputs.
        known: The shapes in the graph, of all inputs or of the first inputs.
    """
    types = _TYPES | _INT8 if op == "QuantizedLayerRNN" else _TYPES
    specs = []
    for name, shape in zip(signature(op).inputs, known):
        shape, sizes_ = tf.TensorShape(shape), shapes[name]
        wanted = tf.TensorShape(
            None if sizes_ is None else [None if isinstance(n, str) else n for n in sizes_]
        )
        if shape.is_compatible_with(wanted):
            wanted = wanted.merge_with(shape)
        specs.append(tf.TensorSpec(wanted, types.get(name, dtype)))
    return specs


def lengths_of_rows(x: tf.Tensor, lengths: tf.Tensor, time_major: bool) -> tf.Tensor | None:
    """The lengths of all sequences; None if all have T steps. An empty vector stands for T steps."""
    if lengths.shape[0] == 0:
        return None
    if lengths.shape[0] is not None:
        return lengths
    shape = tf.shape(x)
    steps, batch = shape[0 if time_major else 1], shape[1 if time_major else 0]
    return tf.concat([lengths, tf.fill([batch - tf.size(lengths)], steps)], 0)


def _reserve_space(dtype: tf.DType, is_training: bool) -> tf.Tensor:
    """An empty tensor with the rank of the op's reserve space, which TensorFlow checks for new gradients."""
    return tf.zeros([0] if is_training else [], dtype)


def _put_in_scope(function_def: Any) -> None:
    """Puts the nodes into a name scope of their own.

    When TensorFlow inlines a call, the nodes get the names CALL/NODE. The graph may already have nodes
    under CALL/, such as the casts of a wrapper, and two nodes with the same name abort the process.
    """

    def in_scope(ref: str) -> str:
        control = ref.startswith("^")
        name, *rest = ref.removeprefix("^").split(":")
        return "^" * control + ":".join([scoped.get(name, name), *rest])

    scoped = {node.name: f"{_PREFIX}/{node.name}" for node in function_def.node_def}
    for node in function_def.node_def:
        node.name = scoped[node.name]
        node.input[:] = [in_scope(ref) for ref in node.input]
    for returned in (function_def.ret, function_def.control_ret):
        for name, ref in dict(returned).items():
            returned[name] = in_scope(ref)


def _rename(attrs: Iterable[Any], names: Mapping[str, str]) -> None:
    for attr in attrs:
        functions = [attr.func] if attr.WhichOneof("value") == "func" else attr.list.func
        for function in functions:
            function.name = names.get(function.name, function.name)
