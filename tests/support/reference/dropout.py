"""The masks of dropout between layers: Philox4x32-10 (Salmon et al., SC 2011) with the keys and
counters that cc/core/op/dropout.h and cc/cpu/rows/masks.h document."""

import numpy as np

_WORD = np.uint64(0xFFFFFFFF)
_LOW = np.uint64(32)


def _mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return z ^ (z >> 31)


def key(seed, seed2, call):
    """The two key words of one call of a kernel."""
    step, mixed = 0x9E3779B97F4A7C15, 0
    for number in (seed, seed2, call):
        mixed = _mix(((mixed ^ (number % 2**64)) + step) % 2**64)
    return mixed % 2**32, mixed >> 32


def philox(key_words, counter):
    """Four arrays of random words for four arrays of counter words (uint64 below 2^32)."""
    k0, k1 = key_words
    c0, c1, c2, c3 = counter
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1 = (p1 >> _LOW) ^ c1 ^ np.uint64(k0), p1 & _WORD
        c2, c3 = (p0 >> _LOW) ^ c3 ^ np.uint64(k1), p0 & _WORD
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return c0, c1, c2, c3


def _words(key_words, layer, steps, batch, columns):
    """A random word for each element of [T, B, columns]: number c % 4 of the counter
    (c // 4, layer, t * B + b, 0)."""
    columns = np.arange(columns, dtype=np.uint64)
    place = np.arange(steps * batch, dtype=np.uint64)[:, None]
    counter = np.broadcast_arrays(
        columns // np.uint64(4), np.uint64(layer), place & _WORD, place >> _LOW
    )
    words = np.stack(philox(key_words, counter))
    drawn = np.choose((columns % np.uint64(4)).astype(int), words)
    return drawn.reshape(steps, batch, len(columns))


def _threshold(rate):
    return np.uint64(int(float(np.float32(rate)) * 2.0**32))


def kept(seed, rate, state, steps, batch, units):
    """Where zoneout keeps the old state (0 for h, 1 for c) in a LayerRNN with that seed: [T, B, H]."""
    return _words(key(*map(int, seed), 0), state, steps, batch, units) < _threshold(rate)


def masks(spec, rate, steps, batch, key_words):
    """The factors of the output of each layer except the last: a list of [T, B, D*O]."""
    if not rate or spec.layers == 1:
        return None
    scale = 1.0 / (1.0 - float(np.float32(rate)))
    return [
        np.where(
            _words(key_words, layer, steps, batch, spec.output_size) < _threshold(rate), 0.0, scale
        )
        for layer in range(spec.layers - 1)
    ]
