"""LSTM layers as a function that LiteRT's converter replaces by UNIDIRECTIONAL_SEQUENCE_LSTM.

Note [The function of Keras 2]
Keras 2 ran an LSTM as a function with an attribute `api_implements`. TensorFlow's converter still replaces
each call of such a function by the fused op, whatever the body of the function is. The arguments of the
function are x, h0, c0, kernel, recurrent kernel and bias, in Keras's order of gates. It returns the last
output, the sequence, h, c and a number. The converter does not replace a call if the batch size is not
known or if a result other than the first two is read. So this module computes h from the sequence.
SOURCE: tensorflow/compiler/mlir/lite/transforms/prepare_composite_functions_tf.cc.

Note [States of the fused op]
The fused op reads its states from tensors that it also writes. These tensors keep their values between
calls of the file, so a second call would begin with the final states of the first. The converter uses h0
and c0 as these tensors. A tensor that an op of the graph computes is computed again at each call. So h0
and c0 are sums with zeros that the converter cannot recognise as zeros: abs(x) < -k. The converter merges
equal computations, but two layers must not have one state, so each layer has its own k.
"""

import itertools
import uuid
from typing import Any, Callable, Iterator

import tensorflow as tf

from tf_rnn_ops import plain
from tf_rnn_ops.params import Layout
from tf_rnn_ops.params.layout import blocks_of
from tf_rnn_ops.plain import sizes
from tf_rnn_ops.plain.cells import KERAS_GATES
from tf_rnn_ops.portable import per_node, unsupported_parts
from tf_rnn_ops.raw_ops.table import signature

NAME = "UNIDIRECTIONAL_SEQUENCE_LSTM"


def reason_for_loop(info: per_node.NodeInfo) -> str:
    """The reason why a node cannot be the fused op; empty if it can."""
    network = info.network
    if network is None:
        return "LiteRT's fused LSTM has no peepholes"
    if what := unsupported_parts.part(network):
        return f"LiteRT's fused LSTM has no {what}"
    if network.rnn_mode != "lstm":
        return "LiteRT has a fused op for LSTM only"
    if isinstance(network, sizes.Layer):
        attrs = network.attrs()
        if (attrs["activation"], attrs["recurrent_activation"]) != ("tanh", "sigmoid"):
            return "LiteRT's fused LSTM has the activations tanh and sigmoid only"
    if info.dtype != tf.float32:
        return f"LiteRT's fused LSTM computes in float32, not in {info.dtype.name}"
    if "output_c" in info.read:
        return "its final c is read, which LiteRT's fused LSTM does not return"
    if info.batch is None:
        return "LiteRT's fused LSTM needs a known batch size: give it in input_signature"
    return ""


class Functions:
    """Makes the functions of one file."""

    def __init__(self) -> None:
        self._numbers = itertools.count()  # k of Note [States of the fused op]

    def replacement(self, info: per_node.NodeInfo) -> per_node.Replace:
        """The function for a node without a reason against it."""
        make = _layer if isinstance(info.network, sizes.Layer) else _stack
        return per_node.Replace(make(info, self._numbers), NAME)


def _layer(info: per_node.NodeInfo, numbers: Iterator[int]) -> Callable:
    network: Any = info.network

    def forward(*tensors: tf.Tensor) -> list:
        inputs = dict(zip(signature("LayerRNN").inputs, tensors))
        x, kernel, bias = inputs["input"], inputs["kernel"], inputs["bias"]
        lengths = per_node.lengths_of_rows(x, inputs["sequence_lengths"], info.time_major)
        if "bias" in network.absent:
            bias = tf.zeros([4 * network.units])
        weights = kernel, inputs["recurrent_kernel"], bias
        states = inputs["input_h"], inputs["input_c"]
        output, h = _run(x, states, weights, lengths, info.time_major, numbers)
        return [output, h, tf.zeros_like(h)]

    return forward


def _stack(info: per_node.NodeInfo, numbers: Iterator[int]) -> Callable:
    layout: Any = info.network
    time_major = info.time_major
    rows = 0 if time_major else 1  # the axis of layers and directions in the states

    def forward(x: Any, h0: Any, c0: Any, params: Any, lengths: Any = None) -> list:
        states = list(zip(tf.unstack(h0, axis=rows), tf.unstack(c0, axis=rows)))
        last: list[Any] = []
        for layer in range(layout.num_layers):
            outputs = []
            for direction in range(2 if layout.direction == "bidirectional" else 1):
                weights = _weights(layout, params, layer, direction)
                turned = _reversed(x, lengths, time_major) if direction else x
                output, h = _run(turned, states[len(last)], weights, lengths, time_major, numbers)
                outputs.append(_reversed(output, lengths, time_major) if direction else output)
                last.append(h)
            x = tf.concat(outputs, -1)
        return [x, tf.stack(last, rows), tf.zeros_like(c0)]

    return forward


