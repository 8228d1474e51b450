"""Helper functions of the tests of each format."""

import numpy as np

NAMES = {"litert": "m.tflite", "openvino": "m.xml"}


def assert_equal(got, model, x, atol=2e-6):
    """Compares what a runtime returned with what the layers return."""
    for name, want in model(x, training=False).items():
        want = np.asarray(want)
        assert np.any(want != 0), name
        np.testing.assert_allclose(got[name], want, rtol=0, atol=atol, err_msg=name)
