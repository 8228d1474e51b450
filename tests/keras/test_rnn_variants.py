"""PeepholeLSTM, ProjectedLSTM, LayerNormLSTM, ZoneoutLSTM and ZoneoutGRU.

They are compared with Keras's implementation over the same cell, and the cells with the equations in NumPy.
"""

import inspect
import itertools
import re

import compare_layers as compare
import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras
from support.reference import layer as reference
from support.selection import all_but
from tf_rnn_ops.keras import (
    LayerNormLSTM,
    LayerNormLSTMCell,
    PeepholeLSTM,
    ProjectedLSTM,
    ProjectedLSTMCell,
    ZoneoutGRU,
    ZoneoutGRUCell,
    ZoneoutLSTM,
    ZoneoutLSTMCell,
    explain,
)
from tf_rnn_ops.native import xla
from tf_rnn_ops.raw_ops import dropout_seeds

# Limits well inside what the random weights below reach.
ALL_PARTS = {"num_proj": 3, "use_peepholes": True, "cell_clip": 0.375, "proj_clip": 0.25}
CASES = {
    "peephole": (PeepholeLSTM, {"cell_clip": 0.3125}),
    "peephole, no limit": (PeepholeLSTM, {"cell_clip": 0.0}),
    "projected": (ProjectedLSTM, ALL_PARTS),
    "projection": (ProjectedLSTM, {"num_proj": 3}),
    "wide projection": (ProjectedLSTM, {"num_proj": 7, "proj_clip": 0.25}),
    "peepholes": (ProjectedLSTM, {"use_peepholes": True}),
    "limit": (ProjectedLSTM, {"cell_clip": 0.375}),
    "none": (ProjectedLSTM, {}),
    "layer norm": (LayerNormLSTM, {"norm_epsilon": 0.125}),
    "layer norm, no bias": (LayerNormLSTM, {"norm_epsilon": 0.125, "use_bias": False}),
    "zoneout lstm": (ZoneoutLSTM, {"zoneout_h": 0.25, "zoneout_c": 0.5}),
    "zoneout gru": (ZoneoutGRU, {"zoneout_h": 0.375}),
}
# A case of each class.
CLASSES = ("peephole", "projected", "layer norm", "zoneout lstm", "zoneout gru")
ZONEOUT = CLASSES[3:]
OUTPUTS = {
    "last": {},
    "last_or_zero": {"zero_output_for_mask": True},
    "sequence": {"return_sequences": True},
    "sequence_or_zero": {"return_sequences": True, "zero_output_for_mask": True},
}


def make(case, **arguments):
    """A built layer of a case, of which no weight is special."""
    cls, parts = CASES[case]
    random = keras.initializers.RandomNormal(stddev=0.7)
    shown = inspect.signature(cls).parameters
    names = ("bias", "peephole", "projection", "norm_gamma", "norm_beta")
    usual = {f"{n}_initializer": random for n in names if f"{n}_initializer" in shown}
    if "unit_forget_bias" in shown:
        usual["unit_forget_bias"] = False
    usual |= {"return_state": True, "dtype": "float64", **parts}
    layer = cls(compare.UNITS, **{**usual, **arguments})
    layer.build((compare.BATCH, compare.TIME, compare.INPUT))
    return layer


def loop_of(layer):
    """The same cell with the same weights in Keras's implementation."""
    names = ("return_sequences", "return_state", "go_backwards", "zero_output_for_mask")
    loop = keras.layers.RNN(
        layer.cell, dtype=layer.dtype_policy, **{name: getattr(layer, name) for name in names}
    )
    loop.build((compare.BATCH, compare.TIME, compare.INPUT))
    return loop


def op_of(layer):
    return "BlockLSTMV2" if isinstance(layer, PeepholeLSTM) else "LayerRNN"


def values(layer, rng):
    """Random sequences and initial states."""
    x, _ = compare.values(rng)
    shapes = [(compare.BATCH, size) for size in layer.state_size]
    return x, [tf.constant(rng.normal(size=shape)) for shape in shapes]


def weights_of(layer):
    return dict(zip([w.name for w in layer.weights], map(np.asarray, layer.get_weights())))


