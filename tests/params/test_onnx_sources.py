"""Sources of the inputs of ONNX nodes, and errors that name them, on graphs of tests/robustness/graph_problem."""

import sys

import numpy as np
import onnx
import op_runs  # noqa: E402
import pytest

import tf_rnn_ops.keras  # noqa: E402
from robustness.graph_problem import grammar  # noqa: E402
from robustness.graph_problem.build import build  # noqa: E402
from tf_rnn_ops import params  # noqa: E402

TWO = "ops=LSTM,LSTM direction={d},{d} units=4,4 layout=0,0 weights=plain,plain bias=1,1 \
peepholes=0,0 reset_after=1,1 h=none,{h} c=none,none lengths=none,{n} between={b} dims=open"


def _model(line):
    graph = grammar.parse(line)
    return build(graph, graph.T, graph.B, oracle=False)[0]


def _two(d="forward", h="none", n="none", b="transpose_reshape"):
    return TWO.format(d=d, h=h, n=n, b=b)


REJECTED = {
    _two(h="previous"): r"initial_h of the node '\w+' comes from the output Y_h of the node '\w+'",
    "h=constant": r"initial_h of the node '\w+' is a constant that is not 0",
    "h=learned_open dims=open": r"initial_h of the node '\w+' is a constant that is not 0",
    "h=computed": r"initial_h of the node '\w+' comes from the node '\w+' \(Tanh\)",
    "h=flipped": r"initial_h of the node '\w+' comes from the node '\w+' \(Slice\)",
    "h=of_x I=4": "initial_h of the node .* comes from the input 'x' .*, which is also the sequence of a node",
    "h=mixed": r"initial_h of the node '\w+' comes from the node '\w+' \(Concat\)",
    "h=sized dims=open": r"initial_h of the node '\w+' comes from the node '\w+' \(Expand\)",
    "lengths=minus_open dims=open": r"sequence_lens of the node '\w+' comes from the node '\w+' \(Sub\)",
    "lengths=full_product dims=open": r"sequence_lens of the node '\w+' comes from the node '\w+' \(Mul\)",
    "lengths=short_expand dims=open": "sequence_lens of the node .* is a constant",
    "lengths=short_cast": r"sequence_lens of the node '\w+' is a constant",
    "lengths=computed": r"sequence_lens of the node '\w+' comes from the node '\w+' \(Sub\)",
    "weights=input": r"W of the node '\w+' is 'W0', which is not a constant of the graph: it comes from "
    "the input 'W0'",
    "weights=computed": r"W of the node .* not a constant .*: it comes from the node '\w+' \(Add\)",
    "weights=sized dims=open": r"W of the node .* not a constant .*: it comes from the node '\w+' \(Mul\)",
    "weights=split": r"W of the node .* not a constant .* \(Split\). Make it an initializer, or give a params.OnnxNode",
}
NO_STACK = {
    _two(b="relu"): r"The node '\w+' does not get the output of the node '\w+' before it, but the node "
    r"'\w+' \(Relu\), so they are not a stack",
    _two(b="of_x"): "does not get the output of the node .* but the input 'x' of the graph",
    _two(b="reversed").replace("dims=open", ""): r"does not get the output .* but the node '\w+' \(Slice\)",
    _two(b="half"): r"does not get the output .* but the node '\w+' \(Cast\)",
    _two(b="last_state"): "does not get the output .* but the output Y_h of",
    _two(n="input"): "sequence_lens of the node .* is not that of .*, but a stack has one input for all",
}  # fmt: skip


def _names(model):
    return [node.name for node in model.graph.node if node.op_type in grammar.OPS]


@pytest.mark.parametrize("line", [*REJECTED, *NO_STACK])
def test_rejected(line):
    model = _model(line)
    with pytest.raises(ValueError, match={**REJECTED, **NO_STACK}[line]):
        params.from_onnx(model, _names(model))
    if line in REJECTED:
        with pytest.raises(ValueError, match=REJECTED[line]):
            tf_rnn_ops.keras.from_onnx(model)


def test_several_nodes_without_names():
    """The names say that the nodes are one stack."""
    model = _model(_two())
    with pytest.raises(
        ValueError, match=f"node must name the nodes .* has the nodes .*{_names(model)[0]}"
    ):
        params.from_onnx(model)
    assert params.from_onnx(model, _names(model)).layout.num_layers == 2
    assert len(tf_rnn_ops.keras.from_onnx(model)) == 2


