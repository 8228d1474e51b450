"""Arguments as TensorFlow's fast path of eager calls wants them."""

import functools

import numpy

from tf_rnn_ops.native import loader

# The package can be imported without TensorFlow, or with one that it does not fit.
_tensorflow = functools.lru_cache(maxsize=None)(loader.import_tensorflow)


def float_attr(value):
    """A float attribute. An int makes each call take the slow path, 13 us longer.

    Whatever is no number is left for TensorFlow to refuse.
    """
    return float(value) if isinstance(value, int) else value


def optional_tensor(value, input):
    """An optional tensor of the type of `input`."""
    dtype = getattr(input, "dtype", None)
    return value if dtype is None else _optional(value, getattr(dtype, "as_numpy_dtype", dtype))


def optional_lengths(value):
    """Optional sequence_lengths."""
    return _optional(value, numpy.int32)


def optional_seed(value):
    """An optional seed."""
    return _optional(value, numpy.int64)


def _optional(value, dtype):
    # An empty tuple makes each call take the slow path, which is 40 us longer and more.
    if isinstance(value, tuple) and not value and loader.unavailable() is None:
        return _nothing(dtype, _tensorflow().executing_eagerly())
    return value


@functools.lru_cache(maxsize=None)
def _nothing(dtype, eagerly):
    # An eager call takes 7 us to make a tensor of an array, so it is given a tensor, always the same.
    # A graph of TensorFlow 1 takes no eager tensor.
    if not eagerly:
        return numpy.zeros([0], dtype)
    tf = _tensorflow()
    with tf.device("CPU:0"):
        return tf.zeros([0], dtype)
