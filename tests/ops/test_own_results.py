"""The results of a call have memory of their own, which a program may overwrite through DLPack."""

import ctypes

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import calls, layer_cases, layer_ops
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops


def _overwrite(tensor):
    """Fills a result with bytes that are not zero, as another library may do."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = tf.experimental.dlpack.to_dlpack(tensor)
    # The first field of a DLManagedTensor is the address of the data.
    address = ctypes.c_void_p.from_address(pointer(capsule, b"dltensor")).value
    size = tensor.dtype.size * tensor.shape.num_elements()
    if size > 0:
        ctypes.memset(address, 42, size)
        assert tensor.numpy().tobytes() == b"*" * size


def _calls(mode, rng):
    yield from calls.rnn_calls(ops, RnnSpec(mode, 2, 4, 3), 5, 3, rng, True)
    yield from layer_ops.calls(ops, layer_cases.layer_case(mode, (5, 3, 4, 6), rng, "float32"))


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
def test_overwritten_results_do_not_reach_the_next_call(mode, rng):
    seen = set()
    for call in _calls(mode, rng):
        if calls.counts_calls(call):
            continue
        results = calls.run_eagerly(ops, call)
        want = calls.result_bytes(results)
        for tensor in tf.nest.flatten(results):
            _overwrite(tensor)
        assert calls.result_bytes(calls.run_eagerly(ops, call)) == want, call.op
        seen.add(call.op)
    assert {"CudnnRNNV3", "CudnnRNNBackpropV3", "LayerRNN"} <= seen


def test_results_of_earlier_calls_stay(rng):
    """Inference of a GRU, whose output_c, reserve_space and host_reserved are zeros."""
    call = next(c for c in _calls("gru", rng) if c.op == "CudnnRNNV3")
    call = call.with_attr("is_training", False)
    first, second = (calls.run_eagerly(ops, call) for _ in range(2))
    for name in ("output_c", "reserve_space", "host_reserved"):
        _overwrite(getattr(first, name))
        np.testing.assert_array_equal(getattr(second, name), 0, err_msg=name)
