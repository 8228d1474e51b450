"""Steppers of windows: a model that needs the whole sequence, next to the model."""

import copy
import pickle
import subprocess
import sys
import threading

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras as rnn
from stepper.step_models import SEQUENCES, SIZE, chain
from stepper.window_models import Drawing
from support.models import drawn
from support.selection import all_but
from tf_rnn_ops import stepper as steppers
from tf_rnn_ops._commands import export as export_command
from tf_rnn_ops._commands import info as info_command

L = keras.layers
TIME = 5
MODELS = 60


def of(layers, *shape, dtype="float32"):
    """A model of windows with random weights, of a function of its input."""
    x = keras.Input(shape or (TIME, SIZE), name="x", dtype=dtype)
    return drawn(keras.Model(x, layers(x)))


def windows_of(model, batch=2, seed=1):
    """Random windows, of which the last one is short: zeros follow."""
    rng = np.random.default_rng(seed)
    shape = (batch, *model.inputs[0].shape[1:])
    x = rng.standard_normal(shape).astype(np.float32)
    if model.inputs[0].dtype != "float32" or len(shape) == 2:
        x = rng.integers(1, 7, shape).astype(model.inputs[0].dtype)
    x[-1, 2:] = 0
    return x


def check(model, x=None, tolerance=2e-6):
    """Compares a stepper with the model, in two calls."""
    x = windows_of(model) if x is None else x
    want = model(x)
    stepper = rnn.stepper(model, batch_size=len(x), streaming=False)
    names = [tensor.name for tensor in stepper.outputs]
    want = dict(want) if isinstance(want, dict) else dict(zip(names, keras.tree.flatten(want)))
    for _ in range(2):
        got = stepper(x)
        got = got if isinstance(got, dict) else {names[0]: got}
        assert got.keys() == want.keys()
        for name, array in want.items():
            array = np.asarray(array)
            assert got[name].shape == array.shape
            scale = max(1.0, np.abs(np.nan_to_num(array)).max())
            np.testing.assert_allclose(got[name], array, rtol=0, atol=tolerance * scale)
    return stepper


@pytest.fixture(scope="module")
def model():
    def layers(x):
        y = L.Bidirectional(L.LSTM(5, name="lstm", **SEQUENCES))(x)
        return L.Dense(2)(L.GlobalMaxPooling1D()(y))

    return of(layers)


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("windows") / "model.rnn"
    rnn.stepper(model, streaming=False).save(path, metadata={"kind": "window"})
    return path


@pytest.mark.parametrize("seed", all_but(range(MODELS), *range(5)))
def test_random_models(seed):
    drawing = Drawing(seed)
    check(drawing.model, drawing.batch, tolerance=3e-6)


def states_of_both(x):
    layer = L.Bidirectional(L.LSTM(4, return_state=True, **SEQUENCES))
    y, *states = layer(x)
    again = L.Bidirectional(L.LSTM(4))(y, initial_state=states)
    return {"y": y, "again": again} | {f"state_{k}": state for k, state in enumerate(states)}


def encoder_and_decoder(x):
    y, h, c = L.LSTM(4, return_state=True)(x)
    y = L.LSTM(4, **SEQUENCES)(L.RepeatVector(7)(y), initial_state=[h, c])
    return L.TimeDistributed(L.Dense(SIZE))(y)


def states_of_masked(x):
    y = L.Masking()(x)
    both = L.Bidirectional(L.LSTM(4, return_state=True), merge_mode="sum")
    parts = [*both(y), *L.GRU(3, return_state=True, go_backwards=True)(y)]
    parts += [L.Flatten()(one) for one in rnn.CudnnLSTM(4, num_layers=2, return_state=True)(y)]
    return L.Concatenate()(parts)


def operations(x):
    y = L.GRU(4, **SEQUENCES)(x)
    parts = [
        keras.ops.mean(y, axis=1),
        keras.ops.max(y, axis=1),
        y[:, -1],
        y[:, 0, :],
        L.Flatten()(y[:, 1:3]),
        L.Flatten()(y[:, -2:]),
        L.Flatten()(keras.ops.max(y, axis=-2, keepdims=True)),
    ]
    return L.Concatenate()(parts)