@pytest.mark.parametrize(
    "call",
    all_but(
        list(itertools.product(CASES, compare.MASKS, OUTPUTS)),
        ("peephole", "no_mask", "sequence"),
        ("peephole, no limit", "all_valid", "last_or_zero"),
        ("projected", "all_valid", "sequence_or_zero"),
        ("projection", "no_mask", "sequence"),
        ("wide projection", "all_valid", "sequence"),
        ("peepholes", "none_valid", "last_or_zero"),
        ("limit", "left", "sequence_or_zero"),
        ("none", "none_valid", "last"),
        ("layer norm", "holes", "last"),
        ("layer norm, no bias", "holes", "sequence"),
        ("zoneout lstm", "no_mask", "sequence"),
        ("zoneout gru", "right", "sequence"),
    ),
    ids="-".join,
)
def test_against_the_loop(call, rng, op_calls):
    case, mask, output = call
    # Each mask and each output forwards and backwards; the pairs of both in one case or another.
    places = zip(call, (CASES, compare.MASKS, OUTPUTS))
    go_backwards = sum(list(of).index(value) for value, of in places) % 2 == 1
    layer = make(case, go_backwards=go_backwards, **OUTPUTS[output])
    x, states = values(layer, rng)
    # In training the two draw other seeds for zoneout.
    for training in (False,) if case in ZONEOUT else (True, False):
        compare.assert_same(loop_of(layer), layer, x, compare.MASKS[mask], states, training)
        if training:
            assert op_calls == [op_of(layer)]
    assert set(op_calls) == {op_of(layer)}
    assert explain(layer, print_fn=None)[0][2:] == ("fused", "")
    assert layer.supports_jit is (xla.unavailable() is None)


@pytest.mark.parametrize("case", CASES)
def test_masks_with_holes(case, rng, op_calls):
    """One sequence has no valid step: its states stay the initial ones."""
    layer = make(case, return_sequences=True)
    x, states = values(layer, rng)
    compare.assert_same(loop_of(layer), layer, x, compare.MASKS["holes"], states)
    assert set(op_calls) == {op_of(layer)}


def equations(layer, x, states, seed=None):
    """The outputs and the states by the equations in NumPy, of the steps that a seed selects in training."""
    found = weights_of(layer)
    if isinstance(layer, PeepholeLSTM):
        found["peepholes"] = np.stack([found[f"peephole_{gate}"] for gate in "ifo"])
    if isinstance(layer, LayerNormLSTM):
        # The list of TensorFlow Addons: gamma and beta of x W, of h R and of c.
        norms = [norm.reshape(-1, compare.UNITS) for norm in layer.get_weights()[-6:]]
        found["layer_norm"] = np.concatenate(norms)
    h, *c = map(np.asarray, states)
    names = ("kernel", "recurrent_kernel", "bias", "projection", "peepholes", "layer_norm")
    inputs = reference.LayerInputs(
        x=np.asarray(x).transpose(1, 0, 2),
        h0=h,
        c0=c[0] if c else None,
        seed=seed,
        **{name: found.get(name) for name in names},
    )
    own = {"norm_epsilon": "layer_norm_epsilon"}
    config = layer.cell.get_config()
    functions = {name: config.get(name, usual) for name, usual in reference.USUAL.items()}
    functions |= {to: config[of] for of, to in own.items() if of in config}
    want, _ = reference.forward("lstm" if c else "gru", inputs, functions=functions)
    return [want["output"].transpose(1, 0, 2), *list(want.values())[1:]]


@pytest.mark.parametrize("case", CASES)
def test_against_the_equations(case, rng, op_calls, monkeypatch):
    seeds = []

    def draw(generator, _draw=dropout_seeds.draw):
        seeds.append(_draw(generator))
        return seeds[-1]

    monkeypatch.setattr(dropout_seeds, "draw", draw)
    layer = make(case, return_sequences=True, **({"seed": 7} if case in ZONEOUT else {}))
    x, states = values(layer, rng)
    calls = [layer(x, initial_state=states, training=True) for _ in range(2)]
    assert op_calls == [op_of(layer)] * 2
    assert len(seeds) == (2 if case in ZONEOUT else 0)
    # Zoneout keeps other units in each call.
    assert np.array_equal(calls[0][0], calls[1][0]) is (not seeds)
    for results, seed in zip(calls, [s.numpy() for s in seeds] or [None, None], strict=True):
        for got, want in zip(results, equations(layer, x, states, seed), strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-13)


