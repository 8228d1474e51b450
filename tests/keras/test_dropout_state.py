"""The seeds of the stacks' dropout: variables, so that TensorFlow sees them."""

import pathlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from support import subproc
from tf_rnn_ops.keras import CudnnGRU, CudnnLSTM

X = np.random.default_rng(0).normal(size=(4, 6, 3)).astype(np.float32)


def _layer(seed=3, **options):
    """A stack whose weights are always the same."""
    layer = CudnnGRU(8, num_layers=3, dropout=0.5, seed=seed, return_sequences=True, **options)
    layer.build(X.shape)
    layer.set_weights([np.random.default_rng(1).normal(size=layer.params.shape)])
    return layer


def _draws(layer, count):
    return [layer(X, training=True).numpy() for _ in range(count)]


def test_calls_differ_and_the_seed_repeats_them():
    first, again = _draws(_layer(), 3), _draws(_layer(), 3)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first[0], first[1]) and not np.array_equal(first[1], first[2])
    assert not np.array_equal(_draws(_layer(seed=4), 1)[0], first[0])


def test_set_random_seed_of_keras():
    def draw():
        keras.utils.set_random_seed(11)
        return _draws(_layer(seed=None), 2)

    np.testing.assert_array_equal(draw(), draw())


def test_a_retrace_goes_on():
    want = _draws(_layer(), 4)
    layer = _layer()
    functions = [tf.function(lambda x: layer(x, training=True)) for _ in range(2)]
    got = [functions[k % 2](tf.constant(X)) for k in range(2)]
    functions[0](tf.constant(X[:2, :1]))  # another trace, which takes a seed too
    got.append(functions[0](tf.constant(X)))
    np.testing.assert_array_equal(got, want[:2] + want[3:])


@pytest.mark.parametrize("how", ["checkpoint", "weights", "keras"])
def test_a_resumed_training_goes_on(how, tmp_path):
    model = keras.Sequential([keras.Input((None, 3)), _layer()])
    _draws(model, 2)
    if how == "checkpoint":
        path = tf.train.Checkpoint(model=model).save(str(tmp_path / "saved"))
    elif how == "weights":
        model.save_weights(tmp_path / "saved.weights.h5")
    else:
        model.save(tmp_path / "saved.keras")
    want = _draws(model, 2)
    if how == "keras":
        resumed = keras.saving.load_model(tmp_path / "saved.keras")
    else:
        resumed = keras.Sequential([keras.Input((None, 3)), _layer(seed=99)])
        if how == "checkpoint":
            tf.train.Checkpoint(model=resumed).restore(path).assert_consumed()
        else:
            resumed.load_weights(tmp_path / "saved.weights.h5")
    np.testing.assert_array_equal(_draws(resumed, 2), want)


def test_replicas_draw_for_themselves(tmp_path):
    child = pathlib.Path(__file__).with_name("dropout_replicas.py")
    done = subproc.run([child, tmp_path / "steps.npy"])
    assert done.returncode == 0, done.stderr
    steps = np.load(tmp_path / "steps.npy")
    assert steps.shape[:2] == (3, 2)
    outputs = steps.reshape(6, -1)
    assert len({output.tobytes() for output in outputs}) == 6


def _gradient(function, layer):
    layer.seed_generator.state.assign([3, 0])
    with tf.GradientTape() as tape:
        y = function(tf.constant(X))
        loss = tf.reduce_sum(y**2)
    return tape.gradient(loss, layer.params.value), y


@pytest.mark.parametrize("how", [lambda f: f, tf.function], ids=["eager", "function"])
def test_recompute_grad(how):
    layer = _layer()
    want, output = _gradient(lambda x: layer(x, training=True), layer)

    @tf.recompute_grad
    def block(x, seed):
        return layer(x, training=True, dropout_seed=seed)

    got, again = _gradient(how(lambda x: block(x, layer.seed_generator.next())), layer)
    np.testing.assert_array_equal(again, output)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


def test_remat_scope_of_keras():
    layer = _layer()
    want, output = _gradient(lambda x: layer(x, training=True), layer)
    with keras.RematScope(mode="full"):
        computed_again = _layer()
    got, again = _gradient(lambda x: computed_again(x, training=True), computed_again)
    np.testing.assert_array_equal(again, output)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
    # Inference draws nothing.
    before = computed_again.seed_generator.state.numpy()
    computed_again(X)
    np.testing.assert_array_equal(computed_again.seed_generator.state, before)


def test_layers_may_share_a_generator():
    seeds = keras.random.SeedGenerator(3)
    first, second = _layer(seed=seeds), _layer(seed=seeds)
    want = _draws(_layer(), 2)
    np.testing.assert_array_equal([*_draws(first, 1), *_draws(second, 1)], want)
    restored = CudnnGRU.from_config(first.get_config())
    assert restored.seed.get_config()["seed"] == 3


def test_no_state_without_dropout():
    for options in ({"num_layers": 3}, {"num_layers": 1, "dropout": 0.5}):
        layer = CudnnLSTM(4, **options)
        layer(X, training=True)
        assert layer.seed_generator is None and len(layer.variables) == 1


def test_a_rate_of_one():
    """The last layer sees zeros."""
    layer = CudnnLSTM(4, num_layers=2, dropout=1.0, return_sequences=True, dtype="float64")
    x = tf.constant(X, tf.float64)
    with tf.GradientTape() as tape:
        y = layer(x, training=True)
    assert np.isfinite(tape.gradient(y, layer.params.value)).all()
    loop = keras.layers.LSTM(4, return_sequences=True, dtype="float64")
    loop.build((None, None, 1))
    params = layer.params.numpy()
    blocks = [b for b in (*layer.layout.weights, *layer.layout.biases) if b.layer == 1]
    matrices = [params[b.offset : b.end].reshape(b.shape).T for b in blocks]
    recurrent = np.concatenate(matrices[4:8], axis=1)
    bias = np.concatenate(matrices[8:12]) + np.concatenate(matrices[12:16])
    loop.set_weights([np.zeros((1, 16)), recurrent, bias])
    np.testing.assert_allclose(y, loop(np.zeros((4, 6, 1))), rtol=0, atol=1e-12)
    twin = CudnnLSTM(4, num_layers=2, return_sequences=True, dtype="float64")
    twin.build(x.shape)
    twin.set_weights(layer.get_weights())
    np.testing.assert_array_equal(layer(x), twin(x))


@pytest.mark.parametrize("seed", [1.5, "seed", [1, 2]])
def test_bad_seeds(seed):
    with pytest.raises(ValueError, match="seed must be an integer, a keras.random.SeedGenerator"):
        CudnnLSTM(4, num_layers=2, dropout=0.5, seed=seed)


def test_a_seed_of_another_shape():
    with pytest.raises(tf.errors.InvalidArgumentError, match="seed must have shape"):
        _layer()(X, training=True, dropout_seed=[1, 2, 3])
