"""Streams of decoders that attend to a memory, against Keras on the whole sequence."""

import itertools

import keras
import numpy as np
import onnx
import pytest
from stream_cases import FILES, model_of, outputs_of_file, sequence

import tf_rnn_ops.keras as rnn
from support.models import drawn
from support.selection import all_but

SIZE, UNITS, TIME = 6, 8, 8


def many_heads(y, memory):
    return keras.layers.MultiHeadAttention(2, 4, name="attention")(y, memory)


def dots(y, memory):
    return keras.layers.Attention(use_scale=True, name="attention")([y, memory])


def additive(y, memory):
    return keras.layers.AdditiveAttention(name="attention")([y, memory])


def by_hand(y, memory):
    scores = keras.layers.Softmax()(keras.layers.Dot(axes=2)([y, memory]))
    return keras.layers.Dot(axes=(2, 1))([scores, memory])


ATTENTIONS = [many_heads, dots, additive, by_hand]


def decoder(attention, length):
    """Tokens, a memory of a known or open length, and the states of the LSTM."""
    tokens = keras.Input((None,), dtype="int32", name="tokens")
    memory = keras.Input((length, UNITS), name="memory")
    h, c = keras.Input((UNITS,), name="h"), keras.Input((UNITS,), name="c")
    x = keras.layers.Embedding(11, UNITS)(tokens)
    lstm = keras.layers.LSTM(UNITS, return_sequences=True, return_state=True)
    y, new_h, new_c = lstm(x, initial_state=[h, c])
    y = keras.layers.Concatenate()([y, attention(y, memory)])
    return drawn(keras.Model([tokens, memory, h, c], [keras.layers.Dense(11)(y), new_h, new_c]))


USUAL = [
    (many_heads, "onnx", None, 2),
    (dots, "litert", 5, 1),
    (additive, "openvino", None, 1),
    (by_hand, "onnx", 5, 2),
]


@pytest.mark.parametrize(
    "case",
    all_but(list(itertools.product(ATTENTIONS, FILES, [None, 5], [1, 2])), *USUAL),
    ids=lambda case: f"{case[0].__name__}-{case[1:]}",
)
def test_steps_equal_the_whole_sequence(case, tmp_path):
    attention, format, length, steps = case
    model, path = decoder(attention, length), tmp_path / FILES[format]
    options = {"batch_size": 1, "time": steps, "streaming": True, "print_fn": None}
    report = rnn.export(model, path, format, **options)
    assert report.difference < 1e-5 and not report.note
    tokens = np.random.default_rng(0).integers(0, 11, (1, TIME)).astype(np.int32)
    memory, zeros = sequence(1, length or 7, UNITS), np.zeros((1, UNITS), np.float32)
    got = outputs_of_file(path, steps, {"tokens": tokens}, {"memory": memory})
    want = model([tokens, memory, zeros, zeros])
    np.testing.assert_allclose(got["output_0"], want[0], rtol=0, atol=1e-5)


def test_a_memory_of_another_length_than_the_steps(tmp_path):
    """The number of steps is the time of the stream only."""
    model = decoder(many_heads, None)
    rnn.export(model, tmp_path / "m", streaming=True, time=3, print_fn=None)
    import tensorflow as tf

    function = tf.saved_model.load(str(tmp_path / "m")).signatures["serving_default"]
    specs = function.structured_input_signature[1]
    assert specs["tokens"].shape.as_list() == [None, 3]
    assert specs["memory"].shape.as_list() == [None, None, UNITS]


def test_a_masked_memory(tmp_path):
    """The padding of a memory is the same in each call."""
    x, words = (
        keras.Input((None, SIZE), name="x"),
        keras.Input((None,), dtype="int32", name="words"),
    )
    memory = keras.layers.Embedding(9, UNITS, mask_zero=True)(words)
    y = keras.layers.GRU(UNITS, return_sequences=True)(x)
    model = drawn(keras.Model([x, words], many_heads(y, memory)))
    report = rnn.export(model, tmp_path / "m", streaming=True, print_fn=None)
    assert 0 < report.difference < 1e-5


def test_a_memory_that_the_model_computes(tmp_path):
    """Layers that combine steps may see a plain input, since each call has all of it."""
    x, frames = keras.Input((None, SIZE), name="x"), keras.Input((None, 3), name="frames")
    memory = keras.layers.Conv1D(UNITS, 3, padding="same")(frames)
    memory = keras.layers.MultiHeadAttention(1, 4)(memory, memory)
    y = keras.layers.GRU(UNITS, return_sequences=True)(x)
    y = keras.layers.Add()(
        [many_heads(y, memory), keras.layers.GlobalMaxPooling1D()(memory)[:, None]]
    )
    model = drawn(keras.Model([x, frames], y))
    report = rnn.export(model, tmp_path / "m", streaming=True, print_fn=None)
    assert 0 < report.difference < 1e-5


