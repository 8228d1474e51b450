"""quantize("int8") of the layers: the weights, the results, and what layers do besides."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras as ours
from support import loops
from support.reference import quantized as reference
from support.selection import all_but
from tf_rnn_ops import raw_ops
from tf_rnn_ops.keras.layers.quantization import dequantize
from tf_rnn_ops.native import loader

STEPS, BATCH, SIZE, UNITS = 6, 4, 5, 7
LAYERS = {
    "LSTM": lambda **a: ours.LSTM(UNITS, **a),
    "GRU": lambda **a: ours.GRU(UNITS, **a),
    "GRU reset before": lambda **a: ours.GRU(UNITS, reset_after=False, **a),
    "SimpleRNN": lambda **a: ours.SimpleRNN(UNITS, **a),
    "projection": lambda **a: ours.ProjectedLSTM(UNITS, num_proj=3, **a),
}
MODES = dict(zip(LAYERS, ("lstm", "gru", "gru_reset_before", "rnn_tanh", "lstm")))


@pytest.fixture
def x(rng):
    return rng.normal(size=(BATCH, STEPS, SIZE)).astype("float32")


def made(name, x, quantized=True, **arguments):
    """A built layer with weights and biases that are not special."""
    layer = LAYERS[name](**arguments)
    layer.build(x.shape)
    rng = np.random.default_rng(5)
    for weight in layer.weights:
        weight.assign(rng.normal(scale=0.4, size=weight.shape))
    if quantized:
        layer.quantize("int8")
    return layer


def arrays(layer):
    """The arrays of the weights of a cell, by name."""
    return {weight.name: keras.ops.convert_to_numpy(weight) for weight in layer.cell.weights}


def of_reference(layer):
    found = arrays(layer)
    pairs = {
        name: (found[name].astype(int), found[f"{name}_scale"].astype(float))
        for name in ("kernel", "recurrent_kernel", "projection")
        if name in found
    }
    return {**pairs, "bias": found.get("bias")}


def check_steps(mode, outputs, x, initial, weights, tolerance, **functions):
    """Compares each output with the step that the reference makes of the output before it."""
    states = [np.asarray(state, np.float64) for state in initial]
    for t in range(x.shape[1]):
        states, slack = reference.step(mode, x[:, t], states, weights, **functions)
        assert np.all(np.abs(outputs[:, t] - states[0]) <= tolerance + slack)
        states[0] = outputs[:, t].astype(np.float64)


@pytest.mark.parametrize("activation", ["relu", "linear", "sigmoid", "hard_sigmoid"])
@pytest.mark.parametrize("name", ["LSTM", "GRU", "GRU reset before", "SimpleRNN"])
def test_activations(name, activation, x):
    functions = {"activation": activation}
    if name != "SimpleRNN":
        functions["recurrent_activation"] = "hard_sigmoid"
    layer = made(name, x, return_sequences=True, use_bias=False, **functions)
    outputs, initial = np.array(layer(x)), [np.zeros((BATCH, UNITS))] * 2
    tolerance = 1e-6 * max(1, np.abs(outputs).max())
    mode = {"relu": "rnn_relu"}.get(activation, "rnn") if name == "SimpleRNN" else MODES[name]
    check_steps(mode, outputs, x, initial, of_reference(layer), tolerance, **functions)


@pytest.mark.parametrize("name", LAYERS)
def test_weights(name, x):
    layer = made(name, x, quantized=False)
    before = arrays(layer)
    layer.quantize("int8")
    after = arrays(layer)
    matrices = [n for n in before if n != "bias"]
    assert set(after) == {"bias", *matrices, *(f"{n}_scale" for n in matrices)}
    np.testing.assert_array_equal(after["bias"], before["bias"])
    assert [w.name for w in layer.trainable_weights] == ["bias"]
    for n in matrices:
        integers, scales = reference.quantized_columns(before[n])
        np.testing.assert_array_equal(after[n], integers)
        np.testing.assert_allclose(after[f"{n}_scale"], scales, rtol=1e-6)
        assert after[n].dtype == np.int8 and after[f"{n}_scale"].dtype == np.float32


def test_column_of_zeros(x):
    """It has the scale 1: a division by 0 would give integers that no CPU has to agree on."""
    layer = made("LSTM", x, quantized=False)
    kernel = arrays(layer)["kernel"].copy()
    kernel[:, 3] = 0
    layer.cell.kernel.assign(kernel)
    layer.quantize("int8")
    assert not arrays(layer)["kernel"][:, 3].any() and arrays(layer)["kernel_scale"][3] == 1
    assert np.all(np.isfinite(layer(x)))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["kernel", "recurrent_kernel"])
def test_weights_that_are_not_finite(name, value, x):
    layer = made("GRU", x, quantized=False)
    weight = getattr(layer.cell, name)
    array = arrays(layer)[name].copy()
    array[1, 2] = value
    weight.assign(array)
    with pytest.raises(ValueError, match=f"^{name} of the layer 'gru.*' must be finite"):
        layer.quantize("int8")
    assert weight.dtype == "float32" and layer.quantization_mode is None


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "bfloat16"])
@pytest.mark.parametrize("name", all_but(LAYERS, "LSTM", "GRU", "projection"))
def test_bfloat16(name, policy, x):
    arguments = {"recurrent_initializer": "glorot_uniform", "return_sequences": True}
    layer = made(name, x, dtype=policy, **arguments)
    assert layer.dtype_policy.name == f"int8_from_{policy}"
    outputs = np.array(keras.ops.cast(layer(x), "float32"))
    wide = made(name, x, **arguments)
    for to, of in zip(wide.weights, layer.weights):
        to.assign(keras.ops.cast(of, to.dtype))
    rounded = np.array(tf.cast(tf.cast(x, tf.bfloat16), tf.float32))
    want = tf.cast(tf.cast(wide(rounded), tf.bfloat16), tf.float32)
    np.testing.assert_array_equal(outputs, want)


def test_policies(x):
    layer = made("LSTM", x)
    assert layer.dtype_policy == layer.cell.dtype_policy
    assert layer.dtype_policy.name == "int8_from_float32"
    with pytest.raises(NotImplementedError, match="compute in float32 or bfloat16, not in float64"):
        made("LSTM", x, dtype="float64")
    with pytest.raises(NotImplementedError, match="not in float16"):
        made("LSTM", x, dtype="mixed_float16")
    layer = made("LSTM", x, quantized=False)
    layer.dtype_policy = "int8_from_float32"  # as in Keras
    assert layer.cell.kernel.dtype == "int8"


@pytest.mark.parametrize("mode", ["int4", "float8"])
def test_other_modes(mode, x):
    layer = made("LSTM", x, quantized=False)
    sentence = f"^The layer 'lstm.*' cannot be quantized: .* 'int8', but mode is '{mode}'"
    with pytest.raises(NotImplementedError, match=sentence):
        layer.quantize(mode)
    model = keras.Sequential([layer, keras.layers.Dense(2)])
    before = model.predict(x, verbose=0)
    with pytest.warns(UserWarning, match=sentence):
        model.quantize(mode)
    assert layer.quantization_mode is None and model.layers[1].quantization_mode == mode
    assert before.shape == model.predict(x, verbose=0).shape


def test_unbuilt_or_twice(x):
    with pytest.raises(ValueError, match="must be built"):
        ours.LSTM(3).quantize("int8")
    layer = made("LSTM", x)
    with pytest.raises(ValueError, match="already quantized: .* 'int8_from_float32'"):
        layer.quantize("int8")
    with pytest.raises(ValueError, match="already quantized"):
        keras.Sequential([keras.Input((None, SIZE)), layer]).quantize("int8")


UNSUPPORTED = {
    "cell of class ZoneoutLSTMCell": lambda: ours.ZoneoutLSTM(3),
    "cell of class LayerNormLSTMCell": lambda: ours.LayerNormLSTM(3),
    "cell of class PeepholeLSTMCell": lambda: ours.PeepholeLSTM(3),
    "use_peepholes=True": lambda: ours.ProjectedLSTM(3, use_peepholes=True),
    "cell_clip=2.0": lambda: ours.ProjectedLSTM(3, cell_clip=2.0),
    "proj_clip=0.5": lambda: ours.ProjectedLSTM(3, num_proj=2, proj_clip=0.5),
    "activation=gelu": lambda: ours.LSTM(3, activation="gelu"),
    "stacks have float weights": lambda: ours.CudnnGRU(3),
}


@pytest.mark.parametrize("why", UNSUPPORTED)
def test_layers_without_int8(why, x):
    model = keras.Sequential([keras.Input((None, SIZE)), UNSUPPORTED[why]()])
    before = model.predict(x, verbose=0)
    with pytest.raises(NotImplementedError, match=why):
        model.layers[0].quantize("int8")
    # Keras asks the layers inside of a LayerNormLSTMCell rather than the cell.
    with pytest.warns(UserWarning, match=f"{why}|LayerNormalization does not have a `quantize`"):
        model.quantize("int8")
    np.testing.assert_array_equal(model.predict(x, verbose=0), before)


def test_configs_with_other_quantizers(x):
    layer = made("LSTM", x, quantized=False)
    config = keras.quantizers.Int8QuantizationConfig(activation_quantizer=None)
    with pytest.raises(NotImplementedError, match="only the default quantizers"):
        layer.quantize(config=config)
    layer.quantize(config=keras.quantizers.Int8QuantizationConfig())
    assert layer.quantization_mode == "int8"


# ---- What layers do besides ----


@pytest.mark.parametrize("name", all_but(LAYERS, "LSTM", "projection"))
def test_masks(name, x):
    """A sequence with masked steps gives what the sequence of its other steps gives."""
    layer = made(name, x, return_sequences=True, zero_output_for_mask=True)
    mask = np.array([[1] * 6, [1, 1, 0, 0, 0, 0], [0, 1, 0, 1, 1, 0], [0] * 6], bool)
    outputs = np.array(layer(x, mask=mask))
    for row, valid, output in zip(x, mask, outputs):
        assert not output[~valid].any()
        if valid.any():
            np.testing.assert_array_equal(output[valid], layer(row[valid][None])[0])


@pytest.mark.parametrize("name", all_but(LAYERS, "GRU", "projection"))
def test_backwards_and_states(name, x):
    layer = made(name, x, return_sequences=True, return_state=True)
    whole, *states = layer(x)
    first, *between = layer(x[:, :2])
    second, *last = layer(x[:, 2:], initial_state=between)
    np.testing.assert_array_equal(np.concatenate([first, second], 1), whole)
    for one, other in zip(last, states):
        np.testing.assert_array_equal(one, other)
    backwards = made(name, x, return_sequences=True, go_backwards=True)
    np.testing.assert_array_equal(backwards(x[:, ::-1]), whole)
    stateful = made(name, x, return_sequences=True, stateful=True)
    parts = [np.array(stateful(x[:, t : t + 3])) for t in (0, 3)]
    np.testing.assert_array_equal(np.concatenate(parts, 1), whole)


@pytest.mark.parametrize("name", all_but(LAYERS, "LSTM", "projection"))
def test_empty_calls(name, x):
    layer = made(name, x, return_sequences=True)
    size = layer(x).shape[-1]
    assert layer(x[:0]).shape == (0, STEPS, size)
    signature = [tf.TensorSpec([None, None, SIZE])]
    assert tf.function(layer, signature)(x[:, :0]).shape == (BATCH, 0, size)


def test_bidirectional(x):
    layer = keras.layers.Bidirectional(ours.LSTM(UNITS, return_sequences=True))
    model = keras.Sequential([keras.Input((None, SIZE)), layer])
    model.quantize("int8")
    forward, backward = layer.forward_layer, layer.backward_layer
    assert forward.quantization_mode == backward.quantization_mode == "int8"
    want = np.concatenate([forward(x), np.array(backward(x))[:, ::-1]], -1)
    np.testing.assert_array_equal(model(x), want)


def test_rnn_of_cells(x):
    cells = [keras.layers.LSTMCell(UNITS), keras.layers.GRUCell(3, reset_after=False)]
    layer = ours.RNN(cells)
    layer.build(x.shape)
    layers = [ours.LSTM(UNITS, return_sequences=True), ours.GRU(3, reset_after=False)]
    chain = keras.Sequential([keras.Input((None, SIZE)), *layers])
    chain.set_weights(layer.get_weights())
    for one in (keras.Sequential([keras.Input((None, SIZE)), layer]), chain):
        one.quantize("int8")
    assert {cell.quantization_mode for cell in layer.cell.cells} == {"int8"}
    np.testing.assert_array_equal(layer(x), chain(x))


@pytest.mark.parametrize(
    "filters", ["encoder", ["^enc", "nobody"], lambda layer: layer.name == "encoder"]
)
def test_filters(filters, x):
    model = keras.Sequential(
        [
            keras.Input((None, SIZE)),
            ours.LSTM(3, return_sequences=True, name="encoder"),
            ours.LSTM(3, name="decoder"),
        ]
    )
    model.quantize("int8", filters=filters)
    assert [layer.quantization_mode for layer in model.layers] == ["int8", None]
    with pytest.raises(ValueError, match="filters"):
        model.quantize("int8", filters=3)


def test_quantize_as_a_function_of_the_class():
    model = keras.Sequential([keras.Input((None, SIZE)), ours.LSTM(3)])
    keras.Model.quantize(self=model, mode="int8")
    assert model.layers[0].quantization_mode == "int8"


@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "bfloat16"])
def test_weights_are_packed_once(policy, use_bias, x, monkeypatch):
    packed = []

    def recorded(*, _op=raw_ops.PackQuantizedLayerRNN, **arguments):
        packed.append(_op(**arguments))
        return packed[-1]

    monkeypatch.setattr(raw_ops, "PackQuantizedLayerRNN", recorded)
    arguments = {"dtype": policy, "recurrent_initializer": "glorot_uniform"}
    for layer in (
        made("LSTM", x, use_bias=use_bias, **arguments),
        loaded_lstm(x, use_bias, policy),
    ):
        packed.clear()
        before = np.array(keras.ops.cast(layer(x), "float32"))
        layer(x)
        addresses = {np.frombuffer(memoryview(one), np.uint8).ctypes.data for one in packed}
        assert len(addresses) == 1
        notes = " ".join(ours.explain(layer, print_fn=None).notes)
        assert "int8" in notes and "again at each call" not in notes
        layer.cell.kernel.assign(-layer.cell.kernel.value)
        assert not np.array_equal(keras.ops.cast(layer(x), "float32"), before)


def loaded_lstm(x, use_bias, policy):
    """A layer that was made with int8 weights, as for a file."""
    layer = ours.LSTM(UNITS, use_bias=use_bias, dtype=f"int8_from_{policy}")
    layer.build(x.shape)
    layer.cell.kernel.assign(np.full(layer.cell.kernel.shape, 5))
    return layer


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_time_distributed(policy, rng):
    """One call of the op runs all slices, without TensorFlow's warning on a loop."""
    # WHY as many slices as sequences: Keras 3.15 confuses the two numbers if they are not known.
    x = rng.normal(size=(3, 3, STEPS, SIZE)).astype("float32")
    inner = made("LSTM", x[0], dtype=policy)
    # Keras calls the layer for each slice if the number of slices is known.
    signature = [tf.TensorSpec([None, None, STEPS, SIZE])]
    function = tf.function(keras.layers.TimeDistributed(inner), signature)
    with loops.warned() as warnings:
        found = function(x)
    assert not warnings
    want = np.stack([keras.ops.cast(inner(x[:, k]), "float32") for k in range(3)], 1)
    np.testing.assert_array_equal(keras.ops.cast(found, "float32"), want)