WEIGHTS = {
    "peephole": ["peephole_i", "peephole_f", "peephole_o"],
    "projected": ["projection", "peepholes"],
}


@pytest.mark.parametrize("case", CASES)
def test_config_and_names_of_weights(case):
    layer = make(case, kernel_regularizer="l2", seed=7, name="mine")
    again = type(layer).from_config(layer.get_config())
    assert again.get_config() == layer.get_config() and again.cell.seed == 7
    cell = type(layer.cell).from_config(layer.cell.get_config())
    assert cell.get_config() == layer.cell.get_config()
    names = [weight.path.split("/")[-1] for weight in layer.weights]
    if case in WEIGHTS:
        assert names == ["kernel", "recurrent_kernel", "bias", *WEIGHTS[case]]


@pytest.mark.parametrize(
    ("case", "given"),
    [
        ("projected", {"recurrent_dropout": 0.4}),
        ("projected", {"dropout": 0.3}),
        ("projected", {"recurrent_dropout": 0.4, "dropout": 0.3}),
        ("layer norm", {"recurrent_dropout": 0.4, "dropout": 0.3}),
        ("layer norm", {"implementation": 1, "dropout": 0.3}),
        ("peephole", {"dropout": 0.5}),
    ],
    ids=str,
)
def test_dropout_drops_what_the_loop_drops(case, given, rng, op_calls):
    layer, again = (make(case, seed=5, return_sequences=True, **given) for _ in range(2))
    again.set_weights(layer.get_weights())
    x, states = values(layer, rng)
    mask = compare.MASKS["holes"]
    want = compare.as_arrays(compare.outcome(loop_of(again), x, mask, states, training=True))
    assert op_calls == []
    got = compare.as_arrays(compare.outcome(layer, x, mask, states, training=True))
    compare.assert_outcomes(got, want, "float64")
    assert op_calls == [op_of(layer)]


@pytest.mark.parametrize("case", ["projected", "layer norm"])
def test_other_activations(case, rng, op_calls):
    layer = make(case, activation="linear", recurrent_activation="hard_sigmoid")
    x, states = values(layer, rng)
    compare.assert_same(loop_of(layer), layer, x, None, states, training=True)
    assert op_calls == ["LayerRNN"]


ON_THE_LOOP = [
    ("projected", {"activation": "elu"}, "activation=elu"),
    ("projected", {"clip_gradient": False}, "num_proj=3.*clip_gradient=False"),
    ("layer norm", {"activation": "elu"}, "activation=elu"),
    ("layer norm", {"norm_epsilon": 0}, "norm_epsilon=0"),
    ("zoneout gru", {"reset_after": False}, "reset_after=False"),
    ("zoneout lstm", {"unroll": True}, "unroll"),
    ("peephole", {"activation": "relu"}, "activation=relu"),
    ("peephole", {"unroll": True}, "unroll"),
    ("peephole", {"use_bias": False, "recurrent_dropout": 0.5}, "every step"),
    ("peephole", {"recurrent_dropout": 0.5, "dropout": 0.5}, "every step"),
]


@pytest.mark.parametrize(("case", "given", "reason"), ON_THE_LOOP, ids=str)
def test_the_loop_where_the_op_cannot(case, given, reason, rng, op_calls):
    layer = make(case, **given)
    x, states = values(layer, rng)
    dropping = "recurrent_dropout" in given
    results = layer(x, initial_state=states, training=dropping)
    (row,) = explain(layer, print_fn=None)
    assert op_calls == [] and row.path != "fused"
    assert re.search(reason, row.reason), row.reason
    if not dropping:
        want = loop_of(layer)(x, initial_state=states)
        np.testing.assert_allclose(results[0], want[0], rtol=0, atol=1e-14)


