"""Results do not depend on the number of threads or on the process, and the ISA levels agree."""

import numpy as np
import pytest

from ops import snapshot
from support import bounds, subproc, tf_ops
from support.reference import rounding

LEVELS = ("baseline", "avx2", "avx512")


def _take(path, threads, isa=None, fill=0):
    subproc.run_module(
        "ops.snapshot", path, threads, TF_RNN_OPS_CPU_ISA=isa, MALLOC_PERTURB_=str(fill)
    )
    with np.load(path) as data:
        return {name: data[name] for name in data.files}


@pytest.fixture(scope="module")
def one_thread(tmp_path_factory):
    return _take(tmp_path_factory.mktemp("snapshots") / "one.npz", 1)


@pytest.mark.parametrize("threads,fill", [(2, 165), (3, 90)])
def test_thread_count_changes_no_bit(threads, fill, one_thread, tmp_path):
    """Nor does what fresh memory holds (`fill`), nor the process: dropout masks come from seeds."""
    other = _take(tmp_path / "other.npz", threads, fill=fill)
    assert other.keys() == one_thread.keys()
    different = [n for n in other if not np.array_equal(other[n], one_thread[n])]
    assert not different


def test_dropout_advances_from_call_to_call(one_thread):
    for k, problem in enumerate(snapshot.RNN_PROBLEMS):
        same = np.array_equal(one_thread[f"rnn{k}.0.output"], one_thread[f"rnn{k}.1.output"])
        assert same == (problem[-1] == 0.0), problem


@pytest.mark.parametrize("isa", ["baseline", "avx2"])
def test_override_of_the_isa(isa, one_thread, tmp_path):
    """The level named in the environment runs and agrees with the default within the bounds."""
    best = str(one_thread["isa"])
    if LEVELS.index(isa) > LEVELS.index(best):
        pytest.skip(f"this CPU has no {isa}")
    other = _take(tmp_path / "other.npz", 2, isa)
    assert str(other.pop("isa")) == isa
    for name, value in other.items():
        dtype = snapshot.dtype_of(name)
        if dtype in ("float32", "float64"):
            limit = bounds.limit(name, dtype)
        else:
            limit = rounding.eps(dtype) * (2.0 if bounds.is_gradient(name) else 1.0)
        found = bounds.error(name, value, one_thread[name])
        assert found <= limit, (name, found, limit)


def test_snapshots_are_right(one_thread):
    """The compared numbers are results, not agreed nonsense."""
    for k, problem in enumerate(snapshot.RNN_PROBLEMS):
        if problem[-1] == 0.0 and problem[-2] in ("float32", "float64"):
            case = snapshot.rnn_problem(k)
            want = tf_ops.rnn_reference_arrays(case, *case.reference())
            got = {name: one_thread[f"rnn{k}.0.{name}"] for name in want}
            bounds.assert_close(got, want, case.dtype, str(problem))
    for k, problem in enumerate(snapshot.BLOCK_PROBLEMS):
        if problem[4] in ("float32", "float64"):
            case = snapshot.block_problem(k)
            want = tf_ops.block_reference_arrays(*case.reference())
            got = {name: one_thread[f"block{k}.{name}"] for name in want}
            bounds.assert_close(got, want, case.dtype, str(problem))
