"""The handlers of XLA's FFI as a backend of tests/gpu/core/problems.py."""

import dataclasses

import library as libraries
import numpy as np
import problems

# Inputs of LayerRNN by the dimension of the batch.
BATCH_DIMS = {"x": 1, "h0": 0, "c0": 0, "lengths": 0, "input_mask": 1, "recurrent_mask": 1}
# Attributes of CudnnRNNV3 that another op of the family lacks.
WITHOUT = {
    "CudnnRNNV3": (),
    "StatelessCudnnRNNV3": ("seed", "seed2", "is_training", "call_site"),
    "CudnnRNNV3Packed": ("seed", "seed2", "is_training", "call_site", "dropout"),
    "CudnnRNNBackpropV3": ("is_training", "call_site"),
}


def turned(array, time_major):
    return array if time_major or array.ndim < 3 else array.swapaxes(0, 1)


class Ffi:
    """Calls of the handlers by an engine of library.py."""

    def __init__(self, library, engine):
        self.library, self.engine = library, engine

    # ---- The CudnnRNN family ----

    def _call(self, op, spec, lengths, time_major, known, without, arguments, results, attrs):
        """`known`: whether the lengths are an attribute too. `results`: arrays of their shapes."""
        attrs = {
            **spec.attrs(),
            **{"dropout": 0.0, "seed": 0, "seed2": 0, "call_site": 0, "is_training": True},
            **{"time_major": time_major, "allow_tf32": False},
            **({"sequence_lengths": np.array(lengths, np.int32)} if known else {}),
            **attrs,
        }
        attrs = {n: v for n, v in attrs.items() if n not in (*without, *WITHOUT[op])}
        shapes = [(r.shape, r.dtype) if isinstance(r, np.ndarray) else r for r in results]
        return self.engine.call(op, arguments, shapes, attrs)

    @staticmethod
    def _given(arrays, dtype, time_major):
        """Arguments of the ops, without LSTM with a scalar in place of c."""
        arrays = (np.zeros(()) if a is None else a for a in arrays)
        return [turned(a, time_major).astype(libraries.DTYPES[dtype]) for a in arrays]

    def stack_forward(
        self,
        spec,
        arrays,
        lengths,
        dtype,
        *,
        op="CudnnRNNV3",
        time_major=True,
        known=True,
        reserve_size=None,
        without=(),
        seed_pair=None,
        **attrs,
    ):
        """The results of the op."""
        steps, batch = arrays[0].shape[:2]
        training, kind = attrs.get("is_training", True), libraries.DTYPES[dtype]
        if training and reserve_size is None:
            dropout = attrs.get("dropout", 0.0)
            size = (spec, steps, batch, kind, time_major, dropout)
            allow_tf32 = attrs.get("allow_tf32", False)
            reserve_size = self.library.reserve_size(*size, allow_tf32)
        results = self._given(arrays[4:], dtype, time_major)
        results += [((reserve_size,) if training else (), kind), ((), np.dtype(np.int8))]
        arguments = [*self._given(arrays[:4], dtype, time_major), np.array(lengths, np.int32)]
        if op == "StatelessCudnnRNNV3":
            arguments.append(np.array(seed_pair, np.int64))
        if op == "CudnnRNNV3Packed":
            arguments.append(np.zeros(0, np.uint8))
            results = results[:3]
        return self._call(op, spec, lengths, time_major, known, without, arguments, results, attrs)

    def stack_backward(
        self, spec, arrays, lengths, dtype, outputs, *, time_major=True, known=True, **attrs
    ):
        given = self._given(arrays, dtype, time_major)
        arguments = [*given[:4], np.array(lengths, np.int32), *outputs[:3], *given[4:]]
        arguments += outputs[3:]
        op = "CudnnRNNBackpropV3"
        return self._call(op, spec, lengths, time_major, known, (), arguments, given[:4], attrs)

    def stack(
        self,
        spec,
        arrays,
        lengths,
        dtype,
        *,
        algo=None,  # the environment has it
        seed=None,
        twice=False,
        reserve_size=None,
        **settings,
    ):
        forward, backward = {"reserve_size": reserve_size}, {}
        if seed is not None:
            forward.update(op="StatelessCudnnRNNV3", seed_pair=(seed, 1))
        problem = (spec, arrays, lengths, dtype)
        outputs = self.stack_forward(*problem, **forward, **settings)
        for _ in range(1 + twice):
            gradients = self.stack_backward(*problem, outputs, **backward, **settings)
        results = [a.astype(np.float64) for a in (*outputs[:3], *gradients)]
        if not spec.is_lstm:
            assert results[2] == 0 and results[5] == 0, "c without LSTM must be 0"
            results[2] = results[5] = None
        time_major = settings.get("time_major", True)
        return [None if a is None else turned(a, time_major) for a in results]

    # ---- BlockLSTM ----

    def block(
        self, arrays, steps, dtype, *, known, use_peephole=False, cell_clip=0.0, allow_tf32=False
    ):
        kind = libraries.DTYPES[dtype]
        inputs, upstream = ([a.astype(kind) for a in group] for group in arrays)
        attrs = {"use_peephole": use_peephole, "allow_tf32": allow_tf32}
        if known:
            attrs["seq_len_max"] = np.array([steps], np.int64)
        given, states = [np.int64(steps), *inputs], (upstream[0].shape, kind)
        outputs = self.engine.call(
            "BlockLSTMV2", given, [states] * 7, {**attrs, "cell_clip": cell_clip}
        )
        shapes = [(a.shape, kind) for a in inputs]
        arguments = [*given, *outputs, *upstream]
        return outputs, self.engine.call("BlockLSTMGradV2", arguments, shapes, attrs)

    # ---- LayerRNN ----

    def layer(self, case, time_major=True):
        call = Layer(self, case, time_major)
        outputs = call.forward()
        return call.named(outputs, call.backward(outputs))


