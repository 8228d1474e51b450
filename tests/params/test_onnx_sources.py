"""Sources of the inputs of ONNX nodes, and errors that name them, on graphs of tests/robustness/graph_problem."""

import sys

import numpy as np
import onnx
import onnxruntime
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
    "c=constant": r"initial_c of the node '\w+' is a constant that is not 0",
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
    _two(b="relu"): r"node '\w+' does .* of the node '\w+' .*the node '\w+' \(Relu\)",
    _two(b="of_x"): "output of the node .*the input 'x' of the graph",
    _two(b="reversed").replace("dims=open", ""): r"order .*the node '\w+' \(Slice\)",
    _two(b="cut_far"): r"'\w+' .*'\w+' .*\(Slice\)",
    _two(b="half"): r"the node '\w+' \(Cast\)",
    _two(b="last_state"): "the output Y_h of",
    "peepholes=1": "layer 0 has peephole weights P",
    _two(n="input"): "sequence_lens of the node .* is not that of .*, but a stack has one input for all",
}  # fmt: skip


def _names(model):
    return [node.name for node in model.graph.node if node.op_type in grammar.OPS]


@pytest.mark.parametrize("line", [*REJECTED, *NO_STACK])
def test_rejected(line):
    model = _model(line)
    for names in (_names(model), None):
        if "between=of_x" not in line or names:
            with pytest.raises(ValueError, match={**REJECTED, **NO_STACK}[line]):
                params.from_onnx(model, names)
    if line in REJECTED:
        with pytest.raises(ValueError, match=REJECTED[line]):
            tf_rnn_ops.keras.from_onnx(model)


@pytest.mark.parametrize("name", ["", "rnn"])
def test_a_chain_is_found_without_names(name):
    """Also if the nodes have no names or equal names, and in the order of a reversed file."""
    model = _model(_two())
    nodes = list(model.graph.node)
    for node in nodes:
        node.name = name
    want = params.from_onnx(_model(_two()), _names(_model(_two())))
    del model.graph.node[:]
    model.graph.node.extend(nodes[::-1])
    assert op_runs.same_bits(params.from_onnx(model).params, want.params)
    outputs = [node.output[0] for node in nodes if node.op_type == "LSTM"]
    if not name:
        assert op_runs.same_bits(params.from_onnx(model, outputs).params, want.params)


@pytest.mark.parametrize("between", ["of_x", "skip"])
def test_several_chains_without_names(between):
    """The third node reads the output of the first node, or the input of the graph."""
    model = _model(
        "ops=LSTM,LSTM,LSTM direction=forward,forward,forward units=4,4,4 layout=0,0,0 bias=1,1,1 "
        "weights=plain,plain,plain peepholes=0,0,0 reset_after=1,1,1 h=none,none,none c=none,none,none "
        f"lengths=none,none,none between=squeeze,{between}"
    )
    first, second, third = _names(model)
    with pytest.raises(ValueError, match=f"node must .*{first}.*{second}.*{third}"):
        params.from_onnx(model)
    assert params.from_onnx(model, [first, second]).layout.num_layers == 2
    with pytest.raises(ValueError, match=f"'{third}' does not get the output of .*'{second}'"):
        params.from_onnx(model, [first, second, third])


def test_without_onnxscript(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ImportError, match="pip install onnxscript, or give params.OnnxNode"):
        params.from_onnx(_model("ops=GRU"))


def test_named_nodes_must_be_a_stack_too():
    model = _model(_two(b="relu"))
    names = _names(model)
    with pytest.raises(ValueError, match="stack.* Convert each separately"):
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
        with pytest.raises(ValueError, match=r"the node 'narrow' \(Cast\)"):
            params.from_onnx(model)


# ---- nodes between two layers that the grammar has not ----


