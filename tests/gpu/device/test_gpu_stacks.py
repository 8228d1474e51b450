"""CudnnRNNV3 on a GPU without cuDNN: with TF_RNN_OPS_GPU_ALGO the engine of LayerRNN runs it."""

import json

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import cases, devices, subproc, tf_ops
from support.reference.spec import RnnSpec
from tf_rnn_ops.native import xla

pytestmark = pytest.mark.usefixtures("everything_else_on_the_cpu")

VARIABLE = "TF_RNN_OPS_GPU_ALGO"
CODE = 33  # kStackAlgorithm in cc/gpu/steps/stack.h
OF_PROGRAM = 64  # kReserveOfProgram in cc/gpu/rnn_gpu.h
# The largest difference from the CPU relative to the largest element, or to 1.
BOUNDS = {"float64": 1e-12, "float32": 1e-5, "float16": 1e-2, "bfloat16": 8e-2}
MODES = ("lstm", "gru", "rnn_tanh", "rnn_relu")
# Without relu in 16 bits, whose slopes differ where rounding moves a gate across 0: stack_gpu_test.cc
# has such problems.
PROBLEMS = [(m, d) for m in MODES for d in BOUNDS if m != "rnn_relu" or not d.endswith("16")]


@pytest.fixture(autouse=True, params=["steps", "persistent"])
def algorithm(request, monkeypatch):
    """The kernels read the variable in each call."""
    monkeypatch.setenv(VARIABLE, request.param)
    return request.param


def run(ops, case, time_major=True, **attrs):
    """All results as float64 arrays, and the code of the algorithm."""
    result = tf_ops.rnn_forward(ops, case, time_major, **attrs)
    grads = tf_ops.rnn_backward(ops, case, result, time_major, **attrs)
    return tf_ops.rnn_arrays(case, result, grads, time_major), result.host_reserved


def assert_near(got, want, dtype):
    for name in want:
        scale = max(1.0, float(np.abs(want[name]).max(initial=0)))
        error = float(np.abs(got[name] - want[name]).max(initial=0)) / scale
        assert error <= BOUNDS[dtype], f"{name}: {error}"


def check(case, time_major=True, **attrs):
    got, code = run(devices.ops, case, time_major, **attrs)
    want, _ = run(tf_rnn_ops.raw_ops, case, time_major, **attrs)
    assert code == (CODE if case.lengths.any() else 0)
    assert_near(got, want, case.dtype)


def specs(mode):
    yield RnnSpec(mode, 1, 5, 3)
    yield RnnSpec(mode, 2, 6, 4, "bidirectional")
    yield RnnSpec(mode, 2, 5, 5, "bidirectional", input_mode="skip_input")
    if mode == "lstm":
        yield RnnSpec(mode, 3, 6, 4, num_proj=3)


@pytest.mark.parametrize(("mode", "dtype"), PROBLEMS)
def test_the_results_of_the_cpu(mode, dtype, rng):
    for spec in specs(mode):
        for time_major, lengths in ((True, "full"), (False, [2, 6, 0]), (True, [4, 1, 3])):
            check(cases.rnn_case(spec, 6, 3, rng, dtype, lengths=lengths), time_major)


def test_calls_without_steps(rng):
    check(cases.rnn_case(RnnSpec("lstm", 2, 5, 3), 4, 3, rng, "float32", lengths=[0, 0, 0]))
    check(cases.rnn_case(RnnSpec("gru", 1, 5, 3), 4, 0, rng, "float32", lengths="full"))


def test_inference_keeps_nothing(rng):
    case = cases.rnn_case(RnnSpec("gru", 3, 5, 3, "bidirectional"), 4, 3, rng, "float32")
    got = tf_ops.rnn_forward(devices.ops, case, is_training=False)
    want = tf_ops.rnn_forward(tf_rnn_ops.raw_ops, case, is_training=False)
    assert got.reserve_space.shape.rank == 0
    np.testing.assert_allclose(got.output, want.output, atol=BOUNDS["float32"])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dropout_draws_the_masks_of_the_cpu(dtype, algorithm, rng):
    """Each call has the masks of the call with its number on the CPU; gradients use them too."""
    spec = RnnSpec("lstm", 3, 6, 4, "bidirectional")
    case = cases.rnn_case(spec, 6, 3, rng, dtype)
    attrs = {"dropout": 0.4, "seed": int(rng.integers(1 << 30)), "seed2": -5}
    outputs = []
    for _ in range(2):
        got, _ = run(devices.ops, case, **attrs)
        want, _ = run(tf_rnn_ops.raw_ops, case, **attrs)
        assert_near(got, want, dtype)
        outputs.append(got["output"])
    assert not np.array_equal(*outputs)


