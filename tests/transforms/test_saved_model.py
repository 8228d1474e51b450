"""A SavedModel with both op families and their gradients, loaded by a fresh process."""

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import cases, load_model, subproc, tf_ops
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops

SPEC = RnnSpec("lstm", 2, 7, 3, "bidirectional", num_proj=4)


def _module(signatures, is_training):
    def rnn_forward(values):
        result = ops.CudnnRNNV3(**values, **SPEC.attrs(), is_training=is_training)
        return {"output": result.output, "output_h": result.output_h, "output_c": result.output_c}

    def block_forward(values):
        result = ops.BlockLSTMV2(**values, use_peephole=True, cell_clip=3.0)
        return {"cs": result.cs, "h": result.h}

    def with_gradients(forward):
        def gradients(values):
            floats = {n: t for n, t in values.items() if t.dtype.is_floating}
            with tf.GradientTape() as tape:
                tape.watch(floats)
                loss = sum(tf.reduce_sum(t) for t in forward({**values, **floats}).values())
            return tape.gradient(loss, floats)

        return gradients

    module = tf.Module()
    for family, forward in (("rnn", rnn_forward), ("block", block_forward)):
        signature = [signatures[family]]
        setattr(module, f"{family}_forward", tf.function(forward, input_signature=signature))
        gradients = tf.function(with_gradients(forward), input_signature=signature)
        setattr(module, f"{family}_gradients", gradients)
    return module


def _unknown(values):
    return {n: tf.TensorSpec([None] * t.shape.rank, t.dtype) for n, t in values.items()}


@pytest.mark.parametrize("is_training", [True, False])
def test_round_trip_in_a_fresh_process(is_training, tmp_path, rng):
    values = {
        "rnn": tf_ops.rnn_tensors(cases.rnn_case(SPEC, 5, 4, rng, "float32")).inputs(),
        "block": tf_ops.block_tensors(cases.block_case(5, 4, 3, 6, rng, "float32", 4)),
    }
    module = _module({family: _unknown(v) for family, v in values.items()}, is_training)
    inputs = {f"{fam}.{n}": t.numpy() for fam, v in values.items() for n, t in v.items()}
    want = load_model.outcomes(module, inputs)
    np.savez(tmp_path / "inputs.npz", **inputs)
    tf.saved_model.save(module, str(tmp_path / "model"))
    subproc.run_module(
        "support.load_model", tmp_path / "model", tmp_path / "inputs.npz", tmp_path / "out.npz"
    )
    with np.load(tmp_path / "out.npz") as got:
        assert set(got.files) == set(want)
        for name in got.files:
            np.testing.assert_array_equal(got[name], want[name], err_msg=name)
    np.testing.assert_array_equal(want["rnn.gradients.params"], want["rnn.outer.params"])
    assert np.any(want["block.outer.w"] != 0)
