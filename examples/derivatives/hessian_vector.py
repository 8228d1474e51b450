"""Products of the Hessian of a loss with a vector, in two ways, and its largest eigenvalue."""

import argparse

import keras
import numpy as np
import tensorflow as tf

import tf_rnn_ops.keras


def make_loss(rng, units):
    """A model's loss as a function without arguments, and the weights that it depends on."""
    x = tf.constant(rng.normal(size=(8, 10, 3)))
    target = tf.reduce_mean(x, axis=[1, 2])[:, None]
    model = keras.Sequential(
        [
            keras.Input((10, 3)),
            tf_rnn_ops.keras.GRU(units, dtype="float64"),
            keras.layers.Dense(1, dtype="float64"),
        ]
    )

    def loss():
        return tf.reduce_mean((model(x, training=True) - target) ** 2)

    return loss, [weight.value for weight in model.trainable_weights]


def backwards_over_backwards(loss, weights, vector):
    """The gradient of <gradient, vector>."""
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            value = loss()
        gradients = inner.gradient(value, weights)
        product = tf.add_n([tf.reduce_sum(g * v) for g, v in zip(gradients, vector)])
    return outer.gradient(product, weights)


def forwards_over_backwards(loss, weights, vector):
    """The derivative of the gradient in the direction of the vector."""
    with tf.autodiff.ForwardAccumulator(weights, vector) as accumulator:
        with tf.GradientTape() as tape:
            value = loss()
        gradients = tape.gradient(value, weights)
    return accumulator.jvp(gradients)


def main(argv=None):
    """Prints the largest eigenvalue; returns it and the largest difference of the two ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--units", type=int, default=8, help="units of the layer (default: %(default)s)"
    )
    parser.add_argument(
        "--iterations",
        type=int,
        default=20,
        help="steps of the power iteration (default: %(default)s)",
    )
    options = parser.parse_args(argv)
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(1)
    loss, weights = make_loss(rng, options.units)
    vector = [tf.constant(rng.normal(size=w.shape)) for w in weights]
    product = tf.function(lambda vector: backwards_over_backwards(loss, weights, vector))
    pairs = zip(product(vector), forwards_over_backwards(loss, weights, vector))
    difference = max(float(tf.reduce_max(tf.abs(a - b))) for a, b in pairs)
    for _ in range(options.iterations):
        norm = tf.linalg.global_norm(vector)
        vector = product([v / norm for v in vector])
    largest = float(tf.linalg.global_norm(vector))
    print(f"largest eigenvalue: {largest:.6f}; the two products differ by {difference:.1e}")
    return largest, difference


if __name__ == "__main__":
    main()
