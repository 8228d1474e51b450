"""oneDNN's RNN primitives, through a small library built on first use.

oneDNN comes from Debian's libdnnl-dev, or from the prefix in ONEDNN_ROOT (with include/ and lib/)."""

import ctypes
import os
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np

from benchmarks import machine
from benchmarks.peers import Unsupported

_CELLS = {"lstm": 0, "gru": 1, "tanh": 2}
_X, _W_LAYER, _W_ITER, _BIAS, _Y, _DY, _DX = range(7)


def make(variant, threads):
    return _OneDnn()


def _build():
    if shutil.which("g++") is None:
        raise Unsupported("no g++")
    source = pathlib.Path(__file__).with_suffix(".cc")
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder) / "libpeer.so"
        command = ["g++", "-std=c++17", "-O2", "-fPIC", "-shared", str(source), "-o", str(library)]
        root = os.environ.get("ONEDNN_ROOT")
        if root:
            command += [f"-I{root}/include", f"-L{root}/lib", f"-Wl,-rpath,{root}/lib"]
        command.append("-ldnnl")
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise Unsupported("does not build; is libdnnl-dev installed, or ONEDNN_ROOT right?")
        return ctypes.CDLL(str(library))  # the library stays loaded when its file is removed


def _scales(x, w_ih, w_hh):
    """For int8 weights of an LSTM the scale of x and h, then the scales of the columns."""
    columns = np.maximum(np.abs(w_ih).max(1), np.abs(w_hh).max(1))
    weights = machine.largest_int8() / np.where(columns > 0, columns, 1)
    # WHY 1: the largest h.
    return np.append(127 / max(1, np.abs(x).max()), weights).astype(np.float32)


class _OneDnn:
    int8 = True

    def __init__(self):
        self.lib = _build()
        self.lib.rnn_create.restype = ctypes.c_void_p
        sizes, flags = [ctypes.c_long] * 4, [ctypes.c_int] * 2
        self.lib.rnn_create.argtypes = [ctypes.c_int, *sizes, *flags, ctypes.c_void_p]
        self.lib.rnn_copy.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
        self.lib.rnn_copy.restype = None
        for name in ("rnn_workspace_bytes", "rnn_scratchpad_bytes"):
            getattr(self.lib, name).argtypes = [ctypes.c_void_p]
            getattr(self.lib, name).restype = ctypes.c_long
        for name in ("rnn_pack", "rnn_run", "rnn_destroy"):
            getattr(self.lib, name).argtypes = [ctypes.c_void_p]
        self.lib.rnn_version.restype = ctypes.c_char_p
        self.version = f"oneDNN {self.lib.rnn_version().decode()}"
        self.handle = None

    def _set(self, which, values):
        values = np.ascontiguousarray(values, np.float32)
        self.lib.rnn_copy(self.handle, which, values.ctypes.data, 1)

    def _get(self, which, *shape):
        values = np.empty(shape, np.float32)
        self.lib.rnn_copy(self.handle, which, values.ctypes.data, 0)
        return values

    def own_memory(self, problem, training):
        return {
            "workspace": self.lib.rnn_workspace_bytes(self.handle),
            "scratchpad": self.lib.rnn_scratchpad_bytes(self.handle),
        }

    def prepare(self, problem, x, dy, weights, training):
        p = problem
        if (p.L, p.D, p.dropout) != (1, 1, 0) or p.cell not in _CELLS:
            raise Unsupported("one unidirectional layer without dropout only")
        if p.dtype == "int8" and (training or p.cell != "lstm"):
            raise Unsupported("int8 for inference of LSTM and of another GRU only")
        if self.handle:
            self.lib.rnn_destroy(self.handle)
        w_ih, w_hh, b_ih, b_hh = weights[0]
        # WHY from the data of the calls: oneDNN has fixed ranges, which users find with such data.
        scales = _scales(x, w_ih, w_hh) if p.dtype == "int8" else None
        self.handle = self.lib.rnn_create(
            *(_CELLS[p.cell], p.T, p.B, p.I, p.H, training, p.dtype == "bfloat16"),
            None if scales is None else scales.ctypes.data,
        )
        if not self.handle:
            raise Unsupported("oneDNN rejected the problem")
        gates = w_ih.shape[0] // p.H
        # GRU: oneDNN has u, r, o; the common order is r, z, n. Its fourth bias is the recurrent bias of o.
        order = [1, 0, 2] if p.cell == "gru" else list(range(gates))

        def columns(w):  # [G*H, n] to [n, G, H]
            return w.reshape(gates, p.H, -1)[order].transpose(2, 0, 1)

        self._set(_X, x)
        self._set(_W_LAYER, columns(w_ih))
        self._set(_W_ITER, columns(w_hh))
        b_ih, b_hh = (b.reshape(gates, p.H)[order] for b in (b_ih, b_hh))
        bias = b_ih + b_hh
        if p.cell == "gru":
            bias = np.concatenate([bias[:2], b_ih[2:], b_hh[2:]])
        self._set(_BIAS, bias)
        self.problem, self.training = p, training
        if training:
            self._set(_DY, dy)
        else:
            self.lib.rnn_pack(self.handle)

    def run(self):
        if self.lib.rnn_run(self.handle) != 0:
            raise RuntimeError("oneDNN failed")

    def result(self):
        p = self.problem
        result = {"y": self._get(_Y, p.T, p.B, p.H)}
        if self.training:
            result["dx"] = self._get(_DX, p.T, p.B, p.I)
        return result
