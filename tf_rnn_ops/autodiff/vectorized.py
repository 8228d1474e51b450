"""Converters of the ops for tf.vectorized_map and jacobians (TensorFlow's pfor).

Calls with the same weights in all iterations become one call, whose batch has the sequences of all
iterations. TensorFlow runs an op in a loop over the iterations if the op has no converter or if the
converter raises ConversionNotImplementedError.

A converter returns all outputs of an op. One call cannot give a reserve space or the gradient of the
weights for each iteration, so these outputs come from the loop. These ops are stateless, so a graph drops
the call or the loop if no output of it is read.
"""

from typing import Any, Iterable

import tensorflow as tf

from tf_rnn_ops import raw_ops
from tf_rnn_ops.autodiff.ops import attribute
from tf_rnn_ops.native.tf_internals.pfor import not_converted, register_converter, result
from tf_rnn_ops.raw_ops.table import (
    LAYER_WEIGHTS,
    PREFIX,
    QUANTIZED_WEIGHTS,
    RANDOM_ATTRS,
    UPSTREAM,
    signature,
)

_LINEAR = signature("LinearRecurrence")
_WEIGHTS = ("params", "packed", *LAYER_WEIGHTS, *QUANTIZED_WEIGHTS)
_STATES = ("input_h", "input_c", "output_h", "output_c")
_MASKS = ("input_mask", "recurrent_mask")
_OF_CELL_STATE = ("input_c", "output_c", "output_c_backprop", "cell_input")
_SEQUENCES = {*_LINEAR.inputs, *_LINEAR.outputs} - {*_WEIGHTS}


class _Call:
    """A call of an op in the body of a loop whose iterations become one call."""

    def __init__(self, call: Any) -> None:
        self._call, op = call, signature(call.op.type)
        self.inputs, self.outputs = op.inputs, op.outputs
        self.attrs = {name: attribute(call.op, name) for name in op.attrs}
        self._stacked_inputs = dict(zip(self.inputs, call.inputs, strict=True))
        self._iterations = call.iterations  # [1]
        self._batch = self._sizes("input")[self._batch_dim("input")]

    @property
    def is_stack(self) -> bool:
        """Whether the op is of the CudnnRNN family."""
        return "params" in self._stacked_inputs

    @property
    def has_few_rows(self) -> bool:
        """Whether a larger batch would make much better use of the weights that a step reads."""
        return isinstance(self._batch, int) and self._batch <= 2

    @property
    def is_seeded(self) -> bool:
        """Whether there may be zoneout. One call for all iterations would draw other random numbers."""
        if "seed" not in self._stacked_inputs:
            return False
        seed, stacked = self._stacked_inputs["seed"]
        return seed.shape[int(stacked) :] != [0]

    @property
    def tensors(self) -> Any:
        """The unchanged inputs."""
        return {name: stacked.tensor for name, stacked in self._stacked_inputs.items()}

    def any_stacked(self, names: Iterable[str]) -> bool:
        return any(self._stacked_inputs[name].is_stacked for name in names)

    def fold(self, names: Iterable[str]) -> dict[str, tf.Tensor]:
        """Inputs with the sequences of all iterations in one batch."""
        return {name: self._fold(name) for name in names}

    def unfold(self, name: str, tensor: tf.Tensor) -> tf.Tensor:
        """An output for each iteration, from the output of the call with the sequences of all iterations."""
        if tensor.shape.rank == 0:  # output_c of a cell without a cell state
            return result(tensor, False)
        dim = self._batch_dim(name)
        known = tf.get_static_value(self._iterations)
        count = self._iterations[0] if known is None else int(known[0])
        sizes = _sizes_of(tensor)
        tensor = tf.reshape(tensor, [*sizes[:dim], count, self._batch, *sizes[dim + 1 :]])
        return result(_move(tensor, dim, 0), True)

    def loop(self) -> dict[str, Any]:
        """The outputs of TensorFlow's loop."""
        return dict(zip(self.outputs, self._call.loop(), strict=True))

    def again(self, inputs: dict[str, tf.Tensor]) -> Any:
        """The outputs of the op for other inputs."""
        results = self._call.again([inputs[name] for name in self.inputs])
        return dict(zip(self.outputs, results, strict=True))

    def _sizes(self, name: str) -> Any:
        """The sizes of an input in one iteration."""
        tensor, stacked = self._stacked_inputs[name]
        if tensor.shape.rank is None:
            raise not_converted(f"The rank of {name} is not known.")
        return _sizes_of(tensor)[int(stacked) :]

    def _batch_dim(self, name: str) -> Any:
        name = name.removesuffix("_backprop")
        if name in _MASKS:
            return 1
        if name == "sequence_lengths" or (name in _STATES and not self.is_stack):
            return 0
        if name not in (*_STATES, *_SEQUENCES):
            raise not_converted(f"The batch dimension of {name} is not known.")
        return 1 if self.attrs.get("time_major", True) else 0

    def _fold(self, name: str) -> tf.Tensor:
        tensor, stacked = self._stacked_inputs[name]
        if name in _WEIGHTS:
            if stacked:
                raise not_converted(f"Each iteration has its own {name}.")
            return tensor
        has_c = self.attrs["rnn_mode"] == "lstm"
        if not has_c and name in _OF_CELL_STATE:
            return tf.zeros([], tensor.dtype)  # it is ignored
        sizes = self._sizes(name)
        if tensor.shape.as_list()[int(stacked) :] == [0]:
            return tf.zeros([0], tensor.dtype)  # it is absent
        dim = self._batch_dim(name)
        if len(sizes) <= dim:
            raise not_converted(f"The graph does not tell whether {name} is given.")
        if not stacked:
            ones = [1] * len(sizes)
            return tf.tile(tensor, tf.concat([ones[:dim], self._iterations, ones[dim + 1 :]], 0))
        sizes[dim] = sizes[dim] * _sizes_of(tensor)[0]
        return tf.reshape(_move(tensor, 0, dim), sizes)


