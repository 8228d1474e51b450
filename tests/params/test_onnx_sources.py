"""Sources of the inputs of ONNX nodes, and errors that name them, on graphs of tests/robustness/graph_problem."""

import numpy as np
import onnx
import op_runs  # noqa: E402
import pytest

import tf_rnn_ops.keras  # noqa: E402
from robustness.graph_problem import grammar  # noqa: E402
from robustness.graph_problem.build import build  # noqa: E402
from tf_rnn_ops import params  # noqa: E402
from tf_rnn_ops.params.onnx import tensors  # noqa: E402

TWO = "ops=LSTM,LSTM direction={d},{d} units=4,4 layout=0,0 weights=plain,plain bias=1,1 \
peepholes=0,0 reset_after=1,1 h=none,{h} c=none,none lengths=none,{n} between={b} dims=open"


def _model(line):
    graph = grammar.parse(line)
    return build(graph, graph.T, graph.B, oracle=False)[0]


def _two(d="forward", h="none", n="none", b="transpose_reshape"):
    return TWO.format(d=d, h=h, n=n, b=b)


REJECTED = {
    _two(h="previous"): r"initial_h of the node '\w+' comes from the output Y_h of the node '\w+'",
    _two(h="constant"): r"initial_h of the node '\w+' is a constant that is not 0",
    _two(h="learned_open"): r"initial_h of the node '\w+' is a constant that is not 0",
    _two(h="computed"): r"initial_h of the node '\w+' comes from the node '\w+' \(Tanh\)",
    "h=flipped": "initial_h of the node .* comes from rearranged elements of the input 'h0'",
    "h=of_x I=4": "initial_h of the node .* comes from the input 'x' .*, which is also the sequence of a node",
    "h=mixed": r"initial_h of the node '\w+' comes from the node '\w+' \(Concat\)",
    "lengths=minus_open dims=open": "sequence_lens of the node .* comes from the sizes of its inputs",
    "h=sized dims=open": "initial_h of the node .* comes from the sizes of its inputs",
    "lengths=short_expand dims=open": "sequence_lens of the node .* is a constant",
    "lengths=short_cast": r"sequence_lens of the node '\w+' is a constant",
    "lengths=computed": r"sequence_lens of the node '\w+' comes from the node '\w+' \(Sub\)",
    "weights=input": r"W of the node '\w+' is 'W0', which is not a constant of the graph: it comes from "
    "the input 'W0'",
    "weights=computed": r"W of the node .* not a constant .*: it comes from the node '\w+' \(ReduceMean\)",
    "weights=sized dims=open": "W of the node .* not a constant .*: it comes from the sizes of its inputs",
}
NO_STACK = {
    _two(b="relu"): r"The node '\w+' does not get the output of the node '\w+' before it, but the node "
    r"'\w+' \(Relu\), so they are not a stack",
    _two(b="of_x"): "does not get the output of the node .* but the input 'x' of the graph",
    _two(b="reversed").replace("dims=open", ""): "does not get the output .* but its elements in another order or number",
    _two("bidirectional", b="swapped"): "in another order or number than the output Y of the node",
    _two("bidirectional", b="reshape_wrong"): "in another order or number than the output Y",
    _two(b="cut"): r"does not get the output .* but the node '\w+' \(Slice\)",
    _two(b="last_state"): "does not get the output .* but its elements in another|output Y_h of",
    _two(n="input"): "sequence_lens of the node .* is the input 'n' .* and that of .* left out, but a "
    "stack has one input for all layers",
    _two().replace("h=none,none", "h=joint_swapped,joint_swapped"): "initial_h of the node .* must follow "
    "that of the node .* in the input 'joint_h4'",
}  # fmt: skip


@pytest.mark.parametrize("line", [*REJECTED, *NO_STACK])
def test_rejected(line):
    with pytest.raises(ValueError, match={**REJECTED, **NO_STACK}[line]):
        params.from_onnx(_model(line))
    if line in REJECTED:
        with pytest.raises(ValueError, match=REJECTED[line]):
            tf_rnn_ops.keras.from_onnx(_model(line))


def test_named_nodes_must_be_a_stack_too():
    model = _model(_two(b="relu"))
    names = [node.name for node in model.graph.node if node.op_type == "LSTM"]
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
    condition = onnx.numpy_helper.from_array(np.array(True), "condition")
    node = helper.make_node(
        "If", ["condition"], ["z"], "choice", then_branch=branch, else_branch=branch
    )
    z = helper.make_tensor_value_info("z", 1, None)
    graph = helper.make_graph([node], "g", graph.input, [z], [condition])
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=8)


