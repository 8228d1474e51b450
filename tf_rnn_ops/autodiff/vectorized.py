"""Converters of the ops for tf.vectorized_map and jacobians (TensorFlow's pfor).

A call with the same weights in all iterations becomes one call whose batch has the rows of all of them.
TensorFlow runs an op without a converter, or whose converter raises ConversionNotImplementedError, in a
loop over the iterations.

A converter returns all outputs of an op, whichever are wanted. What one call cannot give, a reserve
space or the gradient of weights for each iteration, comes from that loop too. These ops are stateless,
so a graph drops the call or the loop where nobody reads it.
"""

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tf_rnn_ops import raw_ops

try:
    from tensorflow.python.ops.parallel_for import pfor as _pfor

    _create_op, _loop, _wrap = _pfor._create_op, _pfor._fallback_converter, _pfor.wrap
    _registry = _pfor._pfor_converter_registry
    _NotConverted = _pfor.ConversionNotImplementedError
except (ImportError, AttributeError):  # private parts of TensorFlow, which another version may lack
    _registry = None

_WEIGHTS = (
    *("params", "packed", "kernel", "recurrent_kernel", "bias"),
    *("projection", "peepholes", "layer_norm"),
)
_STATES = ("input_h", "input_c", "output_h", "output_c")
_MASKS = ("input_mask", "recurrent_mask")
_SEQUENCES = (
    *("input", "output", "cell_input", "cell_output"),
    *("h_by_gates", "c_by_gates", "h_by_h", "h_by_c", "c_by_h", "c_by_c"),
)


class _Call:
    """A call of an op in the body of a loop whose iterations become one call."""

    def __init__(self, pfor_input):
        definition = op_def_registry.get(pfor_input.op_type)
        self.inputs = [argument.name for argument in definition.input_arg]
        self.outputs = [argument.name for argument in definition.output_arg]
        self.attrs = {a.name: _attribute(pfor_input, a.name) for a in definition.attr}
        self._pfor_input = pfor_input
        self._given = dict(zip(self.inputs, pfor_input.inputs, strict=True))
        self._iterations = pfor_input.pfor.loop_len_vector  # [1]
        self._batch = self._sizes("input")[self._batch_dim("input")]

    @property
    def is_stack(self):
        """Whether the op is of the CudnnRNN family."""
        return "params" in self._given

    @property
    def has_few_rows(self):
        """Whether more rows would make much better use of the weights that a step reads."""
        return isinstance(self._batch, int) and self._batch <= 2

    @property
    def is_seeded(self):
        """Whether zoneout may be drawn: the rows of one call for all iterations would draw others."""
        if "seed" not in self._given:
            return False
        seed, stacked, _ = self._given["seed"]
        return seed.shape[int(stacked) :] != [0]

    def any_stacked(self, names):
        return any(self._given[name].is_stacked for name in names)

    def fold(self, names):
        """Inputs with the rows of all iterations."""
        return {name: self._fold(name) for name in names}

    def unfold(self, name, tensor):
        """An output, for each iteration, of what the call with all rows returned."""
        if tensor.shape.rank == 0:  # output_c of a cell without it
            return _wrap(tensor, False)
        dim = self._batch_dim(name)
        known = tf.get_static_value(self._iterations)
        count = self._iterations[0] if known is None else int(known[0])
        sizes = _sizes_of(tensor)
        tensor = tf.reshape(tensor, [*sizes[:dim], count, self._batch, *sizes[dim + 1 :]])
        return _wrap(_move(tensor, dim, 0), True)

    def loop(self):
        """The outputs of TensorFlow's loop."""
        if not self._pfor_input.pfor.fallback_to_while_loop:
            raise _NotConverted("What it returns for each iteration needs a loop.")
        return dict(zip(self.outputs, _loop(self._pfor_input), strict=True))

    def again(self, inputs):
        """The outputs of the same op for other inputs."""
        op = self._pfor_input.op
        dtypes = [output.dtype for output in op.outputs]
        inputs = [inputs[name] for name in self.inputs]
        made = _create_op(op.type, inputs, dtypes, attrs=op.node_def.attr)
        return dict(zip(self.outputs, made.outputs, strict=True))

    def _sizes(self, name):
        """Of an input, in one iteration."""
        tensor, stacked, _ = self._given[name]
        if tensor.shape.rank is None:
            raise _NotConverted(f"The rank of {name} is not known.")
        return _sizes_of(tensor)[int(stacked) :]

    def _batch_dim(self, name):
        name = name.removesuffix("_backprop")
        if name in _MASKS:
            return 1
        if name == "sequence_lengths" or (name in _STATES and not self.is_stack):
            return 0
        if name not in (*_STATES, *_SEQUENCES):
            raise _NotConverted(f"{name} is new.")
        return 1 if self.attrs.get("time_major", True) else 0

    def _fold(self, name):
        tensor, stacked, _ = self._given[name]
        if name in _WEIGHTS:
            if stacked:
                raise _NotConverted(f"Each iteration has its own {name}.")
            return tensor
        has_c = self.attrs["rnn_mode"] == "lstm"
        if not has_c and name in ("input_c", "output_c", "output_c_backprop", "cell_input"):
            return tf.zeros([], tensor.dtype)  # it is ignored
        sizes = self._sizes(name)
        if tensor.shape.as_list()[int(stacked) :] == [0]:
            return tf.zeros([0], tensor.dtype)  # it is not there
        dim = self._batch_dim(name)
        if len(sizes) <= dim:
            raise _NotConverted(f"Whether {name} is there, the graph does not say.")
        if not stacked:
            ones = [1] * len(sizes)
            return tf.tile(tensor, tf.concat([ones[:dim], self._iterations, ones[dim + 1 :]], 0))
        sizes[dim] = sizes[dim] * _sizes_of(tensor)[0]
        return tf.reshape(_move(tensor, 0, dim), sizes)


