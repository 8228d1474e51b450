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


def pytest_collection_modifyitems(items):
    reason = "TensorFlow's own kernels do nothing under the pretend driver"
    for item in items:
        if PRETEND and item.get_closest_marker("real_gpu"):
            item.add_marker(pytest.mark.skip(reason=reason))
