"""Dtype policies with quantization that layers get when they are made: int8, others, and in a DTypePolicyMap."""

import copy
import itertools

import keras
import numpy as np
import pytest
from quantized_backbone import LAYERS, SIZE, Backbone, save

import tf_rnn_ops.keras as ours
from support import subproc
from support.selection import all_but
from tf_rnn_ops.keras.layers.op_layer import OpLayer
from tf_rnn_ops.keras.layers.quantization import dequantize

STACKS = (ours.CudnnLSTM, ours.CudnnGRU, ours.CudnnRNNTanh, ours.CudnnRNNRelu)
# {name: makes a layer with a dtype policy}.
EVERY = {
    **{
        cls.__name__: lambda cls=cls, **a: cls(3, **a)
        for cls in (ours.LSTM, ours.GRU, ours.SimpleRNN)
    },
    "ProjectedLSTM": lambda **a: ours.ProjectedLSTM(3, num_proj=2, **a),
    "RNN": lambda **a: ours.RNN(keras.layers.LSTMCell(3, **a), **a),
    "RNN of a list": lambda **a: ours.RNN(
        [keras.layers.GRUCell(3, **a), keras.layers.LSTMCell(2, **a)], **a
    ),
    "cell of RNN": lambda **a: ours.RNN(keras.layers.LSTMCell(3, **a)),
    "RNN around float": lambda **a: ours.RNN(keras.layers.LSTMCell(3), **a),
    "Bidirectional": lambda **a: keras.layers.Bidirectional(ours.LSTM(3, **a)),
    "TimeDistributed": lambda **a: keras.layers.TimeDistributed(ours.LSTM(3, **a)),
}
# No weights in int8.
FLOAT_ONLY = {
    **{cls.__name__: lambda cls=cls, **a: cls(3, **a) for cls in STACKS},
    "PeepholeLSTM": lambda **a: ours.PeepholeLSTM(3, **a),
    "LayerNormLSTM": lambda **a: ours.LayerNormLSTM(3, **a),
    "ZoneoutLSTM": lambda **a: ours.ZoneoutLSTM(3, **a),
    "ZoneoutGRU": lambda **a: ours.ZoneoutGRU(3, **a),
    "peepholes": lambda **a: ours.ProjectedLSTM(3, use_peepholes=True, **a),
    "clipping": lambda **a: ours.ProjectedLSTM(3, cell_clip=1.0, **a),
    "gelu": lambda **a: ours.GRU(3, activation="gelu", **a),
}


def is_known(policy):
    """Whether this Keras has a policy."""
    try:
        keras.dtype_policies.get(policy)
    except ValueError:
        return False
    return True


OTHERS = ("float8_from_float32", "int4_from_float32", "int4/128_from_float32")
OTHERS = [policy for policy in (*OTHERS, "float8_from_mixed_bfloat16") if is_known(policy)]


@pytest.fixture
def x(rng):
    return rng.normal(size=(4, 7, SIZE)).astype("float32")


@pytest.fixture
def global_policy():
    before = keras.config.dtype_policy()
    yield keras.config.set_dtype_policy
    keras.config.set_dtype_policy(before)


@pytest.mark.parametrize("name", [*EVERY, *FLOAT_ONLY])
def test_other_modes(name, global_policy):
    """As an argument, and as the global policy."""
    make = {**EVERY, **FLOAT_ONLY}[name]
    wanted = "^dtype of the layer .* must be a policy without quantization.* is '{}'"
    for policy in OTHERS:
        with pytest.raises(ValueError, match=wanted.format(policy)):
            make(dtype=policy)
        global_policy(policy)
        with pytest.raises(ValueError, match=f"^dtype of the layer .* but it is '{policy}'"):
            make()
        global_policy("float32")


@pytest.mark.parametrize("name", FLOAT_ONLY)
def test_int8_without_a_kernel(name):
    why = "stacks have float" if name.startswith("Cudnn") else "no int8 kernel|peep|clip|gelu"
    wanted = f"must be a policy without quantization, but it is 'int8_from_float32': .*({why})"
    with pytest.raises(ValueError, match=wanted):
        FLOAT_ONLY[name](dtype="int8_from_float32")


def test_int8_from_float64():
    with pytest.raises(
        ValueError, match="'int8_from_float64': .* in float32 or bfloat16, not in float64"
    ):
        ours.LSTM(3, dtype="int8_from_float64")


@pytest.mark.parametrize("name", [name for name in EVERY if name != "RNN around float"])
def test_int8(name, x):
    """The layer is made to load weights, as Keras's Dense: a quantized layer gives it its weights."""
    x = x[:, None] if name == "TimeDistributed" else x
    made, model = (
        keras.Sequential([keras.Input(x.shape[1:]), EVERY[name](**a)])
        for a in ({"dtype": "int8_from_float32"}, {})
    )
    model.quantize("int8")
    made.set_weights(model.get_weights())
    assert [w.dtype for w in made.weights] == [w.dtype for w in model.weights]
    np.testing.assert_array_equal(made.predict(x, verbose=0), model.predict(x, verbose=0))


