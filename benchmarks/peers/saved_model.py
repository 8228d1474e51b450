"""Our Keras layers in a SavedModel, run through TensorFlow's C API, as in servers."""

import ctypes
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

import tf_rnn_ops.keras
from benchmarks.peers import Unsupported, keras_layers, tensorflow_peer

_FLOAT = 1  # TF_FLOAT


class _Output(ctypes.Structure):
    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


def make(variant, threads):
    return _SavedModel(threads)


class _Api:
    """The functions of c_api.h. A failed call raises RuntimeError."""

    _POINTERS = (
        "TF_AllocateTensor",
        "TF_GraphOperationByName",
        "TF_LoadSessionFromSavedModel",
        "TF_NewGraph",
        "TF_NewSessionOptions",
        "TF_NewStatus",
        "TF_TensorData",
    )

    def __init__(self):
        self._lib = ctypes.CDLL(str(pathlib.Path(tf.sysconfig.get_lib()) / "libtensorflow_cc.so.2"))
        for name in self._POINTERS:
            getattr(self._lib, name).restype = ctypes.c_void_p
        self._lib.TF_Message.restype = ctypes.c_char_p
        self.status = ctypes.c_void_p(self._lib.TF_NewStatus())

    def __getattr__(self, name):
        function = getattr(self._lib, name)
        pointers = name in self._POINTERS

        def call(*args):
            result = function(*args)
            if self._lib.TF_GetCode(self.status) != 0:
                raise RuntimeError(self._lib.TF_Message(self.status).decode())
            return ctypes.c_void_p(result) if pointers else result

        return call


class _SavedModel:
    int8 = True

    def __init__(self, threads):
        self.version = tensorflow_peer.our_version()
        self._api = _Api()
        # -1: graphs run on the calling thread, as in the other libraries (docs/serving.md).
        self._config = tf.compat.v1.ConfigProto(
            intra_op_parallelism_threads=threads, inter_op_parallelism_threads=-1
        ).SerializeToString()

    def prepare(self, problem, x, dy, weights, training):
        p = problem
        if training or p.dtype == "bfloat16":
            raise Unsupported("inference with an input of float32 only")
        x = np.ascontiguousarray(x.transpose(1, 0, 2), np.float32)
        network = keras.Sequential([keras.Input(batch_shape=x.shape)])
        for i in range(p.L):
            network.add(keras_layers.layer(tf_rnn_ops.keras, p, weights[i * p.D : (i + 1) * p.D]))
        signature = tf.TensorSpec(x.shape, tf.float32, name="x")
        with tempfile.TemporaryDirectory() as folder:
            network.export(folder, verbose=False, input_signature=[signature])
            self._load(pathlib.Path(folder))
        self._shape = (p.B, p.T, p.D * p.H)
        dims = (ctypes.c_int64 * 3)(*x.shape)
        self._x = self._api.TF_AllocateTensor(_FLOAT, dims, 3, ctypes.c_size_t(x.nbytes))
        ctypes.memmove(self._api.TF_TensorData(self._x), x.ctypes.data, x.nbytes)
        self._y = ctypes.c_void_p()

    def _load(self, folder):
        api = self._api
        options, self._graph = api.TF_NewSessionOptions(), api.TF_NewGraph()
        api.TF_SetConfig(options, self._config, ctypes.c_size_t(len(self._config)), api.status)
        tags = (ctypes.c_char_p * 1)(b"serve")
        self._session = api.TF_LoadSessionFromSavedModel(
            options, None, str(folder).encode(), tags, 1, self._graph, None, api.status
        )
        model = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
        signature = model.meta_graphs[0].signature_def["serving_default"]
        self._input, self._output = (
            self._find(next(iter(tensors.values())).name)
            for tensors in (signature.inputs, signature.outputs)
        )

    def _find(self, tensor):
        operation, index = tensor.split(":")
        return _Output(
            self._api.TF_GraphOperationByName(self._graph, operation.encode()), int(index)
        )

    def run(self):
        if self._y:
            self._api.TF_DeleteTensor(self._y)
        self._api.TF_SessionRun(
            self._session,
            None,
            ctypes.byref(self._input),
            ctypes.byref(self._x),
            1,
            ctypes.byref(self._output),
            ctypes.byref(self._y),
            1,
            None,
            0,
            None,
            self._api.status,
        )

    def result(self):
        data = ctypes.cast(self._api.TF_TensorData(self._y), ctypes.POINTER(ctypes.c_float))
        y = np.ctypeslib.as_array(data, self._shape)
        return {"y": y.transpose(1, 0, 2).copy()}
