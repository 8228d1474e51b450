"""Checks that need a GPU: run by `make test-gpu` and, on a mock GPU, by `make test-gpu-mock`."""

import os

import pytest

DEVICE = os.environ.get("TF_RNN_OPS_TEST_DEVICE", "CPU:0")
# Set by tests/gpu/mock/run.sh: TensorFlow's own GPU kernels compute nothing there.
PRETEND = os.environ.get("TF_RNN_OPS_TEST_PRETEND_GPU") == "1"

# Nothing to collect without the request: `make test` has no GPU.
collect_ignore_glob = [] if DEVICE.startswith("GPU") else ["test_*.py"]


def pytest_configure(config):
    config.addinivalue_line("markers", "real_gpu: needs kernels of TensorFlow's own to compute")
    config.addinivalue_line(
        "markers", "mock_gpu: needs the log or the properties of the mock driver"
    )


def pytest_collection_modifyitems(config, items):
    """Deselects what needs TensorFlow's own kernels, which do nothing under the mock driver, or its log."""
    other = "real_gpu" if PRETEND else "mock_gpu"
    left_out = [item for item in items if item.get_closest_marker(other)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker(other)]


@pytest.fixture(params=["steps", "persistent"])
def each_algorithm(request, monkeypatch):
    """Each way to run LayerRNN. The kernels read the variable in each call."""
    monkeypatch.setenv("TF_RNN_OPS_GPU_ALGO", request.param)
    return request.param


@pytest.fixture
def everything_else_on_the_cpu():
    """A test runs on the CPU, without TF32, except ops on the device. Fails if TensorFlow has no such device."""
    import tensorflow as tf

    from support import devices

    devices.require()
    tf32 = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(False)
    with tf.device("/CPU:0"):
        yield
    tf.config.experimental.enable_tensor_float_32_execution(tf32)
