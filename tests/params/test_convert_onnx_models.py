"""The converters of models of ONNX: the models that they read and reject."""

import numpy as np
import op_runs
import pytest

import tf_rnn_ops.keras
from tf_rnn_ops import params

UNITS, INPUTS = 4, 3


def _onnx_model(onnx, arrays, raw=True, constants=False):
    """Two GRU nodes named 'a' and 'b', whose weights are initializers or Constant nodes."""
    helper, nodes, tensors = onnx.helper, [], []
    for name in "ab":
        inputs = [f"{name}{what}" for what in "WRB"]
        for what, array in zip(inputs, arrays[name], strict=True):
            if raw:
                tensors.append(onnx.numpy_helper.from_array(array, what))
            else:
                kind = helper.np_dtype_to_tensor_dtype(array.dtype)
                tensors.append(helper.make_tensor(what, kind, array.shape, array.ravel()))
        attributes = {"hidden_size": UNITS, "linear_before_reset": 1, "direction": "forward"}
        nodes.append(
            helper.make_node(
                "GRU", [f"x{name}", *inputs], [f"y{name}", f"y{name}_h"], name, **attributes
            )
        )
    nodes.append(helper.make_node("Squeeze", ["ya"], ["xb"]))
    if constants:
        nodes += [helper.make_node("Constant", [], [t.name], value=t) for t in tensors]
        tensors = []
    return helper.make_model(helper.make_graph(nodes, "graph", [], [], tensors))


@pytest.mark.parametrize("constants", [False, True])
@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_model_of_onnx(dtype, raw, constants, rng):
    import onnx

    def node(width):
        shapes = ((1, 3 * UNITS, width), (1, 3 * UNITS, UNITS), (1, 6 * UNITS))
        return [rng.standard_normal(shape).astype(dtype) for shape in shapes]

    arrays = {"a": node(INPUTS), "b": node(UNITS)}
    model = _onnx_model(onnx, arrays, raw, constants)
    attributes = {"linear_before_reset": 1}
    nodes = {n: params.OnnxNode("GRU", *arrays[n], attributes=attributes) for n in "ab"}
    for node, want in (
        (["a", "b"], [*nodes.values()]),
        ("b", nodes["b"]),
    ):
        got, want = params.from_onnx(model, node), params.from_onnx(want)
        assert vars(got.layout) == vars(want.layout)
        assert op_runs.same_bits(got.params, want.params)
        assert got.params.dtype == dtype
    with pytest.raises(ValueError, match="no LSTM, GRU or RNN node named 'c'; it has .'a', 'b'."):
        params.from_onnx(model, "c")


def test_bfloat16_of_onnx(rng):
    import onnx

    values = rng.standard_normal((1, 3, 2)).astype(np.float32)
    bits = values.view(np.uint32) & 0xFFFF0000  # what bfloat16 has
    tensor = onnx.TensorProto(
        name="W", data_type=onnx.TensorProto.BFLOAT16, dims=values.shape,
        raw_data=(bits >> 16).astype("<u2").tobytes(),
    )  # fmt: skip
    recurrent = onnx.numpy_helper.from_array(np.ones((1, 3, 3), np.float32), "R")
    node = onnx.helper.make_node("RNN", ["x", "W", "R"], ["y"])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [], [], [tensor, recurrent]))
    np.testing.assert_array_equal(params.from_onnx(model).params[:6], bits.view(np.float32).ravel())


