"""Trains under tf.distribute.ParameterServerStrategy: a coordinator, two workers and a server.

The workers alternate. Each step uses a global batch, so the result is the same as in one process. Without
this order it would be the usual asynchronous training.
"""

import argparse
import os
import pathlib
import sys

# At the end TensorFlow tries to remove its functions on workers that have ended, and logs each failure.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import sequence_sums  # noqa: E402
import tensorflow as tf  # noqa: E402
from cluster import Cluster  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timeout", type=int, default=240, help="seconds for all processes")
    timeout = parser.parse_args().timeout
    script = str(pathlib.Path(__file__).resolve().with_name("server.py"))
    command = [sys.executable, script, "--timeout", str(timeout)]
    with Cluster({"worker": [command] * 2, "ps": [command]}, timeout) as cluster:
        resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
            tf.train.ClusterSpec(cluster.addresses), rpc_layer="grpc"
        )
        strategy = tf.distribute.ParameterServerStrategy(resolver)
        result = train(strategy)
    alone = sequence_sums.fit(sequence_sums.make_model())
    return sequence_sums.report(alone, result, "two workers")


def train(strategy):
    """Trains the model of sequence_sums. Returns a Result."""
    with strategy.scope():
        model = sequence_sums.make_model()
        model.optimizer.build(model.trainable_variables)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)

    def replica_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply(gradients, model.trainable_variables)
        return loss

    @tf.function
    def step(x, y):
        return strategy.run(replica_step, args=(x, y))

    losses = []
    for _ in range(sequence_sums.EPOCHS):
        of_epoch = []
        for x, y in sequence_sums.dataset().batch(sequence_sums.GLOBAL_BATCH):
            loss = coordinator.schedule(step, args=(x, y))
            coordinator.join()
            of_epoch.append(float(loss.fetch()))
        losses.append(np.mean(of_epoch))
    return sequence_sums.Result(losses, model.get_weights())


if __name__ == "__main__":
    sys.exit(main())
