"""compare: a model on Keras's layers and on our layers, and its command."""

import io
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras
from tf_rnn_ops._commands import compare as command
from tf_rnn_ops._comparison.differences import largest_difference
from tf_rnn_ops.keras import compare
from tf_rnn_ops.keras._report import compare as tool
from tf_rnn_ops.keras._report import one_batch, progress, timing


@pytest.fixture
def model():
    inputs = keras.Input((None, 3))
    x = keras.layers.Bidirectional(keras.layers.LSTM(4, return_sequences=True))(inputs)
    x = keras.layers.GRU(4, name="gru")(x)
    model = keras.Model(inputs, keras.layers.Dense(2, activation="softmax")(x))
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


@pytest.fixture
def x(rng):
    return rng.standard_normal((2, 5, 3)).astype(np.float32)


def test_times_outputs_and_paths(model, x, capsys):
    before = [w.copy() for w in model.get_weights()]
    found = compare(model, x, np.zeros(2, "int32"), repeats=3)
    assert [t.name for t in found.timings] == ["inference", "training step"]
    assert all(t.keras_ms > 0 and t.ours_ms > 0 for t in found.timings)
    assert found.timings[0].ratio == found.timings[0].keras_ms / found.timings[0].ours_ms
    assert all(0 < t.low <= t.high for t in found.timings)
    assert 0 <= found.difference < 1e-6 < found.largest <= 1
    assert [row.path for row in found.layers] == ["fused"] * 3
    out = capsys.readouterr().out
    assert out == found.table() + "\n"  # no progress where there is no terminal
    assert "training step" in out and "forward_lstm" in out
    assert "usable cores, threads: " in out and "batch: 2 x 5 x 3" in out
    # The given model has not been trained.
    for weight, old in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight, old)


@pytest.mark.parametrize("to", ["tf_rnn_ops", "keras"])
def test_either_kind_of_model_is_compared_with_the_other(to, model, x, monkeypatch, capsys):
    seen = []

    def take_turns(calls, repeats, done):
        seen.append([type(call.args[0].get_layer("gru")) for call in calls])
        return [3.0, 6.0, 9.0], [3.0, 3.0, 3.0]

    monkeypatch.setattr(tool, "take_turns", take_turns)
    found = compare(tf_rnn_ops.keras.convert(model, to), x, print_fn=None)
    assert seen == [[keras.layers.GRU, tf_rnn_ops.keras.GRU]]
    assert found.timings[0].ratio == 2.0
    line = str(found).splitlines()[2]
    assert line.split() == "inference 6.00 ms 3.00 ms 2.00 x 1.50 to 2.50".split()
    assert capsys.readouterr().out == ""