# ---- Where the op cannot run ----


@pytest.mark.parametrize("name", LAYERS)
def test_results_of_every_path(name, x, rng, monkeypatch):
    layer = made(name, x, return_sequences=True)
    initial = [rng.normal(size=(BATCH, size)).astype("float32") for size in layer.state_size]

    def run(x):
        return layer(x, initial_state=initial)

    outputs = {"op": np.array(run(x))}
    outputs["XLA"] = np.array(tf.function(run, jit_compile=True)(tf.constant(x)))
    layer.unroll = True
    outputs["unrolled"] = np.array(run(x))
    layer.unroll = False
    with monkeypatch.context() as patch:
        patch.setattr(loader, "unavailable", lambda: "hidden")
        outputs["no library"] = np.array(run(x))
    for found in outputs.values():
        check_steps(MODES[name], found, x, initial, of_reference(layer), tolerance=2e-6)


@pytest.mark.parametrize("name", all_but(["LSTM", "GRU", "SimpleRNN"], "GRU"))
def test_gpu_runs_dequantized_weights(name, x, gpu_in_sight, op_calls):
    layer = made(name, x)
    found = np.array(layer(x))
    assert op_calls == ["CudnnRNNV3"]
    dequantize(layer)
    assert layer.quantization_mode is None
    np.testing.assert_allclose(found, layer(x), atol=1e-6)