MODELS_OF_LAYERS = {
    "operations": operations,
    "both, not merged": lambda x: L.Bidirectional(L.GRU(4, **SEQUENCES), merge_mode=None)(x),
    "both, of zeros for masked steps": lambda x: L.Bidirectional(L.GRU(4, **SEQUENCES))(
        L.Masking()(x)
    ),
    "states of both": states_of_both,
    "states of masked layers": states_of_masked,
    "stack in both, masked": lambda x: rnn.CudnnLSTM(
        4, num_layers=2, direction="bidirectional", **SEQUENCES
    )(L.Masking()(x)),
    "last of a stack in both, masked": lambda x: rnn.CudnnGRU(4, direction="bidirectional")(
        L.Masking()(x)
    ),
    "cells in a row, masked": lambda x: L.RNN([L.LSTMCell(4), L.GRUCell(3)], **SEQUENCES)(
        L.Masking()(x)
    ),
    "encoder and decoder": encoder_and_decoder,
    "backwards": lambda x: L.LSTM(4, go_backwards=True, **SEQUENCES)(x),
    "backwards, masked": lambda x: L.LSTM(4, go_backwards=True)(L.Masking()(x)),
    "reversed": lambda x: rnn.Reversed(rnn.GRU(4, go_backwards=True, **SEQUENCES))(x),
    "several cells": lambda x: L.Bidirectional(
        L.RNN([L.LSTMCell(4), rnn.PeepholeLSTMCell(3)], **SEQUENCES)
    )(x),
    "stack": lambda x: rnn.CudnnLSTM(4, num_layers=2, **SEQUENCES)(L.Masking()(x)),
    "stack in both": lambda x: rnn.CudnnLSTM(
        4, num_layers=2, num_proj=2, direction="bidirectional", **SEQUENCES
    )(x),
    "last of a stack in both": lambda x: rnn.CudnnGRU(4, num_layers=2, direction="bidirectional")(
        x
    ),
    "both of a stack": lambda x: L.Bidirectional(rnn.CudnnGRU(4, **SEQUENCES))(L.Masking()(x)),
    "projected": lambda x: L.Bidirectional(rnn.ProjectedLSTM(5, num_proj=2, **SEQUENCES))(x),
    "layer norm": lambda x: L.Bidirectional(rnn.LayerNormLSTM(5))(x),
    "zeros for masked steps": lambda x: L.LSTM(5, zero_output_for_mask=True, **SEQUENCES)(
        L.Masking()(x)
    ),
    "last step of zeros for masked steps": lambda x: L.LSTM(5, zero_output_for_mask=True)(
        L.Masking()(x)
    ),
    # Keras passes on no mask then.
    "a mask and initial states": lambda x: L.GRU(4, **SEQUENCES)(
        L.Masking()(x), initial_state=L.Dense(4)(x[:, 0])
    ),
    "a mask beside an input without one": lambda x: L.GRU(3)(
        L.Concatenate()([L.Masking()(x), L.Dense(2)(x)])
    ),
    "mask of a sum": lambda x: L.GRU(4)(
        L.Add()([y := L.Masking()(x), L.GRU(SIZE, **SEQUENCES)(y)])
    ),
    "up and cropped": lambda x: L.Cropping1D((1, 2))(L.UpSampling1D(2)(L.GRU(3, **SEQUENCES)(x))),
    "joined in time": lambda x: L.GRU(2)(L.Concatenate(axis=1)([x, L.GRU(SIZE, **SEQUENCES)(x)])),
    "no recurrent layer": lambda x: L.Dense(3)(L.Flatten()(L.Conv1D(4, 3, padding="same")(x))),
    "kept dims": lambda x: L.GlobalAveragePooling1D(keepdims=True)(x),
    "groups": lambda x: L.Conv1D(6, 3, padding="same", groups=3)(x),
    "each channel": lambda x: L.DepthwiseConv1D(3, depth_multiplier=2, strides=2, padding="same")(
        x
    ),
    "separable": lambda x: L.SeparableConv1D(4, 3, depth_multiplier=2, activation="relu")(x),
    "other steps": lambda x: L.LSTM(2)(L.Reshape((SIZE, TIME))(x)),
    "noise": lambda x: L.GRU(3)(L.SpatialDropout1D(0.3)(L.GaussianNoise(0.1)(x))),
    "dilated": lambda x: L.Conv1D(4, 2, padding="causal", dilation_rate=2)(x),
}


USUAL = (
    "operations",
    "last step of zeros for masked steps",
    "a mask and initial states",
    "last of a stack in both",
    "both of a stack",
    "joined in time",
    "groups",
)


