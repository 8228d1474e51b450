"""LayerRNN on a GPU: what gives NaN, the bits under XLA, and the path of Keras's layers.

test_gpu_layer_problems.py compares its values with the reference.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
import tf_rnn_ops.keras as ours
from support import devices, infinite_values, layer_ops, subproc
from support.layer_cases import MODES, layer_case
from support.selection import all_but
from tf_rnn_ops.keras.dispatch import fused
from tf_rnn_ops.keras.dispatch.decision import decide
from tf_rnn_ops.native import xla

pytestmark = pytest.mark.usefixtures("each_algorithm", "everything_else_on_the_cpu")

# Mode, activation, activation of gates and type.
INFINITE = [
    (*case, dtype)
    for case in infinite_values.OF_SIGMOID_GATES
    for dtype in ("float32", "float16", "bfloat16")
]
USUAL_INFINITE = (
    ("rnn", "tanh", "sigmoid", "float32"),
    ("rnn", "sigmoid", "sigmoid", "float16"),
    ("rnn", "hard_sigmoid", "sigmoid", "bfloat16"),
    ("rnn", "hard_sigmoid_keras2", "sigmoid", "float32"),
    ("rnn", "relu", "sigmoid", "float16"),
    ("rnn", "linear", "sigmoid", "bfloat16"),
    ("rnn_tanh", "tanh", "sigmoid", "float16"),
    ("rnn_relu", "relu", "sigmoid", "bfloat16"),
    ("lstm", "tanh", "sigmoid", "bfloat16"),
    ("lstm", "sigmoid", "sigmoid", "float32"),
    ("lstm", "hard_sigmoid", "sigmoid", "float16"),
    ("lstm", "hard_sigmoid_keras2", "sigmoid", "bfloat16"),
    ("lstm", "relu", "sigmoid", "float32"),
    ("lstm", "linear", "sigmoid", "float16"),
    ("gru", "tanh", "sigmoid", "float32"),
    ("gru", "sigmoid", "sigmoid", "bfloat16"),
    ("gru", "hard_sigmoid", "sigmoid", "float32"),
    ("gru", "hard_sigmoid_keras2", "sigmoid", "float16"),
    ("gru", "relu", "sigmoid", "bfloat16"),
    ("gru", "linear", "sigmoid", "float32"),
)


# ---- The ops ----


def test_lengths_outside_of_the_sequence_give_nan(rng):
    case = layer_case("lstm", (5, 3, 4, 6), rng, "float32", lengths=[5, 3, 2])
    want = layer_ops.run(devices.ops, case)["output"]
    for invalid in (-1, 6):
        case.inputs.lengths[1] = invalid
        got = devices.array(layer_ops.forward(devices.ops, case).output)
        assert np.isnan(got[:, 1]).all()
        np.testing.assert_array_equal(got[:, [0, 2]], want[:, [0, 2]])


@pytest.mark.parametrize("case", all_but(INFINITE, *USUAL_INFINITE), ids="-".join)
def test_infinite_values(case, monkeypatch):
    *case, dtype = case
    if (
        dtype == "float32"
    ):  # an infinite h gives NaN in the persistent kernels, see docs/design/gpu.md
        monkeypatch.setenv("TF_RNN_OPS_GPU_ALGO", "steps")
    infinite_values.compare(devices.ops, *case, dtype)


@pytest.mark.parametrize(
    ("mode", "change"),
    [
        ("lstm", lambda case: case.inputs.lengths.__setitem__(slice(0, 2), [3, 5])),
        ("lstm_zoneout", lambda case: case.inputs.seed.__setitem__(1, 3)),
        ("gru", lambda case: setattr(case, "activation", "relu")),
    ],
    ids=["other lengths", "another seed", "another activation"],
)
def test_a_reserve_space_of_another_call_gives_nan(mode, change, rng):
    """Its header is on the device, so the gradient cannot raise an error without a wait."""
    case = layer_case(mode, (5, 3, 4, 6), rng, "float32", lengths=[5, 3, 2])
    if mode == "lstm_zoneout":
        case.inputs.seed = np.array([1, 2])
    result = layer_ops.forward(devices.ops, case)
    change(case)
    found = layer_ops.backward(devices.ops, case, result)
    assert np.isnan(devices.array(found.kernel_backprop)).all()


@pytest.mark.skipif(xla.unavailable() is not None, reason="there are no ops for XLA")
@pytest.mark.parametrize("mode", MODES)
def test_the_same_bits_under_xla(mode, rng):
    case = layer_case(mode, (5, 3, 4, 6), rng, "float32")
    want = layer_ops.run(devices.ops, case)
    run = tf.function(tf_rnn_ops.raw_ops.LayerRNN, jit_compile=True)
    back = tf.function(tf_rnn_ops.raw_ops.LayerRNNBackprop, jit_compile=True)

    class Compiled:
        LayerRNN = staticmethod(lambda **arguments: _on_the_device(run, arguments))
        LayerRNNBackprop = staticmethod(lambda **arguments: _on_the_device(back, arguments))

    got = layer_ops.run(Compiled, case)
    for name, value in want.items():
        np.testing.assert_array_equal(got[name], value, err_msg=name)


def _on_the_device(function, arguments):
    with devices.scope():
        return function(**arguments)


# ---- Keras's layers ----

LAYERS = {
    "hard_sigmoid": lambda: ours.LSTM(6, recurrent_activation="hard_sigmoid"),
    "reset_before": lambda: ours.GRU(6, reset_after=False),
    "simple": lambda: ours.SimpleRNN(6, activation="sigmoid"),
    "layer_norm": lambda: ours.LayerNormLSTM(6),
    "zoneout": lambda: ours.ZoneoutLSTM(6, zoneout_h=0.2, zoneout_c=0.1),
    "projection": lambda: ours.ProjectedLSTM(6, num_proj=3),
    "recurrent_dropout": lambda: ours.LSTM(6, recurrent_dropout=0.3, seed=3),
    "usual": lambda: ours.LSTM(6),
}


class Calls:
    """The raw ops on the device, which remember their names."""

    def __init__(self):
        self.names = []

    def __getattr__(self, name):
        self.names.append(name)
        return getattr(devices.ops, name)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", LAYERS)
def test_options_of_keras_run_on_the_gpu(kind, masked, rng, monkeypatch):
    layer = LAYERS[kind]()
    x = tf.constant(rng.normal(size=(3, 5, 4)), tf.float32)
    layer.build(x.shape)
    training = kind in ("zoneout", "recurrent_dropout")
    # A hole, padding on the left and on the right.
    mask = tf.constant(np.array([[1, 0, 1, 1, 0], [0, 0, 1, 1, 1], [1, 1, 1, 1, 0]], bool))
    assert decide(layer, None, training=True, xla=False).ops
    results = []
    for ops in (Calls(), tf_rnn_ops.raw_ops):
        monkeypatch.setattr(fused, "raw_ops", ops)
        keras.utils.set_random_seed(1)
        if hasattr(layer.cell, "seed_generator"):
            layer.cell.seed_generator.state.assign([7, 0])
        results.append(layer(x, mask=mask if masked else None, training=training).numpy())
        if isinstance(ops, Calls):
            inference = {"PackLayerRNN", "LayerRNNPacked"}
            names = {"CudnnRNNV3"} if kind == "usual" else {"LayerRNN"} if training else inference
            assert set(ops.names) == names
    np.testing.assert_allclose(*results, atol=1e-5)


@pytest.mark.mock_gpu
def test_each_algorithm_launches_its_kernels(each_algorithm):
    arguments = ["-m", "gpu.device.gpu_child", "one_layer"]
    done = subproc.run(arguments, env=subproc.environment(MOCK_CUDA_LOG="1"))
    assert done.returncode == 0, done.stderr
    launched = {line.split()[-1] for line in done.stderr.splitlines() if line.startswith("[mock]")}
    steps = launched & {"lstm_step_f32", "lstm_back_f32"}
    passes = sorted(name.split("_")[0] for name in launched if "_Lstm_Float32_256_" in name)
    if each_algorithm == "persistent":
        assert not steps and passes == ["Backward", "Forward"]
    else:
        assert len(steps) == 2 and not passes