def test_xla_leaves_out_int8(x):
    model = keras.Sequential([keras.Input((None, SIZE)), LAYERS["LSTM"](), keras.layers.Dense(1)])
    model.quantize("int8")
    assert model.layers[0].supports_jit is False
    with pytest.warns(UserWarning, match="jit_compile"):
        model.compile("sgd", "mse", jit_compile=True)
    assert not model.jit_compile
    assert ours.explain(model, print_fn=None)[0].path == "fused"


# ---- Training ----


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("name", all_but(LAYERS, "LSTM", "GRU reset before", "projection"))
def test_gradients_in_training(name, dtype, x):
    """The gradients are of the compute type, as those of the layer with float weights."""
    layer, wide = made(name, x, dtype=dtype), made(name, x, dtype=dtype)
    dequantize(wide)
    inputs = tf.constant(x, layer.compute_dtype)
    found = []
    for one in (layer, wide):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = one(inputs, training=True)
            loss = tf.reduce_sum(outputs**2)
        found.append([outputs, *tape.gradient(loss, [inputs, one.cell.bias.value])])
    assert [t.dtype for t in found[0]] == [inputs.dtype, inputs.dtype, tf.float32]
    tolerance = 1e-6 if dtype == "float32" else 0
    for one, other in zip(*(keras.tree.map_structure(np.float32, pair) for pair in found)):
        np.testing.assert_allclose(one, other, rtol=10 * tolerance, atol=tolerance)
    layer.unroll = wide.unroll = True
    assert layer(x, training=True).dtype == wide(x, training=True).dtype == inputs.dtype