def _between(
    nodes, dims=("T", "B", 4), inputs=(), constants=(), layouts=(0, 0), axis=1, functions=()
):
    """Two nodes named 'y0' and 'y', with `nodes` from the output 's' of a Squeeze to 'z'.

    The layers have weights that differ in each row.
    """
    rng = np.random.default_rng(3)
    weights = {
        name: rng.standard_normal((1, 16, 4)).astype(np.float32)
        for name in ("W0", "R0", "W1", "R1")
    }
    model = _of_nodes(
        [
            ("LSTM", ["x", "W0", "R0"], ["y0"], {"hidden_size": 4, "layout": layouts[0]}),
            ("Squeeze", ["y0", "axis"], ["s"], {}),
            *nodes,
            ("LSTM", ["z", "W1", "R1"], ["y"], {"hidden_size": 4, "layout": layouts[1]}),
        ],
        [_value("x", dims), *inputs],
        {"axis": [axis], **weights, **dict(constants)},
    )
    model.opset_import.append(onnx.helper.make_opsetid("own", 1))
    return model


_ENDLESS = onnx.helper.make_graph(
    [
        onnx.helper.make_node("Identity", ["more"], ["again"]),
        onnx.helper.make_node("Identity", ["v"], ["w"]),
    ],
    "endless",
    [_value("k", [], 7), _value("more", [], 9), _value("v", None)],
    [_value("again", [], 9), _value("w", None)],
)
SWAP = {"perm": [1, 0, 2]}
CUT = {"first": [0], "end": [70], "axes": [0]}
MASK = _value("mask", ["T", "B", 1])
KEPT = {
    "twice": _between([("Transpose", ["s"], ["t"], SWAP), ("Transpose", ["t"], ["z"], SWAP)]),
    "zero": _between([("Add", ["s", "zero"], ["z"], {})], constants={"zero": np.float32(0)}),
    "fixed_end": _between([("Slice", ["s", "first", "end", "axes"], ["z"], {})], (70, 2, 4), constants=CUT),
    "shape_of_x": _between(
        [("Shape", ["x"], ["shape"], {}), ("Reshape", ["y0", "shape"], ["z"], {})], (None, None, 4)
    ),
    "sequence": _between([("SequenceConstruct", ["s"], ["q"], {}), ("SequenceAt", ["q", "k"], ["z"], {})],
                         constants={"k": np.int64(0)}),
}  # fmt: skip
CHANGED = {
    # torch.nn.LSTM without batch_first on the transposed output of another one.
    "Transpose": _between([("Transpose", ["s"], ["z"], SWAP)]),
    "Transpose of equal sizes": _between([("Transpose", ["s"], ["z"], SWAP)], (3, 3, 4)),
    "Gather": _between([("Gather", ["s", "k"], ["z"], {"axis": 2})], constants={"k": [0, 2, 1, 3]}),
    "Clip": _between([("Clip", ["s", "low", "high"], ["z"], {})],
                     constants={"low": np.float32(-2), "high": np.float32(2)}),
    "Where": _between([("Equal", ["s", "zero"], ["e"], {}), ("Where", ["e", "one", "s"], ["z"], {})],
                      constants={"zero": np.float32(0), "one": np.float32(1)}),
    "LayerNormalization": _between([("LayerNormalization", ["s", "one"], ["z"], {})],
                                   constants={"one": np.ones(4, np.float32)}),
    "Mul of the input 'mask'": _between([("Mul", ["s", "mask"], ["z"], {})], inputs=[MASK]),
    "Concat with the input 'x'": _between([("Concat", ["s", "x"], ["z"], {"axis": 2})]),
    "Reshape to the undefined tensor 'shape'": _between([("Reshape", ["s", "shape"], ["z"], {})]),
    "Reshape to the shape of 'x', which is unknown": _between(
        [("Shape", ["x"], ["shape"], {}), ("Reshape", ["y0", "shape"], ["z"], {})], None
    ),
    # A loop may not end, so it does not run.
    "Loop": _between([("Loop", ["", "yes", "s"], ["z"], {"body": _ENDLESS})], constants={"yes": np.bool_(True)}),
    "Unknown": _between([("Unknown", ["s"], ["z"], {})]),
    "Own of the domain 'own'": _between([("Own", ["s"], ["z"], {"domain": "own"})]),
}  # fmt: skip


@pytest.mark.parametrize("case", KEPT)
def test_nodes_that_keep_the_order(case, rng):
    """The stack has the numbers of ONNX Runtime."""
    model = KEPT[case]
    steps, batch = (70, 2) if case == "fixed_end" else (5, 2)
    x = rng.standard_normal((steps, batch, 4)).astype(np.float32)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (want,) = session.run(["y"], {"x": x})
    got = op_runs.run(*params.from_onnx(model), x)[0]
    np.testing.assert_allclose(got, want[:, 0], rtol=0, atol=2e-6)


