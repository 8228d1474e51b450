"""Child process: prints how many MB grow while models come, are packed, change and go; or, with the argument "idle", how
many are left of 1, 2 and 3 models that are gone while another one is called.
"""

import resource
import sys

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


def _resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 2**20


def _idle():
    small = [tf.Variable(tf.zeros([1, 4])), tf.Variable(tf.zeros([1, 4]))]

    def call():
        kernel, recurrent = (v.read_value() for v in small)
        return ops.PackLayerRNN(kernel=kernel, recurrent_kernel=recurrent, keep=True)

    call()
    before = _resident()
    left = []
    for _ in range(3):
        _come_and_go(call)
        left.append(_resident() - before)
    assert _peak() - before > 100
    return left


def _come_and_go(call):
    kernel = tf.Variable(tf.ones([4 * UNITS, 4 * UNITS]))
    recurrent = tf.Variable(tf.ones([UNITS, 4 * UNITS]))
    weights = {"kernel": kernel.read_value(), "recurrent_kernel": recurrent.read_value()}
    ops.PackLayerRNN(**weights, keep=True)
    del kernel, recurrent, weights
    for _ in range(200):
        call()


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    if sys.argv[1:] == ["idle"]:
        print(*_idle())
        return
    for _ in range(3):
        _use()
    before = _peak()
    for _ in range(40):
        _use()
    print(_peak() - before)


if __name__ == "__main__":
    main()
