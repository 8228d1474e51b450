"""Child process: calls with large tensors, whose memory the library keeps for later calls.

Usage: python -m ops.large_calls shapes|exhausted
"""

import ctypes
import hashlib
import itertools
import resource
import sys

import numpy as np
import tensorflow as tf

import tf_rnn_ops
from support import cases, subproc, tf_ops
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops

CALLS = 50
WARM_UP = 5


def _status(key):
    """A size in /proc/self/status, in bytes."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(key + ":"))
    return int(line.split()[1]) * 1024


def _held():
    """The resident size in bytes, without what the C library keeps of memory that was freed."""
    ctypes.CDLL(None).malloc_trim(0)
    return _status("VmRSS")


def shapes():
    """Emits the growth of the memory held over CALLS calls, and a digest of every result.

    A call takes about 40 MB. No shape repeats soon.
    """
    rng = np.random.default_rng(7)
    spec = RnnSpec("lstm", 1, 256, 256)
    digest, most = hashlib.sha256(), 0
    for k, steps in zip(range(CALLS), itertools.cycle(range(20, 70, 7))):
        case = cases.rnn_case(spec, steps + k % 5, 64, rng, "float32", "full")
        result = tf_ops.rnn_forward(ops, case)
        grads = tf_ops.rnn_backward(ops, case, result)
        for tensor in (*result[:4], *grads):
            digest.update(tensor.numpy().tobytes())
        del case, result, grads, tensor
        if k < WARM_UP:
            before = _held()
        most = max(most, _held())
    subproc.emit({"growth": most - before, "digest": digest.hexdigest()})


def exhausted():
    """Emits the error of a call whose output is larger than what this process may map."""
    steps, units = 1 << 20, 1024
    params = tf.zeros([4 * units * (1 + units) + 8 * units])
    x, state = tf.zeros([steps, 1, 1]), tf.zeros([1, 1, units])
    limit = _status("VmSize") + (1 << 30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        ops.CudnnRNNV3(
            input=x, input_h=state, input_c=state, params=params, sequence_lengths=[steps]
        )
    except tf.errors.ResourceExhaustedError as error:
        subproc.emit({"message": error.message})


if __name__ == "__main__":
    with tf.device("CPU:0"):
        {"shapes": shapes, "exhausted": exhausted}[sys.argv[1]]()
