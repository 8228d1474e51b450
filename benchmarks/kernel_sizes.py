"""Bytes of scratch and reserve space of our kernels, from the kernel table.

Mirrors LayerConfig of rnn_types.h, the first names of op_spec.h and CallTensors of call_tensors.h in
cc/core/op, and RnnArgs of kernel_args.h and the head of kernel_table.h in cc/cpu. A test compares the
reserve space with the result of the op.
"""

import ctypes
import pathlib

_LAYOUT = 0xB98C8C29CC661D57  # the kKernelLayout of these structures
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
        ("bias_rows", ctypes.c_int32),
        *((n, ctypes.c_bool) for n in ("has_peepholes", "has_layer_norm", "input_masked")),
        *((n, ctypes.c_bool) for n in ("recurrent_masked", "zoneout_drawn")),
        ("dtype", ctypes.c_int32),
        ("dropout_key", ctypes.c_uint32 * 2),
        ("lengths", ctypes.POINTER(ctypes.c_int32)),
        ("sum_of_lengths", ctypes.c_int64),
        ("weight_layout", ctypes.c_int32),
        *((n, ctypes.c_bool) for n in ("weights_packed", "bf16_products", "int8_weights")),
    ]


class _Sizes(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_int64)
        for name in ("scratch_bytes", "reserve_bytes", "longest_reserve_bytes")
    ]


# The values of wake_ns and meet_ns in cc/cpu/heuristics.h.
_WAKE_NS, _MEET_NS = 40000, 200
_NUM_ARGS = 52
_ARGS = (
    "input input_h input_c params kernel recurrent_kernel bias projection peepholes layer_norm sequence_lengths "
    "input_mask recurrent_mask seed kernel_scale recurrent_kernel_scale projection_scale packed output output_h "
    "output_c output_backprop output_h_backprop output_c_backprop"
).split()
_STOPPED = 2
_Allocate = ctypes.CFUNCTYPE(
    ctypes.c_bool, ctypes.c_void_p, ctypes.POINTER(_Sizes), ctypes.c_void_p
)


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("elements", ctypes.c_int64),
        ("type", ctypes.c_uint8),  # ElementType, whose first values are those of Dtype
    ]


class _Args(ctypes.Structure):
    _fields_ = [
        ("problem", _Problem),
        # ParallelFor
        ("threads_context", ctypes.c_void_p),
        *((n, ctypes.c_int32) for n in ("count", "wake_ns", "meet_ns")),
        ("run", ctypes.c_void_p),
        # MemorySource
        ("memory_context", ctypes.c_void_p),
        ("allocate", _Allocate),
        # CallTensors
        ("inputs", _Tensor * _NUM_ARGS),
        ("outputs", _Tensor * _NUM_ARGS),
        ("panels", ctypes.c_void_p),
    ]

    def give(self, tensors, elements):
        """Sets `tensors`, self.inputs or self.outputs, to memory that nobody reads or writes."""
        for name, count in elements.items():
            tensors[_ARGS.index(name)] = _Tensor(64, count, self.problem.dtype)


_Kernel = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(_Args))


class _Table(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_int32),
        ("struct_size", ctypes.c_int32),
        ("layout", ctypes.c_uint64),
        ("isa", ctypes.c_char_p),
        ("vector_bytes", ctypes.c_int32),
        ("packed_format", ctypes.c_void_p),
        ("longest_reserve", ctypes.c_void_p),
        ("forward", _Kernel),
        ("backward", _Kernel),
    ]


def _asked(kernel, args):
    """The memory that a kernel asks for; it then stops."""
    found = {}

    def allocate(_context, asked, _blocks):
        found.update(scratch=asked[0].scratch_bytes, reserve=asked[0].reserve_bytes)
        return False

    args.allocate = _Allocate(allocate)
    code = kernel(ctypes.byref(args))
    if code != _STOPPED:
        raise RuntimeError(f"the kernel returned {code}")
    return found


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
        RuntimeError: This file does not know the layout of the table.
    """
    if isa == "baseline":
        return None
    library = ctypes.CDLL(str(pathlib.Path(package) / f"_tf_rnn_ops_{isa}.so"))
    library.tf_rnn_ops_kernel_table.restype = ctypes.POINTER(_Table)
    table = library.tf_rnn_ops_kernel_table().contents
    if table.layout != _LAYOUT:
        raise RuntimeError(
            f"the kernel table has the layout {table.layout:#x}, this file {_LAYOUT:#x}"
        )
    p = problem
    lengths = (ctypes.c_int32 * p.B)(*[p.T] * p.B)
    gates = {"lstm": 4, "gru": 3}.get(p.cell, 1)
    columns = sum(p.I if layer == 0 else p.D * p.H for layer in range(p.L)) + p.L * (p.H + 2)
    states = p.L * p.D * p.B * p.H
    inputs = {"input": p.T * p.B * p.I, "input_h": states, "input_c": states}
    inputs["params"] = p.D * gates * p.H * columns
    outputs = {"output": p.T * p.B * p.D * p.H, "output_h": states, "output_c": states}
    if p.cell != "lstm":
        del inputs["input_c"], outputs["output_c"]

    def call():
        args = _Args(count=threads, wake_ns=_WAKE_NS, meet_ns=_MEET_NS)
        args.problem = _Problem(
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
            sum_of_lengths=p.T * p.B,
            bf16_products=p.dtype == "bfloat16",
        )
        args.give(args.inputs, inputs)
        return args

    args = call()
    args.give(args.outputs, outputs)
    forward = _asked(table.forward, args)
    result = {"forward_scratch": forward["scratch"], "reserve": forward["reserve"]}
    if training:
        args = call()
        args.give(args.outputs, inputs)
        args.give(args.inputs, outputs)
        args.give(args.inputs, {f"{name}_backprop": n for name, n in outputs.items()})
        result["backward_scratch"] = _asked(table.backward, args)["scratch"]
    return result
