"""GraphDefs rewritten to ordinary ops, against the float64 reference."""

import itertools

import graphs
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import function_pb2

from support import cases
from support.reference.spec import RnnSpec
from support.selection import all_but
from tf_rnn_ops import portable
from tf_rnn_ops.portable import _functions

SPECS = (
    RnnSpec("lstm", 2, 5, 3, "bidirectional", num_proj=2),
    RnnSpec("lstm", 3, 4, 4, input_mode="skip_input"),
    RnnSpec("gru", 2, 5, 3, "bidirectional"),
    RnnSpec("gru", 1, 6, 6, "bidirectional", "auto_select"),
    RnnSpec("rnn_tanh", 2, 4, 3, "bidirectional"),
    RnnSpec("rnn_relu", 1, 6, 5),
)
FIRST_SPECS = tuple(spec for spec in SPECS if not spec.num_proj)


def expected(case, time_major=True):
    fwd, _ = case.reference()
    arrays = [fwd.output, fwd.output_h] + [fwd.output_c] * case.spec.is_lstm
    return [a if time_major else np.swapaxes(a, 0, 1) for a in arrays]


def assert_close(got, want, tolerance):
    for a, b in zip(got, want):
        np.testing.assert_allclose(np.asarray(a, np.float64), b, rtol=tolerance, atol=tolerance)


V3 = all_but(
    list(itertools.product(SPECS, [True, False])), *zip(SPECS, itertools.cycle([True, False]))
)


@pytest.mark.parametrize("case", V3, ids=str)
def test_v3(case, rng):
    spec, time_major = case
    case = cases.rnn_case(spec, 6, 4, rng, "float64", lengths=np.array([6, 0, 1, 4]))
    graph_def, feeds = graphs.graph_of("CudnnRNNV3", case, time_major)
    result, report = portable.rewrite_graph_def(graph_def)
    assert report.ok and [c.op for c in report.changed] == ["CudnnRNNV3"]
    assert not any("CudnnRNN" in op for op in graphs.ops_in(result))
    got = graphs.run(result, feeds)
    assert_close(got, expected(case, time_major), 1e-12)


@pytest.mark.parametrize(
    ("spec", "op"),
    list(zip(FIRST_SPECS, itertools.cycle(["CudnnRNN", "CudnnRNNV2"]))),
    ids=str,
)
def test_first_versions(spec, op, rng):
    case = cases.rnn_case(spec, 6, 4, rng, "float64", lengths="full")
    graph_def, feeds = graphs.graph_of(op, case)
    result, report = portable.rewrite_graph_def(graph_def)
    assert report.ok and [c.op for c in report.changed] == [op]
    assert_close(graphs.run(result, feeds), expected(case), 1e-12)


DTYPES = ["bfloat16", "float16", "float32"]


@pytest.mark.parametrize(
    "case",
    all_but(list(itertools.product(SPECS, DTYPES)), *zip(SPECS[1:], DTYPES[1:] + DTYPES)),
    ids=str,
)
def test_types(case, rng):
    spec, dtype = case
    case = cases.rnn_case(spec, 6, 4, rng, dtype)
    graph_def, feeds = graphs.graph_of("CudnnRNNV3", case)
    result, _ = portable.rewrite_graph_def(graph_def)
    got = graphs.run(result, feeds)
    assert all(a.dtype == tf.as_dtype(dtype).as_numpy_dtype for a in got)
    # Rounding to the type at every layer, and sums in float32.
    eps = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24}[dtype]
    assert_close(got, expected(case), 16 * eps)
    compared = portable.verify_graph_def(graph_def, result, feeds, graphs.OUTPUTS)
    assert [c.name for c in compared] == list(graphs.OUTPUTS) and all(c.ok for c in compared)


@pytest.mark.parametrize("steps", [0, 1])
def test_few_steps(steps, rng):
    case = cases.rnn_case(SPECS[0], steps, 3, rng, "float64", lengths="full")
    graph_def, feeds = graphs.graph_of("CudnnRNNV3", case)
    result, _ = portable.rewrite_graph_def(graph_def)
    got = graphs.run(result, feeds)
    assert got[0].shape == (steps, 3, 4)
    assert_close(got, expected(case), 1e-12)


def test_our_op_becomes_ordinary(rng):
    case = cases.rnn_case(SPECS[2], 5, 3, rng, "float64")
    ours, feeds = graphs.graph_of("CudnnRNNV3", case)
    for node in ours.node:
        node.op = node.op.replace("CudnnRNNV3", "TfRnnOps>CudnnRNNV3")
    plain, report = portable.rewrite_graph_def(ours)
    assert [c.op for c in report.changed] == ["TfRnnOps>CudnnRNNV3"]
    assert not any("CudnnRNN" in op for op in graphs.ops_in(plain))
    assert_close(graphs.run(plain, feeds), expected(case), 1e-12)


def test_without_devices_no_soft_placement_is_needed(rng):
    case = cases.rnn_case(SPECS[4], 4, 3, rng, "float64")
    with tf.device("/device:GPU:0"):
        graph_def, feeds = graphs.graph_of("CudnnRNNV3", case)
    for node in graph_def.node:
        node.device = "/device:GPU:0"
    kept, _ = portable.rewrite_graph_def(graph_def)
    with pytest.raises(tf.errors.InvalidArgumentError, match="GPU"):
        graphs.run(kept, feeds, soft_placement=False)
    cleared, _ = portable.rewrite_graph_def(graph_def, clear_devices=True)
    got = graphs.run(cleared, feeds, soft_placement=False)
    assert_close(got, expected(case), 1e-12)


class _CountedSet(set):
    """Counts how often it is searched."""

    searches = 0

    def __iter__(self):
        self.searches += 1
        return super().__iter__()


def test_names_of_functions_are_free_and_found_at_once():
    library = function_pb2.FunctionDefLibrary()
    library.function.add().signature.name = "tf_rnn_ops_portable_lstm_2_part_0"
    stand_ins = _functions.StandIns(library)
    taken = stand_ins._taken = _CountedSet(stand_ins._taken)
    names = [stand_ins._free_names("lstm", "main", [])["main"] for _ in range(20)]
    assert names == [f"tf_rnn_ops_portable_lstm_{k}" for k in range(21) if k != 2]
    assert taken.searches == 21
