"""Fixtures of the tests of the Keras layers."""

import importlib

import keras
import pytest


@pytest.fixture(autouse=True)
def _clean_keras():
    """Every test starts and ends without anybody's policy or patches, from the same seed."""
    import tf_rnn_ops.keras

    keras.utils.set_random_seed(1234)
    yield
    tf_rnn_ops.keras.restore()
    keras.config.set_dtype_policy("float32")


@pytest.fixture(params=["LayerRNN", "CudnnRNNV3"])
def op_name(request, monkeypatch):
    """The op that the layers are to take: LayerRNN on a CPU, CudnnRNNV3 where there is a GPU."""
    has_gpu = request.param == "CudnnRNNV3"
    monkeypatch.setattr("tf_rnn_ops.keras.dispatch.environment.has_gpu", lambda: has_gpu)
    return request.param


@pytest.fixture
def gpu_in_sight(monkeypatch):
    """The layers believe that TensorFlow sees a GPU, and so does Keras."""
    monkeypatch.setattr("tf_rnn_ops.keras.dispatch.environment.has_gpu", lambda: True)
    # A function of the same name hides the module from setattr with a path.
    module = importlib.import_module("keras.src.backend.tensorflow.rnn")
    monkeypatch.setattr(module, "_is_gpu_available", lambda: True)


@pytest.fixture
def op_calls(monkeypatch):
    """A list that gets the name of every forward op that the layers call, packed weights or not."""
    from tf_rnn_ops import raw_ops

    calls = []
    for name in ("CudnnRNNV3", "CudnnRNNV3Packed", "LayerRNN", "LayerRNNPacked", "BlockLSTMV2"):

        def counted(*, _name=name, _op=getattr(raw_ops, name), **arguments):
            calls.append(_name.removesuffix("Packed"))
            return _op(**arguments)

        monkeypatch.setattr(raw_ops, name, counted)
    return calls