def _attribute(pfor_input, name):
    value = pfor_input.get_attr(name)
    return value.decode() if isinstance(value, bytes) else value


def _sizes_of(tensor):
    """Numbers, or scalars where they are not known."""
    shape = tf.shape(tensor)
    return [shape[k] if n is None else n for k, n in enumerate(tensor.shape.as_list())]


def _move(tensor, source, target):
    """A dimension to another place among the others."""
    order = [k for k in range(tensor.shape.rank) if k != source]
    order.insert(target, source)
    return tf.transpose(tensor, order)


def _forward(pfor_input):
    call = _Call(pfor_input)
    training = call.attrs.get("is_training", False)
    if training and call.is_stack and call.any_stacked(call.inputs):
        # CudnnRNNV3 counts its calls, so a graph would keep both the loop and the call.
        raise _NotConverted("CudnnRNNV3 is stateful in training.")
    if call.is_seeded or (training and call.attrs.get("dropout", 0) > 0):
        raise _NotConverted("Each iteration draws masks of its own.")
    if not call.any_stacked(call.inputs):  # a stateful op
        same = call.again({n: x.t for n, x in zip(call.inputs, pfor_input.inputs, strict=True)})
        return [_wrap(tensor, False) for tensor in same.values()]
    results = call.again(call.fold(call.inputs))
    found = {}
    for name, tensor in results.items():
        if name in ("reserve_space", "host_reserved"):
            found[name] = call.loop()[name] if training else _wrap(tensor, False)
        else:
            found[name] = call.unfold(name, tensor)
    return list(found.values())


def _backprop(pfor_input):
    """The reserve space of all rows is that of a second forward call."""
    call = _Call(pfor_input)
    if call.is_seeded or call.attrs.get("dropout", 0) > 0:
        raise _NotConverted("The masks are those of the forward call.")
    first, last = call.inputs.index("output"), call.inputs.index("output_backprop")
    if not call.any_stacked(call.inputs[:first]) and not call.has_few_rows:
        raise _NotConverted("The rows of a batch would gain less than the forward call costs.")
    loop = call.loop()
    given = call.fold(call.inputs[:first])
    upstream = call.fold(call.inputs[last : last + 3])
    others = ("T", "dropout", "seed", "seed2")
    model = {name: value for name, value in call.attrs.items() if name not in others}
    if call.is_stack:
        outputs = raw_ops.StatelessCudnnRNNV3(**given, seed=[0, 0], **model)
    else:
        outputs = raw_ops.LayerRNN(**given, **model, is_training=True)
    results = call.again({**given, **outputs._asdict(), **upstream})
    return [
        loop[name]
        if name.removesuffix("_backprop") in _WEIGHTS
        else call.unfold(name, results[name])
        for name in call.outputs
    ]


_CONVERTERS = {
    "LayerRNN": _forward,
    "LayerRNNBackprop": _backprop,
    "LayerRNNPacked": _forward,
    "CudnnRNNV3": _forward,
    "CudnnRNNBackpropV3": _backprop,
    "CudnnRNNV3Packed": _forward,
    "LinearRecurrence": _forward,
}
if _registry is not None:
    for _op, _converter in _CONVERTERS.items():
        _registry.setdefault(f"TfRnnOps>{_op}", _converter)
