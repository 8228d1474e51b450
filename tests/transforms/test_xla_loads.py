"""The ops for XLA are there wherever TensorFlow lets us build them: the other tests skip without them."""

import tensorflow as tf

from tf_rnn_ops.native import xla


def test_the_ops_for_xla_load():
    version = tuple(int(number) for number in tf.__version__.split(".")[:2])
    if version >= (2, 20):
        assert xla.unavailable() is None
    else:
        assert "they need TensorFlow 2.20 or later" in xla.unavailable()
