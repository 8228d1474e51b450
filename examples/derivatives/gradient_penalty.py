"""A Wasserstein GAN with gradient penalty on sine waves. The critic has an LSTM layer of tf_rnn_ops."""

import argparse

import keras
import numpy as np
import tensorflow as tf

import tf_rnn_ops.keras

STEPS, NOISE, BATCH = 16, 4, 32
PENALTY = 10.0


def make_models(units):
    """The generator, from noise to [B, T, 1], and the critic, from [B, T, 1] to [B, 1]."""
    generator = keras.Sequential(
        [
            keras.Input((NOISE,)),
            keras.layers.RepeatVector(STEPS),
            tf_rnn_ops.keras.LSTM(units, return_sequences=True),
            keras.layers.Dense(1),
        ]
    )
    critic = keras.Sequential(
        [
            keras.Input((STEPS, 1)),
            tf_rnn_ops.keras.LSTM(units),
            keras.layers.Dense(1),
        ]
    )
    return generator, critic


def sine_waves(rng):
    """[B, T, 1]: waves of random phase."""
    phase = rng.uniform(0, 2 * np.pi, (BATCH, 1, 1))
    time = np.linspace(0, 2 * np.pi, STEPS)[None, :, None]
    return np.sin(time + phase).astype(np.float32)


def critic_loss(critic, real, fake, mix):
    """The critic's loss, and the distance of the norm of its gradient from 1."""
    between = mix * real + (1 - mix) * fake
    with tf.GradientTape() as tape:
        tape.watch(between)
        score = critic(between, training=True)
    slope = tape.gradient(score, between)
    norm = tf.sqrt(tf.reduce_sum(slope**2, axis=[1, 2]) + 1e-12)
    penalty = tf.reduce_mean((norm - 1) ** 2)
    distance = tf.reduce_mean(critic(real, training=True) - critic(fake, training=True))
    return PENALTY * penalty - distance, penalty


def main(argv=None):
    """Trains, prints the penalty, and returns its first and its last value."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--steps", type=int, default=200, help="training steps (default: %(default)s)"
    )
    parser.add_argument(
        "--units", type=int, default=16, help="units of each layer (default: %(default)s)"
    )
    options = parser.parse_args(argv)
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(1)
    generator, critic = make_models(options.units)
    optimizers = [keras.optimizers.Adam(3e-3, beta_1=0.5) for _ in range(2)]

    @tf.function
    def step(real):
        noise = tf.random.stateless_normal([BATCH, NOISE], [1, 2])
        mix = tf.random.stateless_uniform([BATCH, 1, 1], [3, 4])
        fake = generator(noise, training=True)
        with tf.GradientTape() as tape:
            loss, penalty = critic_loss(critic, real, tf.stop_gradient(fake), mix)
        weights = critic.trainable_variables
        # The bias of the last layer cancels in a difference of scores.
        gradients = tape.gradient(loss, weights, unconnected_gradients="zero")
        optimizers[0].apply_gradients(zip(gradients, weights))
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(critic(generator(noise, training=True), training=True))
        weights = generator.trainable_variables
        optimizers[1].apply_gradients(zip(tape.gradient(loss, weights), weights))
        return penalty

    penalties = [float(step(sine_waves(rng))) for _ in range(options.steps)]
    print(f"penalty: {penalties[0]:.3f} at first, {penalties[-1]:.3f} after {options.steps} steps")
    return penalties[0], penalties[-1]


if __name__ == "__main__":
    main()
