"""The kept nodes and the reasons, and a difference that the check finds."""

import graphs
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import cases
from support.reference.spec import RnnSpec
from tf_rnn_ops import portable

LSTM = RnnSpec("lstm", 2, 5, 3)


def only_kept(graph_def, **how):
    result, report = portable.rewrite_graph_def(graph_def, **how)
    assert not report.ok and not report.changed
    assert result == graph_def
    return report


@pytest.mark.parametrize("op", ["CudnnRNNV3", "StatelessCudnnRNNV3"])
def test_training_with_dropout_is_kept(op, rng):
    case = cases.rnn_case(LSTM, 4, 3, rng, "float64")
    graph_def, feeds = graphs.graph_of(op, case, dropout=0.5)
    report = only_kept(graph_def)
    assert "dropout=0.5" in report.kept[0].reason
    assert report.kept[0].node.endswith("CudnnRNNV3") and op in str(report)
    result, report = portable.rewrite_graph_def(graph_def, inference=True)
    assert report.ok
    want, _ = case.reference()
    np.testing.assert_allclose(graphs.run(result, feeds)[0], want.output, rtol=1e-12, atol=1e-12)


def test_dropout_of_inference_is_changed(rng):
    case = cases.rnn_case(LSTM, 4, 3, rng, "float64")
    graph_def, _ = graphs.graph_of("CudnnRNNV3", case, dropout=0.5, is_training=False)
    assert portable.rewrite_graph_def(graph_def)[1].ok


def _graph(**shapes):
    graph = tf.Graph()
    with graph.as_default():
        tensors = {
            name: tf.compat.v1.placeholder(tf.float32, shape, name)
            for name, shape in shapes.items()
        }
        tf.raw_ops.CudnnRNNV3(**tensors, sequence_lengths=[2], name="node")
    return graph.as_graph_def()


def test_unknown_sizes_are_kept():
    layers = [None, None, 4]
    known = [1, None, 4]
    report = only_kept(_graph(input=[None, None, 3], input_h=layers, input_c=layers, params=[None]))
    assert "number of layers" in report.kept[0].reason
    units = [1, None, None]
    report = only_kept(_graph(input=[None, None, 3], input_h=units, input_c=units, params=[None]))
    assert "number of units" in report.kept[0].reason
    report = only_kept(
        _graph(input=[None, None, None], input_h=known, input_c=known, params=[None])
    )
    assert "input size" in report.kept[0].reason


def test_nodes_that_lack_something_are_kept(rng):
    case = cases.rnn_case(LSTM, 4, 3, rng, "float32")
    for op in ("CudnnRNNV3", "CudnnRNN"):

        def kept(change):
            graph_def, _ = graphs.graph_of(op, case)
            change(next(node for node in graph_def.node if node.op == op))
            return portable.rewrite_graph_def(graph_def)[1].kept[0].reason

        assert "2 inputs, but the op has" in kept(
            lambda node: node.input.__delitem__(slice(2, None))
        )
        assert "attribute T is missing" in kept(lambda node: node.attr.pop("T"))
        assert "dropout is not of type float" in kept(
            lambda node: setattr(node.attr["dropout"], "s", b"much")
        )


def test_input_size_follows_from_params():
    known = [1, None, 4]
    size = 4 * 4 * (7 + 4 + 2)
    graph_def = _graph(input=[None] * 3, input_h=known, input_c=known, params=[size])
    result, report = portable.rewrite_graph_def(graph_def)
    assert report.ok
    assert not any("CudnnRNN" in op for op in graphs.ops_in(result))
    report = only_kept(_graph(input=[None] * 3, input_h=known, input_c=known, params=[size + 1]))
    assert "input size" in report.kept[0].reason


def test_contradicting_sizes_are_kept():
    known = [1, None, 4]
    report = only_kept(_graph(input=[None, None, 3], input_h=known, input_c=known, params=[10]))
    assert "10 elements" in report.kept[0].reason


def test_gradients_and_parameter_ops_are_kept(rng):
    graph = tf.Graph()
    with graph.as_default():
        tf.raw_ops.CudnnRNNParamsSize(
            num_layers=1, num_units=4, input_size=3, T=tf.float32, S=tf.int32
        )
        x, state = tf.zeros([5, 2, 3]), tf.zeros([1, 2, 4])
        params = tf.zeros([4 * 4 * 9])
        result = tf.raw_ops.CudnnRNNV2(input=x, input_h=state, input_c=state, params=params)
        tf.compat.v1.gradients(result.output, params)
    result, report = portable.rewrite_graph_def(graph.as_graph_def())
    assert not report.changed
    why = {kept.op: kept.reason for kept in report.kept}
    assert set(why) == {"CudnnRNNParamsSize", "CudnnRNNV2", "CudnnRNNBackpropV2"}
    assert (
        "reads its reserve space" in why["CudnnRNNV2"] and "enable_stock_ops" in why["CudnnRNNV2"]
    )
    assert "gradient" in why["CudnnRNNBackpropV2"] and "inference" in why["CudnnRNNParamsSize"]
    # Kept nodes must still fit: the graph can be imported.
    with tf.Graph().as_default():
        tf.import_graph_def(result)


