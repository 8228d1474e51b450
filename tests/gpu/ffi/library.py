"""The handlers in their shared object, and two programs that run XLA: JAX and TensorFlow."""

import ctypes
import pathlib

import ml_dtypes
import numpy as np

from support.reference.spec import GATES

OPS = (
    "BlockLSTMV2",
    "BlockLSTMGradV2",
    "CudnnRNNV3",
    "StatelessCudnnRNNV3",
    "CudnnRNNV3Packed",
    "CudnnRNNBackpropV3",
    "LayerRNN",
    "LayerRNNPacked",
    "LayerRNNBackprop",
)
DTYPES = {
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}


class Library:
    """The library that build.sh made.

    Args:
        path: Its place.
        pretend: Whether the driver is a mock and device memory is host memory.
    """

    def __init__(self, path, pretend):
        self.functions = ctypes.CDLL(str(path))
        self.functions.handlers_message.restype = ctypes.c_char_p
        self.functions.handlers_find.restype = ctypes.c_void_p
        self.pretend = pretend

    def find(self, op):
        return self.functions.handlers_find(f"TfRnnOps>{op}".encode(), self.pretend)

    def reserve_size(self, spec, steps, batch, dtype, time_major, dropout, allow_tf32=False):
        """The elements of reserve_space in training."""
        sizes = (spec.layers, spec.units, spec.input_size, steps, batch, spec.num_proj)
        found = ctypes.c_int64()
        code = self.functions.handlers_reserve_bytes(
            spec.rnn_mode.encode(),
            spec.input_mode.encode(),
            spec.direction.encode(),
            (ctypes.c_int64 * 6)(*sizes),
            int(time_major),
            ctypes.c_float(dropout),
            list(DTYPES).index(dtype.name),
            int(allow_tf32),
            ctypes.byref(found),
        )
        return self._elements(code, found, dtype)

    def layer_reserve_size(self, case, dtype):
        """The elements of reserve_space of LayerRNN in training, of a case of support/layer_cases.py."""
        i, found = case.inputs, ctypes.c_int64()
        units = i.recurrent_kernel.shape[1] // GATES[case.rnn_mode]
        proj = 0 if i.projection is None else i.projection.shape[1]
        code = self.functions.handlers_layer_reserve_bytes(
            case.rnn_mode.encode(),
            (ctypes.c_int64 * 5)(*i.x.shape, units, proj),
            int(i.layer_norm is not None),
            list(DTYPES).index(dtype.name),
            ctypes.byref(found),
        )
        return self._elements(code, found, dtype)

    def _elements(self, code, found, dtype):
        if code:
            raise RuntimeError(self.functions.handlers_message().decode())
        return found.value // dtype.itemsize


class Jax:
    """Calls through jax.jit. Without `pretend` on its first GPU."""

    def __init__(self, library):
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax = jax
        self.device = jax.devices("cpu" if library.pretend else "cuda")[0]
        self.name = f"JAX {jax.__version__} on {self.device.device_kind}"
        platform = "cpu" if library.pretend else "CUDA"
        for op in OPS:
            capsule = jax.ffi.pycapsule(library.find(op))
            jax.ffi.register_ffi_target(f"tf_rnn_ops_{op}", capsule, platform=platform)

    def inside(self, op, arguments, results, attrs):
        """The call as a part of a function that JAX traces."""
        shapes = [self.jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in results]
        attrs = {n: np.float32(v) if isinstance(v, float) else v for n, v in attrs.items()}
        attrs = {n: np.int64(v) if type(v) is int else v for n, v in attrs.items()}
        return self.jax.ffi.ffi_call(f"tf_rnn_ops_{op}", shapes)(*arguments, **attrs)

    def call(self, op, arguments, results, attrs):
        """Runs one call: arrays in, arrays out. `results` are pairs of shape and type."""
        arguments = [self.jax.device_put(np.asarray(a), self.device) for a in arguments]
        run = self.jax.jit(lambda *a: self.inside(op, a, results, attrs))
        return [np.asarray(r) for r in run(*arguments)]


class TensorFlow:
    """Calls as custom calls of a StableHLO module."""

    KINDS = {
        "float32": "f32",
        "float64": "f64",
        "float16": "f16",
        "bfloat16": "bf16",
        "int32": "i32",
        "int64": "i64",
        "int8": "i8",
        "uint8": "ui8",
    }

    def __init__(self, library):
        import tensorflow as tf

        self.tf = tf
        self.platform = "CPU" if library.pretend else "CUDA"
        self.device = "CPU:0" if library.pretend else "GPU:0"
        self.name = f"TensorFlow {tf.__version__} on {self.device}"
        folder = pathlib.Path(tf.sysconfig.get_lib())
        get_api = ctypes.CDLL(str(folder / "libtensorflow_cc.so.2"))._ZN3xla3ffi12GetXlaFfiApiEv
        get_api.restype = ctypes.c_void_p
        platform = b"Host" if library.pretend else b"CUDA"
        for op in OPS:
            name = f"tf_rnn_ops_{op}".encode()
            failed = library.functions.handlers_register(
                ctypes.c_void_p(get_api()), f"TfRnnOps>{op}".encode(), name, platform,
                library.pretend,
            )  # fmt: skip
            assert not failed, op

    def _type(self, shape, dtype):
        return "tensor<" + "".join(f"{d}x" for d in shape) + self.KINDS[np.dtype(dtype).name] + ">"

    @staticmethod
    def _attr(value):
        if isinstance(value, np.ndarray):
            kind = "i32" if value.dtype == np.int32 else "i64"
            return f"array<{kind}" + (": " + ", ".join(map(str, value)) if value.size else "") + ">"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float):
            return f"0x{np.float32(value).view(np.uint32):08X} : f32"
        return f"{value} : i64" if isinstance(value, int) else f'"{value}"'

    def call(self, op, arguments, results, attrs):
        """Runs one call: arrays in, arrays out. `results` are pairs of shape and type."""
        from tensorflow.compiler.tf2xla.python import xla as tf2xla

        tf = self.tf
        given = [self._type(np.shape(a), np.asarray(a).dtype) for a in arguments]
        wanted = [self._type(*result) for result in results]
        names = ", ".join(f"%a{k}" for k in range(len(given)))
        text = ", ".join(f"{name} = {self._attr(value)}" for name, value in attrs.items())
        module = f"""
        module {{ func.func public @main({", ".join(f"%a{k}: {t}" for k, t in enumerate(given))})
            -> ({", ".join(wanted)}) {{
          %r:{len(wanted)} = stablehlo.custom_call @"tf_rnn_ops_{op}"({names}) {{
            api_version = 4 : i32, backend_config = {{{text}}}}}
            : ({", ".join(given)}) -> ({", ".join(wanted)})
          return {", ".join(f"%r#{k}" for k in range(len(wanted)))} : {", ".join(wanted)}
        }} }}"""
        with tf.device(self.device):
            found = tf2xla.call_module(
                [tf.constant(np.asarray(a)) for a in arguments],
                version=9,
                module=module,
                Tout=[tf.as_dtype(dtype) for _, dtype in results],
                Sout=[shape for shape, _ in results],
                platforms=[self.platform],
                disabled_checks=[f"custom_call:tf_rnn_ops_{op}"],
            )
        return [r.numpy() for r in found]
