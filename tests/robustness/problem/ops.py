"""Runs a problem through the Python ops."""

import tensorflow as tf

import tf_rnn_ops
from robustness.problem import values
from robustness.problem.grammar import BLOCK, INT8, LAYER, LINEAR
from support import calls, layer_ops, packed_calls, tf_ops


def _first_calls(run, dropout):
    """run(), as the first call of kernels of its own where dropout counts the calls."""
    return tf.function(run, autograph=False)() if dropout else run()


def _stack(p, case, order, raw):
    time_major = order == "time"
    if p.run == "packed":
        tensors = tf_ops.rnn_tensors(case, time_major).inputs()
        packed = packed_calls.pack_params(raw, case.spec, tensors["params"])
        attrs = {**case.spec.attrs(), "time_major": time_major}
        result = raw.CudnnRNNV3Packed(**tensors, packed=packed, **attrs)
        return tf_ops.rnn_arrays(case, result, None, time_major)
    if p.run == "inference":
        result = tf_ops.rnn_forward(raw, case, time_major, is_training=False)
        return tf_ops.rnn_arrays(case, result, None, time_major)

    def both():
        attrs = {"dropout": p.dropout, "seed": p.seed}
        result = tf_ops.rnn_forward(raw, case, time_major, **attrs)
        return result, tf_ops.rnn_backward(raw, case, result, time_major, **attrs)

    return tf_ops.rnn_arrays(case, *_first_calls(both, p.dropout), time_major)


def _layer(p, case, order, raw):
    time_major = order == "time"
    if p.run == "training":
        return layer_ops.run(raw, case, time_major)
    if p.run == "inference":
        result = layer_ops.forward(raw, case, time_major, is_training=False)
    else:
        tensors = layer_ops.tensors(case, time_major)
        tensors = {n: t for n, t in tensors.items() if n not in packed_calls.TRAINING}
        weights = {n: t for n, t in tensors.items() if n in packed_calls.PACKED_WEIGHTS}
        packed = raw.PackLayerRNN(**weights, rnn_mode=case.rnn_mode)
        attrs = {**case.attrs(), "time_major": time_major}
        result = raw.LayerRNNPacked(**tensors, **attrs, packed=packed)
    return layer_ops.arrays(case, result._asdict(), time_major)


def _quantized(p, case, order, raw):
    return case.run(raw, order == "time", p.run == "packed")


def _block(p, case, order, raw):
    result = tf_ops.block_forward(raw, case)
    grads = tf_ops.block_backward(raw, case, result) if p.run == "training" else None
    return tf_ops.block_arrays(result, grads)


def _linear(p, case, order, raw):
    return case.run(calls.function_of(raw, "LinearRecurrence"))


def run(problem, case=None, order=None, raw=tf_rnn_ops.raw_ops):
    """Outputs, and in training gradients, as a dict of time-major float64 arrays.

    Args:
        problem: A Problem.
        case: Its numbers, by default those of the line.
        order: "time" or "batch", by default that of the line.
        raw: The module of the op, by default tf_rnn_ops.raw_ops. tf.raw_ops has some ops of the same name.
    """
    case = values.case(problem) if case is None else case
    runner = {LAYER: _layer, BLOCK: _block, LINEAR: _linear}.get(problem.op, _stack)
    if problem.type == INT8:
        runner = _quantized
    return runner(problem, case, order or problem.order, raw)
