"""A few seconds of the soak; `make soak` runs longer."""

import contextlib
import ctypes
import json

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from robustness.problem import grammar
from robustness.problem.calls import calls_of
from robustness.soak import model, run_soak
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


def test_a_model_gives_the_bits_of_the_call():
    call = _call()
    want = calls.result_bytes(calls.prepared(RAW, call)())
    made = model.Model(RAW, call)
    with made.load() as session:
        assert made.run(session) == want
        assert made.run_limited(session, 60_000) == want


def test_a_run_that_takes_longer_than_its_limit_is_cancelled(monkeypatch):
    monkeypatch.setattr(model, "REPEATS", 10**8)
    made = model.Model(RAW, _call())
    with made.load() as session, pytest.raises(tf.errors.DeadlineExceededError):
        made.run_limited(session, 50)


def test_growth_is_that_of_the_later_half():
    calls = np.arange(20) * 500
    memory = np.where(calls < 5000, 7 * calls, 35000 + 3 * (calls - 5000))
    samples = [(c, 0, m, 0) for c, m in zip(calls, memory)]
    assert abs(run_soak.growth(samples) - 0.75) < 1e-3


@pytest.mark.parametrize(
    ("calls", "bytes_per_call", "bytes_per_cancelled", "want"),
    [(400_000, 15, 0, True), (400_000, 3, 0, False), (200_000, 15, 0, None),
     (400_000, 1, 800, False), (400_000, 1, 4000, True)],
)  # fmt: skip
def test_memory_that_grows_is_a_leak(calls, bytes_per_call, bytes_per_cancelled, want):
    samples = [
        (at, at / 400, 10**8 + bytes_per_call * at + bytes_per_cancelled * at / 400, 0)
        for at in np.linspace(0, calls, 50)
    ]
    assert run_soak.leaks(samples) is want


class _Worsens:
    """The results of a soak's calls, the last of which is another one."""

    def __init__(self, right):
        self.soak, self._results = None, iter([b"a"] * right + [b"b"])

    def __call__(self, *args):
        found = next(self._results)
        if found == b"b":
            self.soak.stop.set()
        return found


def test_a_wrong_result_is_found(monkeypatch):
    worsens = _Worsens(right=3)
    monkeypatch.setattr(run_soak.calls, "result_bytes", worsens)
    monkeypatch.setattr(run_soak, "MODELS", 10**9)
    worsens.soak = run_soak.Soak([("line", lambda: None, None, b"a")], seed=0)
    worsens.soak.work(0)
    assert worsens.soak.wrong == ["line"] and worsens.soak.counts == {0: 4}


def test_a_wrong_result_of_a_model_is_found(monkeypatch):
    worsens = _Worsens(right=run_soak.RUNS - 1)

    class Served:
        def load(self):
            return contextlib.nullcontext()

        run = run_limited = worsens

    monkeypatch.setattr(run_soak, "MODELS", 1)
    worsens.soak = run_soak.Soak([("line", None, Served(), b"a")], seed=0)
    worsens.soak.work(0)
    assert worsens.soak.wrong == ["line"] and worsens.soak.counts == {0: run_soak.RUNS}