@pytest.mark.parametrize("name", all_but(MODELS_OF_LAYERS, *USUAL))
def test_layers(name):
    check(of(MODELS_OF_LAYERS[name]))


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_words_with_a_mask(dtype):
    def layers(x):
        y = L.Bidirectional(L.LSTM(4))(L.Embedding(7, 3, mask_zero=True)(x))
        return L.Dense(2)(y)

    check(of(layers, TIME, dtype=dtype))


def test_int8():
    model = of(lambda x: L.Dense(3)(L.Bidirectional(L.LSTM(40, **SEQUENCES))(x)))
    check(rnn.convert(model, quantize="int8"))


def test_a_class_of_a_user():
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.masking, self.both = L.Masking(), L.Bidirectional(L.GRU(4, **SEQUENCES))
            self.pool = L.GlobalAveragePooling1D()

        def call(self, x):
            return self.pool(self.both(self.masking(x)))

    own = Own()
    x = np.ones((2, TIME, SIZE), np.float32)
    x[1, 2:] = 0
    want = own(x)
    stepper = rnn.stepper(own, batch_size=2, streaming=False)  # of the steps of the first batch
    assert stepper.time == TIME
    np.testing.assert_allclose(stepper(x), want, atol=2e-6)


def test_the_number_of_steps():
    inputs = keras.Input((None, SIZE), name="x")
    model = keras.Model(inputs, L.Bidirectional(L.LSTM(3))(inputs))
    with pytest.raises(ValueError, match=r"known sizes, but the input 'x' has .*time"):
        rnn.stepper(model, streaming=False)
    stepper = rnn.stepper(model, batch_size=2, time=4, streaming=False)
    assert (stepper.time, stepper.streaming, stepper.batch_size) == (4, False, 2)
    assert stepper.inputs[0].shape == (2, 4, SIZE) and not stepper.inputs[0].has_time
    x = np.random.default_rng(0).standard_normal((2, 4, SIZE)).astype(np.float32)
    np.testing.assert_allclose(stepper(x), model(x), atol=2e-6)
    with pytest.raises(ValueError, match=r"\[2, 4, 3\].*\[2, 3, 3\]"):
        stepper(x[:, :3])
    content = stepper.__getstate__()["content"]
    with pytest.raises(ValueError, match="time must be 4, which the file fixes, but it is 5"):
        steppers.Stepper(content, time=5)
    assert steppers.Stepper(content, batch_size=3, time=4).batch_size == 3
    assert not steppers.Stepper(content).streaming
    with pytest.raises(ValueError, match="streaming must be True or False, but it is 1"):
        rnn.stepper(model, streaming=1)
    fixed = of(lambda x: L.Flatten()(L.GRU(2, **SEQUENCES)(x)))
    assert rnn.stepper(fixed, time=TIME, streaming=False).time == TIME


def test_functions_of_states(model):
    stepper = rnn.stepper(model, batch_size=3, streaming=False)
    x = windows_of(model, batch=3)
    want = stepper(x)
    assert dict(stepper.states) == {} and dict(stepper.get_row(1)) == {}
    stepper.states = {}
    stepper.set_row(0, {})
    stepper.reset()
    stepper.reset([1])
    np.testing.assert_array_equal(stepper(x), want)
    with pytest.raises(ValueError, match="the states are"):
        stepper.states = {"lstm_h": want}
    idle = stepper(x, idle=[1])
    np.testing.assert_array_equal(idle[[0, 2]], want[[0, 2]])
    assert not idle[1].any()
    with pytest.raises(ValueError, match="last_step must be 0 for a model of windows"):
        stepper(x, last_step=True)
    out = np.empty_like(want)
    assert stepper(x, out=out) is out
    np.testing.assert_array_equal(out, want)
    assert repr(stepper).endswith("(output_0: [3, 2]), windows>")


