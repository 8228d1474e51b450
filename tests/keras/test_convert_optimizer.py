"""convert: the copy of a compiled model trains as the model would have."""

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras


@pytest.fixture
def x(rng):
    return rng.normal(size=(4, 6, 3)).astype("float32")


@pytest.fixture
def y(rng):
    return rng.normal(size=(4, 2)).astype("float32")


def compiled(optimizer="adam", **arguments):
    layers = [keras.layers.LSTM(4), keras.layers.Dense(2)]
    model = keras.Sequential([keras.Input((None, 3)), *layers])
    model.compile(optimizer, "mse", **arguments)
    return model


def assert_same_variables(got, want, atol=0):
    for one, other in zip(got.variables, want.variables, strict=True):
        assert one.name == other.name
        np.testing.assert_allclose(one.numpy(), other.numpy(), atol=atol, rtol=0)


def assert_train_the_same(models, x, y):
    for model in models:
        model.fit(x, y, epochs=3, verbose=0)
    for model in models[1:]:
        assert_same_variables(model, models[0], atol=1e-5)


@pytest.mark.parametrize("auto_scale_loss", [False, True])
def test_loss_scaling(x, y, auto_scale_loss):
    keras.config.set_dtype_policy("mixed_float16")
    model = compiled(auto_scale_loss=auto_scale_loss)
    model.fit(x, y, verbose=0)
    copy = tf_rnn_ops.keras.convert(model)
    scaled = isinstance(copy.optimizer, keras.optimizers.LossScaleOptimizer)
    assert scaled == auto_scale_loss and type(copy.optimizer) is type(model.optimizer)
    assert_same_variables(copy.optimizer, model.optimizer)


def test_layers_frozen_after_compile(x, y):
    model = compiled(keras.optimizers.SGD(0.1, momentum=0.9))
    model.fit(x, y, verbose=0)
    model.layers[0].trainable = False
    copy = tf_rnn_ops.keras.convert(model)
    assert [v.path for v in copy.trainable_variables] == [v.path for v in model.trainable_variables]
    assert_same_variables(copy.optimizer, model.optimizer)
    # Keras freezes a layer in what it has not traced yet.
    model.make_train_function(force=True)
    assert_train_the_same((model, copy), x, y)


def test_layers_unfrozen_after_compile(x, y):
    model = compiled(keras.optimizers.SGD(0.1, momentum=0.9))
    model.layers[0].trainable = False
    model.compile(model.optimizer, "mse")
    model.fit(x, y, verbose=0)
    model.layers[0].trainable = True
    copy = tf_rnn_ops.keras.convert(model)
    assert_same_variables(copy.optimizer, model.optimizer)


def test_an_optimizer_of_two_models(x, y):
    model, other = compiled(), compiled()
    model.optimizer.build(model.trainable_variables + other.trainable_variables)
    with pytest.raises(ValueError, match="variables outside of the model.*accelerate"):
        tf_rnn_ops.keras.convert(model)


@pytest.mark.parametrize("optimizer", ["adam", "adafactor"])
def test_a_model_that_was_quantized_after_training(optimizer, x, y):
    """Its optimizer still has the float weights. Adafactor has several variables of one name."""
    model = compiled(optimizer)
    model.fit(x, y, verbose=0)
    model.quantize("int8", filters="lstm")
    copies = [tf_rnn_ops.keras.convert(model)]
    copies.append(tf_rnn_ops.keras.convert(copies[0]))
    for copy in copies:
        assert copy.optimizer.iterations == model.optimizer.iterations == 1
    assert_train_the_same((model, *copies), x, y)
    assert tf_rnn_ops.keras.compare(model, x, y, repeats=1, print_fn=None).difference < 0.1


@pytest.mark.parametrize(("trained", "scaled"), [(False, False), (True, True)])
def test_variables_without_weight_decay(x, y, trained, scaled):
    optimizer = keras.optimizers.AdamW(0.01, weight_decay=5.0)
    model = compiled(keras.optimizers.LossScaleOptimizer(optimizer) if scaled else optimizer)
    optimizer.exclude_from_weight_decay([model.layers[1].kernel], ["bias", "recurrent"])
    if trained:
        model.fit(x, y, verbose=0)
    assert_train_the_same((model, tf_rnn_ops.keras.convert(model)), x, y)


