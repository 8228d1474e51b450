"""The handlers of LayerRNN: cases of support/layer_cases.py. Used by run.py.

Also what they are given where XLA knows a batch or a time dimension at run time only: sizes with padding, and
lengths that leave the padding out (Note [Padding in XLA] in cc/tf/xla/padding.h).
"""

import dataclasses
import itertools

import library as libraries
import numpy as np

from support import layer_cases

INPUTS = ("x", "h0", "c0", "kernel", "recurrent_kernel", "bias", "projection", "peepholes")
INPUTS += ("layer_norm", "lengths", "input_mask", "recurrent_mask", "seed")
OUTPUTS = ("output", "output_h", "output_c")
GRADIENTS = ("input", "input_h", "input_c", *INPUTS[3:9])
# Inputs by the dimension of the batch.
BATCH_DIMS = {"x": 1, "h0": 0, "c0": 0, "lengths": 0, "input_mask": 1, "recurrent_mask": 1}
# kOtherSizes in cc/core/network/shapes.h.
OTHER_SIZES = np.iinfo(np.int32).min
SHAPE = (5, 3, 4, 6)


class Layer:
    """One case with the calls of its handlers."""

    def __init__(self, checks, case, time_major=True):
        self.library, self.engine, self.case = checks.library, checks.engine, case
        self.time_major, self.dtype = time_major, libraries.DTYPES[case.dtype]
        self.attrs = {**case.attrs(), "time_major": time_major, "allow_tf32": False}

    def swapped(self, array):
        return array if self.time_major else np.swapaxes(array, 0, 1)

    def inputs(self, names=INPUTS):
        kinds = {"lengths": np.int32, "seed": np.int64}
        found = []
        for name in names:
            value = getattr(self.case.inputs, name)
            if name == "c0" and not self.case.is_lstm:
                value = np.zeros(())
            value = np.zeros(0) if value is None else np.asarray(value)
            found.append((self.swapped(value) if name == "x" else value).astype(
                kinds.get(name, self.dtype)
            ))  # fmt: skip
        return found

    def upstream(self):
        dc = self.case.dc if self.case.is_lstm else np.zeros(())
        return [a.astype(self.dtype) for a in (self.swapped(self.case.dy), self.case.dh, dc)]

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
        given = [*self.inputs(INPUTS[:10]), np.zeros(0, np.uint8)]
        results = self.shapes(self.upstream())
        return self.engine.call("LayerRNNPacked", given, results, self.attrs)

    def backward(self, outputs):
        given = [*self.inputs(), *outputs[:3], *self.upstream(), outputs[3]]
        results = self.shapes(self.inputs(INPUTS[:9]))
        return self.engine.call("LayerRNNBackprop", given, results, self.attrs)

    def named(self, outputs, gradients=None):
        """The results under the names of LayerCase.reference(), time-major."""
        found = dict(zip(OUTPUTS, outputs))
        if gradients is not None:
            found |= {f"{name}_backprop": a for name, a in zip(GRADIENTS, gradients)}
        if not self.case.is_lstm:
            found = {n: a for n, a in found.items() if "_c" not in n}
        sequences = ("output", "input_backprop")
        found = {n: self.swapped(a) if n in sequences else a for n, a in found.items()}
        return {n: a.astype(np.float64) for n, a in found.items() if a.shape != (0,)}

    def run(self):
        outputs = self.forward()
        return self.named(outputs, self.backward(outputs))


def _share(checks, case, got):
    """The largest error as a share of the bound."""
    narrow = case.dtype in ("float16", "bfloat16")
    want = case.reference(output=got["output"] if narrow else None)
    return max(checks.difference(got[n], want[n]) for n in got) / checks.bounds[case.dtype]


def _compare(checks, case, time_major):
    return _share(checks, case, Layer(checks, case, time_major).run())