def test_copies_clones_and_threads(model):
    stepper = rnn.stepper(model, streaming=False)
    x = windows_of(model, batch=8, seed=3)
    want = [stepper(x[k : k + 1]) for k in range(8)]
    for other in (copy.copy(stepper), pickle.loads(pickle.dumps(stepper)), stepper.clone()):
        assert not other.streaming
        np.testing.assert_array_equal(other(x[:1]), want[0])
    wrong = []

    def call(k):
        with stepper.clone() as mine:
            for _ in range(50):
                if not np.array_equal(mine(x[k : k + 1]), want[k]):
                    wrong.append(k)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_update(path, tmp_path):
    def layers(x):
        y = L.Bidirectional(L.LSTM(5, **SEQUENCES))(x)
        return L.Dense(2)(L.GlobalMaxPooling1D()(y))

    other = of(layers, None, SIZE)  # of any number of steps
    other.set_weights([2 * weight for weight in other.get_weights()])
    x = windows_of(of(layers))
    stepper = steppers.load(path, batch_size=2)
    clone, before = stepper.clone(), stepper.fingerprint
    assert stepper.metadata == {"kind": "window"} and before
    for source in (other, rnn.stepper(other, time=TIME, streaming=False)):
        stepper.update(path)
        assert stepper.fingerprint == before
        stepper.update(source)
        assert stepper.fingerprint != before and stepper.metadata == {}
        np.testing.assert_allclose(clone(x), other(x), atol=2e-6)
    stepper.save(tmp_path / "updated.rnn")
    np.testing.assert_array_equal(steppers.load(tmp_path / "updated.rnn", 2)(x), clone(x))
    streaming = chain(L.LSTM(5, **SEQUENCES))
    with pytest.raises(ValueError, match="must be one of windows, but it is one of a stream"):
        stepper.update(rnn.stepper(streaming))
    with pytest.raises(ValueError, match="must be one of a stream, but it is one of windows"):
        rnn.stepper(streaming).update(path)
    with pytest.raises(ValueError, match="must have the outputs"):
        stepper.update(of(lambda x: L.GRU(3)(x)))
    np.testing.assert_allclose(clone(x), other(x), atol=2e-6)


def test_a_file_without_tensorflow(model, path, tmp_path):
    x = windows_of(model)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", np.asarray(model(x)))
    code = (
        "import sys\n"
        "sys.modules['tensorflow'] = sys.modules['keras'] = None\n"
        "import numpy as np\n"
        "from tf_rnn_ops import stepper\n"
        "x, y = (np.load(name) for name in sys.argv[2:])\n"
        "s = stepper.load(sys.argv[1], batch_size=len(x))\n"
        "np.testing.assert_allclose(s(x), y, atol=2e-6)\n"
    )
    arrays = [str(tmp_path / name) for name in ("x.npy", "y.npy")]
    command = [sys.executable, "-W", "error", "-c", code, str(path), *arrays]
    subprocess.run(command, check=True)


def test_an_export(model, tmp_path, capsys):
    report = rnn.export(model, tmp_path / "m.rnn", print_fn=None)
    assert report.difference < 1e-5 and report.note == ""
    assert [layer.target_op for layer in report.layers] == ["rnn", "rnn"]
    loaded = steppers.load(tmp_path / "m.rnn")
    assert not loaded.streaming and loaded.time == TIME
    inputs = keras.Input((None,), name="words", dtype="int32")
    masked = L.GlobalAveragePooling1D()(
        L.GRU(3, **SEQUENCES)(L.Embedding(9, 4, mask_zero=True)(inputs))
    )
    of_words = drawn(keras.Model(inputs, masked))
    with pytest.raises(ValueError, match="known sizes"):
        rnn.export(of_words, tmp_path / "w.rnn", print_fn=None)
    of_words.save(tmp_path / "words.keras")
    arguments = [str(tmp_path / "words.keras"), str(tmp_path / "w.rnn"), "--time", "6"]
    assert export_command.main(arguments) == 0
    assert steppers.load(tmp_path / "w.rnn").inputs[0].shape == (1, 6)
    capsys.readouterr()
    assert info_command.main([str(tmp_path / "w.rnn")]) == 0
    assert "T, the steps of a window" in capsys.readouterr().out


def test_an_update_with_the_names_of_other_values(tmp_path):
    def named(of_input, of_layer):
        x = keras.Input((6,), name=of_input, dtype="int32")
        y = L.Embedding(5, 2, mask_zero=True, name=of_layer)(x)
        return drawn(keras.Model(x, L.Dense(1)(L.Bidirectional(L.GRU(3))(y))))

    stepper, other = rnn.stepper(named("a", "b"), streaming=False), named("b", "a")
    stepper.update(other)
    stepper.save(tmp_path / "model.rnn")
    words = np.array([[1, 2, 3, 0, 0, 0]], np.int32)
    for one in (stepper, steppers.load(tmp_path / "model.rnn")):
        assert one.inputs[0].name == "a"
        np.testing.assert_allclose(one(words), other(words), atol=2e-6)
        with pytest.raises(ValueError, match="The mask of 'a' must have valid steps first"):
            one(words[:, ::-1])


