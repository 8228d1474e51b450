"""The typical use of tf.contrib.cudnn_rnn, in TensorFlow 2: eager, tf.function and sessions.

A two-layer LSTM learns the running mean of a sequence. Each of the three ways trains it, saves its weights
in canonical form, restores them into a new buffer and compares the predictions.
"""

import argparse
import pathlib
import tempfile

import numpy as np
import tensorflow as tf

from tf_rnn_ops import contrib

LAYERS, UNITS, INPUTS = 2, 16, 1
TIME, BATCH = 20, 32


def make_model():
    """Step 1: describe the model."""
    return contrib.CudnnLSTM(LAYERS, UNITS, INPUTS, input_mode="linear_input")


def initial_params(model):
    """Steps 2 to 4: ask for the size, fill a buffer and set single weights in canonical form."""
    params = tf.random.uniform([model.params_size()], -0.25, 0.25, seed=1)
    weights, biases = model.params_to_canonical(params)
    for layer in range(LAYERS):
        # The biases are i, f, c, o of the input, then of the hidden state. This line opens the forget
        # gates.
        biases[8 * layer + 1] = tf.ones_like(biases[8 * layer + 1])
    return model.canonical_to_params(weights, biases)


def predict(model, params, x, is_training):
    """Step 5: run it. The first unit of the output is the prediction."""
    state = tf.zeros([LAYERS, tf.shape(x)[1], UNITS])
    output, _, _ = model(x, state, state, params, is_training=is_training)
    return output[..., :1]


def loss_of(model, params, x, y):
    """The mean squared error, in training."""
    return tf.reduce_mean((predict(model, params, x, is_training=True) - y) ** 2)


def make_saveable(params):
    """Step 6: make the object for a Saver, which stores the weights under portable names, not the buffer."""
    return contrib.CudnnLSTMSaveable(params, LAYERS, UNITS, INPUTS, scope="running_mean")


def batches(steps):
    """Yields random sequences [T, B, 1] and their running means."""
    rng = np.random.default_rng(1)
    for _ in range(steps):
        x = rng.uniform(-1, 1, (TIME, BATCH, INPUTS)).astype(np.float32)
        yield x, (np.cumsum(x, axis=0) / np.arange(1, TIME + 1)[:, None, None]).astype(np.float32)


def run_eagerly(steps, prefix, as_function):
    """Trains with a GradientTape.

    Returns:
        First loss, last loss and predictions before saving and after restoring.
    """
    model = make_model()
    params = tf.Variable(initial_params(model))
    optimizer = tf.keras.optimizers.Adam(0.01)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(model, params, x, y)
        optimizer.apply_gradients([(tape.gradient(loss, params), params)])
        return loss

    if as_function:
        step = tf.function(step)
    losses = [float(step(tf.constant(x), tf.constant(y))) for x, y in batches(steps)]
    x, _ = next(batches(1))
    before = predict(model, params, x, is_training=False).numpy()
    path = tf.compat.v1.train.Saver([make_saveable(params)]).save(None, prefix)

    restored = tf.Variable(tf.zeros([model.params_size()]))
    tf.compat.v1.train.Saver([make_saveable(restored)]).restore(None, path)
    after = predict(model, restored, x, is_training=False).numpy()
    return losses[0], losses[-1], before, after


def run_in_sessions(steps, prefix):
    """Trains in a graph as in TensorFlow 1, and restores into another graph.

    Returns:
        First loss, last loss and predictions before saving and after restoring.
    """
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        model = make_model()
        x = v1.placeholder(tf.float32, [None, None, INPUTS])
        y = v1.placeholder(tf.float32, [None, None, INPUTS])
        params = v1.get_variable("params", initializer=initial_params(model), validate_shape=False)
        loss = loss_of(model, params, x, y)
        train = v1.train.AdamOptimizer(0.01).minimize(loss)
        prediction = predict(model, params, x, is_training=False)
        saver = v1.train.Saver([make_saveable(params)])
        session.run(v1.global_variables_initializer())
        losses = [session.run([loss, train], {x: a, y: b})[0] for a, b in batches(steps)]
        sample, _ = next(batches(1))
        before = session.run(prediction, {x: sample})
        path = saver.save(session, prefix)

    with tf.Graph().as_default(), v1.Session() as session:
        model = make_model()
        params = v1.get_variable("params", initializer=tf.zeros([model.params_size()]))
        prediction = predict(model, params, sample, is_training=False)
        v1.train.Saver([make_saveable(params)]).restore(session, path)
        after = session.run(prediction)
    return losses[0], losses[-1], before, after


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200, help="training steps of each way")
    parser.add_argument(
        "--folder", help="where to write the checkpoints (default: a temporary one)"
    )
    arguments = parser.parse_args()
    if arguments.steps < 1:
        parser.error("--steps must be at least 1")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.folder or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        ways = {
            "eager": lambda prefix: run_eagerly(arguments.steps, prefix, as_function=False),
            "function": lambda prefix: run_eagerly(arguments.steps, prefix, as_function=True),
            "session": lambda prefix: run_in_sessions(arguments.steps, prefix),
        }
        for name, run in ways.items():
            first, last, before, after = run(str(folder / name))
            difference = np.abs(before - after).max()
            print(
                f"{name:9} loss {first:.4f} -> {last:.4f}, after restoring {difference:.1e} apart"
            )
        print("names in the checkpoints:")
        for name, shape in tf.train.list_variables(str(folder / "session")):
            print(f"  {name} {shape}")


if __name__ == "__main__":
    main()
