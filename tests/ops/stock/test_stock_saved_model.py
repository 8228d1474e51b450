"""A SavedModel made for a GPU without this package loads, predicts and trains on the CPU."""

import numpy as np
import pytest

from ops.stock.gpu_model import read_model, write_model
from support import cases
from support.reference.spec import RnnSpec

SPECS = (
    RnnSpec("lstm", 2, 5, 3, "bidirectional"),
    RnnSpec("lstm", 1, 6, 4, num_proj=3),
    RnnSpec("gru", 2, 5, 3),
)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_runs_and_trains(spec, tmp_path, rng):
    torch_rnn = pytest.importorskip("ops.parity.torch_rnn", reason="needs torch")
    lengths = np.array([6, 1, 4, 6])
    case = cases.rnn_case(spec, 6, 4, rng, "float64", lengths)
    write_model(tmp_path, spec, case)
    got = read_model(tmp_path, case, "stock")
    want = torch_rnn.run(case)
    for name in ("output", "output_h", "input_backprop", "input_h_backprop", "params_backprop"):
        np.testing.assert_allclose(got[name], want[name], rtol=1e-10, atol=1e-12, err_msg=name)
    assert np.all(np.diff(got["losses"]) < 0), got["losses"]


def test_the_model_needs_the_kernels(tmp_path, rng):
    case = cases.rnn_case(SPECS[0], 3, 2, rng, "float64", lengths="full")
    write_model(tmp_path, SPECS[0], case)
    model = (tmp_path / "model" / "saved_model.pb").read_bytes()
    assert b"CudnnRNNV3" in model and b"/device:GPU:0" in model and b"TfRnnOps" not in model
    raised = str(read_model(tmp_path, case, "nothing")["raised"])
    assert "CudnnRNNV3" in raised and "No OpKernel" in raised