def test_alike_nodes_have_a_function_each(rng):
    spec = RnnSpec("gru", 1, 4, 4)
    case = cases.rnn_case(spec, 4, 3, rng, "float64")
    graph = tf.Graph()
    with graph.as_default():
        tensors = {n: tf.constant(v) for n, v in vars(case).items() if n in ("x", "h0", "params")}
        y = tensors["x"]
        for _ in range(3):
            y = tf.raw_ops.CudnnRNNV3(
                input=y,
                input_h=tensors["h0"],
                input_c=tf.zeros([], tf.float64),
                params=tensors["params"],
                sequence_lengths=case.lengths,
                rnn_mode="gru",
            ).output
        tf.identity(y, "y")
    before = graph.as_graph_def()
    once, report = portable.rewrite_graph_def(before)
    assert len(report.changed) == 3
    calls = [n.attr["f"].func.name for n in once.node if n.op == "PartitionedCall"]
    # LiteRT cannot convert a loop that is called twice.
    assert len(calls) == len(set(calls)) == 3
    names = [f.signature.name for f in once.library.function]
    assert len(names) == len(set(names))
    compared = portable.verify_graph_def(before, once, {}, ["y:0"])
    assert compared[0].ok


def test_the_check_finds_a_difference(rng):
    case = cases.rnn_case(LSTM, 4, 3, rng, "float64")
    graph_def, feeds = graphs.graph_of("CudnnRNNV3", case)
    result, report = portable.rewrite_graph_def(graph_def)
    wrong = type(result)()
    wrong.CopyFrom(result)
    for node in wrong.node:
        if node.name == "output":
            node.input[0] = "input_h"
    report.compared = portable.verify_graph_def(graph_def, wrong, feeds, graphs.OUTPUTS)
    assert not report.ok
    assert [c.ok for c in report.compared] == [False, True, True]
    assert "DIFFERS" in str(report)


def _sum_of(constant):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None], "x")
        tf.identity(x + constant, "y")
        tf.identity(x, "z")
    return graph.as_graph_def()


@pytest.mark.parametrize(
    "kind", [list, tuple, iter, dict.fromkeys, lambda names: (n for n in names)]
)
def test_outputs_may_be_any_iterable(kind):
    feeds = {"x:0": np.zeros(2, np.float32)}
    found = portable.verify_graph_def(_sum_of(0.0), _sum_of(1.0), feeds, kind(["y:0", "z:0"]))
    assert [(c.name, c.difference) for c in found] == [("y:0", 1.0), ("z:0", 0.0)]
    assert [c.ok for c in found] == [False, True]


def test_a_node_stands_for_its_first_output():
    graph_def, array = _sum_of(1.0), np.zeros(2, np.float32)
    (found,) = portable.verify_graph_def(graph_def, graph_def, {"x": array}, ["y"])
    assert found.ok and found.name == "y"
    with pytest.raises(ValueError, match="each tensor once.* x, x:0"):
        portable.verify_graph_def(graph_def, graph_def, {"x": array, "x:0": array}, ["y"])


@pytest.mark.parametrize("outputs", [[], (), iter([]), "y:0", ""])
def test_outputs_must_name_something(outputs):
    graph_def = _sum_of(1.0)
    with pytest.raises(ValueError, match="outputs must be a list of names"):
        portable.verify_graph_def(graph_def, graph_def, {"x:0": np.zeros(2)}, outputs)


@pytest.mark.parametrize("which", ["original", "rewritten"])
def test_an_output_that_one_graph_lacks(which):
    graphs_ = [_sum_of(1.0), _sum_of(1.0)]
    lacking = graphs_[which == "rewritten"]
    lacking.node.remove(next(node for node in lacking.node if node.name == "z"))
    with pytest.raises(ValueError, match=f"The {which} graph does not run.*z"):
        portable.verify_graph_def(*graphs_, {"x:0": np.zeros(2)}, ["z:0"])


@pytest.mark.parametrize(
    ("before", "after", "ok"),
    [
        ([1.0, 2.0], [1.0, 2.0], True),
        ([1.0, 2.0], [1.0, 2.001], False),
        ([1.0, 2.0], [1.0, float("nan")], False),
        ([float("nan"), 2.0], [float("nan"), 2.0], True),
        ([1.0, 2.0], [1.0, 2.0, 3.0], False),
        ([1, 2], [1, 2], True),
        ([1, 2], [1, 3], False),
        ([1, 2], [1.0, 2.0], False),
        ([float("inf"), -float("inf"), 2.0], [float("inf"), -float("inf"), 2.0], True),
        ([float("inf"), 2.0], [float("inf"), 2.001], False),
        ([float("inf"), 2.0], [-float("inf"), 2.0], False),
        ([float("inf"), 2.0], [1.0, 2.0], False),
        ([1.0, 2.0], [float("inf"), 2.0], False),
        ([float("inf"), 2.0], [float("nan"), 2.0], False),
    ],
)
def test_comparison(before, after, ok):
    assert portable._verify.compare("x", before, after).ok is ok


def test_the_package_has_it():
    assert tf_rnn_ops.portable is portable
