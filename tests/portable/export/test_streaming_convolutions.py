"""Streams through causal convolutions, against Keras on the whole sequence."""

import itertools

import keras
import numpy as np
import pytest
from stream_cases import FILES, model_of, outputs_of_file, sequence

import tf_rnn_ops.keras as rnn
from support.models import drawn
from support.selection import all_but
from tf_rnn_ops._formats import formats
from tf_rnn_ops.keras._export.check import feeds

SIZE, TIME = 6, 12
ALL = {"tf_saved_model": "m", **FILES}


def causal(filters, kernel_size, **options):
    return keras.layers.Conv1D(filters, kernel_size, padding="causal", **options)


def keyword_spotter(x):
    x = causal(8, 3, name="conv")(x)
    x = keras.layers.ReLU()(keras.layers.BatchNormalization()(x))
    return keras.layers.Dense(3)(keras.layers.GRU(4, return_sequences=True)(x))


def dilated(x):
    """A network without recurrent layers, whose kernels reach back over several calls."""
    y = causal(6, 3, activation="relu", name="conv")(x)
    z = causal(6, 2, dilation_rate=4)(y)
    return keras.layers.Dense(2)(keras.layers.Add()([y, causal(6, 3, dilation_rate=2)(z)]))


def in_groups(x):
    x = causal(8, 5, groups=2, use_bias=False, name="conv")(x)
    x = causal(8, 1, strides=1)(x)
    return keras.layers.SimpleRNN(3, return_sequences=True)(x)


def nested(x):
    inner = keras.Sequential([keras.Input((None, SIZE)), causal(4, 4, name="conv")])
    return keras.layers.LSTM(3, return_sequences=True)(inner(x))


MODELS = {"keyword_spotter": 2, "dilated": 2, "in_groups": 4, "nested": 3}


USUAL = [
    ("keyword_spotter", "tf_saved_model", 3),
    ("dilated", "openvino", 1),
    ("in_groups", "onnx", 3),
    ("nested", "litert", 1),
]


@pytest.mark.parametrize(
    "case", all_but(list(itertools.product(MODELS, ALL, [1, 3])), *USUAL), ids=str
)
def test_steps_equal_the_whole_sequence(case, tmp_path):
    name, format, steps = case
    model = model_of(globals()[name], SIZE)
    path = tmp_path / ALL[format]
    options = {"batch_size": 1, "time": steps, "streaming": True, "print_fn": None}
    report = rnn.export(model, path, format, **options)
    assert report.difference < 1e-5 and not report.note
    x, want = sequence(1, TIME, SIZE), None
    want = np.asarray(model(x))
    if format == "tf_saved_model":
        got = of_saved_model(path, x, steps, memory=MODELS[name])
    else:
        got = outputs_of_file(path, steps, {"x": x})["output_0"]
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5)


def of_saved_model(path, x, steps, memory):
    call = formats.writer("tf_saved_model").load(str(path))
    import tensorflow as tf

    function = tf.saved_model.load(str(path)).signatures["serving_default"]
    shapes = {n: s.shape.as_list() for n, s in function.structured_input_signature[1].items()}
    assert shapes["conv_x"] == [1, memory, SIZE]
    states = {n: np.zeros(s, np.float32) for n, s in shapes.items() if n != "x"}
    found = []
    for begin in range(0, TIME, steps):
        results = call({"x": x[:, begin : begin + steps], **states})
        states = {name: results[f"{name}_next"] for name in states}
        found.append(results["output_0"])
    return np.concatenate(found, 1)


@pytest.mark.parametrize("policy", ["mixed_float16", "float64"])
def test_types(policy, tmp_path):
    import tensorflow as tf

    keras.config.set_dtype_policy(policy)
    try:
        model = model_of(keyword_spotter, SIZE)
    finally:
        keras.config.set_dtype_policy("float32")
    rnn.export(model, tmp_path / "m", streaming=True, time=2, print_fn=None)
    # A state that is not cast differs by less than the allowed difference.
    function = tf.saved_model.load(str(tmp_path / "m")).signatures["serving_default"]
    inputs, outputs = function.structured_input_signature[1], function.structured_outputs
    states = inputs.keys() - {"x"}
    assert len(states) == 2
    for name in states:
        types = {inputs[name].dtype.name, outputs[f"{name}_next"].dtype.name}
        assert types == {policy.removeprefix("mixed_")}