def test_nodes_in_a_branch():
    model = _wrapped(_model("ops=GRU"), "if")
    with pytest.raises(ValueError, match=r"is in a graph inside of the node 'choice' \(If\)"):
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


def test_every_type_of_tensor(rng):
    for dtype in ("f4", "f8", "f2", "u1", "i1", "u2", "i2", "i4", "i8", "u4", "u8", "?"):
        array = (100 * rng.random((2, 3))).astype(dtype)
        kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        for tensor in (
            onnx.numpy_helper.from_array(array, "a"),
            onnx.helper.make_tensor("a", kind, array.shape, array.ravel()),
        ):
            assert op_runs.same_bits(tensors.array_of(tensor), array)


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


def _two_bidirectional(rows):
    """Two layers whose states are these rows of one input."""
    nodes = []
    for k, own in enumerate(rows):
        nodes += [
            ("Gather", ["h", f"rows{k}"], [f"h{k}"], {}),
            ("GRU", [f"x{k}", f"W{k}", f"R{k}", "", "", f"h{k}"], [f"y{k}"],
             {"hidden_size": 2, "direction": "bidirectional", "linear_before_reset": 1}),
            ("Transpose", [f"y{k}"], [f"t{k}"], {"perm": [0, 2, 1, 3]}),
            ("Reshape", [f"t{k}", "joined"], [f"x{k + 1}"], {}),
        ]  # fmt: skip
    weights = {f"W{k}": np.ones((2, 6, 4), np.float32) for k in range(len(rows))}
    weights |= {f"R{k}": np.ones((2, 6, 2), np.float32) for k in range(len(rows))}
    weights |= {f"rows{k}": np.array(own) for k, own in enumerate(rows)}
    inputs = [_value("x0", ["T", "B", 4]), _value("h", [2 * len(rows), "B", 2])]
    return _of_nodes(nodes, inputs, {**weights, "joined": [0, 0, -1]})


LSTM = ("LSTM", ["z", "W", "R", "B"], ["y"], {"hidden_size": 4})
X = _value("x", ["T", "B", 3])
NOT_RANDOM = {
    "no training_mode": ([("Dropout", ["W0"], ["W"], {})], [], {}, 17),
    "training_mode of False": ([("Dropout", ["W0", "half", "no"], ["W"], {})], [], {}, 17),
    "training_mode of a copy of False": (
        [("Identity", ["no"], ["copy"], {}), ("Dropout", ["W0", "half", "copy"], ["W"], {})],
        [], {}, 17,
    ),
    "is_test": ([("Dropout", ["W0"], ["W"], {"is_test": 1})], [], {}, 6),
}  # fmt: skip
RANDOM = {
    "training_mode of True": ([("Dropout", ["W0", "half", "yes"], ["W"], {})], [], {}, 17),
    "training_mode of the caller": (
        [("Dropout", ["W0", "half", "training"], ["W"], {})],
        [_value("training", [], onnx.TensorProto.BOOL)], {}, 17,
    ),
    "no is_test": ([("Dropout", ["W0"], ["W"], {})], [], {}, 6),
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
    squeeze = (
        ("Squeeze", ["y0", "axis"], ["z0"], {})
        if opset > 12
        else ("Squeeze", ["y0"], ["z0"], {"axes": [1]})
    )
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
        assert params.from_onnx(model).layout.num_layers == (2 if place == "sequence" else 1)
    else:
        with pytest.raises(ValueError, match=r"the node '\w' \(Dropout\)"):
            params.from_onnx(model)


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
        assert params.from_onnx(model).layout.num_layers == 2
    else:
        with pytest.raises(ValueError, match=r"but the node 'narrow' \(Cast\)"):
            params.from_onnx(model)


@pytest.mark.parametrize(
    ("rows", "converted"),
    [
        ([[0, 1], [2, 3]], True),
        ([[0, 2], [1, 3]], False),
        ([[0, 1], [1, 2]], False),
        ([[0, 1], [2, 3], [4, 5]], True),
        ([[2, 3], [4, 5], [0, 1]], False),
        ([[0, 4], [2, 3], [1, 5]], False),
    ],
)
def test_rows_of_states_are_in_the_order_of_the_layers(rows, converted):
    model = _two_bidirectional(rows)
    if converted:
        assert params.from_onnx(model).layout.num_layers == len(rows)
    else:
        with pytest.raises(
            ValueError, match="initial_h of .* must follow that of .* in the input 'h'"
        ):
            params.from_onnx(model)
