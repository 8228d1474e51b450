"""tf_rnn_ops.keras.from_onnx against ONNX Runtime, on nodes that no buffer holds among others."""

import importlib
import inspect

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras
from tf_rnn_ops import params
from tf_rnn_ops.keras import Reversed, explain, from_onnx

# The package has a function of the name of the module.
from_onnx_module = importlib.import_module("tf_rnn_ops.keras._convert.from_onnx")
reversed_module = importlib.import_module("tf_rnn_ops.keras.layers.reversed")

TIME, BATCH, INPUT, UNITS = 6, 3, 4, 5
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}

CASES = {
    "gru reset before": ("GRU", {}),
    "gru reset after": ("GRU", {"linear_before_reset": 1}),
    "lstm": ("LSTM", {}),
    "hard sigmoid": ("LSTM", {"activations": ["HardSigmoid", "Tanh", "Tanh"]}),
    "hard sigmoid of Keras 3": (
        "GRU",
        {
            "activations": ["HardSigmoid", "Relu"],
            "activation_alpha": [1 / 6],
            "activation_beta": [0.5],
        },
    ),
    "hard sigmoid, linear": (
        "LSTM",
        {"activations": ["HardSigmoid", "Affine", "Affine"], "activation_alpha": [0.2, 1.0, 1.0]},
    ),
    "linear rnn": ("RNN", {"activations": ["Affine"], "activation_alpha": [1.0]}),
    "sigmoid rnn": ("RNN", {"activations": ["Sigmoid"]}),
    "peepholes": ("LSTM", {}),
}


def _node(op_type, attributes, num_dirs, rng, peepholes=False):
    rows = GATES[op_type] * UNITS

    def draw(*shape):
        return rng.normal(0, 0.3, (num_dirs, *shape)).astype(np.float32)

    attributes = {"hidden_size": UNITS, **attributes}
    if num_dirs == 2:
        attributes["direction"] = "bidirectional"
        for name in ("activations", "activation_alpha", "activation_beta"):
            if name in attributes:
                attributes[name] = 2 * attributes[name]
    return params.OnnxNode(
        op_type,
        W=draw(rows, INPUT),
        R=draw(rows, UNITS),
        B=draw(2 * rows),
        P=draw(3 * UNITS) if peepholes else None,
        attributes=attributes,
    )


