"""The first two versions as old code has them: graphs, sessions and tf.compat.v1 gradients."""

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import cases
from support.reference.spec import RnnSpec

SPECS = (
    RnnSpec("lstm", 2, 5, 3, "bidirectional"),
    RnnSpec("gru", 2, 5, 3, "bidirectional"),
    RnnSpec("rnn_relu", 3, 4, 3),
)


@pytest.fixture(scope="module", autouse=True)
def stock():
    tf_rnn_ops.enable_stock_ops()


@pytest.mark.parametrize("op", ["CudnnRNN", "CudnnRNNV2"])
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_session_computes_and_differentiates_as_torch(spec, op, rng):
    case = cases.rnn_case(spec, 6, 4, rng, "float64", lengths="full")
    torch_rnn = pytest.importorskip("ops.parity.torch_rnn", reason="needs torch")
    want = torch_rnn.run(case)
    # A session of TensorFlow 1 moves a node to another device only when told to.
    config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
    with tf.Graph().as_default(), tf.compat.v1.Session(config=config) as session:
        feeds = {
            name: tf.compat.v1.placeholder(tf.float64, shape=None, name=name)
            for name in ("x", "h0", "c0", "params", "dy", "dh", "dc")
        }
        attrs = {k: v for k, v in spec.attrs().items() if k != "num_proj"}
        with tf.device("/device:GPU:0"):
            result = getattr(tf.raw_ops, op)(
                input=feeds["x"],
                input_h=feeds["h0"],
                input_c=feeds["c0"],
                params=feeds["params"],
                **attrs,
            )
        outputs = [result.output, result.output_h] + [result.output_c] * spec.is_lstm
        upstream = [feeds["dy"], feeds["dh"]] + [feeds["dc"]] * spec.is_lstm
        inputs = [feeds["x"], feeds["h0"], feeds["params"]] + [feeds["c0"]] * spec.is_lstm
        gradients = tf.compat.v1.gradients(outputs, inputs, upstream)
        values = {feeds[name]: np.asarray(getattr(case, name)) for name in feeds}
        got = session.run(outputs + gradients, values)
    names = ["output", "output_h"] + ["output_c"] * spec.is_lstm
    names += ["input_backprop", "input_h_backprop", "params_backprop"]
    names += ["input_c_backprop"] * spec.is_lstm
    for name, value in zip(names, got, strict=True):
        np.testing.assert_allclose(value, want[name], rtol=1e-10, atol=1e-12, err_msg=name)
