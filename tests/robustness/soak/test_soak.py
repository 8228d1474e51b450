"""A few seconds of the soak; `make soak` runs longer."""

import ctypes
import json

import pytest

import tf_rnn_ops
from robustness.problem import grammar
from robustness.problem.calls import calls_of
from robustness.soak import run_soak
from support import calls, subproc

RAW = tf_rnn_ops.raw_ops


def _call():
    return next(iter(calls_of(RAW, grammar.parse("op=BlockLSTMV2 T=3 B=2 I=4 H=5 seed=7"))))


@pytest.mark.thorough
def test_a_few_seconds():
    out = subproc.run_module("robustness.soak.run_soak", "--seconds", 5, "--threads", 8)
    record = json.loads(out.splitlines()[-1])
    assert record["wrong"] == [] and record["calls"] > 50
    assert record["leaking_alone"] == {}


def test_a_call_that_leaves_memory_is_found():
    call = calls.prepared(RAW, _call())
    libc = ctypes.CDLL(None)

    def leaking():
        libc.malloc(100)
        call()

    assert run_soak.leaking_calls([("right", call)], 200) == {}
    found = run_soak.leaking_calls([("leaks", leaking)], 200)
    assert 100 <= found["leaks"] <= 140