@pytest.mark.parametrize("kind", [*LAYERS, "LayerNormLSTM"])
def test_a_policy_that_is_set_and_rejected(kind, x):
    """Keras sets the policy of a built layer before it quantizes it. A layer that stays in float says so."""
    make = {**LAYERS, "LayerNormLSTM": lambda **a: ours.LayerNormLSTM(3, **a)}[kind]
    model = keras.Sequential([keras.Input((None, SIZE)), make(dtype=None, name="enc")])
    layer = model.layers[0]
    layer = getattr(layer, "forward_layer", layer)
    before = model.predict(x, verbose=0)
    with pytest.raises(NotImplementedError, match="cannot be quantized"):
        layer.dtype_policy = "float8_from_float32"
    assert layer.quantization_mode is None and layer.dtype_policy.name == "float32"
    np.testing.assert_array_equal(model(x), before)


def test_a_policy_that_is_set_before_the_layer_is_built(x):
    layer = ours.LSTM(3, name="enc")
    layer.dtype_policy = "int8_from_float32"
    with pytest.raises(
        ValueError,
        match="cell 'lstm_cell' must be .* int8, .* layer 'enc', but it is 'float32'",
    ):
        layer(x)
    layer.cell.dtype_policy = "int8_from_float32"
    layer(x)
    assert layer.cell.kernel.dtype == "int8"


def test_a_policy_of_the_second_cell(x):
    layer = ours.RNN([keras.layers.LSTMCell(3), keras.layers.GRUCell(2)])
    layer(x)
    layer.cell.cells[1].dtype_policy = "int8_from_float32"
    assert {cell.kernel.dtype for cell in layer.cell.cells} == {"int8"}


def test_a_cell_that_was_built_in_float(x):
    cell = keras.layers.LSTMCell(3, dtype="int8_from_float32", name="mine")
    cell.build((None, SIZE))
    with pytest.raises(ValueError, match="cell 'mine' must fit its weights, which are float"):
        ours.RNN(cell)


# ---- DTypePolicyMap ----


def policies(**of_paths):
    found = keras.dtype_policies.DTypePolicyMap("float32")
    for path, policy in of_paths.items():
        found[path.replace("__", "/")] = policy
    return found


def quantized(kind, filters=None):
    model = Backbone(kind)
    model.quantize("int8", filters=filters)
    return model


def dequantize_all(model):
    for layer in model._flatten_layers():
        if isinstance(layer, OpLayer):
            dequantize(layer)


def dtypes(model):
    return [(weight.path, weight.dtype) for weight in model.weights]


COPIES = {
    "clone_model": keras.models.clone_model,
    "from_config": lambda model: Backbone.from_config(model.get_config()),
    "serialized": lambda model: keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(model)
    ),
    "deepcopy": copy.deepcopy,
    "convert": ours.convert,
}


@pytest.mark.parametrize("kind", all_but(LAYERS, "LSTM", "RNN of cells", "Bidirectional"))
def test_copies(kind, x):
    model = quantized(kind)
    for how in COPIES.values():
        check_copy(how(model), model, x)


def check_copy(made, model, x):
    made.set_weights(model.get_weights())
    assert [dtype for _, dtype in dtypes(made)] == [dtype for _, dtype in dtypes(model)]
    np.testing.assert_array_equal(made.predict(x, verbose=0), model.predict(x, verbose=0))
    with pytest.raises(ValueError, match="already quantized"):
        made.quantize("int8")
    check_own_weights(made, model, x)


def check_own_weights(made, model, x):
    """The weights and scales of the copy are not those of the model."""
    want = model.predict(x, verbose=0)
    for weight in made.weights:
        weight.assign(keras.ops.zeros_like(weight))
    np.testing.assert_array_equal(model.predict(x, verbose=0), want)


@pytest.mark.parametrize(
    "case",
    all_but(
        list(itertools.product(LAYERS, ["float32", "mixed_bfloat16"])),
        ("LSTM", "float32"),
        ("RNN of cells", "mixed_bfloat16"),
        ("ZoneoutLSTM", "float32"),
    ),
    ids="-".join,
)
def test_files_in_another_process(case, x, tmp_path, global_policy):
    kind, policy = case
    global_policy(policy)
    model = quantized(kind)
    save(model, x, tmp_path)
    out = subproc.run_module("quantized_backbone", tmp_path, policy)
    count = sum(weight.dtype == "int8" for weight in model.weights)
    assert int(out) == count >= (1 if kind in ("ZoneoutLSTM", "CudnnGRU") else 3)