def test_two_sequences_of_one_length(tmp_path):
    """A mask for the frames, as in networks that clean speech: both inputs are steps."""
    x, frames = keras.Input((None, SIZE), name="x"), keras.Input((None, 3), name="frames")
    mask = keras.layers.Dense(3, activation="sigmoid")(
        keras.layers.GRU(4, return_sequences=True)(x)
    )
    model = drawn(keras.Model([x, frames], keras.layers.Multiply()([mask, frames])))
    rnn.export(model, tmp_path / "m.onnx", streaming=True, batch_size=1, time=2, print_fn=None)
    given = {"x": sequence(1, TIME, SIZE), "frames": sequence(1, TIME, 3, seed=2)}
    got = outputs_of_file(tmp_path / "m.onnx", 2, given)
    np.testing.assert_allclose(
        got["output_0"], model([given["x"], given["frames"]]), rtol=0, atol=1e-5
    )


def over_frequencies(x):
    """Attention, a recurrent layer in both directions and a convolution along another dimension than time."""
    x = keras.layers.Reshape((-1, SIZE, 1))(x)
    x = keras.layers.Conv2D(4, (1, 3), padding="same")(x)
    x = keras.layers.MultiHeadAttention(1, 4, attention_axes=(2,))(x, x)
    x = keras.layers.TimeDistributed(keras.layers.Bidirectional(keras.layers.LSTM(3)))(x)
    return keras.layers.GRU(UNITS, return_sequences=True)(x)


def pairs_of_frames(x):
    """Two steps are one step of the GRU."""
    return keras.layers.GRU(UNITS, return_sequences=True)(keras.layers.Reshape((-1, 2 * SIZE))(x))


@pytest.mark.parametrize("layers", [over_frequencies, pairs_of_frames])
def test_layers_along_another_dimension(layers, tmp_path):
    model = model_of(layers, SIZE)
    report = rnn.export(model, tmp_path / "m", streaming=True, time=2, print_fn=None)
    assert 0 < report.difference < 1e-5 and not report.note


def to_itself(x):
    y = keras.layers.GRU(UNITS, return_sequences=True)(x)
    return keras.layers.MultiHeadAttention(1, 4, name="culprit")(y, y)


def to_itself_by_dots(x):
    y = keras.layers.GRU(UNITS, return_sequences=True)(x)
    return keras.layers.Attention(name="culprit")([y, y], use_causal_mask=True)


def to_itself_by_hand(x):
    y = keras.layers.GRU(UNITS, return_sequences=True)(x)
    scores = keras.layers.Dot(axes=2)([y, y])
    return keras.layers.Dot(axes=(2, 1), name="culprit")([scores, y])


@pytest.mark.parametrize("layers", [to_itself, to_itself_by_dots, to_itself_by_hand])
@pytest.mark.parametrize("time", [None, 4])
def test_attention_to_the_steps(layers, time, tmp_path):
    model = model_of(layers, SIZE, time=time)
    with pytest.raises(ValueError, match="'culprit'.* combines steps"):
        rnn.export(model, tmp_path / "m", streaming=True, verify=False, print_fn=None)
    assert not list(tmp_path.iterdir())


def test_a_query_that_depends_on_its_position(tmp_path):
    x, memory = keras.Input((None, SIZE), name="x"), keras.Input((5, UNITS), name="memory")
    y = keras.layers.GRU(UNITS, return_sequences=True)(x)
    y = keras.layers.MultiHeadAttention(1, 4, name="culprit")(y, memory, use_causal_mask=True)
    with pytest.raises(ValueError, match="'culprit'.* combines steps"):
        rnn.export(
            keras.Model([x, memory], y), tmp_path / "m", streaming=True, verify=False, print_fn=None
        )


def test_another_time_than_that_of_the_input(tmp_path):
    model = model_of(lambda x: keras.layers.GRU(3)(x), SIZE, time=4)
    report = rnn.export(model, tmp_path / "m", streaming=True, time=3, print_fn=None)
    assert "[2, 3, 3]" in report.inputs or ", 3, " in report.inputs


def test_steps_one_by_one_beside_an_open_memory(tmp_path):
    frames = keras.Input((None, SIZE), name="frames")
    memory = keras.Input((None, UNITS), name="memory")
    x = keras.layers.TimeDistributed(keras.layers.Dense(UNITS))(frames)
    y = keras.layers.LSTM(UNITS, return_sequences=True)(x)
    model = drawn(keras.Model([frames, memory], keras.layers.Attention()([y, memory])))
    report = rnn.export(model, tmp_path / "m", streaming=True, time=2, print_fn=None)
    assert 0 < report.difference < 1e-5


def test_the_last_step_and_the_states_are_outputs(tmp_path):
    """They are one tensor; the state is the second."""
    x = keras.Input((None, SIZE), name="x")
    h, c = keras.Input((UNITS,), name="h"), keras.Input((UNITS,), name="c")
    y, new_h, new_c = keras.layers.LSTM(UNITS, return_state=True)(x, initial_state=[h, c])
    model = drawn(keras.Model([x, h, c], [y, new_h, new_c]))
    path = tmp_path / "m.onnx"
    rnn.export(model, path, streaming=True, batch_size=1, print_fn=None)
    found = {output.name for output in onnx.load(path).graph.output}
    assert found == {"output_0", "h_next", "c_next"}
