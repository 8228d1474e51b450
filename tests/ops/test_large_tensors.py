"""Memory that the library keeps for large tensors where TensorFlow's allocator does not."""

import json

import pytest

from support import subproc

MB = 1 << 20
CHECKS = subproc.TESTS_DIR / "ops" / "check_large_tensors.py"
# The allocator that comes with oneDNN keeps memory itself.
WITHOUT_ONEDNN = {"TF_ENABLE_ONEDNN_OPTS": "0"}


@pytest.mark.thorough
def test_results_on_kept_memory():
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    out = subproc.run_module("pytest", *options, CHECKS, **WITHOUT_ONEDNN)
    assert " passed" in out, out


def _record(mode, cache_mb):
    out = subproc.run_module(
        "ops.large_calls", mode, TF_RNN_OPS_CACHE_MB=cache_mb, **WITHOUT_ONEDNN
    )
    lines = [line for line in out.splitlines() if line.startswith(subproc.MARK)]
    assert len(lines) == 1, out
    return json.loads(lines[0].removeprefix(subproc.MARK))


@pytest.mark.thorough
def test_memory_is_bounded_and_what_it_holds_is_not_seen():
    """50 calls of 40 MB and changing shapes, on fresh memory (0) and on memory used before."""
    fresh = _record("shapes", "0")
    kept = _record("shapes", "64")
    assert fresh["growth"] < 8 * MB
    assert kept["growth"] < (64 + 8) * MB
    assert kept["digest"] == fresh["digest"]


def test_too_little_memory_is_an_error():
    message = _record("exhausted", None)["message"]
    assert "not enough memory for a tensor of shape [1048576,1,1024] and type float" in message
