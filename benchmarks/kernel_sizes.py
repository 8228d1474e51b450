"""Bytes of scratch and reserve space of our kernels, from the kernel table.

Mirrors RnnConfig of cc/core/rnn_types.h, RnnProblem and ThreadBudget of cc/cpu/kernel_args.h and the head
of cc/cpu/kernel_table.h. A test compares the reserve space with the result of the op.
"""

import ctypes
import pathlib

_VERSION = 14  # the kKernelTableVersion with these structures
_MODES = {"relu": 0, "tanh": 1, "lstm": 2, "gru": 3}
_DTYPES = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 3}


class _Problem(ctypes.Structure):
    _fields_ = [
        *((n, ctypes.c_int32) for n in ("mode", "activation", "recurrent_activation")),
        *((n, ctypes.c_int32) for n in ("input_mode", "direction")),
        *((n, ctypes.c_float) for n in ("cell_clip", "proj_clip", "zoneout_h", "zoneout_c")),
        *((n, ctypes.c_float) for n in ("layer_norm_epsilon", "dropout")),
        *((n, ctypes.c_int64) for n in ("seed", "seed2", "num_proj")),
        *((n, ctypes.c_bool) for n in ("is_training", "time_major")),
        *((n, ctypes.c_int64) for n in ("num_layers", "num_units", "input_size", "max_time")),
        ("batch", ctypes.c_int64),
        ("dtype", ctypes.c_int32),
        ("dropout_key", ctypes.c_uint32 * 2),
        ("lengths", ctypes.POINTER(ctypes.c_int32)),
        *((n, ctypes.c_int32) for n in ("weight_layout", "bias_rows")),
        *((n, ctypes.c_bool) for n in ("has_peepholes", "has_layer_norm", "input_masked")),
        *((n, ctypes.c_bool) for n in ("recurrent_masked", "zoneout_drawn", "weights_packed")),
        ("bf16_products", ctypes.c_bool),
    ]


class _Sizes(ctypes.Structure):
    _fields_ = [("scratch_bytes", ctypes.c_int64), ("reserve_bytes", ctypes.c_int64)]


class _Threads(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int32) for n in ("count", "wake_ns", "meet_ns")]


# The values of wake_ns and meet_ns in cc/cpu/heuristics.h.
_WAKE_NS, _MEET_NS = 40000, 200
_Function = ctypes.CFUNCTYPE(_Sizes, ctypes.POINTER(_Problem), ctypes.POINTER(_Threads))


class _Table(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_int32),
        ("struct_size", ctypes.c_int32),
        ("arg_sizes", ctypes.c_int32 * 8),
        ("isa", ctypes.c_char_p),
        ("vector_bytes", ctypes.c_int32),
        ("forward_sizes", _Function),
        ("forward", ctypes.c_void_p),
        ("backward_sizes", _Function),
    ]


def sizes(package, isa, problem, training, threads):
    """The bytes that one call allocates in addition to its inputs and outputs.

    Args:
        package: The folder of tf_rnn_ops.
        isa: The result of tf_rnn_ops.cpu_isa(). "baseline" has no kernel table of its own.
        problem: A problems.Problem.
        training: Whether gradients are computed.
        threads: Number of threads.

    Returns:
        A dict of forward_scratch, backward_scratch and reserve in bytes, or None for "baseline".

    Raises:
        RuntimeError: This file does not know the version of the table.
    """
    if isa == "baseline":
        return None
    library = ctypes.CDLL(str(pathlib.Path(package) / f"_tf_rnn_ops_{isa}.so"))
    library.tf_rnn_ops_kernel_table.restype = ctypes.POINTER(_Table)
    table = library.tf_rnn_ops_kernel_table().contents
    if table.version != _VERSION:
        raise RuntimeError(f"the kernel table has version {table.version}, this file {_VERSION}")
    budget = ctypes.byref(_Threads(threads, _WAKE_NS, _MEET_NS))
    p = problem
    lengths = (ctypes.c_int32 * p.B)(*[p.T] * p.B)
    asked = _Problem(
        dtype=_DTYPES[p.dtype],
        mode=_MODES[p.cell],
        direction=p.D,
        is_training=training,
        time_major=True,
        recurrent_activation=1,  # sigmoid
        num_layers=p.L,
        num_units=p.H,
        input_size=p.I,
        max_time=p.T,
        batch=p.B,
        lengths=lengths,
        bf16_products=p.dtype == "bfloat16",
    )
    forward = table.forward_sizes(ctypes.byref(asked), budget)
    result = {"forward_scratch": forward.scratch_bytes, "reserve": forward.reserve_bytes}
    if training:
        backward = table.backward_sizes(ctypes.byref(asked), budget)
        result["backward_scratch"] = backward.scratch_bytes
    else:
        result["reserve"] = 0
    return result
