"""Child process: lets each use of a file fail in turn while the package is loaded and first used.

Usage: python -m robustness.anomalies.fail_loading LIBRARY FIRST, with LIBRARY, which failing_files.cc makes,
preloaded. Each use fails in a process of its own, forked once TensorFlow is imported.
"""

import ctypes
import json
import os
import sys
import traceback
import warnings

import numpy as np
import tensorflow as tf

from support import subproc

KINDS = {"open": 1, "read": 2, "dlopen": 3}
# More uses than loading makes.
MOST = 200


def _layer(raw):
    """LayerRNN on numbers that do not matter."""
    x, units = tf.reshape(tf.linspace(-1.0, 1.0, 3 * 2 * 5), [3, 2, 5]), 7
    kernel = tf.reshape(tf.linspace(-0.5, 0.5, 5 * 4 * units), [5, 4 * units])
    recurrent = tf.reshape(tf.linspace(-0.3, 0.4, units * 4 * units), [units, 4 * units])
    state = tf.zeros([2, units])
    return raw.LayerRNN(
        input=x, input_h=state, input_c=state, kernel=kernel, recurrent_kernel=recurrent,
        rnn_mode="lstm", is_training=False,
    ).output.numpy()  # fmt: skip


def _stock():
    """TensorFlow's own op, with our kernel."""
    x, state = tf.ones([3, 2, 5]), tf.zeros([1, 2, 7])
    params = tf.linspace(-0.5, 0.5, 4 * 7 * (5 + 7 + 2))
    return tf.raw_ops.CudnnRNN(
        input=x, input_h=state, input_c=state, params=params, is_training=False
    ).output.numpy()


def _attempt():
    """(numbers of each call or the sentence of why there are none)."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        import tf_rnn_ops
    found = {"warned": [str(w.message) for w in said]}
    for name, call in (("ours", lambda: _layer(tf_rnn_ops.raw_ops)), ("stock", _stock)):
        try:
            if name == "stock":
                tf_rnn_ops.enable_stock_ops()
            found[name] = call().ravel().tolist()
        except (ImportError, RuntimeError) as error:
            found[name] = str(error)
    return found


def _in_fork(library, kind, n):
    """(findings of a child, whether a use failed in it). Raises RuntimeError if the child dies."""
    from_child, to_parent = os.pipe()
    child = os.fork()
    if child == 0:
        library.fail_use(KINDS[kind], n)
        try:
            found = _attempt()
        except BaseException:
            found = {"raised": traceback.format_exc()}
        failed = bool(library.stop_failing())
        os.write(to_parent, json.dumps([found, failed]).encode())
        os._exit(0)
    os.close(to_parent)
    with os.fdopen(from_child) as file:
        text = file.read()
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise RuntimeError(f"the process died with status {status}")
    return json.loads(text)


def _complaint(found, failed, want):
    """The error in the outcome of an attempt, or None."""
    if "raised" in found:
        return found["raised"]
    for name in ("ours", "stock"):
        if isinstance(found[name], str):
            if not failed:
                return f"{name}: {found[name]} although no use failed"
            if not found[name].rstrip().endswith("."):
                return f"{name}: no sentence: {found[name]}"
        # Kernels of another instruction set round otherwise.
        elif not np.allclose(found[name], want[name], atol=1e-5):
            return f"{name}: another result"
    if isinstance(found["ours"], str) and not found["warned"]:
        return "the import does without the ops and says nothing"
    return None


def main():
    library, first = ctypes.CDLL(sys.argv[1]), int(sys.argv[2])
    library.fail_use.argtypes = (ctypes.c_int, ctypes.c_long)
    want, _ = _in_fork(library, "open", 0)
    for k, kind in list(enumerate(KINDS))[first:]:
        outcome = {"kind": kind, "uses": 0, "refused": 0, "complaint": None}
        for n in range(1, MOST):
            subproc.emit({"start": k, "label": f"{kind} {n}"})
            found, failed = _in_fork(library, kind, n)
            outcome["complaint"] = _complaint(found, failed, want)
            if outcome["complaint"] or not failed:
                break
            outcome["uses"] = n
            outcome["refused"] += isinstance(found["ours"], str)
        subproc.emit({"outcome": outcome})
    subproc.emit({"end": True})


if __name__ == "__main__":
    main()
