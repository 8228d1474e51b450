"""convert(to="keras") of stacks: layers of Keras with the same weights and outputs, or one sentence."""

import itertools

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras
from tf_rnn_ops.keras import CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh, convert

MODES = {"lstm": CudnnLSTM, "gru": CudnnGRU, "rnn_tanh": CudnnRNNTanh, "rnn_relu": CudnnRNNRelu}
BATCH, TIME, INPUTS, UNITS = 4, 6, 3, 4
LENGTHS = np.array([6, 4, 0, 1])


@pytest.fixture
def x(rng):
    """Rows of LENGTHS valid steps, for a Masking layer."""
    x = rng.normal(size=(BATCH, TIME, INPUTS)).astype("float32")
    return x * (np.arange(TIME) < LENGTHS[:, None])[:, :, None]


def randomize(model, rng):
    model.set_weights([rng.uniform(-0.5, 0.5, size=w.shape) for w in model.get_weights()])
    return model


def in_keras(model):
    """The converted model, which Keras can load without this package."""
    copy = convert(model, to="keras")
    assert "tf_rnn_ops" not in copy.to_json()
    return copy


def assert_same(got, want):
    got, want = keras.tree.flatten(got), keras.tree.flatten(want)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-6)


@pytest.mark.each_value
@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
@pytest.mark.parametrize("mode", MODES)
def test_masks_directions_and_states(mode, direction, x, rng):
    for num_layers, backwards, sequences, state in itertools.product((1, 2), *[(False, True)] * 3):
        inputs = keras.Input((None, INPUTS))
        stack = MODES[mode](
            UNITS,
            num_layers=num_layers,
            direction=direction,
            go_backwards=backwards,
            return_sequences=sequences,
            return_state=state,
        )
        model = keras.Model(inputs, stack(keras.layers.Masking()(inputs)))
        randomize(model, rng)
        copy = in_keras(model)
        assert_same(copy(x), model(x))


@pytest.mark.parametrize("sequences", [False, True])
@pytest.mark.parametrize("lengths_dtype", ["int32", "float32"])
@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_lengths_and_initial_states(mode, lengths_dtype, sequences, x, rng):
    count = 2 if mode == "lstm" else 1
    shape = (4, UNITS)  # of 2 layers in 2 directions
    inputs = [
        keras.Input((None, INPUTS)),
        keras.Input((), dtype=lengths_dtype),
        *[keras.Input(shape) for _ in range(count)],
    ]
    stack = MODES[mode](UNITS, num_layers=2, direction="bidirectional", return_sequences=sequences)
    y = stack(inputs[0], initial_state=inputs[2:], sequence_lengths=inputs[1])
    # It would average only over valid steps if it got a mask.
    outputs = [y, keras.layers.GlobalAveragePooling1D()(y)] if sequences else [y]
    model = randomize(keras.Model(inputs, outputs), rng)
    states = [rng.normal(size=(BATCH, *shape)).astype("float32") for _ in range(count)]
    given = [x, LENGTHS.astype(lengths_dtype), *states]
    assert_same(in_keras(model)(given), model(given))


def test_initial_states_of_rows_without_a_valid_step(x, rng):
    inputs = [keras.Input((None, INPUTS)), keras.Input((2, UNITS))]
    masked = keras.layers.Masking()(inputs[0])
    stack = CudnnGRU(UNITS, num_layers=2)
    model = randomize(keras.Model(inputs, stack(masked, initial_state=inputs[1])), rng)
    given = [x, rng.normal(size=(BATCH, 2, UNITS)).astype("float32")]
    assert_same(in_keras(model)(given), model(given))


@pytest.mark.parametrize("sequences", [False, True])
@pytest.mark.parametrize("state", [False, True])
def test_states_that_stay(state, sequences, x, rng):
    stack = CudnnLSTM(
        UNITS,
        num_layers=2,
        direction="bidirectional",
        stateful=True,
        return_sequences=sequences,
        return_state=state,
    )
    model = keras.Sequential(
        [keras.Input(batch_shape=(BATCH, None, INPUTS)), keras.layers.Masking(), stack]
    )
    randomize(model, rng)
    model(x)
    copy = in_keras(model)
    for _ in range(2):
        assert_same(copy(x), model(x))