def _sizes_of(tensor: tf.Tensor) -> Any:
    """The size of each dimension: a number, or a scalar tensor for a dynamic dimension."""
    shape = tf.shape(tensor)
    return [shape[k] if n is None else n for k, n in enumerate(tensor.shape.as_list())]


def _move(tensor: tf.Tensor, source: int, target: int) -> tf.Tensor:
    """The tensor with one dimension moved to another position."""
    order = [k for k in range(tensor.shape.rank) if k != source]
    order.insert(target, source)
    return tf.transpose(tensor, order)


def _forward(pfor_call: Any) -> list[Any]:
    call = _Call(pfor_call)
    training = call.attrs.get("is_training", False)
    if training and call.is_stack and call.any_stacked(call.inputs):
        # CudnnRNNV3 counts its calls, so a graph would keep both the loop and the call.
        raise not_converted("CudnnRNNV3 is stateful in training.")
    if call.is_seeded or (training and call.attrs.get("dropout", 0) > 0):
        raise not_converted("Each iteration draws its own masks.")
    if not call.any_stacked(call.inputs):  # a stateful op, for instance
        same = call.again(call.tensors)
        return [result(tensor, False) for tensor in same.values()]
    results = call.again(call.fold(call.inputs))
    outputs = {}
    for name, tensor in results.items():
        if name in ("reserve_space", "host_reserved"):
            outputs[name] = call.loop()[name] if training else result(tensor, False)
        else:
            outputs[name] = call.unfold(name, tensor)
    return list(outputs.values())


def _backprop(pfor_call: Any) -> list[Any]:
    """The reserve space for the batch of all iterations comes from a second forward call."""
    call = _Call(pfor_call)
    if call.is_seeded or call.attrs.get("dropout", 0) > 0:
        raise not_converted("The masks must be the masks of the forward call.")
    inputs = call.inputs[: call.inputs.index("output")]  # the inputs of the forward op
    if not call.any_stacked(inputs) and not call.has_few_rows:
        raise not_converted(
            "A larger batch would save less time than the second forward call takes."
        )
    loop = call.loop()
    tensors, upstream = call.fold(inputs), call.fold(UPSTREAM)
    model = {name: value for name, value in call.attrs.items() if name not in RANDOM_ATTRS}
    if call.is_stack:
        outputs: Any = raw_ops.StatelessCudnnRNNV3(**tensors, seed=[0, 0], **model)
    else:
        outputs = raw_ops.LayerRNN(**tensors, **model, is_training=True)
    results = call.again({**tensors, **outputs._asdict(), **upstream})
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
    "QuantizedLayerRNN": _forward,
    "CudnnRNNV3": _forward,
    "CudnnRNNBackpropV3": _backprop,
    "CudnnRNNV3Packed": _forward,
    "LinearRecurrence": _forward,
}
for _op, _converter in _CONVERTERS.items():
    register_converter(f"{PREFIX}{_op}", _converter)
