"""Child process: lets each request for memory of each op fail in turn, and counts what stays held.

Usage: python -m robustness.anomalies.fail_calls LIBRARY FIRST, with LIBRARY, which failing_memory.cc makes,
preloaded. A case is one call and one kind of request.
"""

import ctypes
import gc
import sys
import time

import numpy as np
import tensorflow as tf

import tf_rnn_ops
from robustness.problem import grammar
from robustness.problem.calls import calls_of
from support import calls, layer_cases, layer_ops, packed_calls, subproc
from support.reference.spec import RnnSpec
from tf_rnn_ops.native import xla

KINDS = {"tensor": 1, "new": 2, "mmap": 3}
# More requests than any call makes.
MOST = 2000


def _of_op(op, found):
    return next(call for call in found if call.op == op)


def _calls():
    """Pairs of a module and a call, for every op; the last two need large blocks of memory."""
    raw, rng = tf_rnn_ops.raw_ops, np.random.default_rng(0)
    stack = RnnSpec("lstm", 2, 20, 7, "bidirectional", num_proj=9)
    found = calls.rnn_calls(raw, stack, 6, 9, rng, time_major=False, dropout=0.5)
    plain_stack = _of_op("CudnnRNNV3", calls.rnn_calls(raw, RnnSpec("gru", 2, 20, 7), 6, 9, rng))
    found.append(packed_calls.of_rnn(raw, RnnSpec("gru", 2, 20, 7), plain_stack))
    found += calls.params_calls(stack, rng)
    found += calls.block_calls(raw, (5, 7, 6, 19), rng)
    found += layer_ops.calls(raw, layer_cases.layer_case("gru", (5, 7, 6, 19), rng, "float32"))
    plain = layer_cases.layer_case(
        "lstm", (5, 7, 6, 19), rng, "float32", input_mask=False, recurrent_mask=False
    )
    forward = layer_ops.calls(raw, plain)[0]
    found.append(packed_calls.of_layer(raw, forward))
    for packing in (
        packed_calls.packing_of_layer(forward),
        packed_calls.packing_of_rnn(RnnSpec("gru", 2, 20, 7), plain_stack),
    ):
        found += [packing.with_attr("keep", keep) for keep in (False, True)]
    for mode in ("lstm_layer_norm", "lstm_zoneout", "lstmp"):
        case = layer_cases.layer_case(mode, (5, 7, 6, 19), rng, "float32", lengths=None)
        found += layer_ops.calls(raw, case)
    for line in (
        "op=LinearRecurrence cell=lstm T=5 B=7 H=19",
        "op=LayerRNN cell=gru T=5 B=7 I=6 H=19",
        "cell=lstm T=6 B=9 I=7 H=20 P=9 L=2 D=2",
    ):
        problem = grammar.parse(line)
        found += calls_of(raw, problem)
    found += calls.rnn_calls(raw, RnnSpec("lstm", 1, 256, 128), 80, 64, rng)
    return [(raw, call) for call in found]


def _stock_calls():
    raw, rng = tf.raw_ops, np.random.default_rng(0)
    tf_rnn_ops.enable_stock_ops()
    ours = calls.rnn_calls(tf_rnn_ops.raw_ops, RnnSpec("gru", 2, 20, 7), 6, 9, rng)
    return [(raw, _of_op(op, ours)) for op in ("CudnnRNNV3", "CudnnRNNBackpropV3")]


def _under_xla(call):
    """The call compiled by XLA, without the reserve space, not all of whose bytes are written."""
    run = calls.prepared(tf_rnn_ops.raw_ops, call)

    def function():
        return {n: t for n, t in run()._asdict().items() if n != "reserve_space"}

    return tf.function(function, autograph=False, jit_compile=True)


def _cases():
    """Triples: a label, a function that calls an op, and whether equal calls differ."""
    found = [
        (f"{call.op} {call.attrs}", calls.prepared(ops, call), calls.counts_calls(call))
        for ops, call in _calls() + _stock_calls()
    ]
    if xla.unavailable() is None:
        # One pair, because a call that fails takes long there.
        case = layer_cases.layer_case("gru", (5, 7, 6, 19), np.random.default_rng(0), "float32")
        pair = layer_ops.calls(tf_rnn_ops.raw_ops, case)
        found += [(f"{call.op} under XLA", _under_xla(call), False) for call in pair]
    return found


class Failing:
    def __init__(self, library):
        self._library = ctypes.CDLL(library)
        self._library.fail_request.argtypes = (ctypes.c_int, ctypes.c_long)
        self._library.held.restype = ctypes.c_long

    def run(self, function, kind, n):
        """(result or None, error or None, whether a request failed)."""
        result = error = None
        self._library.fail_request(KINDS[kind], n)
        try:
            result = function()
        except tf.errors.OpError as raised:
            error = raised
        return result, error, bool(self._library.stop_failing())

    def held(self):
        """How many requests of each kind have not been freed; of mmap, how many bytes."""
        gc.collect()
        return {kind: self._library.held(number) for kind, number in KINDS.items()}


def _more_held(failing, before):
    """The memory in use if it is more than before, after the worker threads of a call have finished."""
    for _ in range(100):
        now = failing.held()
        if all(now[kind] <= before[kind] for kind in KINDS):
            return None
        time.sleep(0.01)
    return now


def _assert_that_leaks_show(failing, function):
    before = failing.held()
    result = function()
    assert _more_held(failing, before), "a tensor that is kept does not count as held"
    del result


def _check(failing, function, differs, kind, start):
    """Lets request after request fail; returns (number of requests, complaint or None)."""
    want = calls.result_bytes(function())
    held = failing.held()
    for n in range(1, MOST):
        start(n)
        result, error, failed = failing.run(function, kind, n)
        if failed and error is not None and not isinstance(error, tf.errors.ResourceExhaustedError):
            return n, f"request {n}: {type(error).__name__}: {error}"
        if not failed and error is not None:
            return n, f"an error although no request failed: {error}"
        after = calls.result_bytes(function())
        if not differs:
            if result is not None and calls.result_bytes(result) != want:
                return n, f"request {n}: another result"
            if after != want:
                return n, f"request {n}: another result in the call after it"
        del result, error
        if now := _more_held(failing, held):
            return n, f"request {n}: held {now}, before {held}"
        if not failed:
            return n - 1, None
    return MOST, "requests without end"


def main():
    # The collector skips the objects of TensorFlow's import from now on.
    gc.freeze()
    failing, first = Failing(sys.argv[1]), int(sys.argv[2])
    cases = _cases()
    _assert_that_leaks_show(failing, cases[0][1])
    todo = [(*case, kind) for case in cases for kind in KINDS]
    for k in range(first, len(todo)):
        name, function, differs, kind = todo[k]
        label = f"{name} {kind}"

        def start(n, k=k, label=label):
            subproc.emit({"start": k, "label": f"{label} {n}"})

        requests, complaint = _check(failing, function, differs, kind, start)
        outcome = {"label": label, "kind": kind, "requests": requests, "complaint": complaint}
        subproc.emit({"outcome": outcome})
    subproc.emit({"end": True})


if __name__ == "__main__":
    main()