def test_a_mask_with_a_hole_is_an_error_of_the_call():
    model = of(
        lambda x: L.GRU(3)(L.Embedding(7, 3, mask_zero=True, name="words")(x)), TIME, dtype="int32"
    )
    stepper = rnn.stepper(model, batch_size=2, streaming=False)
    stepper(np.array([[1, 2, 0, 0, 0], [0, 0, 0, 0, 0]], np.int32))
    with pytest.raises(ValueError, match="valid steps first.*row 1.*valid step 2"):
        stepper(np.array([[1, 2, 0, 0, 0], [1, 0, 3, 0, 0]], np.int32))


def _with_mask(make):
    return lambda x: make(L.Masking(name="masking")(x))


class OwnGru(L.GRU):
    def call(self, sequences, initial_state=None, mask=None, training=False):
        return 2 * super().call(sequences, initial_state, mask, training)


REFUSED = {
    "backwards and masked": (
        _with_mask(lambda x: L.LSTM(4, go_backwards=True, name="named", **SEQUENCES)(x)),
        "'named'.*backwards, and has a mask",
    ),
    "own call": (lambda x: OwnGru(4, name="named")(x), "'named'.*OwnGru"),
    "masks of two sequences": (
        lambda x: L.GRU(2, name="named")(L.Add()([L.Masking(0.0)(x), L.Masking(1.0)(x)])),
        "'named'.*mask is that of several sequences",
    ),
    "masks joined in time": (
        _with_mask(lambda x: L.GRU(2, name="named")(L.Concatenate(axis=1)([x, x]))),
        "'named'.*mask is that of several sequences",
    ),
    "mask of NaN": (
        lambda x: L.GRU(2)(L.Masking(float("nan"), name="named")(x)),
        "'named'.*mask_value nan",
    ),
    "computed mask": (
        lambda x: L.GRU(2, name="named")(x, mask=keras.ops.less(x[:, :, 0], 0.5)),
        "'named'.*mask is computed by the model",
    ),
    "lengths": (
        lambda x: rnn.CudnnGRU(2, name="named")(x, sequence_lengths=np.full((2,), 3)),
        "'named'",
    ),
    "channels first": (
        lambda x: L.GlobalMaxPooling1D(data_format="channels_first", name="named")(x),
        "'named'.*channels_first",
    ),
    "steps apart": (lambda x: x[:, ::2], "StridedSlice"),
    "no steps": (lambda x: x[:, :, 1:], "StridedSlice"),
    "mean of features": (lambda x: keras.ops.mean(x, axis=2), "Mean"),
    "other axis": (lambda x: L.Softmax(axis=1, name="named")(x), "'named'.*axis=1"),
    "no node": (lambda x: L.UnitNormalization(name="named")(x), "'named'"),
    "no node of a mask": (_with_mask(lambda x: L.Maximum(name="named")([x, x])), "'named'.*mask"),
}


@pytest.mark.parametrize(
    "name",
    all_but(REFUSED, "own call", "computed mask", "masks joined in time"),
)
def test_what_a_window_cannot_run_is_an_error_that_names_it(name):
    layers, message = REFUSED[name]
    with pytest.raises(ValueError, match=message) as caught:
        rnn.stepper(of(layers), batch_size=2, streaming=False)
    assert "streaming=False" not in str(caught.value)


def test_a_stateful_layer_is_an_error():
    x = keras.Input(batch_shape=(2, TIME, SIZE))
    model = keras.Model(x, L.GRU(2, stateful=True, name="named")(x))
    with pytest.raises(ValueError, match="'named'.*stateful"):
        rnn.stepper(model, streaming=False)


NEEDS_A_WINDOW = {
    "both": lambda x: L.Bidirectional(L.LSTM(2, **SEQUENCES))(x),
    "pool": lambda x: L.GlobalAveragePooling1D()(L.LSTM(2, **SEQUENCES)(x)),
    "same": lambda x: L.LSTM(2)(L.Conv1D(2, 3, padding="same")(x)),
    "repeat": lambda x: L.LSTM(2, **SEQUENCES)(L.RepeatVector(3)(L.LSTM(2)(x))),
    "flatten": lambda x: L.Flatten()(L.LSTM(2, **SEQUENCES)(x)),
    "mask": lambda x: L.LSTM(2)(L.Masking()(x)),
    "no state": lambda x: L.Dense(2)(L.Flatten()(x)),
}


@pytest.mark.parametrize("name", all_but(NEEDS_A_WINDOW, "both", "repeat", "mask"))
def test_a_stream_that_needs_a_window_says_so(name):
    model = of(NEEDS_A_WINDOW[name])
    with pytest.raises(ValueError, match="streaming=False"):
        rnn.stepper(model)
    check(model)