SIZES = {"mixed_bfloat16": 2**-8, "mixed_float16": 2**-11, "float16": 2**-11}


@pytest.mark.parametrize("policy", SIZES)
def test_16_bit_types(policy, rng, op_calls):
    """The loop rounds every intermediate result; a normalization multiplies that by up to 3."""
    layer = make("layer norm", dtype=policy, return_sequences=True)
    x, states = values(layer, rng)
    x, *states = (tf.cast(t, layer.compute_dtype) for t in (x, *states))
    want, got = (run(x, initial_state=states)[0] for run in (loop_of(layer), layer))
    assert got.dtype == want.dtype
    np.testing.assert_allclose(
        tf.cast(got, "float64"), tf.cast(want, "float64"), rtol=0, atol=30 * SIZES[policy]
    )
    assert op_calls == ["LayerRNN"]


@pytest.mark.parametrize("jit_compile", all_but([False, True], False))
@pytest.mark.parametrize("case", CLASSES)
def test_trains_in_a_bidirectional_model_and_is_saved(case, jit_compile, tmp_path, rng):
    if jit_compile and xla.unavailable() is not None:
        pytest.skip("no library for XLA was built")
    cls, parts = CASES[case]
    # The cell of PeepholeLSTM runs in Keras's implementation with recurrent dropout.
    dropout = {} if cls is PeepholeLSTM else {"recurrent_dropout": 0.2}
    layer = cls(6, kernel_regularizer="l2", **dropout, **parts)
    model = keras.Sequential(
        [keras.Input((None, 3)), keras.layers.Masking(), keras.layers.Bidirectional(layer)]
    )
    x = rng.normal(size=(8, 5, 3)).astype("float32")
    x[2:4, 3:] = 0
    model.compile("sgd", "mse", jit_compile=jit_compile)
    before = model.get_weights()
    model.fit(x, np.ones((8, model.output_shape[-1]), "float32"), epochs=1, verbose=0)
    for name, one, other in zip([w.path for w in model.weights], before, model.get_weights()):
        assert "seed" in name or np.any(one != other), name
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), model.predict(x, verbose=0))
    assert loaded.layers[-1].forward_layer.get_config() == layer.get_config() | {
        "name": loaded.layers[-1].forward_layer.name
    }


@pytest.mark.parametrize(
    "cells",
    [
        lambda: [LayerNormLSTMCell(5), keras.layers.GRUCell(4)],
        lambda: [ProjectedLSTMCell(5, **ALL_PARTS), keras.layers.GRUCell(4)],
        lambda: [ZoneoutLSTMCell(5, zoneout_h=0.5), ZoneoutGRUCell(4, zoneout_h=0.25)],
    ],
    ids=["layer norm", "projected", "zoneout"],
)
def test_cells_in_a_stack_run_on_the_op(cells, rng, op_calls):
    cells = cells()
    x = tf.cast(compare.values(rng)[0], "float32")
    stock = keras.layers.RNN(cells, return_sequences=True)
    stock.build(x.shape)
    ours = tf_rnn_ops.keras.RNN(cells, return_sequences=True)
    ours.build(x.shape)
    np.testing.assert_allclose(ours(x), stock(x), atol=1e-5)
    ours(x, training=True)
    assert op_calls == ["LayerRNN"] * 4


NAN, INF = float("nan"), float("inf")
BAD = [
    (PeepholeLSTM, "units", [0]),
    (PeepholeLSTM, "cell_clip", [-1, NAN, 1e-39, -INF, "a"]),
    (ProjectedLSTM, "num_proj", [-1, 2.7, 0.0, "3"]),
    (ProjectedLSTM, "cell_clip", [-0.5, 1e-39, 1e-46, 1e39]),
    (ProjectedLSTM, "proj_clip", ["a", NAN]),
    (LayerNormLSTM, "norm_epsilon", [-1, NAN, 1e39, 1e-50, None]),
    (ZoneoutLSTM, "zoneout_h", [-0.5, 1.5, NAN, "a", None, 1e-40]),
    (ZoneoutLSTM, "zoneout_c", [-0.5, 1.5, NAN, "a", None, 1e-40]),
    (ZoneoutGRU, "zoneout_h", [-0.5, 1.5, NAN, "a", None, 1e-40]),
]