def test_a_sequential_model_stays_one(x, rng):
    model = keras.Sequential(
        [
            keras.Input((None, INPUTS)),
            CudnnLSTM(UNITS, num_layers=3, return_sequences=True, dropout=0.25, seed=7, name="s"),
            CudnnGRU(UNITS, use_bias=False, direction="bidirectional", name="t"),
            keras.layers.Dense(1),
        ]
    )
    randomize(model, rng)
    stack = model.get_layer("t")
    stack.set_weights([convert_biases_to_zero(stack)])
    copy = in_keras(model)
    assert type(copy) is keras.Sequential
    assert [type(layer).__name__ for layer in copy.layers] == [
        *["LSTM", "Dropout", "LSTM", "Dropout", "LSTM"],
        *["Bidirectional", "Dense"],
    ]
    assert [layer.name for layer in copy.layers[:2]] == ["s_0", "s_dropout_0"]
    assert copy.layers[1].rate == 0.25 and copy.layers[1].seed != copy.layers[3].seed
    assert copy.get_layer("t").forward_layer.use_bias is False
    assert_same(copy(x), model(x))


def test_names_that_other_layers_have():
    """Keras itself counts the names of layers up."""
    names = ("s", "s_1", "s__0", "s_dropout_0")
    stacks = [CudnnLSTM(2, num_layers=2, dropout=0.5, return_sequences=True, name=names[0])]
    stacks += [CudnnLSTM(2, return_sequences=True, name=name) for name in names[1:]]
    copy = in_keras(keras.Sequential([keras.Input((5, 3)), *stacks]))
    assert [layer.name for layer in copy.layers] == [
        *("s___0", "s___dropout_0", "s___1"),
        *names[1:],
    ]


def convert_biases_to_zero(stack):
    params = stack.params.numpy()
    params[stack.layout.biases[0].offset :] = 0
    return params


def test_dropout_between_layers():
    """Ones through identities: each output is 0 or 1/(1 - rate), in the share of the rate."""
    stack = CudnnRNNRelu(64, num_layers=2, dropout=0.25)
    model = keras.Sequential([keras.Input((1, 64)), stack])
    identity, zeros = np.eye(64, dtype="float32"), np.zeros(64, "float32")
    stack.params.assign(stack.layout.pack([identity] * 4, [zeros] * 4))
    y = in_keras(model)(np.ones((64, 1, 64), "float32"), training=True).numpy()
    assert set(np.unique(y.round(5))) == {0, np.float32(1 / 0.75).round(5)}
    assert abs(np.mean(y == 0) - 0.25) < 0.03


def test_where_a_sequence_of_layers_does_not_do(x, rng):
    model = keras.Sequential(
        [keras.Input((None, INPUTS)), CudnnLSTM(UNITS, num_layers=2, go_backwards=True)]
    )
    randomize(model, rng)
    copy = in_keras(model)
    assert_same(copy(x), model(x))
    assert copy.input_shape == model.input_shape and copy.name == model.name
    unbuilt = keras.Sequential([CudnnLSTM(UNITS, num_layers=2, go_backwards=True)])
    with pytest.raises(ValueError, match="begin the model with a keras.Input"):
        convert(unbuilt, to="keras")


def test_a_class_of_sequential_models():
    class Own(keras.Sequential):
        def call(self, x, training=None, mask=None):
            return 2 * super().call(x, training=training, mask=mask)

    stack = CudnnLSTM(UNITS, num_layers=2, go_backwards=True, name="s")
    with pytest.raises(ValueError, match="The stack 's' becomes several .* is a Own, whose own"):
        convert(Own([keras.Input((TIME, INPUTS)), stack]), to="keras")
    stack = CudnnLSTM(UNITS, num_layers=2)
    assert type(in_keras(Own([keras.Input((TIME, INPUTS)), stack]))) is Own


def test_masks_that_reach_a_nested_model_at_run_time(x, rng):
    def nested(masked, **arguments):
        stack = CudnnGRU(UNITS, num_layers=2, name="s", **arguments)
        inner = keras.Sequential([keras.Input((TIME, INPUTS)), stack], name="inner")
        masking = [keras.layers.Masking()] if masked else []
        return randomize(keras.Sequential([keras.Input((TIME, INPUTS)), *masking, inner]), rng)

    for arguments, masked in (({"go_backwards": True}, False), ({}, True)):
        model = nested(masked, **arguments)
        assert_same(in_keras(model)(x), model(x))
    text = "'s' cannot become .* from outside of the model 'inner'. Put the layer into"
    with pytest.raises(ValueError, match=text):
        convert(nested(True, go_backwards=True), to="keras")
    inputs, state = keras.Input((TIME, INPUTS)), keras.Input((1, UNITS))
    inner = keras.Model([inputs, state], CudnnGRU(UNITS, name="s")(inputs, state), name="inner")
    model = keras.Model([inputs, state], inner([keras.layers.Masking()(inputs), state]))
    with pytest.raises(ValueError, match=text):
        convert(model, to="keras")


