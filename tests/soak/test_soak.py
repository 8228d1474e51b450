"""A few seconds of the soak; `make soak` runs longer."""

import json

import numpy as np
import pytest
import tensorflow as tf

from soak import run_soak
from support import subproc


def test_a_few_seconds():
    out = subproc.run_module("soak.run_soak", "--seconds", 5, "--threads", 8)
    record = json.loads(out.splitlines()[-1])
    assert record["wrong"] == [] and record["calls"] > 50


def test_a_saved_model_and_a_function_with_time_enough():
    ones = tf.ones([2, 3])
    want = [np.full([2, 3], 2, np.float32).tobytes()]
    assert run_soak._loaded(lambda: ones + ones) == want
    assert run_soak._cancelled(lambda: ones + ones, 2.0) == want


def test_a_function_that_is_cancelled():
    dataset = tf.data.Dataset.range(2).repeat()

    def endless():
        return dataset.reduce(np.int64(0), lambda a, b: a + b)

    with pytest.raises(tf.errors.CancelledError):
        run_soak._cancelled(endless, 0.2)


def test_growth_is_that_of_the_later_half():
    calls = np.arange(20) * 500
    memory = np.where(calls < 5000, 7 * calls, 35000 + 3 * (calls - 5000))
    assert abs(run_soak.growth(list(zip(calls, memory))) - 3000) < 1


@pytest.mark.parametrize(
    ("calls", "bytes_per_call", "functions", "want"),
    [(400_000, 5, False, True), (400_000, 3, False, False), (200_000, 5, False, False),
     (400_000, 5, True, False)],
)  # fmt: skip
def test_memory_that_grows_with_eager_calls_alone_is_a_leak(calls, bytes_per_call, functions, want):
    at = np.linspace(0, calls, 50)
    assert run_soak.leaks(list(zip(at, 10**8 + bytes_per_call * at)), functions) == want


def test_a_wrong_result_is_found(monkeypatch):
    monkeypatch.setattr(run_soak.calls, "result_bytes", lambda result: result)
    results = iter([[b"a"]] * 3 + [[b"b"]])

    def function():
        found = next(results)
        if found == [b"b"]:
            tired.stop.set()
        return found

    tired = run_soak.Soak([("line", function, [b"a"])], seed=0, functions=False)
    tired.work(0)
    assert tired.wrong == ["line"] and tired.counts == {0: 4}