class Layer:
    """One case of LayerRNN with the calls of its handlers."""

    def __init__(self, ffi, case, time_major=True):
        self.library, self.engine, self.case = ffi.library, ffi.engine, case
        self.time_major, self.dtype = time_major, libraries.DTYPES[case.dtype]
        self.attrs = {**case.attrs(), "time_major": time_major, "allow_tf32": False}

    def inputs(self, names=problems.LAYER_INPUTS):
        kinds = {"lengths": np.int32, "seed": np.int64}
        found = []
        for name in names:
            value = getattr(self.case.inputs, name)
            if name == "c0" and not self.case.is_lstm:
                value = np.zeros(())
            value = np.zeros(0) if value is None else np.asarray(value)
            value = turned(value, self.time_major) if name == "x" else value
            found.append(value.astype(kinds.get(name, self.dtype)))
        return found

    def upstream(self):
        dc = self.case.dc if self.case.is_lstm else np.zeros(())
        arrays = (turned(self.case.dy, self.time_major), self.case.dh, dc)
        return [a.astype(self.dtype) for a in arrays]

    def shapes(self, arrays):
        return [(a.shape, self.dtype) for a in arrays]

    def forward(self, training=True, reserve_size=None):
        if reserve_size is None:
            reserve_size = self.library.layer_reserve_size(self.case, self.dtype)
        results = self.shapes(self.upstream())
        results.append((((reserve_size,) if training else ()), self.dtype))
        attrs = {**self.attrs, "is_training": training}
        return self.engine.call("LayerRNN", self.inputs(), results, attrs)

    def packed(self):
        given = [*self.inputs(problems.LAYER_INPUTS[:10]), np.zeros(0, np.uint8)]
        results = self.shapes(self.upstream())
        return self.engine.call("LayerRNNPacked", given, results, self.attrs)

    def backward(self, outputs):
        given = [*self.inputs(), *outputs[:3], *self.upstream(), outputs[3]]
        results = self.shapes(self.inputs(problems.LAYER_INPUTS[:9]))
        return self.engine.call("LayerRNNBackprop", given, results, self.attrs)

    def named(self, outputs, gradients=None):
        """The results under the names of LayerCase.reference(), time-major."""
        found = dict(zip(problems.LAYER_OUTPUTS, outputs))
        if gradients is not None:
            found |= {f"{n}_backprop": a for n, a in zip(problems.LAYER_GRADIENTS, gradients)}
        if not self.case.is_lstm:
            found = {n: a for n, a in found.items() if "_c" not in n}
        sequences = ("output", "input_backprop")
        found = {n: turned(a, self.time_major or n not in sequences) for n, a in found.items()}
        return {n: a.astype(np.float64) for n, a in found.items() if a.shape != (0,)}


def with_inputs(case, **fields):
    return dataclasses.replace(case, inputs=dataclasses.replace(case.inputs, **fields))


def padded(case, rows, steps):
    """The case with NaN in further rows and steps, and the lengths that leave them out.

    As XLA gives it to the handlers where it knows a batch or a time dimension at run time only (Note
    [Padding in XLA] in cc/xla/lowering/padding.h).
    """
    i = case.inputs
    count, more = i.x.shape[1], (0, rows)
    lengths = np.full(count, i.x.shape[0], np.int32) if i.lengths is None else i.lengths
    fields = {"lengths": np.pad(lengths, more)}

    def pad(array, dim):
        width = [(0, 0)] * array.ndim
        width[dim] = more
        return np.pad(array, width, constant_values=np.nan)

    for name, dim in BATCH_DIMS.items():
        if name != "lengths" and getattr(i, name) is not None:
            fields[name] = pad(getattr(i, name), dim)
    longer = ((0, steps), (0, 0), (0, 0))
    fields["x"] = np.pad(fields["x"], longer, constant_values=np.nan)
    dy = np.pad(pad(case.dy, 1), longer, constant_values=np.nan)
    return dataclasses.replace(
        with_inputs(case, **fields), dh=pad(case.dh, 0), dc=pad(case.dc, 0), dy=dy
    )