# Muon is new in Keras 3.10.
DECAYING = [name for name in ("AdamW", "Muon") if hasattr(keras.optimizers, name)]


@pytest.mark.parametrize("name", DECAYING)
@pytest.mark.parametrize(
    ("pattern", "trained"), [("enc/", True), ("^forward", False), ("^kernel", True)]
)
def test_names_without_weight_decay(name, pattern, trained, x, y):
    """The copy of a Bidirectional has other paths, and Muon goes by the last parts of paths."""

    def build():
        keras.utils.set_random_seed(1)
        inputs = keras.Input(x.shape[1:])
        encoded = keras.layers.Bidirectional(keras.layers.LSTM(4), name="enc")(inputs)
        model = keras.Model(inputs, keras.layers.Dense(y.shape[-1])(encoded))
        optimizer = getattr(keras.optimizers, name)(0.01, weight_decay=5.0)
        model.compile(optimizer, "mse")
        optimizer.exclude_from_weight_decay(var_names=[pattern])
        if trained:
            model.fit(x, y, verbose=0)
        return model

    model = build()
    assert_train_the_same((build(), model, tf_rnn_ops.keras.convert(model)), x, y)


def test_names_without_weight_decay_of_a_model_that_is_not_built(x, y):
    layers = [keras.layers.LSTM(4, dropout=0.5), keras.layers.Dense(2)]
    model = keras.Sequential(layers)
    optimizer = keras.optimizers.AdamW(0.01, weight_decay=5.0)
    optimizer.exclude_from_weight_decay(var_names=["kernel"])
    model.compile(optimizer, "mse")
    copy = tf_rnn_ops.keras.convert(model)
    copy.build(x.shape)
    copy.optimizer.build(copy.trainable_variables)
    for variable in copy.trainable_variables:
        decayed = copy.optimizer._use_weight_decay(variable.value)
        assert decayed == ("kernel" not in variable.path)


class Forgetful(keras.optimizers.SGD):
    """Leaves an argument out of its config, and with it a variable for each weight."""

    def get_config(self):
        return super().get_config() | {"momentum": 0.0}


def test_an_optimizer_that_its_config_does_not_describe(x, y):
    model = compiled(Forgetful(0.1, momentum=0.9))
    model.fit(x, y, verbose=0)
    with pytest.raises(ValueError, match="copy of the optimizer '.*' .* differs.*accelerate"):
        tf_rnn_ops.keras.convert(model)


class Schedule(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        return 0.1


class Metric(keras.metrics.Metric):
    def __init__(self, something):
        super().__init__(name="metric")

    def update_state(self, y_true, y_pred, sample_weight=None):
        pass

    def result(self):
        return 0.0


def test_parts_without_a_config():
    for arguments, match in (
        (
            {"optimizer": keras.optimizers.SGD(Schedule())},
            "convert: the optimizer 'sgd.*accelerate",
        ),
        ({"metrics": [Metric(1)]}, "convert: the metric 'metric' of class Metric .*accelerate"),
    ):
        with pytest.raises(ValueError, match=match):
            tf_rnn_ops.keras.convert(compiled(**arguments))


class Nameless(keras.layers.Layer):
    """Its config lacks the name, so a copy has another one."""

    def call(self, x):
        return x

    def get_config(self):
        return {}


def test_losses_by_the_names_of_outputs(rng):
    """A name of an output is that of its layer."""
    inputs = keras.Input((None, 3))
    outputs = [
        Nameless(name="a")(keras.layers.LSTM(4)(inputs)),
        keras.layers.GRU(4, name="z")(inputs),
    ]
    model = keras.Model(inputs, outputs)
    model.compile(
        "sgd",
        loss={"a": "mse", "z": "mae"},
        loss_weights={"a": 2.0, "z": 3.0},
        metrics={"z": ["mse"]},
        weighted_metrics={"a": ["mae"]},
    )
    x = rng.normal(size=(2, 5, 3)).astype("float32")
    wanted = [rng.normal(size=(2, 4)) for _ in range(2)]
    copy = tf_rnn_ops.keras.convert(model)
    assert copy.output_names[0] != "a"
    got = copy.evaluate(x, wanted, verbose=0)
    np.testing.assert_allclose(got, model.evaluate(x, wanted, verbose=0), rtol=1e-5)
