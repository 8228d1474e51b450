"""Reproduces the masks of dropout and zoneout of the CPU kernels."""

from typing import Any

import numpy as np
import tensorflow as tf

# The ReserveHeader of cc/cpu/pass/memory/reserve.h, in words of 32 bits.
_HEADER_WORDS = 8
_MAGIC = np.array([0x6E4F7073, 0x7466526E], np.uint32)  # "tfRnnOps", low word first
_KEY = 6
_LOW_WORD = 0xFFFFFFFF


def dropout_masks(
    reserve_space: Any, dropout: float, steps: Any, batch: Any, columns: Any, num_layers: int
) -> list[Any]:
    """Draws the masks of a call of CudnnRNNV3 with is_training=True that ran on a CPU.

    Args:
        reserve_space: The reserve_space that CudnnRNNV3 returned.
        dropout: The attribute of CudnnRNNV3.
        steps: T.
        batch: B.
        columns: D*S.
        num_layers: L.

    Returns:
        L - 1 tensors [T, B, D*S] of 0 and 1 / (1 - dropout). They are float64 if reserve_space is,
        otherwise float32. Computing them raises InvalidArgumentError if reserve_space is not the result of
        a CPU kernel.
    """
    wide = np.float64 if reserve_space.dtype == tf.float64 else np.float32
    rate = wide(np.float32(dropout))  # the attribute is a float32
    scale = 1 / (1 - rate) if rate < 1 else wide(0)
    threshold = int(float(rate) * 2**32)
    key = _key(reserve_space)

    return [
        tf.where(_words(key, layer, steps, batch, columns) < _u64(threshold), wide(0), scale)
        for layer in range(num_layers - 1)
    ]


def zoneout_mask(seed: Any, rate: float, state: int, steps: Any, batch: Any, units: Any) -> Any:
    """Draws which units keep their old state in a call of LayerRNN with a seed.

    Args:
        seed: An argument of LayerRNN.
        rate: zoneout_h or zoneout_c of LayerRNN, rounded to float32.
        state: 0 for h, 1 for c.
        steps: T.
        batch: B.
        units: H.

    Returns:
        A bool tensor [T, B, H].
    """
    words = _words(_key_of_seed(seed), state, steps, batch, units)
    return words < _u64(int(rate * 2**32))


def _words(key: Any, layer: int, steps: Any, batch: Any, columns: Any) -> tf.Tensor:
    """A random word for each element of [T, B, columns], the same as in DrawRows of the kernels."""

    def counters(count: Any) -> tf.Tensor:
        return tf.cast(tf.range(tf.cast(count, tf.int64)), tf.uint64)

    # Each counter gives the words of four columns of a step of a row.
    blocks = (columns + 3) // 4
    place = counters(steps * batch)[:, None]
    counter = [
        counters(blocks)[None, :] + tf.zeros_like(place),
        tf.constant(layer, tf.uint64),
        tf.bitwise.bitwise_and(place, _u64(_LOW_WORD)),
        _high_word(place),
    ]
    words = tf.stack(_philox(key, counter), -1)
    return tf.reshape(words, tf.stack([steps, batch, 4 * blocks]))[:, :, :columns]


def _u64(value: Any) -> tf.Tensor:
    return tf.constant(value, tf.uint64)


def _high_word(value: Any) -> tf.Tensor:
    return tf.bitwise.right_shift(value, _u64(32))


def _key(reserve_space: tf.Tensor) -> list[tf.Tensor]:
    """The two words of the key, as uint64."""
    size = reserve_space.dtype.size
    head = tf.reshape(tf.bitcast(reserve_space[: 4 * _HEADER_WORDS // size], tf.uint8), [-1])
    # A call with T = 0 or B = 0 writes no header, and needs no key.
    head = tf.concat([head, tf.zeros([4 * _HEADER_WORDS], tf.uint8)], 0)[: 4 * _HEADER_WORDS]
    words = tf.bitcast(tf.reshape(head, [_HEADER_WORDS, 4]), tf.uint32)
    known = tf.reduce_all(words[:2] == _MAGIC) | tf.equal(tf.size(reserve_space), 0)
    check = tf.debugging.Assert(
        known,
        [
            "The second derivative of a network with dropout needs the reserve_space of a CPU "
            "kernel, which contains the key of the dropout masks."
        ],
    )
    with tf.control_dependencies([] if check is None else [check]):
        return tf.unstack(tf.cast(words[_KEY : _KEY + 2], tf.uint64))


def _key_of_seed(seed: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """The two words of MakeDropoutKey in cc/core/op/dropout.h, as uint64."""

    def mix(z: tf.Tensor) -> tf.Tensor:
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z = tf.bitwise.bitwise_xor(z, tf.bitwise.right_shift(z, _u64(shift))) * _u64(factor)
        return tf.bitwise.bitwise_xor(z, tf.bitwise.right_shift(z, _u64(31)))

    key = _u64(0)
    for number in (*tf.unstack(tf.bitcast(tf.cast(seed, tf.int64), tf.uint64), 2), _u64(0)):
        key = mix(tf.bitwise.bitwise_xor(key, number) + _u64(0x9E3779B97F4A7C15))
    return tf.bitwise.bitwise_and(key, _u64(_LOW_WORD)), _high_word(key)


def _philox(key: Any, counter: Any) -> tuple[tf.Tensor, ...]:
    """Philox4x32-10, as in cc/core/op/dropout.h: four words of 32 bits for each counter of four words."""
    c0, c1, c2, c3 = counter
    for number in range(10):
        k0, k1 = (
            tf.bitwise.bitwise_and(word + _u64(number * weyl), _u64(_LOW_WORD))
            for word, weyl in zip(key, (0x9E3779B9, 0xBB67AE85))
        )
        p0, p1 = c0 * _u64(0xD2511F53), c2 * _u64(0xCD9E8D57)
        c0, c2 = (
            tf.bitwise.bitwise_xor(tf.bitwise.bitwise_xor(_high_word(p), c), k)
            for p, c, k in ((p1, c1, k0), (p0, c3, k1))
        )
        c1, c3 = (tf.bitwise.bitwise_and(p, _u64(_LOW_WORD)) for p in (p1, p0))
    return c0, c1, c2, c3