@pytest.mark.parametrize("names", [None, ["y0", "y"]])
@pytest.mark.parametrize("case", CHANGED)
def test_nodes_that_change_the_order(case, names):
    """The error names the two layers and the node between them, or the tensor that it reads."""
    op_type, tensor = case.split()[0], case.partition("'")[2].partition("'")[0]
    with pytest.raises(ValueError, match=f"'y' .*'y0' .*({op_type}|{tensor or op_type})"):
        params.from_onnx(CHANGED[case], names)


@pytest.mark.parametrize("layouts", [(0, 0), (1, 1), (0, 1), (1, 0)])
def test_layouts_of_a_stack(layouts):
    """A node with layout=1 has the batch first, [B, T, D, H]."""
    swapped = [("Transpose", ["s"], ["z"], SWAP)]
    kept = [("Identity", ["s"], ["z"], {})]
    good, bad = (swapped, kept) if layouts[0] != layouts[1] else (kept, swapped)
    options = {"layouts": layouts, "axis": 1 + layouts[0], "dims": (3, 3, 4)}
    assert params.from_onnx(_between(good, **options)).layout.num_layers == 2
    with pytest.raises(ValueError, match="order of a stack"):
        params.from_onnx(_between(bad, **options))


def test_an_open_size_beside_a_large_one():
    """The width of a layer is not an end of a part, so T stays small in the check."""
    units = 1024
    shapes = {
        "W0": (2, 4 * units, 1),
        "R0": (2, 4 * units, units),
        "W1": (2, 4 * units, 2 * units),
        "R1": (2, 4 * units, units),
    }
    options = {"hidden_size": units, "direction": "bidirectional"}
    model = _of_nodes(
        [
            ("LSTM", ["x", "W0", "R0"], ["y0"], options),
            ("Transpose", ["y0"], ["t"], {"perm": [0, 2, 1, 3]}),
            ("Shape", ["t"], ["shape"], {}),
            ("Slice", ["shape", "first", "end"], ["T"], {}),
            ("Concat", ["T", "sizes"], ["wanted"], {"axis": 0}),
            ("Reshape", ["t", "wanted"], ["z"], {}),
            ("LSTM", ["z", "W1", "R1"], ["y"], options),
        ],
        [_value("x", ["T", 64, 1])],
        {
            "first": [0],
            "end": [1],
            "sizes": [64, 2 * units],
            **{n: np.zeros(s, np.float32) for n, s in shapes.items()},
        },
    )
    assert params.from_onnx(model).layout.num_layers == 2


def test_an_output_that_is_too_large_to_check():
    model = _between([("Identity", ["s"], ["z"], {})], (10**6, 64, 4))
    with pytest.raises(ValueError, match="'y0' .*1000000, 1, 64, 4.*elements"):
        params.from_onnx(model)


@pytest.mark.parametrize("convert", [params.from_onnx, tf_rnn_ops.keras.from_onnx])
def test_a_cycle(convert):
    with pytest.raises(ValueError, match="cycle"):
        convert(_between([("Add", ["s", "z"], ["z"], {})]))


@pytest.mark.parametrize(("place", "name"), [(4, "sequence_lens"), (5, "initial_h")])
def test_inputs_in_another_order(place, name):
    """A Gather swaps the sequences of an input of the graph."""
    fed = ["x", "W", "R", "B", "", "", ""][:place] + ["swapped"]
    kind = onnx.TensorProto.INT32 if place == 4 else onnx.TensorProto.FLOAT
    model = _of_nodes(
        [
            ("Gather", ["given", "k"], ["swapped"], {"axis": place % 4}),
            ("LSTM", fed, ["y"], {"hidden_size": 4}),
        ],
        [_value("x", ["T", 2, 3]), _value("given", [2] if place == 4 else [1, 2, 4], kind)],
        {"k": [1, 0]},
    )
    with pytest.raises(ValueError, match=rf"{name} .*\(Gather\)"):
        params.from_onnx(model)
