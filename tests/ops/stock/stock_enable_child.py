"""Child process: enables the stock ops in one of several situations and prints what happened.

Usage: python -m stock_enable_child SITUATION [COPY_OF_THE_LIBRARY]
"""

import ctypes
import pathlib
import sys
import threading

import numpy as np

from support import subproc

RUN = dict(
    input=np.ones((2, 1, 3), np.float32),
    input_h=np.zeros((1, 1, 4), np.float32),
    input_c=np.zeros((1, 1, 4), np.float32),
    params=np.zeros(4 * 4 * (3 + 4 + 2), np.float32),
)


def cpu_kernels(op):
    from tensorflow.python.framework import kernels

    found = kernels.get_registered_kernels_for_op(op).kernel
    return sum(kernel.device_type == "CPU" for kernel in found)


def run(op, **inputs):
    """'' or what the op raised."""
    import tensorflow as tf

    try:
        getattr(tf.raw_ops, op)(**RUN, **inputs)
    except tf.errors.OpError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def register_failing_kernel(op):
    """Registers a CPU kernel through TensorFlow's C interface, as another plug-in would."""
    import tensorflow as tf

    framework = ctypes.CDLL(
        str(pathlib.Path(tf.sysconfig.get_lib()) / "libtensorflow_framework.so.2")
    )
    compute_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    for name in ("TF_NewStatus", "TF_NewKernelBuilder"):
        getattr(framework, name).restype = ctypes.c_void_p
    pointers = {
        "TF_NewKernelBuilder": [ctypes.c_char_p] * 2
        + [ctypes.c_void_p, compute_type]
        + [ctypes.c_void_p],
        "TF_RegisterKernelBuilder": [ctypes.c_char_p] + [ctypes.c_void_p] * 2,
        "TF_SetStatus": [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p],
        "TF_OpKernelContext_Failure": [ctypes.c_void_p] * 2,
        "TF_GetCode": [ctypes.c_void_p],
    }
    for name, types in pointers.items():
        getattr(framework, name).argtypes = types

    def compute(_, context):
        status = framework.TF_NewStatus()
        framework.TF_SetStatus(status, 12, b"the other library's kernel")
        framework.TF_OpKernelContext_Failure(context, status)

    callback = compute_type(compute)
    status = framework.TF_NewStatus()
    builder = framework.TF_NewKernelBuilder(op.encode(), b"CPU", None, callback, None)
    framework.TF_RegisterKernelBuilder(op.encode(), builder, status)
    assert framework.TF_GetCode(status) == 0
    return callback


def main():
    import tensorflow as tf

    situation = sys.argv[1]
    keep = None
    if situation == "copy":
        tf.load_op_library(sys.argv[2])
    elif situation == "other":
        keep = register_failing_kernel("CudnnRNNV2")
    import tf_rnn_ops

    record = {"before": [run("CudnnRNN"), run("CudnnRNNV2")]}
    returned = []
    threads = [
        threading.Thread(target=lambda: returned.append(tf_rnn_ops.enable_stock_ops()))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tf.load_op_library(tf_rnn_ops.get_stock_lib())
    returned.append(tf_rnn_ops.enable_stock_ops())
    record["returned"] = returned
    from stock_calls import NAMES

    record["kernels"] = {op: cpu_kernels(op) for op in NAMES}
    record["after"] = [run("CudnnRNN"), run("CudnnRNNV2")]
    subproc.emit(record)
    del keep


if __name__ == "__main__":
    main()
