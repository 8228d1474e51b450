"""Calls of the ops as data, so that they can be mutated and run eagerly or in a graph."""

import copy
import dataclasses

import numpy as np

from support import cases, tf_ops
from support.reference import layout
from support.reference.block_lstm import FORWARD_NAMES


@dataclasses.dataclass
class Call:
    """One call: tensors (numpy arrays or lists of them) and attributes by name."""

    op: str
    tensors: dict
    attrs: dict

    def copy(self):
        return Call(self.op, copy.copy(self.tensors), copy.copy(self.attrs))

    def with_tensor(self, name, value):
        call = self.copy()
        call.tensors[name] = value
        return call

    def with_attr(self, name, value):
        call = self.copy()
        call.attrs[name] = value
        return call


def function_of(ops, op):
    """The function that runs an op. `ops` may lack LinearRecurrence, which is in no module for users."""
    if op != "LinearRecurrence" or hasattr(ops, op):
        return getattr(ops, op)
    from tf_rnn_ops.native import loader

    return loader.ops().tf_rnn_ops_linear_recurrence


def run(ops, call, tensors):
    """The call's op on other tensors, by name."""
    return function_of(ops, call.op)(**tensors, **call.attrs)


def run_eagerly(ops, call):
    return run(ops, call, call.tensors)


def prepared(ops, call):
    """A function that calls the op on tensors that exist."""
    import tensorflow as tf

    tensors = {
        name: [tf.constant(a) for a in value] if isinstance(value, list) else tf.constant(value)
        for name, value in call.tensors.items()
    }
    return lambda: run(ops, call, tensors)


def result_bytes(result):
    """The bytes of each tensor of a result."""
    import tensorflow as tf

    return [t.numpy().tobytes() for t in tf.nest.flatten(result)]


def counts_calls(call):
    """Whether equal calls differ: dropout counts them."""
    return bool(call.attrs.get("dropout")) and call.op == "CudnnRNNV3"


def flatten(call):
    """(list of arrays, function that puts tensors back into the keyword arguments)."""
    names = list(call.tensors)
    flat, counts = [], []
    for name in names:
        value = call.tensors[name]
        counts.append(len(value) if isinstance(value, list) else None)
        flat += value if isinstance(value, list) else [value]

    def rebuild(tensors):
        tensors, result = list(tensors), {}
        for name, count in zip(names, counts):
            if count is None:
                result[name] = tensors.pop(0)
            else:
                result[name] = [tensors.pop(0) for _ in range(count)]
        return result

    return flat, rebuild


def arguments(call):
    """The call's tensors in the order that a function of trace() takes them."""
    import tensorflow as tf

    return [tf.constant(a) for a in flatten(call)[0]]


def build(ops, call):
    """Puts the call in a graph that knows all shapes, which is not run."""
    import tensorflow as tf

    flat, rebuild = flatten(call)
    with tf.Graph().as_default():
        arrays = [np.asarray(a) for a in flat]
        tensors = [tf.compat.v1.placeholder(a.dtype, a.shape) for a in arrays]
        run(ops, call, rebuild(tensors))


def trace(ops, call):
    """A concrete function with unknown ranks."""
    import tensorflow as tf

    flat, rebuild = flatten(call)
    signature = [tf.TensorSpec(None, np.asarray(a).dtype) for a in flat]

    @tf.function(input_signature=signature, autograph=False)
    def function(*tensors):
        return run(ops, call, rebuild(tensors))

    return function.get_concrete_function()


def _numpy(tensor):
    return np.asarray(tensor)


def rnn_calls(ops, spec, steps, batch, rng, time_major=True, dropout=0.0):
    """Valid calls of StatelessCudnnRNNV3, CudnnRNNV3 and its gradient for one float32 problem."""
    return calls_of_rnn(
        ops, cases.rnn_case(spec, steps, batch, rng, "float32"), time_major, dropout
    )


def calls_of_rnn(ops, case, time_major=True, dropout=0.0):
    """The same for a float32 case."""
    attrs = {**case.spec.attrs(), "time_major": time_major, "dropout": dropout}
    tensors = tf_ops.rnn_tensors(case, time_major)
    inputs = {n: _numpy(t) for n, t in tensors.inputs().items()}
    result = ops.CudnnRNNV3(**inputs, **attrs)
    forward = Call("CudnnRNNV3", inputs, {**attrs, "is_training": True})
    stateless = Call("StatelessCudnnRNNV3", {**inputs, "seed": np.array([3, 1])}, attrs)
    backward = Call(
        "CudnnRNNBackpropV3",
        {
            **inputs,
            "output": _numpy(result.output),
            "output_h": _numpy(result.output_h),
            "output_c": _numpy(result.output_c),
            "output_backprop": _numpy(tensors.dy),
            "output_h_backprop": _numpy(tensors.dh),
            "output_c_backprop": _numpy(tensors.dc),
            "reserve_space": _numpy(result.reserve_space),
            "host_reserved": _numpy(result.host_reserved),
        },
        attrs,
    )
    return [stateless, forward, backward]


def params_calls(spec, rng):
    """Valid calls of the three ops that handle the opaque buffer."""
    import tensorflow as tf

    sizes = {
        "num_layers": np.int32(spec.layers),
        "num_units": np.int32(spec.units),
        "input_size": np.int32(spec.input_size),
    }
    attrs = {**spec.attrs(), "dropout": 0.0}
    params = rng.standard_normal(layout.params_size(spec)).astype(np.float32)
    weights, biases = layout.canonical(spec, params)
    counts = {"num_params_weights": len(weights), "num_params_biases": len(biases)}
    return [
        Call("CudnnRNNParamsSize", sizes, {**attrs, "T": tf.float32, "S": tf.int32}),
        Call("CudnnRNNCanonicalToParamsV2", {**sizes, "weights": weights, "biases": biases}, attrs),
        Call("CudnnRNNParamsToCanonicalV2", {**sizes, "params": params}, {**attrs, **counts}),
    ]


def block_calls(ops, shape, rng, use_peephole=True, seq_len_max=None):
    """Valid calls of BlockLSTMV2 and BlockLSTMGradV2, float32; shape is (T, B, I, H)."""
    return calls_of_block(
        ops, cases.block_case(*shape, rng, "float32", seq_len_max, use_peephole=use_peephole)
    )


def calls_of_block(ops, case):
    """The same for a float32 case."""
    inputs = {n: _numpy(t) for n, t in tf_ops.block_tensors(case).items()}
    result = tf_ops.block_forward(ops, case)
    upstream = {"cs_grad": case.cs_grad, "h_grad": case.h_grad}
    attrs = {"use_peephole": case.use_peephole}
    return [
        Call("BlockLSTMV2", inputs, {**attrs, "cell_clip": case.cell_clip}),
        Call(
            "BlockLSTMGradV2",
            {
                **inputs,
                **{n: _numpy(getattr(result, n)) for n in FORWARD_NAMES},
                **{n: a.astype(np.float32) for n, a in upstream.items()},
            },
            attrs,
        ),
    ]


def call_of_linear(case):
    """The call of LinearRecurrence of a float32 LinearCase."""
    tensors = {name: array.astype(np.float32) for name, array in case.arrays().items()}
    attrs = {"rnn_mode": case.rnn_mode, "transposed": case.transposed}
    return Call("LinearRecurrence", tensors, attrs)
