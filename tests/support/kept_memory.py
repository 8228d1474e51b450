"""Child process: prints how many MB grow while models come, are packed, change and go."""

import resource

import tensorflow as tf

from tf_rnn_ops import raw_ops as ops

UNITS = 1024


def _use():
    kernel = tf.Variable(tf.zeros([1, 4 * UNITS]))
    recurrent = tf.Variable(tf.random.normal([UNITS, 4 * UNITS]))
    for _ in range(2):
        ops.PackLayerRNN(
            kernel=kernel.read_value(), recurrent_kernel=recurrent.read_value(), keep=True
        )
        recurrent.assign_add(tf.ones_like(recurrent))


def main():
    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    for _ in range(3):
        _use()
    before = peak()
    for _ in range(40):
        _use()
    print(peak() - before)


if __name__ == "__main__":
    main()
