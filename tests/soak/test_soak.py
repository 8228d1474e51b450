"""A few seconds of the soak; `make soak` runs longer."""

import json

import numpy as np

from soak import run_soak
from support import subproc


def test_a_few_seconds():
    out = subproc.run_module("soak.run_soak", "--seconds", 5, "--threads", 8)
    record = json.loads(out.splitlines()[-1])
    assert record["wrong"] == [] and record["calls"] > 50


def test_growth_is_that_of_the_later_half():
    calls = np.arange(20) * 500
    memory = np.where(calls < 5000, 7 * calls, 35000 + 3 * (calls - 5000))
    assert abs(run_soak.growth(list(zip(calls, memory))) - 3000) < 1


def test_a_wrong_result_is_found(monkeypatch):
    monkeypatch.setattr(run_soak.calls, "result_bytes", lambda result: result)
    monkeypatch.setattr(run_soak, "TRACED", 10**9)
    results = iter([[b"a"]] * 3 + [[b"b"]])

    def function():
        found = next(results)
        if found == [b"b"]:
            tired.stop.set()
        return found

    tired = run_soak.Soak([("line", function, [b"a"])], seed=0)
    tired.work(0)
    assert tired.wrong == ["line"] and tired.counts == {0: 4}