def test_a_node_without_a_name():
    model = _model(_two())
    for node in model.graph.node:
        node.name = ""
    outputs = [node.output[0] for node in model.graph.node if node.op_type == "LSTM"]
    assert params.from_onnx(model, outputs).layout.num_layers == 2


def test_without_onnxscript(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ImportError, match="pip install onnxscript, or give params.OnnxNode"):
        params.from_onnx(_model("ops=GRU"))


def test_named_nodes_must_be_a_stack_too():
    model = _model(_two(b="relu"))
    names = _names(model)
    with pytest.raises(ValueError, match="are not a stack. Convert each separately"):
        params.from_onnx(model, names)
    for name in names:
        assert params.from_onnx(model, name).layout.num_layers == 1
    # Two nodes of one name are not told apart.
    for node in model.graph.node:
        node.name = "rnn"
    with pytest.raises(ValueError, match="has 2 LSTM, GRU or RNN nodes named 'rnn'"):
        params.from_onnx(model, "rnn")


def _wrapped(model, how):
    """The model with its nodes in a branch of an If, or in a function."""
    helper, graph = onnx.helper, model.graph
    if how == "function":
        names = [t.name for t in graph.initializer]
        function = helper.make_function(
            "own", "Body", ["x", *names], [graph.output[0].name], list(graph.node),
            list(model.opset_import),
        )  # fmt: skip
        node = helper.make_node("Body", ["x", *names], [graph.output[0].name], domain="own")
        graph = helper.make_graph([node], "g", graph.input, graph.output, graph.initializer)
        opsets = [*model.opset_import, helper.make_opsetid("own", 1)]
        return helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=8)
    branch = helper.make_graph(list(graph.node), "b", [], graph.output, graph.initializer)
    condition = helper.make_tensor_value_info("condition", onnx.TensorProto.BOOL, [])
    node = helper.make_node(
        "If", ["condition"], ["z"], "choice", then_branch=branch, else_branch=branch
    )
    z = helper.make_tensor_value_info("z", 1, None)
    graph = helper.make_graph([node], "g", [*graph.input, condition], [z])
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=8)


def test_nodes_in_a_branch():
    model = _wrapped(_model("ops=GRU"), "if")
    with pytest.raises(ValueError, match="is in a branch or loop of the model"):
        params.from_onnx(model)


def test_nodes_in_a_function():
    model = _model("ops=GRU weights=transpose")
    want = params.from_onnx(model)
    got = params.from_onnx(_wrapped(model, "function"))
    assert op_runs.same_bits(got.params, want.params)


def test_nodes_of_other_domains_are_not_these():
    model = _model("ops=GRU")
    (node,) = (node for node in model.graph.node if node.op_type == "GRU")
    node.domain = "own"
    with pytest.raises(ValueError, match="The graph of the model has no LSTM, GRU or RNN node"):
        params.from_onnx(model)


# ---- states, lengths and casts that the grammar has not ----


def _value(name, dims, kind=onnx.TensorProto.FLOAT):
    return onnx.helper.make_tensor_value_info(name, kind, dims)