def _weights(layout: Layout, params: Any, layer: int, direction: int) -> tuple[Any, ...]:
    """Kernel, recurrent kernel and bias of a layer of a stack, in Keras's format."""

    def take(blocks: Any, source: str) -> list:
        found = blocks_of(blocks, layer, direction, source)
        of_gates = [found[gate] for gate in KERAS_GATES["lstm"]]
        return [tf.reshape(params[b.offset : b.end], b.shape) for b in of_gates]

    kernel, recurrent_kernel = (
        tf.transpose(tf.concat(take(layout.weights, source), 0))
        for source in ("input", "recurrent")
    )
    if not kernel.shape[0]:  # skip_input: x is added to every gate
        kernel = tf.tile(tf.eye(layout.num_units), [1, 4])
    biases = [tf.concat(take(layout.biases, source), 0) for source in ("input", "recurrent")]
    return kernel, recurrent_kernel, tf.add_n(biases)


def _reversed(x: Any, lengths: Any, time_major: bool) -> tf.Tensor:
    time = 0 if time_major else 1
    if lengths is None:
        return tf.reverse(x, [time])
    return tf.reverse_sequence(x, lengths, seq_axis=time, batch_axis=1 - time)


def _run(
    x: Any, states: Any, weights: Any, lengths: Any, time_major: bool, numbers: Iterator[int]
) -> tuple[Any, Any]:
    """The output of one layer in one direction, 0 beyond the lengths, and its last h."""
    x, states = _with_known_batch(x, states, time_major)
    first = tf.abs(x[0, :, :1] if time_major else x[:, 0, :1])
    initial = states[0]  # the fused op overwrites the sum with zeros
    states = [state + _zeros(first, state.shape[-1], next(numbers)) for state in states]
    last, sequence, *_ = _fused(time_major)(x, *states, *weights)
    if lengths is None:
        return sequence, last
    # The steps beyond a length come after the valid steps, so they do not change the results of valid
    # steps.
    time = tf.shape(sequence)[0 if time_major else 1]
    end, row = tf.maximum(lengths - 1, 0), tf.range(states[0].shape[0])
    last = tf.gather_nd(sequence, tf.stack([end, row] if time_major else [row, end], 1))
    last = tf.where(tf.expand_dims(lengths > 0, 1), last, initial)
    valid = tf.sequence_mask(lengths, time)
    valid = tf.expand_dims(tf.transpose(valid) if time_major else valid, 2)
    return tf.where(valid, sequence, tf.zeros_like(sequence)), last


def _with_known_batch(x: Any, states: Any, time_major: bool) -> tuple[Any, list]:
    """The tensors with a batch size that the converter knows.

    WHY: an op on two tensors of which one has an unknown size broadcasts a size of 1, so the result of a
    masked layer has an unknown batch size for the converter. It knows the other sizes.
    """
    if x.shape[1 if time_major else 0] != 1:
        return x, states
    x = tf.reshape(x, [-1, 1, x.shape[2]] if time_major else [1, -1, x.shape[2]])
    return x, [tf.reshape(state, [1, state.shape[1]]) for state in states]


def _zeros(absolute: Any, units: int, k: int) -> tf.Tensor:
    """Zeros [B, units] from absolute values [B, 1]; see Note [States of the fused op]."""
    return tf.cast(tf.less(absolute, tf.fill([1, units], -float(k))), tf.float32)


def _fused(time_major: bool) -> Callable:
    """A function with the results of the fused op; see Note [The function of Keras 2]."""

    def lstm(
        x: Any, h0: Any, c0: Any, kernel: Any, recurrent_kernel: Any, bias: Any
    ) -> tuple[Any, ...]:
        result = plain.layer_rnn(
            "lstm", x, h0, c0, kernel, recurrent_kernel, bias, time_major=time_major
        )
        last = result.output[-1] if time_major else result.output[:, -1]
        return last, result.output, result.output_h, result.output_c, tf.zeros([])

    attributes = {
        "api_implements": f"lstm_{uuid.uuid4()}",
        "time_major": time_major,
        "go_backwards": False,
    }
    return tf.function(lstm, autograph=False, experimental_attributes=attributes)