def test_dropout_keeps_its_share(rng):
    """A layer whose weights copy the sum of its inputs counts the elements that are kept."""
    steps, batch, units, rate = 50, 20, 32, 0.25
    spec = RnnSpec("rnn_relu", 2, units, units, input_mode="skip_input")
    case = cases.rnn_case(spec, steps, batch, rng, "float32", lengths="full")
    tensors = tf_ops.rnn_tensors(case).inputs()
    params = np.zeros(tensors["params"].shape, np.float32)
    second = units * units  # after the recurrent weights of the first layer
    params[second : second + units * units] = np.eye(units).ravel()
    tensors.update(
        input=tf.ones_like(tensors["input"]),
        input_h=tf.zeros_like(tensors["input_h"]),
        params=tf.constant(params),
    )
    attrs = {**spec.attrs(), "dropout": rate, "seed": int(rng.integers(1 << 30))}
    output = devices.array(devices.ops.CudnnRNNV3(**tensors, **attrs).output)
    dropped = output == 0
    assert np.allclose(output[~dropped], 1 / (1 - rate))
    assert abs(dropped.mean() - rate) < 5 * np.sqrt(rate * (1 - rate) / output.size)


@pytest.mark.mock_gpu  # another GPU has other rows
@pytest.mark.parametrize("algorithm", ["persistent"], indirect=True)
@pytest.mark.parametrize(
    ("units", "batch", "replaces_cudnn"), [(136, 5, True), (128, 5, False), (136, 4, False)]
)
def test_the_table_chooses(units, batch, replaces_cudnn, monkeypatch, rng):
    monkeypatch.delenv(VARIABLE)
    case = cases.rnn_case(RnnSpec("lstm", 1, units, 3), 2, batch, rng, "float32")
    got, code = run(devices.ops, case)
    want, _ = run(tf_rnn_ops.raw_ops, case)
    assert (code == CODE) == replaces_cudnn
    assert_near(got, want, "float32")


def test_the_gradient_runs_what_wrote_the_reserve_space(algorithm, monkeypatch, rng):
    """The value of the variable at the time of the gradient has no effect."""
    case = cases.rnn_case(RnnSpec("lstm", 2, 6, 4), 5, 3, rng, "float32")
    want, _ = run(tf_rnn_ops.raw_ops, case)
    engine = tf_ops.rnn_forward(devices.ops, case)
    monkeypatch.delenv(VARIABLE)
    cudnn = tf_ops.rnn_forward(devices.ops, case)
    assert engine.host_reserved == CODE != cudnn.host_reserved
    for result, value in ((engine, "cudnn"), (cudnn, algorithm)):
        monkeypatch.setenv(VARIABLE, value)
        grads = tf_ops.rnn_backward(devices.ops, case, result)
        got = tf_ops.rnn_arrays(case, result, grads)
        assert_near(got, want, "float32")
    assert engine.reserve_space.shape != cudnn.reserve_space.shape
    for result, other in ((engine, cudnn), (cudnn, engine)):
        mixed = result._replace(host_reserved=other.host_reserved)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="reserve_space must be the output"
        ):
            tf_ops.rnn_backward(devices.ops, case, mixed)


def test_an_unknown_value(monkeypatch, rng):
    monkeypatch.setenv(VARIABLE, "fast")
    case = cases.rnn_case(RnnSpec("gru", 1, 5, 3), 4, 3, rng, "float32")
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match="one of heuristic, cudnn, persistent, steps, but it is 'fast'",
    ):
        tf_ops.rnn_forward(devices.ops, case)


def test_it_needs_no_cudnn(algorithm):
    missing = {"TF_RNN_OPS_CUDNN": "/nowhere/libcudnn.so.9", VARIABLE: algorithm}
    output = subproc.run_module("gpu.device.gpu_child", "no_cudnn", timeout=550, **missing)
    found = json.loads(output.strip().splitlines()[-1])
    assert found["error"] is None
    assert found["bytes_on_the_cpu"] > 0


@pytest.mark.skipif(xla.unavailable() is not None, reason="there are no ops for XLA")
@pytest.mark.parametrize("lengths", [[5, 5, 5], [2, 0, 4]])
def test_a_step_compiled_by_xla(lengths, rng):
    spec = RnnSpec("lstm", 2, 6, 4, "bidirectional")
    _check_compiled(cases.rnn_case(spec, 5, 3, rng, "float32", lengths=lengths))


@pytest.mark.skipif(xla.unavailable() is not None, reason="there are no ops for XLA")
@pytest.mark.mock_gpu
@pytest.mark.parametrize("algorithm", ["persistent"], indirect=True)
def test_a_step_of_the_table_compiled_by_xla(monkeypatch, rng):
    monkeypatch.delenv(VARIABLE)
    _check_compiled(cases.rnn_case(RnnSpec("gru", 1, 136, 3), 2, 5, rng, "float32"))


def _check_compiled(case):
    """The bits of the op, by the engine."""
    want, _ = run(devices.ops, case)
    tensors = tf_ops.rnn_tensors(case)

    @tf.function(jit_compile=True)
    def step(**values):
        given = tf_ops.RnnTensors(**values)
        result = tf_rnn_ops.raw_ops.CudnnRNNV3(**given.inputs(), **case.spec.attrs())
        return result, tf_ops.rnn_backward_of(tf_rnn_ops.raw_ops, case, result, given)

    with devices.scope():
        result, grads = step(**vars(tensors))
    assert result.host_reserved == CODE + OF_PROGRAM
    got = tf_ops.rnn_arrays(case, result, grads)
    for name, value in want.items():
        np.testing.assert_array_equal(got[name], value, err_msg=name)
