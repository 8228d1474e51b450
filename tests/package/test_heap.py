"""Memory that the C library keeps is returned, where it has the function."""

import ctypes

from tf_rnn_ops.keras.dispatch import quantized


class Library:
    """A C library with some functions."""

    def __init__(self, **functions):
        vars(self).update(functions)


def test_memory_is_returned(monkeypatch):
    called = []
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library(malloc_trim=called.append))
    quantized.trim_heap()
    assert [pad.value for pad in called] == [0]


def test_a_library_without_the_function(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library())
    quantized.trim_heap()
    monkeypatch.setattr(quantized.sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", None)
    quantized.trim_heap()