def _padded(case, rows, steps):
    """The case with NaN in further rows and steps, and the lengths that leave them out."""
    i = case.inputs
    fields = {name: getattr(i, name) for name in INPUTS}
    count, more = i.x.shape[1], (0, rows)
    lengths = np.full(count, i.x.shape[0], np.int32) if i.lengths is None else i.lengths
    fields["lengths"] = np.pad(lengths, more)

    def pad(array, dim):
        width = [(0, 0)] * array.ndim
        width[dim] = more
        return np.pad(array, width, constant_values=np.nan)

    for name, dim in BATCH_DIMS.items():
        if name != "lengths" and fields[name] is not None:
            fields[name] = pad(fields[name], dim)
    longer = ((0, steps), (0, 0), (0, 0))
    fields["x"] = np.pad(fields["x"], longer, constant_values=np.nan)
    return dataclasses.replace(
        case, inputs=type(i)(**fields), dh=pad(case.dh, 0), dc=pad(case.dc, 0),
        dy=np.pad(pad(case.dy, 1), longer, constant_values=np.nan),
    )  # fmt: skip


def _compare_padded(checks, case, rows, steps):
    """The results of the rows and steps of the case are those of the case, and the padding gives zeros."""
    got = Layer(checks, _padded(case, rows, steps)).run()
    steps_of, rows_of = case.inputs.x.shape[:2]
    for name in ("output", "input_backprop"):
        if np.any(got[name][steps_of:]) or np.any(got[name][:, rows_of:]):
            return 2
        got[name] = got[name][:steps_of, :rows_of]
    for name in ("output_h", "output_c", "input_h_backprop", "input_c_backprop"):
        if name in got:
            got[name] = got[name][:rows_of]
    return _share(checks, case, got)


def _other_sizes(checks, case):
    """Lengths that say that the sizes of the arguments differ: every result is NaN."""
    case = dataclasses.replace(case, inputs=dataclasses.replace(
        case.inputs, lengths=np.full(SHAPE[1], OTHER_SIZES, np.int32)
    ))  # fmt: skip
    got = Layer(checks, case).run()
    return 0 if all(np.isnan(array).all() for array in got.values()) else 2


def _inference(checks, case):
    """The op in inference, with and without packed weights, gives the outputs of training."""
    layer = Layer(checks, case)
    got = layer.named(layer.forward(training=False))
    packed = layer.named(layer.packed())
    if any(got[name].tobytes() != packed[name].tobytes() for name in packed):
        return 2
    return _share(checks, case, got)


def _reserve_error(checks, case, of_gradient):
    """A reserve space of a wrong size raises an error with both sizes."""
    layer = Layer(checks, case)
    size = checks.library.layer_reserve_size(case, layer.dtype)
    try:
        if of_gradient:
            outputs = layer.forward()
            layer.backward([*outputs[:3], outputs[3][:-1]])
        else:
            layer.forward(reserve_size=size - 1)
    except Exception as error:  # noqa: BLE001  (each engine has its own)
        text = f"reserve_space must be the vector of {size} elements"
        if text in str(error) and f"[{size - 1}]" in str(error):
            return 0
        print(f"the error is: {error}")
    return 2


def _without_masks(mode, dtype="float32"):
    rng = np.random.default_rng(3)
    none = {"input_mask": False, "recurrent_mask": False, "lengths": None, "seed": False}
    return layer_cases.layer_case(mode, SHAPE, rng, dtype, **none)


def layer_checks(checks, every):
    """Pairs of a label and a function that returns a share of the bound."""
    products = itertools.product(layer_cases.MODES, libraries.DTYPES, (True, False), range(2))
    for k, (mode, dtype, time_major, number) in enumerate(products):
        if k % every:
            continue
        case = layer_cases.random_layer_case(mode, np.random.default_rng(number), dtype)
        yield str(case), lambda c=case, t=time_major: _compare(checks, c, t)
    for mode in layer_cases.MODES:
        # No seed, because what zoneout draws depends on the size of the batch.
        case = layer_cases.layer_case(mode, SHAPE, np.random.default_rng(1), "float32", seed=False)
        for rows, steps in ((2, 0), (0, 3), (2, 3)):
            label = f"{mode} padded by {rows} rows and {steps} steps"
            yield label, lambda c=case, r=rows, s=steps: _compare_padded(checks, c, r, s)
        full = _without_masks(mode)
        yield f"{mode} padded, full", lambda c=full: _compare_padded(checks, c, 1, 1)
        yield f"{mode} other sizes", lambda c=full: _other_sizes(checks, c)
        yield f"{mode} inference", lambda c=full: _inference(checks, c)
    for of_gradient in (True, False):
        case = _without_masks("lstm")
        yield (
            f"reserve_space of_gradient={of_gradient}",
            lambda c=case, g=of_gradient: _reserve_error(checks, c, g),
        )