def _model(onnx, node, lengths=False):
    helper = onnx.helper
    arrays = {"W": node.W, "R": node.R, "B": node.B}
    inputs = ["x", *arrays, "n" if lengths else ""]
    if node.P is not None:
        arrays["P"] = node.P
        inputs += ["", "", "P"]
    arrays["joined"] = np.array([0, 0, -1])
    nodes = [
        helper.make_node(node.op_type, inputs, ["y"], **node.attributes),
        helper.make_node("Transpose", ["y"], ["t"], perm=[2, 0, 1, 3]),
        helper.make_node("Reshape", ["t", "joined"], ["z"]),
    ]
    x, z = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None, None, None])
        for name in "xz"
    )
    weights = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    n = [helper.make_tensor_value_info("n", onnx.TensorProto.INT32, [None])] if lengths else []
    model = helper.make_model(
        helper.make_graph(nodes, "one", [x, *n], [z], weights),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    onnx.checker.check_model(model)
    return model


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("case", CASES)
def test_onnx_runtime(case, direction, rng, op_calls):
    import onnx
    import onnxruntime as runtime

    op_type, attributes = CASES[case]
    num_dirs = 1 + (direction == "bidirectional")
    node = _node(op_type, attributes, num_dirs, rng, peepholes=case == "peepholes")
    node.attributes["direction"] = direction
    model = _model(onnx, node)
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    x = rng.normal(size=(TIME, BATCH, INPUT)).astype(np.float32)
    (want,) = session.run(None, {"x": x})
    for source in (model, node):
        (layer,) = from_onnx(source)
        got = np.asarray(layer(x.transpose(1, 0, 2)))
        np.testing.assert_allclose(got, want, rtol=0, atol=3e-6)
        assert all(path.path == "fused" for path in explain(layer, print_fn=None))
    assert set(op_calls) == {"LayerRNN"}


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("case", ["gru reset before", "lstm", "linear rnn", "peepholes"])
def test_zeros_beyond_the_lengths(case, direction, rng):
    import onnx
    import onnxruntime as runtime

    op_type, attributes = CASES[case]
    num_dirs = 1 + (direction == "bidirectional")
    node = _node(op_type, attributes, num_dirs, rng, peepholes=case == "peepholes")
    node.attributes["direction"] = direction
    model = _model(onnx, node, lengths=True)
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    x = rng.normal(size=(TIME, BATCH, INPUT)).astype(np.float32)
    lengths = np.array([TIME, 2, 4], np.int32)
    (want,) = session.run(None, {"x": x, "n": lengths})
    (layer,) = from_onnx(model)
    mask = np.arange(TIME) < lengths[:, None]
    got = np.asarray(layer(x.transpose(1, 0, 2), mask=mask))
    np.testing.assert_allclose(got, want, rtol=0, atol=3e-6)
    (layer,) = from_onnx(model, return_sequences=False)
    last = np.asarray(layer(x.transpose(1, 0, 2), mask=mask))[:, :UNITS]
    steps = lengths - 1 if direction != "reverse" else np.zeros(BATCH, int)
    np.testing.assert_allclose(last, want[np.arange(BATCH), steps, :UNITS], rtol=0, atol=3e-6)


def test_functions_of_each_direction(rng):
    activations = ["Sigmoid", "Tanh", "HardSigmoid", "Relu"]
    node = _node("GRU", {}, 2, rng)
    node.attributes["activations"] = activations
    node.attributes["activation_alpha"] = [np.float32(1 / 6)]
    (layer,) = from_onnx(node, return_state=True)
    assert layer.forward_layer.recurrent_activation is keras.activations.sigmoid
    assert layer.backward_layer.recurrent_activation is keras.activations.hard_sigmoid
    assert layer.backward_layer.activation is keras.activations.relu
    assert len(layer(np.zeros((1, 2, INPUT), np.float32))) == 3


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_layers_have_the_type_of_the_weights(dtype, rng):
    node = _node("GRU", {"linear_before_reset": 1}, 1, rng)
    node = node._replace(**{n: getattr(node, n).astype(dtype) for n in "WRB"})
    (layer,) = from_onnx(node)
    assert layer.dtype == dtype
    layout, buffer = params.from_onnx(node)
    assert vars(params.from_keras(layer).layout) == vars(layout)
    np.testing.assert_array_equal(params.from_keras(layer).params, buffer)


def test_nodes_may_differ(rng):
    layers = from_onnx([_node("GRU", {}, 2, rng), _node("RNN", {}, 1, rng)])
    assert [type(layer) for layer in layers] == [
        keras.layers.Bidirectional,
        tf_rnn_ops.keras.SimpleRNN,
    ]


ONLY = "must be Tanh, Sigmoid, Relu, Affine"


@pytest.mark.parametrize(
    ("op_type", "attributes", "message"),
    [
        ("LSTM", {"activations": ["Sigmoid", "Tanh", "Relu"]}, "the same for the candidate"),
        ("LSTM", {"activations": ["Sigmoid", "Tanh"]}, "must be 3 for each of 1 directions"),
        ("GRU", {"activations": ["Softsign", "Tanh"]}, f"{ONLY}.*'softsign'"),
        (
            "GRU",
            {"activations": ["Elu", "HardSigmoid"], "activation_alpha": [1.0]},
            f"{ONLY}.*'elu'",
        ),
        (
            "GRU",
            {"activations": ["HardSigmoid", "Tanh"], "activation_alpha": [0.3]},
            f"{ONLY}.*alpha=0.3 and beta=0.5",
        ),
        (
            "RNN",
            {"activations": ["Affine"], "activation_alpha": [1.0], "activation_beta": [1.0]},
            f"{ONLY}.*beta=1.0",
        ),
        # ONNX does not say what alpha is then.
        ("RNN", {"activations": ["Affine"]}, f"{ONLY}.*alpha=None"),
        (
            "RNN",
            {"activations": ["Affine"], "activation_alpha": 1.0},
            "activation_alpha of node 0 must be a list of numbers, but it is 1.0",
        ),
        ("GRU", {"clip": 2.0}, "node 0 clips its gates"),
        ("LSTM", {"input_forget": 1}, "couples"),
        ("RNN", {"direction": "back"}, "direction of node 0 must be .* but it is 'back'"),
    ],
)
def test_what_no_layer_computes(op_type, attributes, message, rng):
    with pytest.raises(ValueError, match=message):
        from_onnx(_node(op_type, attributes, 1, rng))


def test_peepholes_of_a_wrong_shape(rng):
    node = _node("LSTM", {}, 1, rng)._replace(P=np.ones((1, 2 * UNITS), np.float32))
    with pytest.raises(ValueError, match=r"P of node 0 must have shape \(1, 15\)"):
        from_onnx(node)


@pytest.mark.parametrize("options", [{}, {"return_state": True}, {"return_sequences": False}])
def test_a_reverse_node(options, rng, tmp_path):
    node = _node("LSTM", {"direction": "reverse"}, 1, rng)
    (layer,) = from_onnx(node, **options)
    forward = from_onnx(node._replace(attributes={}), **options)[0]
    x = rng.normal(size=(2, TIME, INPUT)).astype(np.float32)
    mask = np.arange(TIME) < np.array([[TIME], [4]])
    model = keras.Sequential([keras.Input((None, INPUT)), layer])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for reversed_x, one_mask in ((x[:, ::-1], None), (_valid_reversed(x, mask), mask)):
        # A forward node on the reversed steps of each sequence; padding stays at the end.
        want = forward(reversed_x, mask=one_mask)
        for got in (layer(x, mask=one_mask), loaded.layers[-1](x, mask=one_mask)):
            for one, other in zip(_as_list(got), _as_list(want), strict=True):
                if one.ndim == 3:
                    other = _valid_reversed(
                        np.asarray(other), mask if one_mask is not None else None
                    )
                    one = np.where(mask[:, :, None] if one_mask is not None else True, one, other)
                np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


def _valid_reversed(x, mask):
    """The steps of each sequence in the other order, those that are masked left where they are."""
    lengths = np.full(len(x), x.shape[1]) if mask is None else mask.sum(1)
    return np.stack([np.concatenate([s[:n][::-1], s[n:]]) for s, n in zip(x, lengths)])


def _as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize(
    "argument", ["go_backwards", "activation", "use_bias", "units", "stateful"]
)
def test_what_the_nodes_determine_is_no_argument(argument, rng):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{argument}'"):
        from_onnx(_node("GRU", {}, 1, rng), **{argument: True})


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize(
    ("op_type", "peepholes"), [("LSTM", False), ("LSTM", True), ("GRU", False), ("RNN", False)]
)
def test_every_layer_gets_the_arguments(op_type, peepholes, direction, rng):
    num_dirs = 1 + (direction == "bidirectional")
    node = _node(op_type, {"direction": direction}, num_dirs, rng, peepholes=peepholes)
    options = {"return_state": True, "unroll": True, "dropout": 0.25}
    options |= {"recurrent_dropout": 0.5, "seed": 3, "trainable": False, "name": "mine"}
    options |= {"return_sequences": False, "dtype": "float64"}
    regularizers = [f"{n}_regularizer" for n in ("kernel", "recurrent", "bias", "activity")]
    constraints = [f"{n}_constraint" for n in ("kernel", "recurrent", "bias")]
    options |= dict.fromkeys(regularizers, "l2") | dict.fromkeys(constraints, "non_neg")
    shown = inspect.signature(from_onnx).parameters
    assert set(shown) == {"source", "node", "zero_output_for_mask", *options}
    (layer,) = from_onnx(node, **options)
    layers = [layer] if num_dirs == 1 else [layer.forward_layer, layer.backward_layer]
    # Keras's SimpleRNN has no activity_regularizer, and its config no seed.
    lost = {"activity_regularizer"} if op_type == "RNN" else set()
    for one in layers:
        assert one.dtype == "float64" and one.name.endswith("mine")
        assert lost or one.cell.seed == 3
        assert not one.zero_output_for_mask or num_dirs == 2
        for name in set(options) - {"dtype", "name", "seed", *regularizers, *constraints}:
            assert one.get_config()[name] == options[name], name
        for name in set(regularizers) - lost:
            assert isinstance(getattr(one, name), keras.regularizers.L2), name
        for name in constraints:
            assert isinstance(getattr(one, name), keras.constraints.NonNeg), name


@pytest.mark.parametrize("zero", [True, False])
def test_zeros_in_masked_steps_can_be_switched_off(zero, rng):
    (layer,) = from_onnx(_node("GRU", {}, 1, rng), zero_output_for_mask=zero)
    assert (layer.return_sequences, layer.zero_output_for_mask) == (True, zero)


def test_a_reversed_layer_that_runs_forward():
    with pytest.raises(ValueError, match="go_backwards of layer .* must be True"):
        Reversed(tf_rnn_ops.keras.GRU(2))
