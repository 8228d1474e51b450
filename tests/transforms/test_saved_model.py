"""A SavedModel with every op family and the gradients, loaded by a fresh process."""

import numpy as np
import pytest
import tensorflow as tf

from support import networks, subproc
from support.reference.spec import RnnSpec
from transforms import load_model


def _functions(network, is_training):
    """(forward, gradients) of a dict of all inputs, whose sizes are not known."""
    attrs = {} if network.op == "BlockLSTMV2" else {"is_training": is_training}

    def forward(tensors):
        return network.outputs(tensors, **attrs)

    def gradients(tensors):
        values = {n: tensors[n] for n in network.tensors if n not in networks.FIXED}
        with tf.GradientTape() as tape:
            tape.watch(values)
            loss = sum(tf.reduce_sum(t) for t in forward({**tensors, **values}).values())
        return tape.gradient(loss, values)

    signature = {
        n: tf.TensorSpec([None] * t.shape.rank, t.dtype) for n, t in network.tensors.items()
    }
    return [tf.function(f, input_signature=[signature]) for f in (forward, gradients)]


@pytest.mark.parametrize("is_training", [True, False])
def test_round_trip_in_a_fresh_process(is_training, tmp_path, rng):
    spec = RnnSpec("lstm", 2, 7, 3, "bidirectional", num_proj=4)
    found = {
        "rnn": networks.stack(spec, rng, (5, 4), "float32"),
        "block": networks.block(
            rng, (5, 4, 3, 6), "float32", seq_len_max=4, use_peephole=True, cell_clip=3.0
        ),
        "lstm": networks.layer("lstm", rng, (5, 4, 3, 7), "float32"),
        "gru": networks.layer("gru", rng, (5, 4, 3, 7), "float32"),
    }
    module, inputs = tf.Module(), {}
    for family, network in found.items():
        forward, gradients = _functions(network, is_training)
        setattr(module, f"{family}_forward", forward)
        setattr(module, f"{family}_gradients", gradients)
        inputs |= {f"{family}.{n}": t.numpy() for n, t in network.tensors.items()}
    want = load_model.outcomes(module, inputs)
    np.savez(tmp_path / "inputs.npz", **inputs)
    tf.saved_model.save(module, str(tmp_path / "model"))
    subproc.run_module(
        "transforms.load_model", tmp_path / "model", tmp_path / "inputs.npz", tmp_path / "out.npz"
    )
    with np.load(tmp_path / "out.npz") as got:
        assert set(got.files) == set(want)
        for name in got.files:
            np.testing.assert_array_equal(got[name], want[name], err_msg=name)
    for name in ("rnn.{}.params", "block.{}.w", "lstm.{}.kernel", "gru.{}.bias"):
        inner, outer = (want[name.format(kind)] for kind in ("gradients", "outer"))
        np.testing.assert_array_equal(inner, outer)
        assert np.any(outer != 0)
