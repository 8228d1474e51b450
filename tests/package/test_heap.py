"""Memory that the C library keeps is returned, where it has the function."""

import ctypes

from tf_rnn_ops.native import heap


class Library:
    """A C library with some functions."""

    def __init__(self, **functions):
        vars(self).update(functions)


def test_memory_is_returned(monkeypatch):
    called = []
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library(malloc_trim=called.append))
    heap.trim()
    assert [pad.value for pad in called] == [0]


def test_a_library_without_the_function(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library())
    heap.trim()
    monkeypatch.setattr(heap.sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", None)
    heap.trim()