def test_a_model_of_a_class_of_its_own(tmp_path):
    @keras.saving.register_keras_serializable("of_this_test")
    class Spotter(keras.Model):
        def __init__(self, **options):
            super().__init__(**options)
            self.parts = [causal(4, 3), keras.layers.GRU(3, return_sequences=True)]

        def build(self, shape):
            for part in self.parts:
                part.build(shape)
                shape = part.compute_output_shape(shape)

        def call(self, x):
            for part in self.parts:
                x = part(x)
            return x

    model = Spotter()
    model(sequence(2, 5, SIZE))
    signature = [keras.InputSpec(shape=(None, None, SIZE), dtype="float32", name="x")]
    options = {"input_signature": signature, "streaming": True, "print_fn": None}
    report = rnn.export(drawn(model), tmp_path / "m", time=3, **options)
    assert 0 < report.difference < 1e-5 and not report.note


def test_keras_ignores_a_mask_here(tmp_path):
    """A Conv1D drops the mask, so the GRU behind it has none."""

    def layers(x):
        x = causal(4, 3)(keras.layers.Masking()(x))
        return keras.layers.GRU(3, return_sequences=True)(x)

    with pytest.warns(UserWarning, match="destroy the mask"):
        model = model_of(layers, SIZE)
        rnn.export(model, tmp_path / "m", streaming=True, print_fn=None)


def gru(x):
    return keras.layers.GRU(3, return_sequences=True)(x)


REFUSED = {
    "same": (
        lambda x: keras.layers.Conv1D(4, 3, padding="same", name="culprit")(x),
        "padding='causal'",
    ),
    "valid": (lambda x: keras.layers.Conv1D(4, 3, name="culprit")(x), "padding='causal'"),
    "strides": (lambda x: causal(4, 3, strides=2, name="culprit")(x), "give it strides=1"),
    "separable": (
        lambda x: keras.layers.SeparableConv1D(4, 3, name="culprit")(x),
        "SeparableConv1D",
    ),
    "depthwise": (lambda x: keras.layers.DepthwiseConv1D(3, name="culprit")(x), "DepthwiseConv1D"),
    "groups": (
        lambda x: keras.layers.GroupNormalization(2, name="culprit")(x),
        "GroupNormalization",
    ),
    "axis": (lambda x: keras.layers.Softmax(axis=1, name="culprit")(x), "Softmax"),
    "twice": (lambda x: (c := causal(SIZE, 3, name="culprit"))(c(x)), "is called more than once"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("time", [None, 8])
def test_layers_that_cannot_stream(name, time, tmp_path):
    layers, why = REFUSED[name]
    model = model_of(lambda x: gru(layers(x)), SIZE, time=time)
    with pytest.raises(ValueError, match=f"'culprit'.*{why}") as caught:
        rnn.export(model, tmp_path / "m", streaming=True, verify=False, print_fn=None)
    assert len(str(caught.value).splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_channels_first(tmp_path):
    def layers(x):
        x = keras.layers.Permute((2, 1))(x)
        x = causal(4, 3, data_format="channels_first", name="culprit")(x)
        return gru(keras.layers.Permute((2, 1))(x))

    model = model_of(layers, SIZE)
    with pytest.raises(ValueError, match="'culprit'.*data_format='channels_last'"):
        rnn.export(model, tmp_path / "m", streaming=True, verify=False, print_fn=None)


def test_convolutions_in_groups_without_a_stream(tmp_path):
    """Keras compiles them by XLA, which tf2onnx does not convert."""
    model = model_of(lambda x: gru(keras.layers.Conv1D(4, 3, groups=2)(x)), SIZE)
    report = rnn.export(model, tmp_path / "m.onnx", print_fn=None)
    assert report.difference > 0


@pytest.mark.parametrize("layers", [keyword_spotter, dilated])
def test_a_known_number_of_steps_is_checked_over_several_calls(layers, tmp_path, monkeypatch):
    model = model_of(layers, SIZE, time=3)
    report = rnn.export(model, tmp_path / "m", streaming=True, print_fn=None)
    assert not report.note
    feed = feeds.Steps._feed
    monkeypatch.setattr(
        feeds.Steps, "_feed", lambda self, k, _: feed(self, k, self._initial_states())
    )
    with pytest.raises(ValueError, match="The file and the model have different results"):
        rnn.export(model, tmp_path / "n", streaming=True, print_fn=None)


class Doubled(keras.layers.Conv1D):
    def call(self, inputs):
        return 2 * super().call(inputs)


def test_a_convolution_with_a_method_of_its_own_is_rejected(tmp_path):
    def layers(x):
        y = Doubled(4, 3, padding="causal", name="culprit")(x)
        return keras.layers.GRU(3, return_sequences=True)(y)

    with pytest.raises(ValueError, match="'culprit' cannot stream.* Doubled has a method `call`"):
        rnn.export(model_of(layers, 4), tmp_path / "m", streaming=True, verify=False, print_fn=None)
