"""params.from_onnx and to_onnx, against the gate order written out here and ONNX Runtime."""

import numpy as np
import onnx_models
import op_runs
import pytest

from support.reference import layout as reference_layout
from support.reference.spec import RnnSpec
from tf_rnn_ops import params

# ONNX's gates among those of the buffer: i, o, f, c of i, f, c, o and z, r, h of r, z, h.
ORDER = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn_tanh": (0,), "rnn_relu": (0,)}
OP_TYPES = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN"}
DIRECTIONS = ("unidirectional", "bidirectional")


def _expected(spec, buffer):
    """For each layer (W, R, B)."""
    order = list(ORDER[spec.rnn_mode])
    cells = reference_layout.unpack(spec, buffer)
    layers = []
    for k in range(0, len(cells), spec.directions):
        of_layer = cells[k : k + spec.directions]
        rows = spec.gates * spec.units
        layers.append(
            (
                np.stack([c.w[order].reshape(rows, -1) for c in of_layer]),
                np.stack([c.r[order].reshape(rows, -1) for c in of_layer]),
                np.stack([np.concatenate([*c.bw[order], *c.br[order]]) for c in of_layer]),
            )
        )
    return layers


def _random(mode, direction, rng, layers=2, units=4, dtype=np.float32):
    spec = RnnSpec(mode, layers, units, 3, direction)
    buffer = 0.5 * rng.standard_normal(reference_layout.params_size(spec)).astype(dtype)
    buffer[::5] = -0.0
    return spec, params.Layout(mode, layers, units, 3, direction=direction), buffer


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("mode", ORDER)
def test_round_trip_to_the_bit(mode, direction, dtype, rng):
    spec, layout, buffer = _random(mode, direction, rng, dtype=dtype)
    nodes = params.to_onnx(layout, buffer)
    for node, want in zip(nodes, _expected(spec, buffer), strict=True):
        assert node.op_type == OP_TYPES[mode]
        assert all(op_runs.same_bits(*pair) for pair in zip((node.W, node.R, node.B), want))
    converted = params.from_onnx(nodes)
    assert vars(converted.layout) == vars(layout)
    assert op_runs.same_bits(converted.params, buffer)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("mode", ORDER)
def test_onnx_runtime(mode, direction, rng):
    import onnx
    import onnxruntime as runtime

    _, layout, buffer = _random(mode, direction, rng)
    nodes = params.to_onnx(layout, buffer)
    x = rng.standard_normal((6, 2, 3)).astype(np.float32)
    model = onnx_models.make(onnx, nodes)
    weights = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (want,) = session.run(None, {"x0": x})
    got = op_runs.run(layout, buffer, x)[0]
    np.testing.assert_allclose(got, want, rtol=0, atol=2e-6)

    # The nodes as onnx reads them from the file. Some attributes are bytes.
    read = [_read(onnx, node, weights) for node in model.graph.node if node.op_type in "LSTMGRURNN"]
    assert op_runs.same_bits(params.from_onnx(read).params, buffer)


def _read(onnx, node, weights):
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    return params.OnnxNode(node.op_type, *[weights[n] for n in node.input[1:4]], None, attributes)


def test_bias_may_be_missing(rng):
    _, layout, buffer = _random("gru", "unidirectional", rng)
    nodes = [node._replace(B=None) for node in params.to_onnx(layout, buffer)]
    (weights, _), (kept, biases) = (
        layout.unpack(buffer),
        layout.unpack(params.from_onnx(nodes).params),
    )
    assert all(op_runs.same_bits(*pair) for pair in zip(weights, kept))
    assert not any(bias.any() for bias in biases)


def _node(op_type, num_dirs=1, width=2, **attributes):
    rows = {"LSTM": 12, "GRU": 9, "RNN": 3}[op_type]
    return params.OnnxNode(
        op_type,
        W=np.ones((num_dirs, rows, width)),
        R=np.ones((num_dirs, rows, 3)),
        B=np.ones((num_dirs, 2 * rows)),
        attributes=attributes,
    )


GRU_NODE = _node("GRU", linear_before_reset=1)


def test_the_nodes_of_the_next_test_are_good_but_for_one_thing():
    assert params.from_onnx(GRU_NODE).layout.rnn_mode == "gru"
    assert params.from_onnx(_node("LSTM", input_forget=0, layout=1)).layout.rnn_mode == "lstm"
    assert params.from_onnx(_node("LSTM")._replace(P=np.zeros((1, 9)))).layout.rnn_mode == "lstm"
    relu = _node("RNN", 2, activations=[b"Relu", b"Relu"], direction=b"bidirectional")
    assert params.from_onnx(relu).layout.rnn_mode == "rnn_relu"


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([], "at least one node"),
        (_node("GRU"), "linear_before_reset of layer 0 is 0"),
        (
            [GRU_NODE, _node("GRU", width=3, linear_before_reset=0)],
            "linear_before_reset of layer 1",
        ),
        (_node("LSTM", direction="reverse"), "direction of layer 0 is 'reverse'"),
        (_node("LSTM", direction="both"), "'forward', 'reverse' or 'bidirectional'.*'both'"),
        (_node("LSTM", clip=3.0), "clip=3.0"),
        (_node("LSTM", input_forget=1), "input_forget=1"),
        (_node("LSTM")._replace(P=np.ones((1, 9))), "peephole weights P"),
        (_node("LSTM", activations=["Sigmoid", "Tanh", "Relu"]), "activations of layer 0.*'relu'"),
        (_node("LSTM", activations=[1, 2]), "activations of layer 0 must be a list of names"),
        (_node("LSTM", activations=3.0), "activations of layer 0 must be a list of names"),
        (_node("LSTM")._replace(op_type=["LSTM"]), "op_type of layer 0"),
        (_node("LSTM")._replace(attributes=["forward"]), "attributes of an OnnxNode"),
        (_node("RNN", activations=["Relu", "Tanh"], direction="bidirectional"), "activations"),
        (_node("LSTM", hidden_size=4), "hidden_size of layer 0 must be 3.*is 4"),
        (_node("LSTM")._replace(op_type="Conv"), "op_type of layer 0.*'Conv'"),
        (_node("LSTM")._replace(W=np.ones((1, 9, 2))), r"W of layer 0.*\(1, 12, 2\).*\(1, 9, 2\)"),
        (_node("LSTM")._replace(R=np.ones((12, 3))), "R of layer 0 must have 3 dimensions"),
        (_node("LSTM")._replace(B=np.ones((1, 12))), r"B of layer 0.*\(1, 24\).*\(1, 12\)"),
        (_node("LSTM", direction="bidirectional"), r"R of layer 0.*\(2, 12, 3\).*\(1, 12, 3\)"),
        ([_node("LSTM"), _node("LSTM", width=2)], r"W of layer 1.*\(1, 12, 3\).*\(1, 12, 2\)"),
        ([_node("LSTM"), _node("RNN")], "one rnn_mode"),
        ([_node("RNN"), _node("RNN", 2, direction="bidirectional")], "one number of directions"),
    ],
)
def test_bad_input(nodes, message):
    with pytest.raises(ValueError, match=message):
        params.from_onnx(nodes)


def test_onnx_has_no_projection():
    layout = params.Layout("lstm", 1, 4, 3, num_proj=2)
    with pytest.raises(ValueError, match="num_proj is 2"):
        params.to_onnx(layout, np.zeros(layout.size))