def test_models_of_onnx_that_cannot_be_read():
    import onnx

    helper = onnx.helper
    empty = helper.make_model(helper.make_graph([], "graph", [], []))
    with pytest.raises(ValueError, match="no LSTM, GRU or RNN node"):
        params.from_onnx(empty)
    node = helper.make_node("LSTM", ["x", "W", "R"], ["y"], "rnn")
    fed = helper.make_model(helper.make_graph([node], "graph", [], []))
    with pytest.raises(ValueError, match="W of the node 'rnn' is 'W', which is not a constant"):
        params.from_onnx(fed)
    # Its value is that of every element, not its output.
    one = helper.make_tensor("one", onnx.TensorProto.FLOAT, [1], [1.0])
    filled = helper.make_node("ConstantOfShape", ["shape"], ["W"], value=one)
    fed = helper.make_model(helper.make_graph([filled, node], "graph", [], []))
    with pytest.raises(ValueError, match="W of the node 'rnn' is 'W', which is not a constant"):
        params.from_onnx(fed)
    elsewhere = onnx.TensorProto(name="W", data_type=1, dims=[1, 4, 1], data_location=1)
    other = helper.make_model(helper.make_graph([node], "graph", [], [], [elsewhere, elsewhere]))
    with pytest.raises(ValueError, match="values of 'W' are in another file"):
        params.from_onnx(other)
    with pytest.raises(ValueError, match="node must be None if source is OnnxNodes, but it is 'a'"):
        params.from_onnx(params.OnnxNode("RNN", np.ones([1, 3, 2]), np.ones([1, 3, 3])), "a")


def test_models_of_onnx_that_do_what_the_op_does_not():
    import onnx

    helper = onnx.helper
    shapes = {"W": (1, 8, 3), "R": (1, 8, 2)}
    tensors = [onnx.numpy_helper.from_array(np.ones(s, np.float32), n) for n, s in shapes.items()]
    for attributes, match in (
        ({"clip": 3.0}, r"layer 0 clips its gates .clip=3\.0."),
        ({"hidden_size": 3}, "hidden_size of layer 0 must be 2"),
    ):
        node = helper.make_node("LSTM", ["x", "W", "R"], ["y"], **attributes)
        model = helper.make_model(helper.make_graph([node], "graph", [], [], tensors))
        with pytest.raises(ValueError, match=match):
            params.from_onnx(model)


def test_nodes_of_onnx_that_are_no_stack(rng):
    import onnx

    arrays = {
        name: [rng.standard_normal((1, rows, *columns)) for rows, *columns in (
            (3 * UNITS, UNITS), (3 * UNITS, UNITS), (6 * UNITS,)
        )]
        for name in "ab"
    }  # fmt: skip
    model = _onnx_model(onnx, arrays)
    assert params.from_onnx(model, ["a", "b"]).layout.num_layers == 2
    (node,) = (node for node in model.graph.node if node.name == "b")
    (squeeze,) = (node for node in model.graph.node if node.op_type == "Squeeze")
    for given, match in (
        ([""], "constants"),  # without an input
        ([], "The node 'b' does not get the output of the node 'a'"),
    ):
        del squeeze.input[:]
        squeeze.input.extend(given)
        with pytest.raises(ValueError, match=match):
            params.from_onnx(model, ["a", "b"])
    assert params.from_onnx(model, "b").layout.num_layers == 1
    del node.input[:]
    with pytest.raises(ValueError):
        params.from_onnx(model)


@pytest.mark.parametrize("convert", [params.from_onnx, tf_rnn_ops.keras.from_onnx])
@pytest.mark.parametrize(
    ("lengths", "steps", "refused"),
    [([6, 6], 6, False), ([4, 6], 6, True), ([6, 6], None, True), ([4, 4], 6, True)],
)
def test_lengths_of_onnx_that_are_constants(lengths, steps, refused, convert):
    import onnx

    helper = onnx.helper
    arrays = {"W": np.ones((1, 8, 3), "f"), "R": np.ones((1, 8, 2), "f"), "n": np.int32(lengths)}
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    node = helper.make_node("LSTM", ["x", "W", "R", "", "n"], ["y"], "rnn")
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [steps, 2, 3])
    model = helper.make_model(helper.make_graph([node], "graph", [x], [], tensors))
    if refused:
        with pytest.raises(ValueError, match="sequence_lens of the node 'rnn' is a constant"):
            convert(model)
    else:
        convert(model)
