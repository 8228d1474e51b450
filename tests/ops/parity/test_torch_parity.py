"""CudnnRNNV3 and CudnnRNNBackpropV3 against torch, float64."""

import numpy as np
import pytest

import tf_rnn_ops
from ops.parity import vectors
from support import cases, tf_ops
from support.bounds import assert_close
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops

MODES = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def _assert_parity(case, want, time_major):
    result = tf_ops.rnn_forward(ops, case, time_major)
    grads = tf_ops.rnn_backward(ops, case, result, time_major)
    got = tf_ops.rnn_arrays(case, result, grads, time_major)
    assert_close(got, want, "float64", f"{case.spec} lengths {case.lengths}")


@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize("k", range(len(vectors.SPECS)))
def test_stored_vectors(k, time_major):
    _assert_parity(*vectors.load()[k], time_major)


@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
@pytest.mark.parametrize("mode", MODES)
def test_live_torch(mode, direction, time_major, rng):
    pytest.importorskip("torch")
    from ops.parity import torch_rnn

    for _ in range(12):
        units = int(rng.integers(1, 20))
        spec = RnnSpec(
            mode,
            layers=int(rng.integers(1, 5)),
            units=units,
            input_size=int(rng.integers(1, 20)),
            direction=direction,
            num_proj=int(rng.integers(0, units)) if mode == "lstm" else 0,
        )
        steps, batch = int(rng.integers(1, 12)), int(rng.integers(1, 10))
        full = rng.random() < 0.25
        lengths = np.full(batch, steps) if full else rng.integers(1, steps + 1, size=batch)
        case = cases.rnn_case(spec, steps, batch, rng, lengths=lengths)
        _assert_parity(case, torch_rnn.run(case, batch_first=not time_major), time_major)
