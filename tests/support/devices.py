"""The device that a test runs the ops on: the CPU, unless TF_RNN_OPS_TEST_DEVICE names another.

Everything else of a test stays on the CPU, so that it does not depend on TensorFlow's own kernels
for the device (under the mock driver of tests/gpu/mock they do nothing).
"""

import functools
import os

import numpy as np
import tensorflow as tf

import tf_rnn_ops

NAME = os.environ.get("TF_RNN_OPS_TEST_DEVICE", "CPU:0")
ON_GPU = NAME.startswith("GPU")
# cuDNN's persistent kernels, which the default takes for many small networks, are less accurate.
PERSISTENT_KERNELS = ON_GPU and os.environ.get("TF_RNN_OPS_CUDNN_ALGO") != "standard"
# Left on the host by the signature of the ops.
_HOST_RESULTS = {"host_reserved", "params_size"}


def require():
    """Fails where TensorFlow has not registered the device: a test must not run elsewhere."""
    kind, number = NAME.split(":")
    assert len(tf.config.list_logical_devices(kind)) > int(number), (
        f"TensorFlow has registered no {NAME}"
    )


def scope():
    """A context manager that places ops on the device."""
    return tf.device(f"/{NAME}")


class _OnDevice:
    """tf_rnn_ops.raw_ops with every op placed on the device; checks that it ran there."""

    def __getattr__(self, name):
        op = getattr(tf_rnn_ops.raw_ops, name)

        @functools.wraps(op)
        def run(**arguments):
            with scope():
                result = op(**arguments)
            _check_placement(name, result)
            return result

        return run


def _check_placement(op, result):
    named = result._asdict() if hasattr(result, "_asdict") else {op: result}
    for name, value in named.items():
        if not hasattr(value, "numpy") or name in _HOST_RESULTS or op == "CudnnRNNParamsSize":
            continue
        assert value.device.endswith(f"device:{NAME}"), f"{op} ran on {value.device}, not {NAME}"


ops = _OnDevice()


def array(tensor):
    """A result as a float64 array; copied to the host before anything computes with it."""
    return np.asarray(tensor.numpy()).astype(np.float64)
