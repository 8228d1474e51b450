"""Trains under tf.distribute.MirroredStrategy on two logical CPU devices, with model.fit."""

import sys

import numpy as np
import sequence_sums
import tensorflow as tf


def main():
    # Two devices of one CPU; with GPUs there is nothing to configure.
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = sequence_sums.make_model()
    together = sequence_sums.fit(model)
    alone = sequence_sums.fit(sequence_sums.make_model())

    same, devices = _copies(strategy, model)
    print(f"replicas: {strategy.num_replicas_in_sync}, weights on: {', '.join(devices)}")
    status = sequence_sums.report(alone, together, "two devices")
    if not same:
        print("the devices ended with different weights")
        status = 1
    return status


def _copies(strategy, model):
    """Tells whether the copies of each variable are identical to the bit, and their devices."""
    variables = [strategy.experimental_local_results(v.value) for v in model.trainable_variables]
    same = all(np.array_equal(row[0], copy) for row in variables for copy in row[1:])
    devices = {tf.DeviceSpec.from_string(copy.device) for row in variables for copy in row}
    return same, sorted(f"{d.device_type}:{d.device_index}" for d in devices)


if __name__ == "__main__":
    sys.exit(main())