@pytest.mark.parametrize(("cls", "name", "bad"), BAD)
def test_bad_arguments(cls, name, bad):
    others = {"num_proj": 2} if name == "proj_clip" else {}
    for value in bad:
        with pytest.raises(ValueError, match=f"{name}.*{re.escape(str(value))}"):
            cls(**{"units": 3, name: value, **others})
    with pytest.raises(TypeError, match="nonsense"):
        cls(3, nonsense=1)


def test_a_limit_of_a_projection_that_is_not_there():
    with pytest.raises(ValueError, match="proj_clip must be 0 without num_proj"):
        ProjectedLSTM(4, proj_clip=1.0)


# ---- PeepholeLSTM ----


def test_without_peepholes_it_is_an_lstm(rng):
    layer = make("peephole, no limit", peephole_initializer="zeros", return_sequences=True)
    stock, _ = compare.pair("LSTM", return_sequences=True)
    stock.set_weights(layer.get_weights()[:3])
    x, states = compare.values(rng)
    want = compare.as_arrays(compare.outcome(stock, x, compare.MASKS["holes"], states))
    got = compare.as_arrays(compare.outcome(layer, x, compare.MASKS["holes"], states))
    compare.assert_outcomes({name: got[name] for name in want}, want, "float64")


def test_what_is_masked_may_be_anything(rng):
    """Masked steps may hold NaN: neither results nor gradients see it."""
    layer = make("peephole", return_sequences=True)
    x, _ = compare.values(rng)
    mask = compare.MASKS["right"]
    want = compare.as_arrays(compare.outcome(layer, x, mask))
    spoilt = np.where(mask[:, :, None], x, np.nan)
    got = compare.as_arrays(compare.outcome(layer, keras.ops.convert_to_tensor(spoilt), mask))
    for name, value in want.items():
        np.testing.assert_array_equal(got[name], value)


def test_stateful(rng):
    layer = make("peephole", stateful=True)
    loop = loop_of(layer)
    x, _ = compare.values(rng)
    states = None
    for _ in range(2):
        want, *states = loop(x, initial_state=states)
        np.testing.assert_allclose(layer(x)[0], want, rtol=0, atol=1e-14)
    layer.reset_state()
    assert not np.any(layer.states[1].numpy())


def test_limits_of_none_and_at_the_ends_of_float32():
    for none in (None, 0, INF):
        assert PeepholeLSTM(3, cell_clip=none).cell.cell_clip == 0.0
    layer = ProjectedLSTM(3, num_proj=None, cell_clip=None, proj_clip=None)
    cell = layer.cell
    assert (cell.num_proj, cell.cell_clip, cell.proj_clip) == (0, 0.0, 0.0)
    assert layer.get_config() == ProjectedLSTM.from_config(layer.get_config()).get_config()
    for size in (np.finfo(np.float32).tiny, np.finfo(np.float32).max):
        layer = ProjectedLSTM(3, cell_clip=float(size))
        assert layer.cell.cell_clip == size and np.all(np.isfinite(layer(np.ones((2, 4, 3)))))


def test_an_empty_batch_with_a_mask(op_calls):
    layer = make("peephole", return_sequences=True)
    x = np.zeros((0, compare.TIME, compare.INPUT))
    mask = np.zeros((0, compare.TIME), bool)
    for got, want in zip(layer(x, mask=mask), loop_of(layer)(x, mask=mask), strict=True):
        assert got.shape == want.shape
    assert op_calls == ["BlockLSTMV2"]


@pytest.mark.parametrize("count", [1, 3])
def test_another_number_of_states(count, rng, op_calls):
    """The results of Keras's implementation."""
    layer = make("peephole")
    x, states = values(layer, rng)
    states = (states * 2)[:count]
    with pytest.raises(Exception) as caught:
        layer(x, initial_state=states)
    with pytest.raises(Exception) as wanted:
        loop_of(layer)(x, initial_state=states)
    assert caught.type is wanted.type and op_calls == []


