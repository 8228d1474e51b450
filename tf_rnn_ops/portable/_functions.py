"""Functions that stand in for a node."""

import collections
from typing import NamedTuple

import tensorflow as tf

from tf_rnn_ops import plain, raw_ops
from tf_rnn_ops.plain import GATES
from tf_rnn_ops.portable._sizes import BLOCK_INPUTS, LAYER_INPUTS

_PREFIX = "tf_rnn_ops_portable"
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

    WHY nodes that are alike do not share one: LiteRT cannot convert a loop that is called twice.

    Attributes:
        functions: The FunctionDefs that the stand-ins made so far need.
    """

    def __init__(self, library):
        self.functions = []
        self._taken = {function.signature.name for function in library.function}
        # By label the number of the next name.
        self._numbers = collections.Counter()
        self._traced = {}

    def plain_forward(self, dtype, layout, shapes, time_major, is_training, num_outputs):
        """For a forward op, in ordinary ops; `shapes` are the known ones of its inputs."""

        def forward(x, h0, c0, params, lengths=None):
            result = plain.cudnn_rnn(layout, x, h0, c0, params, lengths, time_major)
            reserves = [_reserve_space(dtype, is_training), tf.zeros([], tf.int8)]
            return [*result, *reserves][:num_outputs]

        specs = _narrowed(_plain_specs(dtype, layout, time_major), shapes)
        key = (dtype, *_identity(layout), *specs, time_major, is_training, num_outputs)
        return self._make(key, layout.rnn_mode, forward, specs)

    def plain_layer(self, dtype, layer, shapes, time_major, is_training, num_outputs):
        """For LayerRNN, in ordinary ops; `layer` is a plain.Layer, `shapes` as for plain_forward."""

        def forward(*tensors):
            inputs = dict(zip(LAYER_INPUTS, tensors))
            x, lengths = inputs["input"], inputs.pop("sequence_lengths")
            inputs = {name: t for name, t in inputs.items() if name not in layer.absent}
            result = plain.layer_rnn(
                **layer.attrs(),
                **inputs,
                sequence_lengths=_lengths_of_rows(x, lengths, time_major),
                time_major=time_major,
            )
            return [*result, _reserve_space(dtype, is_training)][:num_outputs]

        specs = _narrowed(_layer_specs(dtype, layer), shapes)
        key = ("layer", dtype, layer, *specs, time_major, is_training, num_outputs)
        return self._make(key, f"{layer.rnn_mode}_layer", forward, specs)

    def plain_block(self, dtype, sizes, shapes, use_peephole, cell_clip):
        """For BlockLSTMV2, in ordinary ops; `sizes` are H and I, `shapes` as for plain_forward."""

        def forward(*tensors):
            inputs = dict(zip(BLOCK_INPUTS, tensors))
            cs, h = plain.block_lstm(**inputs, use_peephole=use_peephole, cell_clip=cell_clip)
            i, *rest = plain.block_lstm_gates(**inputs, cs=cs, h=h, use_peephole=use_peephole)
            return [i, cs, *rest, h]

        specs = _narrowed(_block_specs(dtype, *sizes), shapes)
        key = ("block", dtype, *specs, use_peephole, cell_clip)
        return self._make(key, "block_lstm", forward, specs)

    def own_forward(self, dtype, attrs, num_outputs):
        """For CudnnRNN and CudnnRNNV2, in our CudnnRNNV3."""

        def forward(x, h0, c0, params):
            result = raw_ops.CudnnRNNV3(
                input=x,
                input_h=h0,
                input_c=c0,
                params=params,
                sequence_lengths=_full_lengths(x),
                **attrs,
            )
            return list(result)[:num_outputs]

        key = ("forward", dtype, *sorted(attrs.items()), num_outputs)
        specs = [tf.TensorSpec(shape, dtype) for shape in ([None] * 3, [None] * 3, None, [None])]
        return self._make(key, attrs["rnn_mode"], forward, specs)

    def own_backprop(self, dtype, attrs, num_inputs):
        """For CudnnRNNBackprop and CudnnRNNBackpropV2, in our CudnnRNNBackpropV3."""

        def backprop(x, h0, c0, params, *rest):
            names = ("output", "output_h", "output_c")
            names += tuple(f"{name}_backprop" for name in names) + ("reserve_space",)
            return list(
                raw_ops.CudnnRNNBackpropV3(
                    input=x,
                    input_h=h0,
                    input_c=c0,
                    params=params,
                    sequence_lengths=_full_lengths(x),
                    # The last input of the second version: cuDNN's choice of algorithm.
                    **dict(zip(names, rest)),
                    host_reserved=tf.zeros([], tf.int8),
                    **attrs,
                )
            )

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


def _trace(function, specs):
    """The GraphDef of a call of the function."""
    graph = tf.Graph()
    with graph.as_default():
        arguments = [tf.compat.v1.placeholder(s.dtype, s.shape) for s in specs]
        tf.function(function, input_signature=specs)(*arguments)
    return graph.as_graph_def()


def _narrowed(specs, shapes):
    """The specs of the inputs with what the graph knows of their shapes, so that loops are of known size.

    LiteRT cannot convert others.
    """
    found = []
    for spec, shape in zip(specs, shapes):
        shape = tf.TensorShape(shape)
        if shape.is_compatible_with(spec.shape):
            spec = tf.TensorSpec(spec.shape.merge_with(shape), spec.dtype)
        found.append(spec)
    return found


def _lengths_of_rows(x, lengths, time_major):
    """The lengths of all rows, or None: an empty vector means that every row has all steps."""
    if lengths.shape[0] == 0:
        return None
    if lengths.shape[0] is not None:
        return lengths
    shape = tf.shape(x)
    steps, batch = shape[0 if time_major else 1], shape[1 if time_major else 0]
    return tf.concat([lengths, tf.fill([batch - tf.size(lengths)], steps)], 0)


def _reserve_space(dtype, is_training):
    """Nothing, but of the rank that the op returns: gradients that are taken anew check it."""
    return tf.zeros([0] if is_training else [], dtype)


def _full_lengths(x):
    """The lengths of the first versions, which have none and are time-major."""
    shape = tf.shape(x)
    return tf.fill([shape[1]], shape[0])


def _identity(layout):
    names = "rnn_mode num_layers num_units input_size direction input_mode num_proj"
    return tuple(getattr(layout, name) for name in names.split())


def _plain_specs(dtype, layout, time_major):
    rows = layout.num_layers * (2 if layout.direction == "bidirectional" else 1)
    state = [rows, None] if time_major else [None, rows]
    c0 = [*state, layout.num_units] if layout.rnn_mode == "lstm" else None
    return [
        tf.TensorSpec([None, None, layout.input_size], dtype),
        tf.TensorSpec([*state, layout.num_proj or layout.num_units], dtype),
        tf.TensorSpec(c0, dtype),
        tf.TensorSpec([layout.size], dtype),
        tf.TensorSpec([None], tf.int32),
    ]


def _layer_specs(dtype, layer):
    size, units = layer.input_size, layer.units
    hidden = layer.num_proj or units
    columns = len(GATES[layer.rnn_mode]) * units
    shapes = {
        "input": [None, None, size],
        "input_h": [None, hidden],
        "input_c": [None, units] if layer.rnn_mode == "lstm" else None,
        "kernel": [size, columns],
        "recurrent_kernel": [hidden, columns],
        "bias": [2, columns] if layer.rnn_mode == "gru" else [columns],
        "projection": [units, hidden],
        "peepholes": [3, units],
        "layer_norm": [18, units],
        "sequence_lengths": [None],
        "input_mask": [None, None, size],
        "recurrent_mask": [None, None, hidden],
        "seed": [2],
    }
    shapes.update({name: [0] for name in layer.absent})
    types = {"sequence_lengths": tf.int32, "seed": tf.int64}
    return [tf.TensorSpec(shapes[name], types.get(name, dtype)) for name in LAYER_INPUTS]


def _block_specs(dtype, units, size):
    shapes = {
        "x": [None, None, size],
        **dict.fromkeys(("cs_prev", "h_prev"), [None, units]),
        "w": [size + units, 4 * units],
        **dict.fromkeys(("wci", "wcf", "wco"), [units]),
        "b": [4 * units],
    }
    steps = tf.TensorSpec([], tf.int64)
    return [tf.TensorSpec(shapes[n], dtype) if n in shapes else steps for n in BLOCK_INPUTS]


def _put_in_scope(function_def):
    """Puts the nodes into a name scope of their own.

    TensorFlow inlines a call: its nodes are then named CALL/NODE. The graph may have nodes under
    CALL/ already, such as the casts of a wrapper, and two nodes of one name abort the process.
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
