"""Child process: what two replicas of a MirroredStrategy drop. Writes [steps, replicas, ...]."""

import sys

import keras
import numpy as np
import tensorflow as tf

import tf_rnn_ops.keras

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    layer = tf_rnn_ops.keras.CudnnGRU(16, num_layers=2, dropout=0.5, seed=1, return_sequences=True)
    layer.build((None, None, 3))
    layer.params.assign(np.random.default_rng(0).normal(size=layer.params.shape))
x = tf.ones([4, 8, 3])


@tf.function
def step():
    return strategy.run(lambda: layer(x, training=True))


steps = [[y.numpy() for y in strategy.experimental_local_results(step())] for _ in range(3)]
np.save(sys.argv[1], steps)
assert isinstance(layer, keras.layers.Layer)
