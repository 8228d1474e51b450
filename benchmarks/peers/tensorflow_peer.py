"""The common parts of the libraries that run in TensorFlow."""

import numpy as np
import tensorflow as tf


def set_up(threads, device):
    """Sets the threads and, for the rest of the process, the device of all ops, such as "GPU:0" or ""."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    if device:
        kind, number = device.split(":")
        if len(tf.config.list_logical_devices(kind)) <= int(number):
            raise RuntimeError(f"TensorFlow has registered no {device}")
        tf.device(device).__enter__()


def our_version():
    import tf_rnn_ops

    return f"tf_rnn_ops {tf_rnn_ops.__version__} ({tf_rnn_ops.cpu_isa()})"


class TensorFlowPeer:
    """Calls `self._step()`, which returns y and, in training, gradients, first that of x."""

    def start(self):
        self._last = self._step()

    def wait(self):
        tf.test.experimental.sync_devices()

    def run(self):
        self.start()
        np.asarray(self._last[-1])  # waits for it; .numpy() would copy it

    def result(self):
        values = zip(["y", "dx"], self._last, strict=False)
        return {n: tf.cast(v, tf.float32).numpy() for n, v in values}