def test_shared_stacks_and_nested_models(x, rng):
    inputs = keras.Input((None, INPUTS))
    shared = CudnnGRU(INPUTS, num_layers=2, return_sequences=True, name="shared")
    inner = keras.Model(inputs, shared(shared(inputs)), name="inner")
    last = keras.Sequential([CudnnLSTM(UNITS, direction="bidirectional")], name="last")
    model = randomize(keras.Model(inputs, last(inner(inputs))), rng)
    copy = in_keras(model)
    assert [layer.name for layer in copy.layers[1:]] == ["inner", "last"]
    assert len(copy.get_layer("inner").layers) == 3
    assert_same(copy(x), model(x))


def test_regularizers_constraints_and_flags(x, rng):
    stack = CudnnLSTM(
        UNITS,
        num_layers=2,
        kernel_regularizer="l2",
        recurrent_regularizer=keras.regularizers.L1(0.1),
        bias_regularizer="l2",
        kernel_constraint="non_neg",
        recurrent_constraint=keras.constraints.MaxNorm(0.5, axis=0),
        dtype="mixed_bfloat16",
    )
    model = randomize(keras.Sequential([keras.Input((None, INPUTS)), stack]), rng)
    copy = in_keras(model)
    np.testing.assert_allclose(float(sum(copy.losses)), float(sum(model.losses)), rtol=1e-6)
    assert copy.layers[0].dtype_policy.name == "mixed_bfloat16"
    for layer in copy.layers:
        assert layer.cell.kernel.constraint.get_config() == {}
        assert layer.cell.recurrent_kernel.constraint.max_value == 0.5
    stack.trainable = False
    assert in_keras(model).trainable_variables == []


@pytest.mark.parametrize("of_stack", [False, True])
def test_a_flag_that_differs_from_that_of_the_model(of_stack):
    model = keras.Sequential([keras.Input((6, INPUTS)), CudnnLSTM(UNITS, num_layers=2)])
    model.trainable = not of_stack
    for layer in model.layers:
        layer.trainable = of_stack
    copy = convert(model, to="keras")
    assert copy.trainable is not of_stack
    assert all(layer.trainable is of_stack for layer in copy.layers)
    assert bool(copy.layers[0].trainable_variables) is of_stack


class Own(keras.regularizers.Regularizer):
    """Without a get_config."""

    def __call__(self, weights):
        return 0.5 * keras.ops.sum(keras.ops.abs(weights))


def test_a_regularizer_without_a_config(x, rng):
    def model(**arguments):
        stack = CudnnLSTM(UNITS, num_layers=2, kernel_regularizer=Own(), name="s", **arguments)
        return randomize(keras.Sequential([keras.Input((None, INPUTS)), stack]), rng)

    one = model()
    copy = convert(one, to="keras")
    assert_same(copy(x), one(x))
    np.testing.assert_allclose(float(sum(copy.losses)), float(sum(one.losses)), rtol=1e-6)
    with pytest.raises(ValueError, match="'s' cannot become .* since Bidirectional copies"):
        convert(model(direction="bidirectional"), to="keras")


def test_a_stack_alone(x, rng):
    stack = CudnnLSTM(UNITS, num_layers=2, return_sequences=True, return_state=True)
    stack.build((None, None, INPUTS))
    assert_same(in_keras(stack)(x), stack(x))
    chain = CudnnGRU(UNITS)
    copy = convert(chain, to="keras")
    assert not chain.built and type(copy) is keras.Sequential and copy(x).shape == (BATCH, UNITS)
    with pytest.raises(ValueError, match="the size of its input is not known: build it first"):
        convert(CudnnGRU(UNITS, return_state=True), to="keras")


