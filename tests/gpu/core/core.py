"""Calls the GPU core through ctypes, with PyTorch's memory and stream."""

import contextlib
import ctypes
import pathlib
import sys

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from support.reference import layout  # noqa: E402
from support.reference.spec import RnnSpec  # noqa: E402

MODES = {"rnn_relu": 0, "rnn_tanh": 1, "lstm": 2, "gru": 3}
DTYPES = {torch.float32: 0, torch.float64: 1, torch.float16: 2, torch.bfloat16: 3}
ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)


class CoreError(RuntimeError):
    """A call returned an error; `code` is the number of rnn_ops::Code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class CoreRnn(ctypes.Structure):
    """Mirrors core_api.cc."""

    _fields_ = [
        *[(name, ctypes.c_int32) for name in ("mode", "input_mode", "directions", "dtype")],
        *[(name, ctypes.c_int32) for name in ("training", "time_major", "allow_tf32", "device")],
        *[(name, ctypes.c_int64) for name in ("layers", "units", "input_size", "proj")],
        *[(name, ctypes.c_int64) for name in ("max_time", "batch")],
        ("seed", ctypes.c_uint64),
        ("dropout", ctypes.c_float),
        ("stream", ctypes.c_void_p),
        ("lengths", ctypes.POINTER(ctypes.c_int32)),
        ("algo", ctypes.c_char_p),
    ]


def _pointer(tensor):
    return tensor.data_ptr() if tensor is not None and tensor.numel() else None


class _Memory:
    """Tensors of bytes, kept while this object lives."""

    def __init__(self, device):
        self.device = device
        self.tensors = []
        self.callback = ALLOCATE(self._allocate)

    def _allocate(self, size):
        with contextlib.suppress(torch.OutOfMemoryError):
            self.tensors.append(torch.empty(size, dtype=torch.uint8, device=self.device))
            return self.tensors[-1].data_ptr()
        return None


class Core:
    """The library, on one device.

    Args:
        path: what build.sh made.
        device: "cuda", or "cpu" with a mock driver.
    """

    def __init__(self, path, device="cuda"):
        self.library = ctypes.CDLL(str(path))
        self.library.core_message.restype = ctypes.c_char_p
        self.device = device

    def check(self, code):
        if code:
            raise CoreError(code, self.library.core_message().decode())

    def cudnn_version(self):
        version = ctypes.c_int64()
        self.check(self.library.core_cudnn_version(ctypes.byref(version)))
        return version.value

    def problem(self, spec: RnnSpec, x, lengths, *, time_major=True, training=True, **settings):
        """The struct of a call; keep it as long as the call needs it.

        Args:
            spec: RnnSpec.
            x: the input tensor.
            lengths: of the rows.
            time_major: whether the first dimension of x is time.
            training: whether backward follows.
            settings: further fields; `algo` as the environment variable TF_RNN_OPS_CUDNN_ALGO,
                which it replaces, or "steps" or "persistent" for a call without cuDNN.
        """
        settings = {k: v.encode() if isinstance(v, str) else v for k, v in settings.items()}
        steps, batch = x.shape[:2] if time_major else (x.shape[1], x.shape[0])
        rnn = CoreRnn(
            mode=MODES[spec.rnn_mode],
            input_mode=int(spec.skips_input),
            directions=spec.directions,
            dtype=DTYPES[x.dtype],
            training=int(training),
            time_major=int(time_major),
            layers=spec.layers,
            units=spec.units,
            input_size=spec.input_size,
            proj=spec.num_proj if spec.has_projection else 0,
            max_time=steps,
            batch=batch,
            lengths=(ctypes.c_int32 * max(batch, 1))(*[int(n) for n in lengths]),
            **settings,
        )
        if self.device == "cuda":
            rnn.stream = torch.cuda.current_stream().cuda_stream
        return rnn

    def forward(self, spec, rnn, x, h0, c0, params):
        """Returns y, h_n, c_n (None without LSTM), the reserve space and its algorithm."""
        states = (rnn.batch, spec.state_rows)
        states = states if not rnn.time_major else states[::-1]
        empty = lambda *shape: torch.full(  # noqa: E731
            shape, float("nan"), dtype=x.dtype, device=self.device
        )
        y = empty(*x.shape[:2], spec.output_size)
        h_n = empty(*states, spec.output_units)
        c_n = empty(*states, spec.units) if spec.is_lstm else None
        scratch, reserve = _Memory(self.device), _Memory(self.device)
        tensors = (ctypes.c_void_p * 7)(*map(_pointer, (x, h0, c0, params, y, h_n, c_n)))
        algorithm = ctypes.c_int8(0)
        self.check(
            self.library.core_forward(
                ctypes.byref(rnn),
                tensors,
                scratch.callback,
                reserve.callback,
                ctypes.byref(algorithm),
            )
        )
        assert len(reserve.tensors) <= 1
        return y, h_n, c_n, reserve.tensors[0] if reserve.tensors else None, algorithm

    def backward(self, spec, rnn, inputs, outputs, gradients):
        """Returns dx, dh0, dc0 (None without LSTM) and dparams.

        Args:
            spec: RnnSpec.
            rnn: the struct of the forward call.
            inputs: x, h0, c0, params.
            outputs: what forward() returned.
            gradients: dy, dh_n, dc_n.
        """
        y, _, _, reserve, algorithm = outputs
        results = [None if t is None else torch.full_like(t, float("nan")) for t in inputs]
        tensors = (*inputs, y, *gradients, *results)
        scratch = _Memory(self.device)
        self.check(
            self.library.core_backward(
                ctypes.byref(rnn),
                (ctypes.c_void_p * 12)(*map(_pointer, tensors)),
                ctypes.c_void_p(_pointer(reserve)),
                ctypes.c_int64(0 if reserve is None else reserve.numel()),
                algorithm,
                scratch.callback,
            )
        )
        return results


class TimedCall:
    """One problem with all of its memory, for calls in a row without Python between them.

    Args:
        device_core: Core.
        spec: RnnSpec.
        tensors: x, h0, c0, params, dy, dh_n, dc_n on the device.
        scratch_bytes: for the work space, and for the reserve space once more.
    """

    def __init__(self, device_core, spec, tensors, scratch_bytes):
        x, h0, c0, params, dy, dh_n, dc_n = tensors
        self.core, self.spec, self.x = device_core, spec, x
        y, h_n, c_n = (None if t is None else torch.empty_like(t) for t in (dy, dh_n, dc_n))
        gradients = [None if t is None else torch.empty_like(t) for t in tensors[:4]]
        self.tensors = (x, h0, c0, params, y, h_n, c_n, dy, dh_n, dc_n, *gradients)
        self.addresses = (ctypes.c_void_p * 14)(*map(_pointer, self.tensors))
        self.blocks = [
            torch.empty(scratch_bytes, dtype=torch.uint8, device=device_core.device)
            for _ in range(2)
        ]

    def seconds(self, runs, *, training, keeps_reserve=False, **settings):
        """Seconds of one call, of `runs` in a row; `training` calls include backward."""
        steps, batch = self.x.shape[:2]
        rnn = self.core.problem(self.spec, self.x, [steps] * batch, training=training, **settings)
        found = ctypes.c_double()
        blocks = []
        for block in self.blocks:
            blocks += [ctypes.c_void_p(block.data_ptr()), ctypes.c_int64(block.numel())]
        self.core.check(
            self.core.library.core_time(
                ctypes.byref(rnn),
                self.addresses,
                *blocks,
                ctypes.c_int32(keeps_reserve),
                ctypes.c_int32(runs),
                ctypes.byref(found),
            )
        )
        return found.value


def random_inputs(spec, steps, batch, dtype, seed=0, weight=0.8):
    """x, h0, c0, params, dy, dh_n, dc_n: time-major float64 arrays that `dtype` holds exactly."""
    rng = np.random.default_rng(seed)

    def draw(*shape, size=0.8):
        values = torch.from_numpy(rng.uniform(-size, size, shape))
        return values.to(dtype).double().numpy()

    states = (spec.state_rows, batch)
    c = (lambda: draw(*states, spec.units)) if spec.is_lstm else (lambda: None)
    return (
        draw(steps, batch, spec.input_size),
        draw(*states, spec.output_units),
        c(),
        draw(layout.params_size(spec), size=weight),
        draw(steps, batch, spec.output_size),
        draw(*states, spec.output_units),
        c(),
    )
