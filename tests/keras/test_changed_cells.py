"""Changes of a cell or layer after it was made: the op computes the same as keras.layers.RNN, or does not run."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras as rnn
from tf_rnn_ops.keras import accelerate, explain

UNITS = 4
CELLS = {
    "LSTM": lambda: keras.layers.LSTMCell(UNITS, bias_initializer="ones"),
    "GRU": lambda: keras.layers.GRUCell(UNITS, bias_initializer="ones"),
    "GRU before": lambda: keras.layers.GRUCell(UNITS, bias_initializer="ones", reset_after=False),
    "SimpleRNN": lambda: keras.layers.SimpleRNNCell(UNITS, bias_initializer="ones"),
    "LSTM masks": lambda: keras.layers.LSTMCell(UNITS, dropout=0.3, recurrent_dropout=0.2),
    "GRU masks": lambda: keras.layers.GRUCell(UNITS, dropout=0.3, implementation=1),
    "LSTM dropout": lambda: keras.layers.LSTMCell(UNITS, dropout=0.3),
    "SimpleRNN dropout": lambda: keras.layers.SimpleRNNCell(UNITS, dropout=0.3),
    "no bias": lambda: keras.layers.GRUCell(UNITS, use_bias=False),
    "projected": lambda: rnn.ProjectedLSTMCell(
        UNITS, num_proj=3, use_peepholes=True, cell_clip=0.3
    ),
    "peephole": lambda: rnn.PeepholeLSTMCell(UNITS, cell_clip=0.3, bias_initializer="ones"),
    "zoneout": lambda: rnn.ZoneoutLSTMCell(UNITS, zoneout_h=0.2, zoneout_c=0.1),
    "zoneout GRU": lambda: rnn.ZoneoutGRUCell(UNITS, zoneout_h=0.2),
    "norm": lambda: rnn.LayerNormLSTMCell(UNITS, bias_initializer="ones"),
}
VALUES = {
    bool: [True, False],
    int: [0, 1, 2, UNITS],
    float: [0.0, 0.25, 1.0],
}
IN_TRAINING = {"zoneout", "zoneout GRU"}  # Keras's implementation draws other units than the op


def made(kind, rng):
    """A built cell with random weights."""
    cell = CELLS[kind]()
    keras.layers.RNN(cell)(tf.zeros([2, 2, 3]))
    for variable in cell.trainable_variables:
        variable.assign(variable + rng.normal(size=variable.shape, scale=0.3))
    return cell


def outcome(cls, cell, x, training):
    """The results of a layer of a class, or the class of the error."""
    generator = cell.seed_generator
    state = generator.state.numpy()
    try:
        layer = cls(cell, return_sequences=True, return_state=True)
        found = [np.asarray(one) for one in keras.tree.flatten(layer(x, training=training))]
    except Exception as error:
        found = type(error).__name__
    generator.state.assign(state)
    for name in ("_dropout_mask", "_recurrent_dropout_mask"):
        setattr(cell, name, None)
    return found


def assert_as_keras(cell, x, what, op_calls, modes=(False, True)):
    for training in modes:
        want = outcome(keras.layers.RNN, cell, x, training)
        op_calls.clear()
        got = outcome(rnn.RNN, cell, x, training)
        path = explain(rnn.RNN(cell), print_fn=None)[0].path
        if isinstance(want, str):
            assert isinstance(got, str), (what, training, want)
            continue
        assert not isinstance(got, str), (what, training, got)
        for one, other in zip(got, want, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5, err_msg=f"{what}, {training}")
        fused = path == "fused" or (path == "fused, keras in training" and not training)
        assert bool(op_calls) == fused, (what, training, path, op_calls)


def attributes(cell):
    """Names and other values of the plain attributes of a cell, of those that its class has, and of absent ones."""
    names = {*vars(cell), "use_peepholes", "clip_gradient", "num_proj", "dropout_mask_count"}
    for name in sorted(names):
        if name.startswith("_") or name in ("seed", "name", "built"):
            continue
        value = getattr(cell, name, None)
        yield from ((name, other) for other in VALUES.get(type(value), ()) if other != value)
        if name.endswith("activation"):
            yield from (
                (name, one) for one in (keras.activations.hard_sigmoid, keras.activations.elu)
            )


@pytest.mark.thorough
@pytest.mark.parametrize("kind", CELLS)
def test_every_attribute(kind, rng, op_calls):
    x = tf.constant(rng.normal(size=(2, 2, 3)), tf.float32)
    modes = (False,) if kind in IN_TRAINING else (False, True)
    assert_as_keras(made(kind, rng), x, "nothing", op_calls, modes)
    assert op_calls
    for name, value in attributes(CELLS[kind]()):
        cell = made(kind, rng)
        setattr(cell, name, value)
        assert_as_keras(cell, x, f"{name}={value}", op_calls, modes)


@pytest.mark.parametrize(
    "kind, name, value",
    [
        ("LSTM", "use_bias", False),
        ("GRU", "use_bias", False),
        ("SimpleRNN", "use_bias", False),
        ("no bias", "use_bias", True),
        ("GRU", "reset_after", False),
        ("GRU before", "units", 2),
        ("LSTM dropout", "implementation", 1),
        ("LSTM masks", "implementation", 2),
        ("LSTM", "recurrent_dropout", 0.25),
        ("LSTM", "activation", keras.activations.elu),
        ("projected", "num_proj", 0),
        ("projected", "use_peepholes", False),
        ("norm", "norm_epsilon", 0.5),
    ],
)
def test_attribute(kind, name, value, rng, op_calls):
    x = tf.constant(rng.normal(size=(2, 2, 3)), tf.float32)
    cell = made(kind, rng)
    setattr(cell, name, value)
    assert_as_keras(cell, x, name, op_calls)


def methods(cell):
    """The methods of a cell that run in a step, of those that its class does not have from keras.layers.Layer."""
    of_layers = {name for base in keras.layers.Layer.__mro__ for name in vars(base)}
    for name in sorted({name for base in type(cell).__mro__ for name in vars(base)} - of_layers):
        is_method = callable(getattr(cell, name)) and not isinstance(getattr(cell, name), type)
        if is_method and name not in ("op_reason", "op_arguments"):
            yield name
    yield from ("call", "__call__")


def doubled(function):
    """A function with twice the results of another, as far as they are tensors."""

    def twice(one):
        return 2 * one if isinstance(one, tf.Tensor) else one

    def call(*args, **kwargs):
        return keras.tree.map_structure(twice, function(*args, **kwargs))

    return call


def assert_methods(kind, names, of_class, rng, op_calls, monkeypatch):
    x = tf.constant(rng.normal(size=(2, 2, 3)), tf.float32)
    modes = (False,) if kind in IN_TRAINING else (False, True)
    for name in names:
        cell = made(kind, rng)
        with monkeypatch.context() as patch:
            owner = cell
            if of_class:
                owner = next(cls for cls in type(cell).__mro__ if name in vars(cls))
                if owner in keras.layers.Layer.__mro__:
                    owner = type(cell)  # another method of all layers is not a change of this class
            patch.setattr(owner, name, doubled(getattr(owner, name)), raising=False)
            assert_as_keras(cell, x, name, op_calls, modes)
            if name == "call":
                assert not op_calls


@pytest.mark.parametrize("of_class", [False, True])
@pytest.mark.parametrize("kind, name", [("GRU", "call"), ("LSTM masks", "get_dropout_mask")])
def test_method(kind, name, of_class, rng, op_calls, monkeypatch):
    assert_methods(kind, [name], of_class, rng, op_calls, monkeypatch)


@pytest.mark.thorough
@pytest.mark.parametrize("of_class", [False, True])
@pytest.mark.parametrize("kind", CELLS)
def test_every_method(kind, of_class, rng, op_calls, monkeypatch):
    assert_methods(kind, methods(CELLS[kind]()), of_class, rng, op_calls, monkeypatch)


def test_method_of_the_layer_classes(rng, op_calls, monkeypatch):
    """Replaced before and after accelerate(), and below the classes of this package."""
    x = tf.constant(rng.normal(size=(2, 2, 3)), tf.float32)
    for cls, base in ((keras.layers.LSTM, keras.layers.LSTM), (keras.layers.GRU, keras.layers.RNN)):
        layer, ours = cls(UNITS), getattr(rnn, cls.__name__)(UNITS)
        before = layer(x)
        ours(x)
        ours.set_weights(layer.get_weights())
        with monkeypatch.context() as patch:
            patch.setattr(base, "inner_loop", doubled(base.inner_loop))
            np.testing.assert_allclose(layer(x), 2 * before, atol=1e-6)
            np.testing.assert_allclose(ours(x), 2 * before, atol=1e-6)
            assert explain(ours, print_fn=None)[0].path == "keras"
            with accelerate():
                np.testing.assert_allclose(layer(x), 2 * before, atol=1e-6)
                assert explain(layer, print_fn=None)[0].path == "keras"
        with accelerate():
            with monkeypatch.context() as patch:
                patch.setattr(base, "inner_loop", doubled(base.inner_loop))
                np.testing.assert_allclose(layer(x), 2 * before, atol=1e-6)
            op_calls.clear()
            np.testing.assert_allclose(layer(x), before, atol=1e-6)
            np.testing.assert_allclose(ours(x), before, atol=1e-6)
            assert len(op_calls) == 2


def test_method_of_one_layer(rng):
    x = tf.constant(rng.normal(size=(2, 2, 3)), tf.float32)
    both = keras.layers.Bidirectional(rnn.LSTM(UNITS))
    before = both(x).numpy()
    both.backward_layer.inner_loop = doubled(both.backward_layer.inner_loop)
    before[:, UNITS:] *= 2
    np.testing.assert_allclose(both(x), before, atol=1e-6)
    assert [row.path for row in explain(both, print_fn=None)] == ["fused", "keras"]


def test_a_class_that_extends_the_loop(rng, op_calls):
    class Extended(rnn.LSTM):
        def inner_loop(self, *args, **kwargs):
            return super().inner_loop(*args, **kwargs)

    layer = Extended(UNITS)
    layer(tf.ones([2, 3, 3]))
    assert op_calls and explain(layer, print_fn=None)[0].path == "fused"


def test_a_class_of_a_namespace_without_a_name():
    code = (
        "class Own(base):\n def call(self, *args, **kwargs): return super().call(*args, **kwargs)"
    )
    space = {"base": rnn.PeepholeLSTMCell}
    exec(code, space)
    assert explain(keras.layers.RNN(space["Own"](UNITS)), print_fn=None)[0].path == "keras"


def test_cells_in_a_stack(rng, op_calls):
    x = tf.constant(rng.normal(size=(2, 2, 3)), tf.float32)
    for name in ("call", "__call__"):
        cells = keras.layers.StackedRNNCells([made("LSTM", rng), keras.layers.GRUCell(UNITS)])
        layer, stock = rnn.RNN(cells), keras.layers.RNN(cells)
        stock(x)
        for owner in (cells, cells.cells[1], cells.cells[0]):
            setattr(owner, name, doubled(getattr(owner, name)))
            op_calls.clear()
            np.testing.assert_allclose(layer(x), stock(x), atol=1e-6)
            assert not op_calls and explain(layer, print_fn=None)[0].path == "keras"


def test_losses_of_a_cell(rng):
    """A regularizer of the outputs of a cell adds a loss at each step."""
    x = tf.constant(rng.normal(size=(2, 2, 3)), tf.float32)
    cell = keras.layers.LSTMCell(UNITS, activity_regularizer="l2")
    losses = []
    for cls in (keras.layers.RNN, rnn.RNN):
        layer = cls(cell)
        layer(x)
        losses.append(np.sum(layer.losses))
    assert losses[0] > 0 and losses[0] == losses[1]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "SimpleRNN"])
def test_weights_that_are_other_objects(kind, rng, op_calls):
    x = tf.constant(rng.normal(size=(2, 2, 3)), tf.float32)
    for name in ("kernel", "recurrent_kernel", "bias"):
        cell = made(kind, rng)
        shape = getattr(cell, name).shape
        object.__setattr__(cell, name, tf.Variable(rng.normal(size=shape).astype("float32")))
        assert_as_keras(cell, x, name, op_calls)
        assert op_calls


def test_norm_of_a_cell(rng, op_calls):
    x = tf.constant(rng.normal(size=(2, 2, 3)), tf.float32)
    cell = made("norm", rng)
    cell.state_norm.call = doubled(cell.state_norm.call)
    assert_as_keras(cell, x, "state_norm", op_calls)
    assert not op_calls
    cell = made("norm", rng)
    cell.kernel_norm.rms_scaling = True
    assert_as_keras(cell, x, "rms_scaling", op_calls)


def test_int8_needs_the_methods_of_the_class(rng):
    layer = rnn.RNN(made("LSTM", rng))
    layer.build((2, 2, 3))
    layer.cell.call = doubled(layer.cell.call)
    with pytest.raises(NotImplementedError, match="call"):
        layer.quantize("int8")


def model_of(*layers):
    return keras.Sequential([keras.Input((3, 3)), *layers])


CARRIED = {
    "activation": keras.activations.elu,
    "activity_regularizer": keras.regularizers.L2(0.1),
    "recurrent_dropout": 0.25,
    "implementation": 1,
}


@pytest.mark.parametrize("name", CARRIED)
def test_convert_carries(name, rng):
    x = rng.normal(size=(2, 3, 3)).astype("float32")
    model = model_of(keras.layers.LSTM(UNITS, dropout=0.3, seed=1))
    setattr(model.layers[0].cell, name, CARRIED[name])
    copy = rnn.convert(model)
    for training in (False, True):
        outcomes = []
        for one in (model, copy):
            try:
                outcomes.append(np.asarray(one(x, training=training)))
            except Exception as error:
                outcomes.append(type(error).__name__)
        if isinstance(outcomes[0], str):
            assert outcomes[0] == outcomes[1]
        else:
            np.testing.assert_allclose(*outcomes, atol=1e-6)
    np.testing.assert_allclose(sum(copy.losses), sum(model.losses), rtol=1e-5)


@pytest.mark.parametrize(
    "owner, name", [("cell", "call"), ("layer", "inner_loop"), ("model", "train_step")]
)
def test_convert_does_not_lose_a_method(owner, name, rng):
    model = model_of(keras.layers.Bidirectional(keras.layers.LSTM(UNITS)))
    layer = model.layers[0].forward_layer
    owner = {"cell": layer.cell, "layer": layer, "model": model}[owner]
    setattr(owner, name, doubled(getattr(owner, name)))
    with pytest.raises(ValueError, match=name):
        rnn.convert(model)


def test_convert_copies_a_model_with_another_fit(rng):
    model = model_of(keras.layers.LSTM(UNITS))
    model.fit = doubled(model.fit)
    x = rng.normal(size=(2, 3, 3)).astype("float32")
    np.testing.assert_allclose(rnn.convert(model)(x), model(x), atol=1e-6)


def test_convert_does_not_lose_a_weight(rng):
    x = rng.normal(size=(2, 3, 3)).astype("float32")
    model = model_of(keras.layers.LSTM(UNITS), keras.layers.Dense(2))
    model.layers[0].cell.kernel = tf.ones([3, 4 * UNITS])
    with pytest.raises(ValueError, match="kernel"):
        rnn.convert(model)
    want = model(x)
    with accelerate():
        np.testing.assert_allclose(model(x), want, atol=1e-6)


def test_export_keeps_the_change(rng, tmp_path):
    x = rng.normal(size=(2, 3, 3)).astype("float32")
    model = model_of(keras.layers.LSTM(UNITS))
    model.layers[0].cell.call = doubled(model.layers[0].cell.call)
    rnn.export(model, tmp_path / "model", print_fn=None)
    loaded = tf.saved_model.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.serve(x), model(x), atol=1e-6)