@pytest.mark.parametrize("mode", ["int8", None])
def test_policies_of_paths(mode, x):
    """A layer has the weights of its own policy, whatever the default policy of the map is."""
    of_layer = "int8_from_float32" if mode else "float32"
    found = policies(enc=of_layer, enc__lstm_cell=of_layer)
    other = "float32" if mode else "int8_from_float32"
    found = keras.dtype_policies.DTypePolicyMap(other, dict(found))
    layer = ours.LSTM(3, dtype=found, name="enc")
    config = layer.get_config()
    outputs = np.array(layer(x))
    assert layer.quantization_mode == layer.cell.quantization_mode == mode
    assert layer.cell.kernel.dtype == (mode or "float32")
    again = ours.LSTM.from_config(config)
    again.build(x.shape)
    again.set_weights(layer.get_weights())
    np.testing.assert_array_equal(again(x), outputs)


def test_quantize_of_a_layer_with_a_map(x):
    layer, usual = ours.LSTM(3, dtype=policies(), name="enc"), ours.LSTM(3)
    for one in (layer, usual):
        one.build(x.shape)
    usual.set_weights(layer.get_weights())
    for one in (layer, usual):
        one.quantize("int8")
    assert layer.quantization_mode == layer.cell.quantization_mode == "int8"
    np.testing.assert_array_equal(layer(x), usual(x))


@pytest.mark.parametrize("kind", all_but(LAYERS, "GRU", "Bidirectional"))
def test_a_loaded_model_is_used_as_the_first(kind, x, tmp_path):
    """It can be saved, converted and compared. WHY only the recurrent layer: Keras cannot save its Dense again."""
    model = quantized(kind, filters=lambda layer: layer.name != "dense")
    want, path = model.predict(x, verbose=0), tmp_path / "model.keras"
    for _ in range(2):
        model.save(path)
        if (
            kind == "GRU"
        ):  # Keras removes the names of policies when it writes them in a DTypePolicyMap
            assert model.get_layer("enc").dtype_policy.name is None
            with pytest.raises(ValueError, match="already quantized: .* 'int8_from_float32'"):
                model.get_layer("enc").quantize("int8")
        model = keras.models.load_model(path)
        np.testing.assert_array_equal(model.predict(x, verbose=0), want)
    converted = ours.convert(model)
    np.testing.assert_array_equal(converted.predict(x, verbose=0), want)
    dequantize_all(converted)
    assert {weight.dtype for weight in converted.weights} == {"float32"}
    np.testing.assert_array_equal(model.predict(x, verbose=0), want)  # the copy has its own map
    if kind in ("LSTM", "GRU", "SimpleRNN"):
        found = ours.compare(model, x, repeats=1, print_fn=None)  # with dequantized weights
        assert found.quantized and 0 < found.difference < 0.05


def test_maps_that_reject():
    shape = (None, None, SIZE)
    with pytest.raises(
        ValueError,
        match="cell 'enc/lstm_cell' must be a policy with int8, .* layer 'enc', .* 'float32'",
    ):
        ours.LSTM(3, dtype=policies(enc="int8_from_float32"), name="enc").build(shape)
    for policy in OTHERS:
        for cls in (ours.LSTM, ours.CudnnGRU, ours.ZoneoutGRU):
            with pytest.raises(ValueError, match=f"dtype of the layer 'enc' .* '{policy}'"):
                cls(3, dtype=policies(enc=policy), name="enc").build(shape)
        with pytest.raises(ValueError, match=f"dtype of the layer 'lstm_cell' .* '{policy}'"):
            ours.LSTM(3, dtype=policies(enc__lstm_cell=policy), name="enc").build(shape)
    with pytest.raises(ValueError, match="no int8 kernel for a cell of class ZoneoutGRUCell"):
        ours.ZoneoutGRU(3, dtype=policies(**{"enc": "int8_from_float32"}), name="enc").build(shape)


def test_a_stack_with_a_map():
    found = policies(a="mixed_bfloat16")
    inputs = keras.Input((None, SIZE))
    model = keras.Model(inputs, ours.CudnnLSTM(4, num_layers=2, dtype=found, name="a")(inputs))
    assert model.layers[1].compute_dtype == "bfloat16"


def test_convert_of_layers_of_keras_with_a_map(x):
    """A layer that changes its class before it is built follows the map when it is built."""
    found = policies(enc="float32")
    inputs = keras.Input((None, SIZE))
    model = keras.Model(inputs, keras.layers.LSTM(3, dtype=found, name="enc")(inputs))
    copies = ours.convert(model), ours.convert(ours.convert(model), to="keras")
    cells = [one.get_layer("enc").cell for one in copies]
    assert {type(cell) for cell in cells} == {keras.layers.LSTMCell}
    for one in copies:
        np.testing.assert_allclose(
            one.predict(x, verbose=0), model.predict(x, verbose=0), atol=1e-6
        )