def test_calls_take_turns(monkeypatch):
    calls, turns, now = [], [], [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])

    def step(model):
        calls.append(model)
        now[0] += {"a": 0.003, "b": 0.001}[model] * (1 + len(calls) // 6)

    times = timing.take_turns([lambda: step("a"), lambda: step("b")], 2, turns.append)
    found = timing.timing_of("step", *times)
    assert "".join(calls) == "aabb" + "ba" + "ab" and turns == [1, 2]
    # 1 and 6 ms in the first turn (the sixth call counts twice), 6 and 2 in the second.
    np.testing.assert_allclose(found[1:], [6, 1.5, 3.75, 5.25])
    assert found.name == "step"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_for_a_terminal(monkeypatch):
    for print_fn, shown in ((print, True), (print_later, False), (None, False)):
        monkeypatch.setattr(sys, "stdout", Terminal())
        with progress.Progress(print_fn) as line:
            line.show("a long text")
            line.show("text")
        out = sys.stdout.getvalue()
        assert bool(out) == shown
        if shown:  # each text covers the one before, and nothing stays
            _, first, second, blank, rest = out.split("\r")
            assert first == "a long text" and second == "text       " and rest == ""
            assert not blank.strip() and len(blank) >= len("text")


def test_no_progress_without_a_stream(monkeypatch):
    for stream in (None, object()):
        monkeypatch.setattr(sys, "stdout", stream)
        with progress.Progress(print) as line:
            line.show("text")  # an error would end the function that reports


def test_compare_tells_its_progress(model, x, monkeypatch):
    monkeypatch.setattr(sys, "stdout", Terminal())
    found = compare(model, x, repeats=2)
    *lines, table = sys.stdout.getvalue().split("\r")
    assert len(lines) > 4 and table == found.table() + "\n"


def print_later(text):
    """A print_fn that is not print."""


def test_print_fn(model, x, capsys):
    texts = []
    found = compare(model, x, repeats=1, print_fn=texts.append)
    assert texts == [found.table()] and capsys.readouterr().out == ""


def test_it_shows_itself_once(model, x):
    printed = compare(model, x, repeats=1, print_fn=print_later)
    assert repr(printed) == str(printed) == f"<inference {printed.timings[0].ratio:.2f} x>"
    assert printed._repr_html_() is None
    silent = compare(model, x, repeats=1, print_fn=None)
    assert repr(silent) == str(silent) == silent.table()
    html = silent._repr_html_()
    assert html.count("<table>") == 2 and "<td>inference</td>" in html and "forward_lstm" in html


class Unbuilt(keras.Model):
    """Has no build, as most models that are written down."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.rnn, self.out = keras.layers.LSTM(4), keras.layers.Dense(2)

    def call(self, x):
        return self.out(self.rnn(x))


@pytest.mark.parametrize("kind", ["sequential", "subclassed"])
def test_a_model_that_is_not_built(kind, x):
    if kind == "subclassed":
        model = Unbuilt()
    else:
        model = keras.Sequential([keras.layers.LSTM(4), keras.layers.Dense(2)])
    found = compare(model, x, repeats=1, print_fn=None)
    assert found.difference < 1e-6 < 1e-3 < found.largest
    assert not model.built


def test_a_stack(x):
    stack = tf_rnn_ops.keras.CudnnLSTM(4, num_layers=2)
    with pytest.raises(ValueError, match="CudnnLSTM, which has no counterpart .*params.to_keras"):
        compare(keras.Sequential([keras.Input((None, 3)), stack]), x, repeats=1, print_fn=None)


def test_datasets(model, x, rng):
    y, more = np.zeros(2, "int32"), rng.standard_normal((2, 5, 3)).astype("float32")
    slices = tf.data.Dataset.from_tensor_slices

    class Data(keras.utils.PyDataset):
        def __len__(self):
            return 1

        def __getitem__(self, index):
            return x, y, np.ones(2)

    for data, count in (
        (slices((np.concatenate([x, more]), np.zeros(4, "int32"))).batch(2), 2),
        (slices(x).batch(2), 1),
        (Data(), 3),
        (iter([(x, y)]), 2),
        ([x, more, None], 1),
    ):
        found = one_batch.first_batch(data, None)
        assert [one is not None for one in found] == [True, count > 1, count > 2]
        np.testing.assert_array_equal(keras.tree.flatten(found[0])[0], x)
    assert one_batch.sizes([x, None]) == "2 x 5 x 3, none"
    found = compare(model, Data(), repeats=1, print_fn=None)
    assert [timing.name for timing in found.timings] == ["inference", "training step"]
    assert "batch: 2 x 5 x 3" in found.where
    bare = keras.Model(model.inputs, model.outputs)
    assert len(compare(bare, Data(), repeats=1, print_fn=None).timings) == 1


def test_a_batch_that_is_none(model, x):
    with pytest.raises(ValueError, match="x must be one batch: .* but it contains a float"):
        compare(model, x.tolist())
    with pytest.raises(ValueError, match="y must be one batch: .* but it contains a int"):
        compare(model, x, [0, 1])
    data = tf.data.Dataset.from_tensor_slices(x).batch(2)
    with pytest.raises(ValueError, match="contains the targets, but y is given too"):
        compare(model, data, np.zeros(2))
    with pytest.raises(ValueError, match="without a batch"):
        compare(model, data.take(0))


def test_a_difference_is_seen(model, x, monkeypatch):
    def other_weights(model, quantize):
        copy = tf_rnn_ops.keras.convert(model)
        copy.set_weights([w + 0.1 for w in copy.get_weights()])
        return copy

    monkeypatch.setattr(tool, "convert_silently", other_weights)
    assert compare(model, x, repeats=1, print_fn=None).difference > 1e-3


def test_nan_and_infinity():
    nan, inf, one = np.float64("nan"), np.float64("inf"), np.float64(1)
    assert largest_difference(np.array([nan, inf, one]), np.array([nan, inf, one])) == 0
    assert np.isnan(largest_difference(np.array([one, one]), np.array([nan, one])))
    assert largest_difference(np.array([inf]), np.array([-inf])) == inf


def test_an_output_of_nan_alone_shows(model, x, monkeypatch):
    two = keras.Model(model.input, [model.output, model.output * 1.0])

    def nan_in_ours(model, quantize):
        copy = tf_rnn_ops.keras.convert(model)
        first, second = copy.outputs
        return keras.Model(copy.input, [first, second * np.nan])

    monkeypatch.setattr(tool, "convert_silently", nan_in_ours)
    assert np.isnan(compare(two, x, repeats=1, print_fn=None).difference)


def test_a_function_of_this_package(x):
    layer = keras.layers.LSTM(4, recurrent_activation=tf_rnn_ops.keras.hard_sigmoid_keras2)
    found = compare(keras.Sequential([keras.Input((5, 3)), layer]), x, repeats=1, print_fn=None)
    assert found.difference < 1e-6


def test_bad_arguments(model, x, monkeypatch):
    with pytest.raises(TypeError, match="model must be a Keras 3 model, but it is a LSTM"):
        compare(keras.layers.LSTM(2), x)
    with monkeypatch.context() as patched:  # before any work
        patched.setattr(tool, "_copies", None)
        for repeats in (0, 2.5, "a", True, None):
            with pytest.raises(ValueError, match=f"repeats must be .*{repeats!r}"):
                compare(model, x, repeats=repeats)
        with pytest.raises(ValueError, match="quantize must be .*'int4'"):
            compare(model, x, quantize="int4")
        with pytest.raises(TypeError, match="print_fn must be .*1"):
            compare(model, x, print_fn=1)
    bare = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(2)])
    with pytest.raises(ValueError, match="the model is not compiled"):
        compare(bare, x, np.zeros((2, 2)))


def test_command(model, tmp_path, capsys):
    path = str(tmp_path / "model.keras")
    model.save(path)
    assert command.main([path, "--batch-size", "3", "--time", "4", "--repeats", "2"]) == 0
    out = capsys.readouterr().out
    assert "training step" in out and "gru" in out


def test_command_on_models_that_share_an_input(tmp_path, capsys):
    inputs = keras.Input((4, 3))
    encoder = keras.Model(inputs, keras.layers.LSTM(2)(inputs))
    keras.Model(inputs, keras.layers.Dense(3)(encoder(inputs))).save(tmp_path / "model.keras")
    assert command.main([str(tmp_path / "model.keras"), "--batch-size", "2", "--repeats", "1"]) == 0
    assert "training step" in capsys.readouterr().out


def test_command_on_words_and_without_compile(tmp_path, capsys):
    inputs = {
        "words": keras.Input((None,), dtype="int32", name="words"),
        "x": keras.Input((2,), name="x"),
    }
    y = keras.layers.LSTM(3)(keras.layers.Embedding(5, 3, mask_zero=True)(inputs["words"]))
    model = keras.Model(inputs, keras.layers.Concatenate()([y, inputs["x"]]))
    path = str(tmp_path / "model.keras")
    model.save(path)
    assert command.main([path, "--batch-size", "2", "--time", "4", "--repeats", "1"]) == 0
    assert "training step" in capsys.readouterr().out


def test_command_on_sparse_losses_of_some_outputs(tmp_path, capsys):
    inputs = keras.Input((4, 3))
    y = keras.layers.LSTM(3)(inputs)
    number = keras.layers.Dense(1, name="number")(y)
    classes = keras.layers.Dense(5, "softmax", name="classes")(y)
    sparse = keras.losses.SparseCategoricalCrossentropy(name="mine")
    for outputs, losses in (
        ({"classes": classes, "number": number}, {"classes": sparse, "number": "mse"}),
        ([number, classes], {"classes": sparse, "number": "mse"}),
        ([number, classes], ["mse", "sparse_categorical_crossentropy"]),
    ):
        model = keras.Model(inputs, outputs)
        model.compile("sgd", losses)
        model.save(tmp_path / "model.keras")
        assert (
            command.main([str(tmp_path / "model.keras"), "--batch-size", "2", "--repeats", "1"])
            == 0
        )
        assert "training step" in capsys.readouterr().out


def test_command_on_strings(tmp_path, capsys):
    words = keras.layers.TextVectorization(vocabulary=["a", "b"], output_sequence_length=4)
    model = keras.Sequential(
        [
            keras.Input((1,), dtype="string"),
            words,
            keras.layers.Embedding(4, 3),
            keras.layers.GRU(2),
        ]
    )
    model.save(tmp_path / "model.keras")
    assert command.main([str(tmp_path / "model.keras"), "--batch-size", "2", "--repeats", "1"]) == 0
    assert "training step" in capsys.readouterr().out


@keras.saving.register_keras_serializable("test_compare")
class Own(keras.Model):
    """A class of a user's own: no file says what it takes."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.rnn = keras.layers.LSTM(2)

    def build(self, input_shape):
        self.rnn.build(input_shape)

    def call(self, x):
        return self.rnn(x)


def test_command_on_a_sequential_model(tmp_path, capsys):
    model = keras.Sequential([keras.Input((7, 3)), tf_rnn_ops.keras.LSTM(2)])
    model.save(tmp_path / "model.keras")
    assert command.main([str(tmp_path / "model.keras"), "--repeats", "1"]) == 0
    assert "inference" in capsys.readouterr().out


def test_errors_of_the_command_are_one_line(tmp_path, capsys):
    peephole = keras.Sequential([keras.Input((None, 3)), tf_rnn_ops.keras.PeepholeLSTM(2)])
    peephole.save(tmp_path / "peephole.keras")
    own = Own()
    own(np.ones((1, 2, 3), "float32"))
    own.save(tmp_path / "own.keras")
    for name in ("none.keras", "peephole.keras", "own.keras"):
        assert command.main([str(tmp_path / name), "--repeats", "1"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("python -m tf_rnn_ops compare: ")