def test_arguments_of_every_keras_layer():
    layer = PeepholeLSTM(4, input_shape=(5, 3), implementation=1, activity_regularizer="l2")
    assert layer.cell.implementation == 1 and layer.activity_regularizer is not None
    model = keras.Sequential([layer])
    assert model.built and model.input_shape == (None, 5, 3)


@pytest.mark.parametrize("seed", [None, 5, "generator"])
def test_initial_peepholes_differ(seed):
    seed = keras.random.SeedGenerator(5) if seed == "generator" else seed
    layer = PeepholeLSTM(8, peephole_initializer=keras.initializers.RandomNormal(seed=seed))
    layer.build((None, None, 3))
    peepholes = np.stack(layer.get_weights()[3:])
    assert len(np.unique(peepholes)) == peepholes.size


@pytest.mark.parametrize("sequences", [True, False])
def test_no_time_steps(sequences, rng, op_calls):
    layer = make("peephole", return_sequences=sequences)
    states = [tf.constant(rng.standard_normal((2, compare.UNITS))) for _ in range(2)]
    x = np.zeros((2, 0, compare.INPUT))
    spec = tf.TensorSpec([None, None, compare.INPUT], "float64")
    output, *new_states = tf.function(
        lambda x: layer(x, initial_state=states), input_signature=[spec]
    )(x)
    assert op_calls == ["BlockLSTMV2"]
    for new, old in zip(new_states, states, strict=True):
        np.testing.assert_array_equal(new, old)
    want = np.zeros((2, 0, compare.UNITS)) if sequences else states[0]
    np.testing.assert_array_equal(output, want)


@pytest.mark.parametrize("dtype", ["complex64", "string"])
def test_inputs_that_are_no_numbers(dtype, op_calls):
    x = tf.fill((2, 5, 3), "1") if dtype == "string" else tf.ones((2, 5, 3), dtype)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        PeepholeLSTM(4)(x)
    assert op_calls == []
    assert PeepholeLSTM(4)(tf.ones((2, 5, 0))).shape == (2, 4)


# ---- ProjectedLSTM ----


def test_a_gradient_that_ignores_the_limit(rng, op_calls):
    """The function of PeepholeLSTM. The outputs are the same with a gradient that does not ignore clipping."""
    given = {"use_peepholes": True, "cell_clip": 0.375, "return_sequences": True}
    layer, limited = (make("none", clip_gradient=clip, **given) for clip in (False, True))
    peephole = make("peephole", cell_clip=0.375, return_sequences=True)
    limited.set_weights(layer.get_weights())
    *usual, peepholes = layer.get_weights()
    peephole.set_weights([*usual, *peepholes])
    x, states = values(layer, rng)
    mask = compare.MASKS["holes"]
    compare.assert_same(loop_of(layer), layer, x, mask, states, training=True)
    assert op_calls == ["BlockLSTMV2"]
    one, two, other = (
        compare.as_arrays(compare.outcome(each, x, mask, states, training=True))
        for each in (layer, peephole, limited)
    )
    for name in ("r0", "r1", "r2", "x_grad", "state1_grad", "kernel_grad"):
        np.testing.assert_array_equal(one[name], two[name])
    np.testing.assert_allclose(one["r0"], other["r0"], rtol=0, atol=1e-14)
    assert np.max(np.abs(one["x_grad"] - other["x_grad"])) > 1e-3


# ---- LayerNormLSTM ----


def test_a_frozen_layer_stays_frozen(tmp_path):
    model = keras.Sequential([keras.Input((5, 3)), LayerNormLSTM(4), keras.layers.Dense(4)])
    model.layers[0].trainable = False
    model.compile("sgd", "mse")
    model.save(tmp_path / "model.keras")
    both_ways = keras.layers.Bidirectional(LayerNormLSTM(4, trainable=False))
    both_ways.build((None, 5, 3))
    assert not both_ways.trainable_variables
    for copy in (
        keras.saving.load_model(tmp_path / "model.keras"), keras.models.clone_model(model),
    ):  # fmt: skip
        assert len(copy.trainable_variables) == 2
        copy.layers[0].trainable = True
        assert len(copy.trainable_variables) == 11


