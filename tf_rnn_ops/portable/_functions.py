"""Functions that replace a node."""

import collections
from typing import NamedTuple

import tensorflow as tf

from tf_rnn_ops import plain, raw_ops
from tf_rnn_ops._op_table import RESERVES, signature
from tf_rnn_ops.params.layout import arguments_of
from tf_rnn_ops.plain import sizes
from tf_rnn_ops.plain.block_gates import block_lstm_gates

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
    attrs: dict


class StandIns:
    """Makes replacements, one for each node, with names that are free in a library.

    WHY one for each node, even for equal nodes: LiteRT cannot convert a loop that is called twice.

    Attributes:
        functions: The FunctionDefs that the replacements made so far need.
    """

    def __init__(self, library):
        self.functions = []
        self._taken = {function.signature.name for function in library.function}
        # {label: number of the next name}.
        self._numbers = collections.Counter()
        self._traced = {}

    def plain_forward(self, layout, dtype, shapes, time_major, is_training, num_outputs):
        """Replaces a forward op by ordinary ops. `shapes`: the known shapes of its inputs."""

        def forward(x, h0, c0, params, lengths=None):
            result = plain.cudnn_rnn(layout, x, h0, c0, params, lengths, time_major)
            reserves = [_reserve_space(dtype, is_training), tf.zeros([], tf.int8)]
            return [*result, *reserves][:num_outputs]

        specs = _specs("CudnnRNNV3", sizes.stack_shapes(layout, time_major), dtype, shapes)
        key = (dtype, arguments_of(layout), *specs, time_major, is_training, num_outputs)
        return self._make(key, layout.rnn_mode, forward, specs)

    def plain_layer(self, layer, dtype, shapes, time_major, is_training, num_outputs):
        """Replaces LayerRNN by ordinary ops. `layer`: a Layer. `shapes`: as in plain_forward."""

        def forward(*tensors):
            inputs = dict(zip(signature("LayerRNN").inputs, tensors))
            x, lengths = inputs["input"], inputs.pop("sequence_lengths")
            inputs = {name: t for name, t in inputs.items() if name not in layer.absent}
            result = plain.layer_rnn(
                **layer.attrs(),
                **inputs,
                sequence_lengths=lengths_of_rows(x, lengths, time_major),
                time_major=time_major,
            )
            return [*result, _reserve_space(dtype, is_training)][:num_outputs]

        specs = _specs("LayerRNN", _layer_shapes(layer, time_major), dtype, shapes)
        key = ("layer", dtype, layer, *specs, time_major, is_training, num_outputs)
        return self._make(key, f"{layer.rnn_mode}_layer", forward, specs)

    def plain_quantized_layer(self, layer, dtype, shapes, time_major, is_training, num_outputs):
        """Replaces QuantizedLayerRNN by ordinary ops with the same integers. The arguments: as in plain_layer."""
        op = "QuantizedLayerRNN"
        scales = [name for name in signature(op).inputs if name.endswith("_scale")]
        absent = {*layer.absent, *(f"{name}_scale" for name in layer.absent)}

        def forward(*tensors):
            inputs = dict(zip(signature(op).inputs, tensors))
            x, lengths = inputs["input"], inputs.pop("sequence_lengths")
            inputs = {name: t for name, t in inputs.items() if name not in absent}
            attrs = {name: layer.attrs()[name] for name in _FUNCTIONS}
            result = plain.quantized_layer_rnn(
                **attrs,
                **inputs,
                sequence_lengths=lengths_of_rows(x, lengths, time_major),
                time_major=time_major,
            )
            return list(result)[:num_outputs]

        known = _layer_shapes(layer, time_major)
        known |= {name: [0] if name in absent else [None] for name in scales}
        specs = _specs(op, known, dtype, shapes)
        key = ("quantized layer", dtype, layer, *specs, time_major, is_training, num_outputs)
        return self._make(key, f"{layer.rnn_mode}_int8_layer", forward, specs)

    def plain_block(self, units_and_size, dtype, shapes, use_peephole, cell_clip):
        """Replaces BlockLSTMV2 by ordinary ops. `units_and_size`: H and I. `shapes`: as in plain_forward."""

        def forward(*tensors):
            inputs = dict(zip(signature("BlockLSTMV2").inputs, tensors))
            cs, h = plain.block_lstm(**inputs, use_peephole=use_peephole, cell_clip=cell_clip)
            i, *rest = block_lstm_gates(**inputs, cs=cs, h=h, use_peephole=use_peephole)
            return [i, cs, *rest, h]

        specs = _specs("BlockLSTMV2", sizes.block_shapes(*units_and_size), dtype, shapes)
        key = ("block", dtype, *specs, use_peephole, cell_clip)
        return self._make(key, "block_lstm", forward, specs)

    def instead(self, facts, choice, num_outputs):
        """Replaces a forward node by the function that an exporter chose; see _decision.py."""

        def forward(*tensors):
            reserves = [_reserve_space(facts.dtype, False), tf.zeros([], tf.int8)]
            return [*choice.function(*tensors), *reserves][:num_outputs]

        network, time_major = facts.network, facts.time_major
        if isinstance(network, sizes.Layer):
            op, shapes = "LayerRNN", _layer_shapes(network, time_major)
        else:
            op, shapes = "CudnnRNNV3", sizes.stack_shapes(network, time_major)
        key = ("instead", facts.place, facts.name)
        specs = _specs(op, shapes, facts.dtype, facts.shapes)
        return self._make(key, f"{network.rnn_mode}_instead", forward, specs)

    def own_forward(self, dtype, attrs, num_outputs):
        """Replaces CudnnRNN or CudnnRNNV2 by our CudnnRNNV3."""

        def forward(*tensors):
            inputs = dict(zip(signature("CudnnRNN").inputs, tensors))
            lengths = _full_lengths(inputs["input"])
            return list(raw_ops.CudnnRNNV3(**inputs, sequence_lengths=lengths, **attrs))[
                :num_outputs
            ]

        key = ("forward", dtype, *sorted(attrs.items()), num_outputs)
        specs = [tf.TensorSpec(shape, dtype) for shape in ([None] * 3, [None] * 3, None, [None])]
        return self._make(key, attrs["rnn_mode"], forward, specs)

    def own_backprop(self, dtype, attrs, num_inputs):
        """Replaces CudnnRNNBackprop or CudnnRNNBackpropV2 by our CudnnRNNBackpropV3."""

        def backprop(*tensors):
            inputs = dict(zip(signature("CudnnRNNBackpropV2").inputs, tensors))
            # cuDNN's choice of algorithm, an input that the first version lacks.
            inputs[RESERVES[1]] = tf.zeros([], tf.int8)
            lengths = _full_lengths(inputs["input"])
            return list(raw_ops.CudnnRNNBackpropV3(**inputs, sequence_lengths=lengths, **attrs))

        specs = [tf.TensorSpec(None, dtype)] * 11 + [tf.TensorSpec(None, tf.int8)]
        specs[0] = tf.TensorSpec([None] * 3, dtype)
        key = ("backprop", dtype, *sorted(attrs.items()), num_inputs)
        return self._make(key, attrs["rnn_mode"] + "_backprop", backprop, specs[:num_inputs])

    def _make(self, key, label, function, specs):
        if key not in self._traced:
            self._traced[key] = _trace(function, specs)
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

    def _free_names(self, label, main, functions):
        base = f"{_PREFIX}_{label}_{self._numbers[label]}"
        while any(name.startswith(base) for name in self._taken):
            self._numbers[label] += 1
            base = f"{_PREFIX}_{label}_{self._numbers[label]}"
        self._numbers[label] += 1
        old = [f.signature.name for f in functions if f.signature.name != main]
        return {main: base, **{name: f"{base}_part_{k}" for k, name in enumerate(old)}}


