"""Models as users make them: their inputs, sizes and names, and files that do not depend on numbers of Keras's names."""

import warnings

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras as rnn
from tf_rnn_ops import stepper as steppers

L = keras.layers
BATCH, TIME, SIZE, WORDS = 8, 12, 3, 20
SEQUENCES = {"return_sequences": True}


def _numbers():
    return np.random.default_rng(0).standard_normal((BATCH, TIME, SIZE)).astype("float32")


def _words():
    return np.random.default_rng(0).integers(0, WORDS, (BATCH, TIME))


@keras.saving.register_keras_serializable("tests.first_batch")
class Chat(keras.Model):
    """With **kwargs, so that its copy has layers with new numbers in their names."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.table = L.Embedding(WORDS, 4)
        self.gru = L.GRU(5, **SEQUENCES)
        self.scores = L.Dense(3)

    def call(self, x):
        return self.scores(self.gru(self.table(x)))


@keras.saving.register_keras_serializable("tests.first_batch")
class OfDict(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.gru = L.GRU(SIZE, **SEQUENCES)

    def call(self, x):
        return self.gru(x["frames"]) + x["others"]


class WithoutConfig(Chat):
    def __init__(self):
        super().__init__()


def _sequential(*inputs):
    return keras.Sequential([*inputs, L.LSTM(4, **SEQUENCES), L.Dense(2)])


def _chat():
    return keras.Sequential([L.Embedding(WORDS, 4), L.GRU(5, **SEQUENCES), L.Dense(3)])


def _called(model, x):
    model(x)
    return model


def _fitted(model, x):
    model.compile("sgd", "mse")
    model.fit(x, model(x), epochs=1, verbose=0)
    return model


def _trained(model, x):
    """fit() builds it."""
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(x, np.zeros(x.shape[:2]), verbose=0)
    return model


def _functional(*inputs):
    inputs = inputs or (keras.Input((None, SIZE)),)
    return keras.Model(list(inputs), L.GRU(SIZE, **SEQUENCES)(inputs[0]) + inputs[-1])


def _functional_of_a_class():
    x = keras.Input((None,), dtype="int32")
    return keras.Model(x, Chat()(x))


# By name: the model, its batch, whether it can be saved, and [B, T] of a stepper of it and of a file of it.
KINDS = {
    "called": (lambda: _called(_sequential(), _numbers()), _numbers, [1, 1], [1, 1]),
    "built by fit": (lambda: _trained(_sequential(), _numbers()), _numbers, [1, 1], [1, TIME]),
    "called and fitted": (lambda: _fitted(_sequential(), _numbers()), _numbers, [1, 1], [1, 1]),
    "Input": (lambda: _sequential(keras.Input((None, SIZE))), _numbers, [1, 1], [1, 1]),
    "Input of T": (lambda: _sequential(keras.Input((TIME, SIZE))), _numbers, [1, TIME], [1, TIME]),
    "words": (lambda: _trained(_chat(), _words()), _words, [1, 1], None),
    "a class": (lambda: _called(Chat(), _words()), _words, [1, 1], [1, 1]),
    "a class built by fit": (lambda: _trained(Chat(), _words()), _words, [1, 1], [1, 1]),
    "a class without a config": (lambda: _called(WithoutConfig(), _words()), _words, [1, 1], None),
    "a class of a dict": (
        lambda: _called(OfDict(), {"frames": _numbers(), "others": _numbers()}),
        lambda: {"frames": _numbers(), "others": _numbers()},
        [1, 1],
        [1, 1],
    ),
    "functional": (_functional, _numbers, [1, 1], [1, 1]),
    "functional of two": (
        lambda: _functional(keras.Input((None, SIZE)), keras.Input((None, SIZE))),
        lambda: [_numbers(), _numbers()],
        [1, 1],
        [1, 1],
    ),
    "functional of a class": (_functional_of_a_class, _words, [1, 1], [1, 1]),
}


def _names(model):
    """The names that users know: those of keys, or numbers."""
    if isinstance(model, OfDict):
        return ["frames", "others"]
    return [f"input_{k}" for k in range(len(getattr(model, "inputs", None) or [None]))]


def _recurrent(model):
    layers = model._flatten_layers(include_self=False)
    return next(layer for layer in layers if isinstance(layer, keras.layers.RNN))


def _stepper(model, **sizes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rnn.stepper(model, **sizes)


def _check(model, x, sizes):
    """Compares a stepper with Keras on the whole sequence, and its types and names with those of the model."""
    stepper = _stepper(model)
    assert [stepper.batch_size, stepper.time] == sizes
    for options in ({"time": 1}, {"time": 3, "batch_size": 2}):
        stepper = _stepper(model, **options)
        assert stepper.time == options["time"]
        batch = keras.tree.map_structure(lambda a: a[: stepper.batch_size], x)
        pieces = [
            keras.tree.map_structure(lambda a, t=t: a[:, t : t + stepper.time], batch)
            for t in range(0, TIME, stepper.time)
        ]
        got = np.concatenate([stepper(piece) for piece in pieces], axis=1)
        np.testing.assert_allclose(got, model(batch), rtol=0, atol=2e-6)
    assert [tensor.name for tensor in stepper.inputs] == _names(model)
    of_words = np.asarray(keras.tree.flatten(x)[0]).dtype.kind == "i"
    assert {t.dtype for t in stepper.inputs} == {"int32" if of_words else "float32"}
    assert next(iter(stepper.states)) == f"{_recurrent(model).name}_h"


@pytest.mark.parametrize("name", KINDS)
def test_sizes_types_and_names(name, tmp_path):
    make, batch, sizes, sizes_of_file = KINDS[name]
    model, x = make(), batch()
    _check(model, x, sizes)
    if sizes_of_file is not None:
        model.save(tmp_path / "model.keras")
        _check(keras.models.load_model(tmp_path / "model.keras"), x, sizes_of_file)
    elif "class" not in name:
        model.save(tmp_path / "model.keras")
        assert _stepper(keras.models.load_model(tmp_path / "model.keras"), time=1).time == 1


@pytest.mark.parametrize("name", ["a class", "a class of a dict"])
def test_files_of_one_model_are_equal(name, tmp_path):
    model = KINDS[name][0]()
    for path in ("a.rnn", "b.rnn"):
        rnn.export(model, tmp_path / path, streaming=True, verify=False, print_fn=None)
    _stepper(model).save(tmp_path / "c.rnn")
    contents = [(tmp_path / path).read_bytes() for path in ("a.rnn", "b.rnn", "c.rnn")]
    assert contents[0] == contents[1] == contents[2]


def test_one_note_tells_the_sizes_of_the_first_batch(tmp_path):
    model = _called(_sequential(), _numbers())
    with pytest.warns(UserWarning, match=f"T .* 1 .* {TIME}"):
        rnn.stepper(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        rnn.stepper(model, time=2)
    for name, options, note in (
        ("open.rnn", {}, True),
        ("fixed.rnn", {"time": 2}, False),
        ("sm", {}, True),
        ("sm2", {"time": 2}, False),
    ):
        report = rnn.export(model, tmp_path / name, streaming=True, print_fn=None, **options)
        assert (f"{TIME} steps" in report.note) is note
    assert steppers.load(tmp_path / "open.rnn", time=5).time == 5
    with pytest.raises(ValueError, match="time"):
        steppers.load(tmp_path / "fixed.rnn", time=5)


def test_a_number_of_steps_that_the_model_does_not_accept(tmp_path):
    layers = [L.Reshape((4, 6)), L.LSTM(3, **SEQUENCES)]
    model = keras.Sequential([keras.Input((4, 6)), *layers])
    with pytest.raises(ValueError, match="time must be 4 .*, but it is 2"):
        rnn.stepper(model, time=2)
    with pytest.raises(ValueError, match="time must be None .*, but it is 2"):
        rnn.export(model, tmp_path / "m", time=2, print_fn=None)
    assert rnn.stepper(keras.Sequential([keras.Input((None, 6)), *layers]), time=4).time == 4


def test_a_signature_for_a_model_of_a_class(tmp_path):
    model = _called(Chat(), _words())
    signature = [keras.InputSpec(shape=(None, None), dtype="int32", name="words")]
    stepper = rnn.stepper(model, input_signature=signature)
    assert stepper.inputs[0][:3] == ("words", "int32", (1, 1))
    rnn.export(model, tmp_path / "m.rnn", streaming=True, input_signature=signature, print_fn=None)
    loaded = steppers.load(tmp_path / "m.rnn", time=2)
    loaded.update(model)  # from the recorded inputs of the model
    assert loaded.inputs[0][:3] == ("words", "int32", (1, 2))


class OfTwo(keras.Model):
    """Keras records its first argument only. It casts its words."""

    def __init__(self):
        super().__init__()
        self.chat = Chat()
        self.gru = L.GRU(3, **SEQUENCES)

    def call(self, words, frames):
        return self.chat(keras.ops.cast(words, "int32")) + self.gru(frames)


def test_an_update_by_a_class_of_two_arguments():
    x = [_words()[:1], _numbers()[:1]]
    signature = [
        keras.InputSpec(shape=(None, None), dtype="float32"),
        keras.InputSpec(shape=(None, None, SIZE), dtype="float32"),
    ]
    models = [OfTwo(), OfTwo()]
    for model in models:
        model(*x)
    with pytest.raises(ValueError, match="input_signature"):
        rnn.stepper(models[0])
    stepper = rnn.stepper(models[0], time=TIME, input_signature=signature)
    assert stepper.inputs[0].dtype == "int32"
    stepper.update(models[1])
    np.testing.assert_allclose(stepper(x), models[1](*x), rtol=0, atol=2e-6)
    with pytest.raises(ValueError, match="must be built"):
        stepper.update(OfTwo())


def _two_inputs(first, second, join):
    x = [keras.Input((size, SIZE), name=name) for size, name in ((first, "a"), (second, "b"))]
    layers = [L.GRU(4, **SEQUENCES), L.GRU(4, **SEQUENCES)]
    outputs = [layer(one) for layer, one in zip(layers, x)]
    return keras.Model(x, outputs[0] + outputs[1] if join else outputs)


def test_inputs_of_several_numbers_of_steps():
    joined = rnn.stepper(_two_inputs(TIME, None, join=True))
    assert [tensor.shape[1] for tensor in joined.inputs] == [TIME, TIME]
    assert rnn.stepper(_two_inputs(TIME, None, join=True), time=2).time == 2
    apart = _two_inputs(TIME, 6, join=False)
    with pytest.raises(ValueError, match="'a', 'b'.*time"):
        rnn.stepper(apart, batch_size=2)
    assert rnn.stepper(apart, time=3).time == 3
    inputs = [keras.Input((None, SIZE)), keras.Input((None, SIZE), name="b")]
    beside = keras.Model(inputs, [L.GRU(4)(inputs[0]), L.Dense(2)(inputs[1])])
    with pytest.raises(ValueError, match="'b' .*input_signature"):
        rnn.stepper(beside)


def test_the_input_of_an_inner_model_counts():
    inner = keras.Sequential([keras.Input((TIME, SIZE)), L.GRU(4, **SEQUENCES)])
    assert rnn.stepper(keras.Sequential([inner, L.Dense(2)])).time == TIME


CONSTANTS = {
    "half": lambda h: h * 0.5,
    "one minus": lambda h: 1 - h,
    "minus": lambda h: -h,
    "minus one": lambda h: h - 1,
    "by three": lambda h: h / 3,
    "a row": lambda h: h + np.float32([[1, 2, 3, 4]]),
    "each feature": lambda h: h * np.float32([1, 2, 3, 4]) + np.float32([4, 3, 2, 1]),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_operators_with_constants(name):
    inputs = keras.Input((None, SIZE))
    model = keras.Model(inputs, CONSTANTS[name](L.GRU(4, **SEQUENCES)(inputs)))
    x = _numbers()[:1]
    stepper = rnn.stepper(model, time=TIME)
    np.testing.assert_allclose(stepper(x), model(x), rtol=0, atol=2e-6)


def test_a_constant_of_each_step_is_an_error():
    inputs = keras.Input((2, SIZE))
    model = keras.Model(inputs, L.GRU(4, **SEQUENCES)(inputs) * np.ones((2, 4), "float32"))
    with pytest.raises(ValueError, match=r"shape \[2, 4\]"):
        rnn.stepper(model)


@pytest.mark.parametrize("change", [lambda h: 1 / h, lambda h: h**2], ids=["reciprocal", "power"])
def test_an_operator_without_a_node_names_a_layer(change):
    inputs = keras.Input((None, SIZE))
    model = keras.Model(inputs, change(L.GRU(4, **SEQUENCES)(inputs)))
    with pytest.raises(ValueError, match="Rescaling"):
        rnn.stepper(model)


def test_a_model_of_a_class_is_called_five_times(tmp_path):
    """For its copy, for two lengths, for the states that are in use, and for the nodes."""
    calls = []

    class Counting(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.rnn = keras.layers.GRU(3)

        def call(self, inputs):
            calls.append(inputs)
            return self.rnn(inputs)

    model = Counting()
    model(np.ones((2, 5, 3), "float32"))
    calls.clear()
    rnn.stepper(model, time=1)
    assert len(calls) <= 5
    calls.clear()
    rnn.export(model, tmp_path / "m.rnn", streaming=True, verify=False, print_fn=None)
    assert len(calls) <= 5
