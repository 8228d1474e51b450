"""TF_CUDNN_RESET_RND_GEN_STATE, with which TensorFlow 1 checked gradients of dropout."""

import numpy as np
import old_models
import pytest
import tensorflow as tf

import tf_rnn_ops

v1 = tf.compat.v1
INPUTS = 3


def _model(seed):
    return old_models.make("lstm", "bidirectional", dropout=0.5, seed=seed)


@pytest.mark.parametrize(("value", "same"), [("True", True), ("1", True), ("0", False)])
@pytest.mark.parametrize("xla", [False, True])
def test_reset_of_the_random_state(value, same, xla, monkeypatch, rng):
    """TF_CUDNN_RESET_RND_GEN_STATE: each call has the masks of the first one."""
    monkeypatch.setenv("TF_CUDNN_RESET_RND_GEN_STATE", value)
    # Kernels are kept by their attributes and read the variable when they are made.
    model = _model(seed=int(rng.integers(1 << 30)))
    x, buffer = rng.standard_normal((5, 64, INPUTS)), old_models.random_buffer(model, rng)

    @tf.function(jit_compile=xla)
    def run(x):
        return old_models.call(model, x, buffer, is_training=True)

    first, second = run(x), run(x)
    assert np.array_equal(first, second) == same


def test_gradients_with_dropout_can_be_checked(monkeypatch, rng):
    """By differences, which call the op often and need one mask."""
    monkeypatch.setenv("TF_CUDNN_RESET_RND_GEN_STATE", str(True))
    with tf.Graph().as_default(), v1.Session() as session:
        _check_gradient(session, rng)


def _check_gradient(session, rng):
    model = _model(seed=5678)
    x = v1.placeholder(tf.float64, [3, 2, INPUTS])
    params = tf.constant(0.5 * rng.standard_normal(session.run(model.params_size())))
    loss = tf.reduce_sum(old_models.call(model, x, params, is_training=True) ** 2)
    (gradient,) = v1.gradients(loss, x)
    point, direction = rng.standard_normal((2, 3, 2, INPUTS))
    ahead, behind = (session.run(loss, {x: point + 1e-5 * s * direction}) for s in (1, -1))
    want = np.sum(session.run(gradient, {x: point}) * direction)
    np.testing.assert_allclose((ahead - behind) / 2e-5, want, rtol=1e-7)


def test_another_value_is_an_error(monkeypatch, rng):
    monkeypatch.setenv("TF_CUDNN_RESET_RND_GEN_STATE", "perhaps")
    model = _model(seed=56781)
    x, buffer = np.zeros((5, 2, INPUTS)), old_models.random_buffer(_model(1), rng)
    with pytest.raises(tf.errors.InvalidArgumentError, match="RND_GEN_STATE.* is 'perhaps'"):
        old_models.call(model, x, buffer, is_training=True)


@pytest.mark.parametrize(("value", "same"), [("1", True), ("0", False)])
def test_reset_of_tensorflows_own_op(value, same, monkeypatch, rng):
    tf_rnn_ops.enable_stock_ops()
    monkeypatch.setenv("TF_CUDNN_RESET_RND_GEN_STATE", value)
    x, state = tf.ones([5, 64, INPUTS]), tf.zeros([2, 64, 4])
    arguments = {"input": x, "input_h": state, "input_c": state, "params": tf.ones([4 * 4 * 19])}
    seed = int(rng.integers(1 << 30))
    outputs = [tf.raw_ops.CudnnRNN(**arguments, dropout=0.5, seed=seed).output for _ in range(2)]
    assert np.array_equal(*outputs) == same
