"""Helper functions of the tests of each format."""

import importlib

import numpy as np
import pytest

_PACKAGES = {
    "onnx": ("tf2onnx", "onnx", "onnxruntime"),
    "litert": ("ai_edge_litert.interpreter",),
    "openvino": ("openvino",),
}
NAMES = {"litert": "m.tflite", "openvino": "m.xml"}


def module(name):
    """The module of a format; skips the test without its runtime."""
    for package in _PACKAGES[name]:
        pytest.importorskip(package, reason=f"{package} is missing; make test-export installs it")
    return importlib.import_module(f"tf_rnn_ops.export.{name}")


def assert_equal(got, model, x, atol=2e-6):
    """Compares what a runtime returned with what the layers return."""
    for name, want in model(x, training=False).items():
        want = np.asarray(want)
        assert np.any(want != 0), name
        np.testing.assert_allclose(got[name], want, rtol=0, atol=atol, err_msg=name)