def _of_nodes(nodes, inputs, constants=(), width=3, opset=17):
    """A model of nodes (op_type, inputs, outputs, attributes), with W, R and B of an LSTM."""
    arrays = {"W": np.ones((1, 16, width)), "R": np.ones((1, 16, 4)), "B": np.ones((1, 32))}
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    arrays |= {name: np.asarray(array) for name, array in dict(constants).items()}
    helper = onnx.helper
    graph = helper.make_graph(
        [
            helper.make_node(op, names, outputs, name=outputs[0], **attributes)
            for op, names, outputs, attributes in nodes
        ],
        "graph",
        inputs,
        [_value(nodes[-1][2][0], None)],
        [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _masked_sequence():
    """X * (step < length), and the lengths of the node are the same input."""
    return _of_nodes(
        [
            ("Shape", ["x"], ["shape"], {}),
            ("Gather", ["shape", "zero"], ["T"], {}),
            ("Range", ["zero", "T", "one"], ["steps"], {}),
            ("Unsqueeze", ["steps", "axis"], ["column"], {}),
            ("Cast", ["n"], ["n64"], {"to": 7}),
            ("Less", ["column", "n64"], ["valid"], {}),
            ("Cast", ["valid"], ["ones"], {"to": 1}),
            ("Unsqueeze", ["ones", "last"], ["mask"], {}),
            ("Mul", ["x", "mask"], ["masked"], {}),
            ("LSTM", ["masked", "W", "R", "B", "n"], ["y"], {"hidden_size": 4}),
        ],
        [_value("x", ["T", "B", 3]), _value("n", ["B"], 6)],
        {"zero": np.int64(0), "one": np.int64(1), "axis": [1], "last": [2]},
    )


def _decoder():
    """The last state is a part of each step, and the initial state."""
    return _of_nodes(
        [
            ("Concat", ["x", "h"], ["both"], {"axis": 2}),
            ("LSTM", ["both", "W", "R", "B", "", "h", "c"], ["y"], {"hidden_size": 4}),
        ],
        [_value("x", [1, "B", 3]), _value("h", [1, "B", 4]), _value("c", [1, "B", 4])],
        width=7,
    )


@pytest.mark.parametrize("make", [_masked_sequence, _decoder])
def test_inputs_that_are_a_part_of_the_sequence_too(make):
    assert params.from_onnx(make()).layout.num_layers == 1
    assert len(tf_rnn_ops.keras.from_onnx(make())) == 1


LSTM = ("LSTM", ["z", "W", "R", "B"], ["y"], {"hidden_size": 4})
X = _value("x", ["T", "B", 3])
NOT_RANDOM = {
    "no training_mode": ([("Dropout", ["W0"], ["W"], {})], [], {}, 17),
    "training_mode of False": ([("Dropout", ["W0", "half", "no"], ["W"], {})], [], {}, 17),
    "training_mode of a copy of False": (
        [("Identity", ["no"], ["copy"], {}), ("Dropout", ["W0", "half", "copy"], ["W"], {})],
        [], {}, 17,
    ),
}  # fmt: skip
RANDOM = {
    "training_mode of True": ([("Dropout", ["W0", "half", "yes"], ["W"], {})], [], {}, 17),
    "training_mode of the caller": (
        [("Dropout", ["W0", "half", "training"], ["W"], {})],
        [_value("training", [], onnx.TensorProto.BOOL)], {}, 17,
    ),
}  # fmt: skip


def _with_dropout(place, nodes, inputs, more, opset):
    """Dropout between two layers ('sequence') or on a weight ('weight')."""
    weight = np.ones((1, 16, 3), np.float32)
    constants = {"half": np.float32(0.5), "no": False, "yes": True, "axis": [1], **more}
    constants["W0"] = weight
    if place == "weight":
        model = _of_nodes([*nodes, ("LSTM", ["x", "W", "R"], ["y"], {"hidden_size": 4})],
                          [X, *inputs], constants, opset=opset)  # fmt: skip
        del model.graph.initializer[0]  # the W of _of_nodes
        return model
    renamed = [
        (op, ["z0" if n == "W0" else n for n in names], ["z" if n == "W" else n for n in out], more)
        for op, names, out, more in nodes
    ]
    squeeze = ("Squeeze", ["y0", "axis"], ["z0"], {})
    return _of_nodes(
        [("LSTM", ["x", "W0", "R"], ["y0"], {"hidden_size": 4}), squeeze, *renamed,
         LSTM],
        [X, *inputs], constants, width=4, opset=opset,
    )  # fmt: skip


@pytest.mark.parametrize("place", ["sequence", "weight"])
@pytest.mark.parametrize("case", [*NOT_RANDOM, *RANDOM])
def test_dropout(case, place):
    model = _with_dropout(place, *{**NOT_RANDOM, **RANDOM}[case])
    if case in NOT_RANDOM:
        assert params.from_onnx(model, _names(model)).layout.num_layers == (
            2 if place == "sequence" else 1
        )
    else:
        with pytest.raises(ValueError, match=r"the node '\w' \(Dropout\)"):
            params.from_onnx(model, _names(model))


@pytest.mark.parametrize(
    ("kind", "converted"), [("DOUBLE", True), ("FLOAT16", False), ("BFLOAT16", False)]
)
def test_casts_between_layers(kind, converted):
    to = getattr(onnx.TensorProto, kind)
    model = _of_nodes(
        [
            ("LSTM", ["x", "W", "R"], ["y0"], {"hidden_size": 4}),
            ("Squeeze", ["y0", "axis"], ["z0"], {}),
            ("Cast", ["z0"], ["narrow"], {"to": to}),
            ("Cast", ["narrow"], ["z"], {"to": 1}),
            LSTM,
        ],
        [_value("x", ["T", "B", 4])],
        {"axis": [1]},
        width=4,
    )
    if converted:
        assert params.from_onnx(model, _names(model)).layout.num_layers == 2
    else:
        with pytest.raises(ValueError, match=r"but the node 'narrow' \(Cast\)"):
            params.from_onnx(model, _names(model))
