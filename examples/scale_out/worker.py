"""One worker of multi_worker.py: trains under tf.distribute.MultiWorkerMirroredStrategy.

TF_CONFIG tells its task. Keras 3's model.fit does not support this strategy, so this script has its own
loop.
"""

import argparse
import signal

import numpy as np
import sequence_sums
import tensorflow as tf


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", required=True, help="the file for losses and weights, .npz")
    parser.add_argument("--timeout", type=int, default=120, help="seconds after which to give up")
    arguments = parser.parse_args()
    # WHY a limit: a collective operation waits forever for a worker that has ended.
    signal.alarm(arguments.timeout)

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    result, rows = train(strategy)
    resolver = strategy.cluster_resolver
    weights = {f"weight_{k}": weight for k, weight in enumerate(result.weights)}
    np.savez(
        arguments.output,
        losses=result.losses,
        rows=rows,
        replicas=strategy.num_replicas_in_sync,
        task=resolver.task_id,
        **weights,
    )


def train(strategy):
    """Trains the model of sequence_sums.

    Returns:
        A Result and the number of rows that this worker has seen.
    """
    with strategy.scope():
        model = sequence_sums.make_model()
        model.optimizer.build(model.trainable_variables)

    batches = strategy.distribute_datasets_from_function(_my_batches)

    def replica_step(x, y):
        with tf.GradientTape() as tape:
            # The mean is over the global batch, because the gradients of the replicas are added.
            error = model(x, training=True) - y
            loss = tf.reduce_sum(error**2) / sequence_sums.GLOBAL_BATCH
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply(gradients, model.trainable_variables)
        return loss

    @tf.function
    def step(x, y):
        return strategy.reduce(
            tf.distribute.ReduceOp.SUM, strategy.run(replica_step, args=(x, y)), axis=None
        )

    losses, rows = [], 0
    for _ in range(sequence_sums.EPOCHS):
        of_epoch = []
        for x, y in batches:
            of_epoch.append(float(step(x, y)))
            rows += sum(len(part) for part in strategy.experimental_local_results(x))
        losses.append(np.mean(of_epoch))
    return sequence_sums.Result(losses, model.get_weights()), rows


def _my_batches(context):
    """Batches of this worker's rows. The batches of all workers together are a batch of one process."""
    batch = context.get_per_replica_batch_size(sequence_sums.GLOBAL_BATCH)
    rows = sequence_sums.dataset().shard(context.num_input_pipelines, context.input_pipeline_id)
    return rows.batch(batch)


if __name__ == "__main__":
    main()
