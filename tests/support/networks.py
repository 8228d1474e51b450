"""Calls of CudnnRNNV3, LayerRNN and BlockLSTMV2 in one form, for tests of their derivatives."""

import dataclasses

import numpy as np
import tensorflow as tf

import tf_rnn_ops
from support import cases, layer_cases, layer_ops, tf_ops

# Inputs without a gradient.
FIXED = ("sequence_lengths", "seq_len_max", "seed", "input_mask", "recurrent_mask")


@dataclasses.dataclass
class Network:
    """One call: tensors and attributes by name, and the gradients of its outputs."""

    op: str
    case: object
    tensors: dict
    attrs: dict
    upstream: dict  # tensors by the names of the results
    fields: dict  # by the same names: the field of the case
    swapped: tuple = ()  # of the inputs, those with batch first
    fixed: tuple = ()  # inputs that are not differentiated

    @property
    def values(self):
        """The inputs that have a gradient: without absent ones, and an input_c that is ignored."""
        return {
            n: t
            for n, t in self.tensors.items()
            if n not in (*FIXED, *self.fixed)
            and t.shape != [0]
            and not (n == "input_c" and t.shape == [])
        }

    def call(self, values=(), **attrs):
        op = getattr(tf_rnn_ops.raw_ops, self.op)
        return op(**{**self.tensors, **dict(values)}, **{**self.attrs, **attrs})

    def outputs(self, values=(), **attrs):
        """The results that have a gradient, by name."""
        result = self.call(values, **attrs)
        return {n: getattr(result, n) for n in self.upstream}

    def loss(self, values=(), **attrs):
        found = self.outputs(values, **attrs)
        return tf.add_n([tf.reduce_sum(found[n] * t) for n, t in self.upstream.items()])

    def gradients(self, values, upstream=None, **attrs):
        upstream = self.upstream if upstream is None else upstream
        with tf.GradientTape() as tape:
            tape.watch(values)
            found = self.outputs(values, **attrs)
        return tape.gradient(found, values, output_gradients=upstream)

    def arrays(self, gradients):
        """Gradients as time-major float64 arrays, under names of bounds.py."""
        found = {n: tf_ops.to_float64(g) for n, g in gradients.items()}
        return {
            f"{n}_grad": np.swapaxes(a, 0, 1) if n in self.swapped else a for n, a in found.items()
        }

    def reference(self):
        """The same from the reference."""
        if self.op == "BlockLSTMV2":
            found = self.case.reference()[1]
        else:
            found = self.case.reference()
            if self.op == "CudnnRNNV3":
                found = tf_ops.rnn_reference_arrays(self.case, *found)
            found = {n.removesuffix("_backprop"): a for n, a in found.items()}
        return {f"{n}_grad": found[n] for n in self.values}


def stack(spec, rng, size=(4, 3), dtype="float64", lengths="random", time_major=True, **attrs):
    """CudnnRNNV3; `size` is (T, B)."""
    case = cases.rnn_case(spec, *size, rng, dtype, lengths)
    tensors = tf_ops.rnn_tensors(case, time_major)
    upstream = {"output": tensors.dy, "output_h": tensors.dh, "output_c": tensors.dc}
    fields = {"output": "dy", "output_h": "dh", "output_c": "dc"}
    if not spec.is_lstm:
        del upstream["output_c"]
    swapped = () if time_major else ("input", "input_h", "input_c")
    attrs = {**spec.attrs(), "time_major": time_major, **attrs}
    return Network("CudnnRNNV3", case, tensors.inputs(), attrs, upstream, fields, swapped)


def layer(mode, rng, size=(4, 3, 5, 6), dtype="float64", time_major=True, **given):
    """LayerRNN; `size` is (T, B, I, H), `mode` and `given` are those of layer_case."""
    case = layer_cases.layer_case(mode, size, rng, dtype, **given)
    fields = {"output": "dy", "output_h": "dh", "output_c": "dc"}
    upstream = dict(zip(fields, layer_ops.upstream(case, time_major)))
    if not case.is_lstm:
        del upstream["output_c"]
    tensors = layer_ops.tensors(case, time_major)
    swapped = () if time_major else ("input",)
    attrs = {**case.attrs(), "time_major": time_major}
    return Network("LayerRNN", case, tensors, attrs, upstream, fields, swapped)


def block(rng, size=(4, 2, 3, 3), dtype="float64", **given):
    """BlockLSTMV2; `size` is (T, B, I, H), `given` is that of block_case."""
    case = cases.block_case(*size, rng, dtype, **given)
    fields = {"cs": "cs_grad", "h": "h_grad"}
    upstream = {n: tf_ops.constant(getattr(case, f), dtype) for n, f in fields.items()}
    attrs = {"use_peephole": case.use_peephole, "cell_clip": case.cell_clip}
    return Network("BlockLSTMV2", case, tf_ops.block_tensors(case), attrs, upstream, fields)