def test_training_goes_on(x, rng):
    """With an optimizer that begins again, which convert says. For stacks with the biases of Keras's layers."""
    layers = [CudnnGRU(UNITS, return_sequences=True), CudnnLSTM(UNITS, use_bias=False)]
    model = keras.Sequential([keras.Input((None, INPUTS)), *layers, keras.layers.Dense(1)])
    optimizer = keras.optimizers.AdamW(0.05, name="adam_w")
    optimizer.exclude_from_weight_decay(var_list=[model.layers[0].params])
    model.compile(optimizer, "mse", run_eagerly=True)
    y = rng.normal(size=(BATCH, 1)).astype("float32")
    model.fit(x, y, epochs=3, verbose=0)
    with pytest.warns(UserWarning, match="the optimizer 'adam_w' has trained a stack"):
        copy = in_keras(model)
    assert int(copy.optimizer.iterations) == 0
    decays = [copy.optimizer._use_weight_decay(layer.weights[0]) for layer in copy.layers]
    assert decays == [False, True, True]
    model.compile(keras.optimizers.AdamW(0.05), "mse", run_eagerly=True)
    model.optimizer.exclude_from_weight_decay(var_list=[model.layers[0].params])
    for one in (model, copy):
        one.fit(x, y, epochs=3, verbose=0)
    np.testing.assert_allclose(copy(x), model(x), atol=1e-4)


def test_losses_by_the_names_of_outputs(x, rng):
    """A name of an output is that of its layer, which changes."""
    inputs = keras.Input((None, INPUTS))
    outputs = [CudnnLSTM(UNITS, num_layers=2, name="a"), keras.layers.GRU(UNITS, name="c")]
    model = randomize(keras.Model(inputs, [layer(inputs) for layer in outputs]), rng)
    model.compile(
        "sgd",
        loss={"a": "mse", "c": "mae"},
        loss_weights={"a": 2.0, "c": 3.0},
        metrics={"c": ["mse"]},
        weighted_metrics={"a": ["mae"]},
    )
    wanted = [rng.normal(size=(BATCH, UNITS)) for _ in range(2)]
    copy = in_keras(model)
    assert copy.output_names == ["a_1", "c"]
    got = copy.evaluate(x, wanted, verbose=0)
    np.testing.assert_allclose(got, model.evaluate(x, wanted, verbose=0), rtol=1e-5)
    copy.fit(x, wanted, verbose=0)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"num_proj": 2}, "has num_proj=2; Keras has no LSTM with a projection"),
        ({"input_mode": "auto_select"}, "has input_mode='auto_select' and no input weights"),
        ({"time_major": True}, "has time_major=True"),
        ({"activity_regularizer": "l2"}, "has an activity_regularizer"),
        ({"bias_constraint": "non_neg"}, "has a bias_constraint for each of its two biases"),
        ({"num_layers": 2, "dropout": 1}, "has dropout=1"),
    ],
)
def test_what_keras_does_not_have(arguments, reason):
    model = keras.Sequential([keras.Input((6, UNITS)), CudnnLSTM(UNITS, name="s", **arguments)])
    with pytest.raises(
        ValueError, match=f"layer 's' cannot become layers of Keras, since it {reason}"
    ):
        convert(model, to="keras")


def test_stacks_that_other_layers_hold():
    class Mine(CudnnLSTM):
        pass

    class Model(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.stack = CudnnLSTM(2)

    wrapped = keras.layers.Bidirectional(CudnnLSTM(2))
    for model in (Model(), wrapped, keras.Sequential([keras.Input((6, 3)), wrapped])):
        with pytest.raises(ValueError, match="a CudnnLSTM inside of a layer or a model of a class"):
            convert(model, to="keras")
    with pytest.raises(ValueError, match="is a Mine, .* but not subclasses of them"):
        convert(keras.Sequential([Mine(2)]), to="keras")


def test_a_call_with_a_dropout_seed():
    inputs = [keras.Input((6, 3)), keras.Input(batch_shape=(2,), dtype="int32")]
    stack = CudnnLSTM(2, num_layers=2, dropout=0.5)
    model = keras.Model(inputs, stack(inputs[0], dropout_seed=inputs[1]))
    with pytest.raises(ValueError, match="is called with a dropout_seed"):
        convert(model, to="keras")


def test_the_file(x, rng, tmp_path):
    inputs = [keras.Input((None, INPUTS)), keras.Input((), dtype="int32")]
    y, *states = CudnnLSTM(UNITS, num_layers=2, return_state=True)(
        inputs[0], sequence_lengths=inputs[1]
    )
    model = randomize(keras.Model(inputs, [y, *states]), rng)
    in_keras(model).save(tmp_path / "model.keras")
    copy = keras.saving.load_model(tmp_path / "model.keras", custom_objects={})
    assert_same(copy([x, LENGTHS]), model([x, LENGTHS]))
    again = tf_rnn_ops.keras.convert(copy)
    assert_same(again([x, LENGTHS]), model([x, LENGTHS]))
