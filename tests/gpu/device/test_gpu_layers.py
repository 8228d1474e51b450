"""LayerRNN on a GPU: the ops against the numpy reference, under XLA, and as the path of Keras's layers."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
import tf_rnn_ops.keras as ours
from support import bounds, devices, infinite_values, layer_cases, layer_ops, subproc
from support.bounds import assert_close
from support.layer_cases import FUNCTIONS, MODES, WITH_FUNCTIONS, layer_case
from support.reference import rounding
from tf_rnn_ops.keras.path import eligibility, fused
from tf_rnn_ops.native import xla

pytestmark = pytest.mark.usefixtures("each_algorithm")


@pytest.fixture(autouse=True)
def _everything_else_on_the_cpu():
    devices.require()
    tf32 = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(False)
    with tf.device("/CPU:0"):
        yield
    tf.config.experimental.enable_tensor_float_32_execution(tf32)


# ---- The ops ----


@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", MODES)
def test_random_problems(mode, dtype, time_major, rng):
    for _ in range(6):
        case = layer_cases.random_layer_case(mode, rng, dtype)
        got = layer_ops.run(devices.ops, case, time_major)
        assert_close(got, case.reference(), case.dtype, str(case))


@pytest.mark.parametrize("functions", FUNCTIONS, ids="-".join)
@pytest.mark.parametrize("mode", WITH_FUNCTIONS)
def test_other_activations(mode, functions, rng):
    case = layer_cases.random_layer_case(mode, rng, "float32", functions=functions)
    assert_close(layer_ops.run(devices.ops, case), case.reference(), case.dtype, str(case))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("mode", MODES)
def test_16_bits_are_better_than_naive_maths(mode, dtype, rng):
    """h and the gradients of gates are rounded between steps, and sums are not: see docs/numerics.md."""
    for _ in range(3):
        case = layer_cases.random_layer_case(mode, rng, dtype)
        got = layer_ops.run(devices.ops, case)
        want = case.reference()
        naive = case.reference(q=rounding.rounder(dtype))
        for name in want:
            factor = (
                bounds.NAIVE_FACTOR_BACKWARD
                if bounds.is_gradient(name)
                else bounds.NAIVE_FACTOR_FORWARD
            )
            allowed = factor * bounds.error(name, naive[name], want[name])
            found = bounds.error(name, got[name], want[name])
            assert found <= max(allowed, 2 * rounding.eps(dtype)), (str(case), name)


def test_lengths_outside_of_the_sequence_give_nan(rng):
    case = layer_case("lstm", (5, 3, 4, 6), rng, "float32", lengths=[5, 3, 2])
    want = layer_ops.run(devices.ops, case)["output"]
    for invalid in (-1, 6):
        case.inputs.lengths[1] = invalid
        got = devices.array(layer_ops.forward(devices.ops, case).output)
        assert np.isnan(got[:, 1]).all()
        np.testing.assert_array_equal(got[:, [0, 2]], want[:, [0, 2]])


def test_bad_inputs_are_refused(rng):
    case = layer_case("lstm", (5, 3, 4, 6), rng, "float32")
    inputs = layer_ops.tensors(case)
    with pytest.raises(tf.errors.InvalidArgumentError, match="recurrent_kernel"):
        devices.ops.LayerRNN(**{**inputs, "recurrent_kernel": inputs["kernel"]})
    result = layer_ops.forward(devices.ops, case)
    with pytest.raises(tf.errors.InvalidArgumentError, match="reserve_space"):
        short = result._replace(reserve_space=result.reserve_space[:-1])
        layer_ops.backward(devices.ops, case, short)


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("case", infinite_values.OF_SIGMOID_GATES, ids="-".join)
def test_infinite_values(case, dtype, monkeypatch):
    if (
        dtype == "float32"
    ):  # an infinite h gives NaN in the persistent kernels, see docs/design/gpu.md
        monkeypatch.setenv("TF_RNN_OPS_GPU_ALGO", "steps")
    infinite_values.compare(devices.ops, *case, dtype)


def test_a_gradient_with_other_lengths_gives_nan(rng):
    case = layer_case("lstm", (5, 3, 4, 6), rng, "float32", lengths=[5, 3, 2])
    want = layer_ops.run(devices.ops, case)
    result = layer_ops.forward(devices.ops, case)
    case.inputs.lengths[:2] = [3, 5]
    found = layer_ops.backward(devices.ops, case, result)
    assert np.isnan(devices.array(found.kernel_backprop)).all()
    dh = devices.array(found.input_h_backprop)
    assert np.isnan(dh[:2]).all()
    np.testing.assert_array_equal(dh[2], want["input_h_backprop"][2])


def test_a_gradient_with_another_seed_gives_nan(rng):
    case = layer_case("lstm_zoneout", (5, 3, 4, 6), rng, "float32")
    case.inputs.seed = np.array([1, 2])
    result = layer_ops.forward(devices.ops, case)
    case.inputs.seed = np.array([1, 3])
    found = layer_ops.backward(devices.ops, case, result)
    assert np.isnan(devices.array(found.kernel_backprop)).all()


def test_a_reserve_space_of_another_mode_gives_nan(rng):
    """Its header is on the device, so the gradient cannot raise an error without a wait."""
    case = layer_case("gru", (5, 3, 4, 6), rng, "float32")
    result = layer_ops.forward(devices.ops, case)
    case.activation = "relu"
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


def test_int8_weights_are_multiplied_by_their_scales(rng):
    matrices = {name: rng.integers(-127, 128, (6, 24)) for name in ("kernel", "recurrent_kernel")}
    scales = {name: rng.uniform(1e-3, 4e-3, 24).astype("float32") for name in matrices}
    x = rng.normal(size=(4, 3, 6)).astype("float32")
    inputs = {
        "input": tf.constant(x),
        "input_h": tf.zeros([3, 6]),
        "input_c": tf.zeros([3, 6]),
        "bias": tf.zeros([24]),
    }
    wide = {
        name: tf.constant((matrices[name] * scales[name]).astype("float32")) for name in matrices
    }
    want = devices.array(devices.ops.LayerRNN(**inputs, **wide, is_training=False).output)
    integers = {name: tf.constant(matrices[name], tf.int8) for name in matrices}
    quantized = {f"{name}_scale": tf.constant(scales[name]) for name in matrices}
    found = devices.ops.QuantizedLayerRNN(
        **inputs, **integers, **quantized, packed=tf.zeros([0], tf.uint8)
    )
    np.testing.assert_allclose(devices.array(found.output), want, atol=1e-6)


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
    assert eligibility.keras_reason(layer) is None and eligibility.training_reason(layer) is None
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