def test_second_derivatives_equal_central_differences(rng):
    """WHY not the loop: those of Keras's LayerNormalization in it are not the differences."""
    layer = make("layer norm", return_state=False)
    x, _ = compare.values(rng)

    def penalty(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(layer(x, training=True) ** 2)
        return tf.reduce_sum(tape.gradient(y, x) ** 2)

    with tf.GradientTape() as tape:
        tape.watch(x)
        total = penalty(x)
    got = tape.gradient(total, x).numpy()
    for place in list(np.ndindex(*x.shape))[::7]:
        moved = np.zeros(x.shape)
        moved[place] = 1e-6
        want = (penalty(x + moved) - penalty(x - moved)) / 2e-6
        np.testing.assert_allclose(got[place], want, rtol=0, atol=1e-6 * np.abs(got).max())


def test_keras_rnns_over_the_cell_are_converted(rng):
    model = keras.Sequential(
        [keras.Input((None, 3)), keras.layers.RNN(LayerNormLSTMCell(4)), keras.layers.Dense(1)]
    )
    x = rng.normal(size=(2, 5, 3)).astype("float32")
    faster = tf_rnn_ops.keras.convert(model)
    assert explain(faster, print_fn=None)[0].path == "fused"
    np.testing.assert_allclose(faster(x), model(x), atol=1e-5)


# ---- ZoneoutLSTM and ZoneoutGRU ----


@pytest.mark.parametrize("case", ZONEOUT)
def test_what_is_kept_whole_stays_beside_anything(case, rng, op_calls):
    """A rate of 1 leaves the old states, and one of 0 the new ones, where the other ones are infinite."""
    is_lstm = case == "zoneout lstm"
    layer = make(case, zoneout_h=1.0, **({"zoneout_c": 0.0} if is_lstm else {}))
    layer.cell.activation = keras.activations.linear
    x, states = values(layer, rng)
    x = tf.concat([x[:, :1], tf.fill(x[:, 1:].shape, tf.constant(1e300, x.dtype))], 1)
    weights = layer.get_weights()
    weights[0] = 1e200 * np.ones_like(weights[0])
    layer.set_weights(weights)
    for run in (layer, loop_of(layer)):
        found = [np.asarray(t) for t in run(x, initial_state=states)]
        np.testing.assert_array_equal(found[0], states[0])
        np.testing.assert_array_equal(found[1], states[0])
        if is_lstm:
            assert np.isinf(found[2]).all()
    assert set(op_calls) == {"LayerRNN"}


@pytest.mark.parametrize("case", ZONEOUT)
def test_the_loop_draws_at_the_rates_too(case, rng):
    layer = make(case, unroll=True)
    x, states = values(layer, rng)
    x = tf.repeat(x[:1], 4000, 0)
    states = [tf.repeat(s[:1], 4000, 0) for s in states]
    step = layer(x[:, :1], initial_state=states, training=True)[1:]
    for old, new, rate in zip(states, step, CASES[case][1].values(), strict=True):
        kept = np.mean(np.asarray(old) == np.asarray(new))
        assert abs(kept - rate) < 6 * np.sqrt(rate * (1 - rate) / 4000 / compare.UNITS)


@pytest.mark.parametrize("case", ZONEOUT)
def test_without_rates_it_is_the_layer_of_keras(case, rng, op_calls):
    none = dict.fromkeys(CASES[case][1], 0.0)
    layer = make(case, return_sequences=True, recurrent_dropout=0.25, seed=3, **none)
    base = keras.layers.LSTM if case == "zoneout lstm" else keras.layers.GRU
    config = {
        n: v for n, v in layer.get_config().items() if n not in none and n != "implementation"
    }
    stock = base.from_config(config)
    stock.build((compare.BATCH, compare.TIME, compare.INPUT))
    stock.set_weights(layer.get_weights())
    x, states = values(layer, rng)
    compare.assert_same(stock, layer, x, compare.MASKS["holes"], states, training=True)
    assert "LayerRNN" in op_calls