def test_fit_trains_biases_only(x):
    model = keras.Sequential([keras.Input((None, SIZE)), LAYERS["LSTM"](), keras.layers.Dense(1)])
    model.layers[0].quantize("int8")
    before = arrays(model.layers[0])
    model.compile("sgd", "mse")
    model.fit(x, np.ones((BATCH, 1)), verbose=0)
    after = arrays(model.layers[0])
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    assert changed == {"bias"}


@pytest.mark.parametrize("implementation", [1, 2])
def test_dropout_on_other_paths(implementation, x):
    layer = made("LSTM", x, dropout=0.5, implementation=implementation, seed=3)
    wide = made("LSTM", x, dropout=0.5, implementation=implementation, seed=3)
    dequantize(wide)
    for one in (layer, wide):
        one.unroll = True
    np.testing.assert_allclose(layer(x, training=True), wide(x, training=True), atol=1e-6)


def test_inference_has_no_gradient(x, monkeypatch):
    layer = made("LSTM", x)
    inputs = tf.Variable(x)
    for unavailable in (loader.unavailable, lambda: "hidden"):
        monkeypatch.setattr(loader, "unavailable", unavailable)
        with pytest.raises(LookupError, match="int8 weights has no gradient.*training=True"):
            with tf.GradientTape() as tape:
                y = layer(inputs)
            tape.gradient(y, inputs)
