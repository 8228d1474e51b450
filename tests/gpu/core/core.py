"""Calls the GPU core through ctypes, with PyTorch's memory and stream: a backend of problems.py."""

import contextlib
import ctypes

import launches
import numpy as np
import problems
import torch

from support.reference.spec import CELLS, GATES, RnnSpec

TORCH = {
    "float32": torch.float32,
    "float64": torch.float64,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}
DTYPES = tuple(TORCH)  # in the order of rnn_ops::Dtype
ACTIVATIONS = ("tanh", "sigmoid", "hard_sigmoid", "hard_sigmoid_keras2", "relu", "linear")
ALGORITHMS = ("steps", "persistent")
FORWARD, BACKWARD = 1, 2  # CorePasses of core_api.cc
ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)


class CoreError(RuntimeError):
    """A call returned an error; `code` is the number of rnn_ops::Code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def _fields(kind, names):
    return [(name, kind) for name in names.split()]


class CoreRnn(ctypes.Structure):
    """Mirrors core_api.cc, as the next two do."""

    _fields_ = [
        *_fields(ctypes.c_int32, "mode input_mode directions dtype"),
        *_fields(ctypes.c_int32, "training time_major allow_tf32 device"),
        *_fields(ctypes.c_int64, "layers units input_size proj max_time batch"),
        ("seed", ctypes.c_uint64),
        ("dropout", ctypes.c_float),
        ("stream", ctypes.c_void_p),
        ("lengths", ctypes.POINTER(ctypes.c_int32)),
        ("algo", ctypes.c_char_p),
    ]


class CoreBlockLstm(ctypes.Structure):
    _fields_ = [
        *_fields(ctypes.c_int32, "dtype use_peephole allow_tf32"),
        ("cell_clip", ctypes.c_float),
        *_fields(ctypes.c_int64, "max_time batch input_size units seq_len_max"),
        ("stream", ctypes.c_void_p),
    ]


class CoreLayer(ctypes.Structure):
    _fields_ = [
        *_fields(ctypes.c_int32, "mode activation recurrent_activation dtype"),
        *_fields(ctypes.c_int32, "training time_major allow_tf32 algorithm"),
        *_fields(ctypes.c_float, "cell_clip proj_clip zoneout_h zoneout_c layer_norm_epsilon"),
        *_fields(ctypes.c_int64, "max_time batch input_size units proj"),
        ("stream", ctypes.c_void_p),
    ]


def addresses(tensors):
    found = [t.data_ptr() if t is not None and t.numel() else None for t in tensors]
    return (ctypes.c_void_p * len(found))(*found)


def like(tensors):
    """Tensors of NaN; None stays None."""
    return [None if t is None else torch.full_like(t, float("nan")) for t in tensors]


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
        self.device, self.on_gpu = device, device == "cuda"
        self.launches = launches.Launches(self.library, device)

    def check(self, code):
        if code:
            raise CoreError(code, self.library.core_message().decode())

    def call(self, name, *arguments):
        """Calls a function of the library; a struct is passed by its address."""
        structs = (ctypes.byref(a) if isinstance(a, ctypes.Structure) else a for a in arguments)
        self.check(getattr(self.library, name)(*structs))

    def stream(self):
        return torch.cuda.current_stream().cuda_stream if self.on_gpu else None

    def cudnn_version(self):
        version = ctypes.c_int64()
        self.check(self.library.core_cudnn_version(ctypes.byref(version)))
        return version.value

    def to_device(self, arrays, dtype, time_major=True):
        def move(array):
            if array is None:
                return None
            tensor = torch.from_numpy(np.ascontiguousarray(array)).to(self.device, TORCH[dtype])
            return tensor if time_major or array.ndim < 3 else tensor.transpose(0, 1).contiguous()

        return [move(array) for array in arrays]

    def from_device(self, tensors, time_major=True):
        """Time-major float64 arrays."""

        def move(tensor):
            if tensor is None:
                return None
            array = tensor.double().cpu().numpy()
            return array if time_major or array.ndim < 3 else array.swapaxes(0, 1)

        return [move(tensor) for tensor in tensors]

    # ---- Stacks ----

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
        return CoreRnn(
            mode=problems.MODES.index(spec.rnn_mode),
            input_mode=int(spec.skips_input),
            directions=spec.directions,
            dtype=list(TORCH.values()).index(x.dtype),
            training=int(training),
            time_major=int(time_major),
            layers=spec.layers,
            units=spec.units,
            input_size=spec.input_size,
            proj=spec.num_proj if spec.has_projection else 0,
            max_time=steps,
            batch=batch,
            lengths=(ctypes.c_int32 * max(batch, 1))(*[int(n) for n in lengths]),
            stream=self.stream(),
            **settings,
        )

    def enqueue(self, spec, tensors, lengths, *, twice=False, **settings):
        """All seven results, on the device; with `twice` of a second gradient too."""
        rnn = self.problem(spec, tensors[0], lengths, **settings)
        outputs = like(tensors[4:])
        scratch, reserve = _Memory(self.device), _Memory(self.device)
        algorithm = ctypes.c_int8(0)
        self.call(
            "core_forward",
            rnn,
            addresses([*tensors[:4], *outputs]),
            scratch.callback,
            reserve.callback,
            ctypes.byref(algorithm),
        )
        assert len(reserve.tensors) <= 1
        size = sum(block.numel() for block in reserve.tensors)
        kept = addresses(reserve.tensors)[0] if reserve.tensors else None
        for _ in range(1 + twice):
            gradients = like(tensors[:4])
            self.call(
                "core_backward",
                rnn,
                addresses([*tensors[:4], outputs[0], *tensors[4:], *gradients]),
                ctypes.c_void_p(kept),
                ctypes.c_int64(size),
                algorithm,
                scratch.callback,
            )
        return [*outputs, *gradients]

    def stack(self, spec, arrays, lengths, dtype, *, time_major=True, **settings):
        tensors = self.to_device(arrays, dtype, time_major)
        results = self.enqueue(spec, tensors, lengths, time_major=time_major, **settings)
        return self.from_device(results, time_major)

    # ---- The block LSTM ----

    def block(self, arrays, steps, dtype, **settings):
        tensors = (self.to_device(group, dtype) for group in arrays)
        return [
            self.from_device(group) for group in self.enqueue_block(*tensors, steps, **settings)
        ]

    def block_problem(self, x, units, steps=None, **settings):
        return CoreBlockLstm(
            dtype=list(TORCH.values()).index(x.dtype),
            max_time=x.shape[0],
            batch=x.shape[1],
            input_size=x.shape[2],
            units=units,
            seq_len_max=x.shape[0] if steps is None else steps,
            stream=self.stream(),
            **settings,
        )

    def enqueue_block(self, inputs, gradients, steps, **settings):
        """Outputs and gradients, on the device."""
        problem = self.block_problem(inputs[0], inputs[1].shape[1], steps, **settings)
        outputs, results = like([gradients[0]] * 7), like(inputs)
        scratch = _Memory(self.device)
        forward = addresses(inputs), addresses(outputs)
        self.call("core_block_lstm_forward", problem, *forward, scratch.callback)
        given = addresses([*inputs, *outputs, *gradients])
        self.call("core_block_lstm_backward", problem, given, addresses(results), scratch.callback)
        return outputs, results

    # ---- LayerRNN ----

    def layer(self, case, **settings):
        return LayerCall(self, case, **settings).run()


class LayerCall:
    """One case with its tensors on the device; `tensors` are LAYER_INPUTS.

    `algorithms`: of forward and backward.
    """

    def __init__(
        self,
        core,
        case,
        time_major=True,
        training=True,
        allow_tf32=False,
        algorithms=("steps", "steps"),
    ):
        self.core, self.case, self.time_major = core, case, time_major
        self.dtype = case.dtype
        self.algorithms = [ALGORITHMS.index(name) for name in algorithms]
        i = case.inputs
        floats = ("cell_clip", "proj_clip", "zoneout_h", "zoneout_c", "layer_norm_epsilon")
        self.problem = CoreLayer(
            tuple(CELLS).index(case.rnn_mode),
            ACTIVATIONS.index(case.activation),
            ACTIVATIONS.index(case.recurrent_activation),
            DTYPES.index(self.dtype),
            training=training,
            time_major=time_major,
            allow_tf32=allow_tf32,
            max_time=i.x.shape[0],
            batch=i.x.shape[1],
            input_size=i.x.shape[2],
            units=i.recurrent_kernel.shape[1] // GATES[case.rnn_mode],
            proj=0 if i.projection is None else i.projection.shape[1],
            stream=core.stream(),
            **{name: getattr(case, name) for name in floats},
        )
        self.tensors = [self._move(name, getattr(i, name)) for name in problems.LAYER_INPUTS]
        if not case.is_lstm:
            self.tensors[2] = None
        upstream = (case.dy, case.dh, case.dc if case.is_lstm else None)
        self.upstream = core.to_device(upstream, self.dtype, time_major)
        size = ctypes.c_int64()
        tensors = addresses(self.tensors)
        core.call("core_layer_reserve", self.problem, tensors, ctypes.byref(size))
        size = size.value if training else 1
        self.reserve = torch.full((size,), 255, dtype=torch.uint8, device=core.device)
        self.outputs, self.gradients = like(self.upstream), like(self.tensors[:9])

    def _move(self, name, array):
        if array is None:
            return None
        if name in ("lengths", "seed"):
            number = torch.int32 if name == "lengths" else torch.int64
            return torch.from_numpy(np.asarray(array)).to(self.core.device, number)
        return self.core.to_device([array], self.dtype, self.time_major or name != "x")[0]

    def enqueue(self):
        """Forward and backward. The results are on the device, under the names of LayerCase.reference()."""
        scratch = _Memory(self.core.device)
        inputs, reserve = addresses(self.tensors), ctypes.c_void_p(self.reserve.data_ptr())
        self.problem.algorithm = self.algorithms[0]
        outputs = addresses(self.outputs)
        self.core.call(
            "core_layer_forward", self.problem, inputs, outputs, reserve, scratch.callback
        )
        self.problem.algorithm = self.algorithms[1]
        given, gradients = self.given(), addresses(self.gradients)
        self.core.call(
            "core_layer_backward", self.problem, inputs, given, reserve, gradients, scratch.callback
        )
        results = dict(zip(problems.LAYER_OUTPUTS, self.outputs))
        names = (f"{name}_backprop" for name in problems.LAYER_GRADIENTS)
        results.update(zip(names, self.gradients))
        return {name: tensor for name, tensor in results.items() if tensor is not None}

    def run(self):
        """The results as float64 arrays, time-major."""
        swapped = () if self.time_major else ("output", "input_backprop")
        found = self.enqueue()
        return {n: self.core.from_device([t], n not in swapped)[0] for n, t in found.items()}

    def given(self):
        return addresses([self.outputs[0], *self.upstream])