def _layer_shapes(layer, time_major):
    """The shapes of the inputs of a LayerRNN node, whose absent inputs are empty."""
    return sizes.layer_shapes(layer, time_major) | {name: [0] for name in layer.absent}


def _trace(function, specs):
    """The GraphDef of a call of the function."""
    graph = tf.Graph()
    with graph.as_default():
        arguments = [tf.compat.v1.placeholder(s.dtype, s.shape) for s in specs]
        tf.function(function, input_signature=specs)(*arguments)
    return graph.as_graph_def()


def _specs(op, shapes, dtype, known):
    """The specs of the inputs of an op with all sizes that are known.

    LiteRT cannot convert loops of unknown size.

    Args:
        op: The name of the op.
        shapes: {name of an input: its sizes, or letters for unknown sizes}.
        dtype: The type of most inputs.
        known: The shapes in the graph, of all inputs or of the first inputs.
    """
    types = _TYPES | _INT8 if op == "QuantizedLayerRNN" else _TYPES
    found = []
    for name, shape in zip(signature(op).inputs, known):
        shape, sizes_ = tf.TensorShape(shape), shapes[name]
        wanted = tf.TensorShape(
            None if sizes_ is None else [None if isinstance(n, str) else n for n in sizes_]
        )
        if shape.is_compatible_with(wanted):
            wanted = wanted.merge_with(shape)
        found.append(tf.TensorSpec(wanted, types.get(name, dtype)))
    return found


def lengths_of_rows(x, lengths, time_major):
    """The lengths of all sequences; None if all have T steps. An empty vector stands for T steps."""
    if lengths.shape[0] == 0:
        return None
    if lengths.shape[0] is not None:
        return lengths
    shape = tf.shape(x)
    steps, batch = shape[0 if time_major else 1], shape[1 if time_major else 0]
    return tf.concat([lengths, tf.fill([batch - tf.size(lengths)], steps)], 0)


def _reserve_space(dtype, is_training):
    """An empty tensor with the rank of the op's reserve space, which TensorFlow checks for new gradients."""
    return tf.zeros([0] if is_training else [], dtype)


def _full_lengths(x):
    """The lengths for the first versions of the ops, which have no lengths and are time-major."""
    shape = tf.shape(x)
    return tf.fill([shape[1]], shape[0])


def _put_in_scope(function_def):
    """Puts the nodes into a name scope of their own.

    When TensorFlow inlines a call, the nodes get the names CALL/NODE. The graph may already have nodes
    under CALL/, such as the casts of a wrapper, and two nodes with the same name abort the process.
    """

    def in_scope(ref):
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


def _rename(attrs, names):
    for attr in attrs:
        functions = [attr.func] if attr.WhichOneof("value") == "func" else attr.list.func
        for function in functions:
            function.name = names.get(function.name, function.name)
