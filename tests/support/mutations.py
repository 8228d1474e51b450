"""One-step mutations that make a valid call invalid.

Only mutations that must raise an error are listed: T of a forward op's input may grow, non-LSTM models
ignore every *_c tensor, and host_reserved is not read.
"""

import dataclasses
import re

import numpy as np

from support import packed_calls
from support.calls import Call
from support.linear_case import SLOPES
from support.reference.spec import CELLS, GATES

INT_SIZES = ("num_layers", "num_units", "input_size")
# The names that the message on a wrong size of an attribute may have.
SIZE_NAMES = (*INT_SIZES, "params", "num_proj", "input_mode")


@dataclasses.dataclass
class Mutation:
    """An invalid call.

    Attributes:
        label: what was done. call: the call. names: the error must name at least one of these.
        static: whether static shapes and attributes show it, so that graph construction must reject it.
    """

    label: str
    call: Call
    names: tuple
    static: bool

    def is_named(self, message):
        return any(re.search(rf"\b{re.escape(name)}\b", message) for name in self.names)


def resized(array, shape):
    """The array's values cut or repeated to another shape."""
    array = np.asarray(array)
    if array.size == 0:
        return np.zeros(shape, array.dtype)
    return np.resize(array, shape).astype(array.dtype)


def other_shapes(shape):
    """Ranks one up and down, a scalar, and every dimension one up, one down, doubled and zero."""
    found = [(1,) + shape, shape + (1,)]
    if shape:
        found += [shape[1:], shape[:-1], ()]
    for axis, size in enumerate(shape):
        for new in (size + 1, size - 1, 2 * size, 0):
            if new >= 0:
                found.append(shape[:axis] + (new,) + shape[axis + 1 :])
    return sorted(set(found) - {shape}, key=lambda s: (len(s), s))


def _ignored(call, name):
    without_cell_state = call.attrs.get("rnn_mode", "lstm") != "lstm"
    if call.op == "LinearRecurrence":
        return without_cell_state and name == "cell_input"
    return name == "host_reserved" or (
        without_cell_state and name.split("_backprop")[0].endswith("_c")
    )


def _is_free(call, name, shape):
    """Whether `shape` differs from the forward input's only in what no other tensor has, such as T."""
    if call.op == "LinearRecurrence" and name == "input":
        alone = not any(call.tensors[other].size for other in ("cell_input", *SLOPES))
        alone = alone and call.attrs["rnn_mode"] != "lstm"
        return alone and len(shape) == 3 and shape[2] == call.tensors[name].shape[2]
    ops = ("CudnnRNNV3", "StatelessCudnnRNNV3", "CudnnRNNV3Packed", "LayerRNN", "LayerRNNPacked")
    ops += ("QuantizedLayerRNN",)
    if call.op in ops and name == "input":
        axis = 0 if call.attrs["time_major"] else 1
    elif (call.op, name) == ("BlockLSTMV2", "x"):
        axis = 0
    elif name == "kernel" and call.op in ("PackLayerRNN", "PackQuantizedLayerRNN"):
        axis = 0
    else:
        return False
    old = call.tensors[name].shape
    return len(shape) == len(old) and all(
        s == o for k, (s, o) in enumerate(zip(shape, old)) if k != axis
    )


# Those of LayerRNN that [0] stands for the absence of.
OPTIONAL = ("bias", "projection", "peepholes", "sequence_lengths", "input_mask", "recurrent_mask")
OPTIONAL += ("layer_norm", "seed")


def _may_be_absent(call, name, shape):
    """Whether a tensor changes from or to a shape that stands for another valid call."""
    if name == "packed":
        return shape == (0,)
    if call.op == "LinearRecurrence":
        return name in SLOPES and shape == (0,)
    if (
        not call.op.endswith(("LayerRNN", "LayerRNNPacked", "LayerRNNBackprop"))
        or name not in OPTIONAL
    ):
        return False
    if "Quantized" in call.op and name == "projection":
        return False  # without its scales
    # A vector in place of an absent one may happen to be of the right size.
    return shape == (0,) or (call.tensors[name].shape == (0,) and len(shape) == 1)


# A size that two tensors share is reported for one of them; which one is up to the op.
PARTNERS = {
    "input": (
        *("input_h", "params", "sequence_lengths", "output", "input_c"),
        *("cell_input", "recurrent_kernel", *SLOPES),
    ),
    "input_h": (
        "input_c",
        "params",
        "output",
        "sequence_lengths",
        "num_proj",
        "direction",
        "input_mode",
    ),
    "input_c": ("params", "num_proj", "input_mode"),
    "x": ("cs_prev", "w", "i"),
    "cs_prev": ("h_prev", "w"),
    "num_layers": ("weights", "biases", "params", "num_params_weights"),
    "num_units": ("weights", "biases", "params", "num_proj", "input_mode"),
    "input_size": ("weights", "biases", "params", "input_mode"),
}


def _length_is_for_the_kernel(call, name):
    """Whether a vector's length cannot be checked without values."""
    return (call.op, name) in (
        ("CudnnRNNBackpropV3", "reserve_space"),
        ("LayerRNNBackprop", "reserve_space"),
        ("CudnnRNNV3Packed", "packed"),
        ("LayerRNNPacked", "packed"),
        ("QuantizedLayerRNN", "packed"),
        ("CudnnRNNParamsToCanonicalV2", "params"),
    )


def shape_mutations(call):
    for name, value in call.tensors.items():
        if _ignored(call, name):
            continue
        names = (name,) + PARTNERS.get(name, ())
        if isinstance(value, list):
            yield from _list_mutations(call, name, names)
            continue
        for shape in other_shapes(np.shape(value)):
            if _is_free(call, name, shape) or _may_be_absent(call, name, shape):
                continue
            label = f"{name} {list(np.shape(value))} -> {list(shape)}"
            static = len(shape) != 1 or not _length_is_for_the_kernel(call, name)
            yield Mutation(label, call.with_tensor(name, resized(value, shape)), names, static)


def _list_mutations(call, name, names):
    tensors = call.tensors[name]
    count = f"num_params_{name}"
    for label, changed in (("shorter", tensors[:-1]), ("longer", tensors + tensors[-1:])):
        yield Mutation(f"{name} {label}", call.with_tensor(name, changed), names + (count,), False)
    for k in (0, len(tensors) - 1):
        for size in {0, tensors[k].size - 1, tensors[k].size + 1} - {tensors[k].size, -1}:
            changed = list(tensors)
            changed[k] = resized(tensors[k], (size,))
            yield Mutation(f"{name}[{k}] of {size}", call.with_tensor(name, changed), names, False)


def value_mutations(call):
    lengths = call.tensors.get("sequence_lengths")
    if lengths is not None and lengths.size:
        steps = call.tensors["input"].shape[0 if call.attrs["time_major"] else 1]
        for row in (0, lengths.size - 1):
            for value in (-1, steps + 1, np.iinfo(np.int32).min, np.iinfo(np.int32).max):
                changed = lengths.copy()
                changed[row] = value
                label = f"sequence_lengths[{row}] = {value}"
                yield Mutation(
                    label,
                    call.with_tensor("sequence_lengths", changed),
                    ("sequence_lengths",),
                    False,
                )
    if "seq_len_max" in call.tensors:
        steps = call.tensors["x"].shape[0]
        for value in (-1, steps + 1, np.iinfo(np.int64).min, np.iinfo(np.int64).max, 2**32):
            changed = call.with_tensor("seq_len_max", np.int64(value))
            yield Mutation(f"seq_len_max = {value}", changed, ("seq_len_max",), False)
    for name in INT_SIZES:
        if name in call.tensors:
            for value in (0, -1, np.iinfo(np.int32).min):
                changed = call.with_tensor(name, np.int32(value))
                yield Mutation(f"{name} = {value}", changed, (name,), False)
    if call.op in ("CudnnRNNCanonicalToParamsV2", "CudnnRNNParamsToCanonicalV2"):
        for name in INT_SIZES:
            for value in (call.tensors[name] + 1, np.int32(2**31 - 1)):
                if name == "input_size" and call.attrs["input_mode"] == "skip_input":
                    continue
                changed = call.with_tensor(name, np.int32(value))
                yield Mutation(f"{name} = {value}", changed, (name,) + PARTNERS[name], False)
    if call.op == "CudnnRNNParamsSize":
        huge = call.copy()
        huge.tensors = {name: np.int32(2**31 - 1) for name in INT_SIZES}
        huge.attrs["input_mode"] = "linear_input"
        huge.attrs["num_proj"] = 0
        yield Mutation("all sizes 2^31 - 1", huge, INT_SIZES, False)
        wide = huge.copy()
        wide.tensors = {**wide.tensors, "num_layers": np.int32(1), "num_units": np.int32(40000)}
        yield Mutation("result beyond int32", wide, INT_SIZES + ("params_size", "S"), False)


def attribute_mutations(call):
    attrs = call.attrs
    for value in (-0.1, 1.001, 1.5, float("nan"), float("inf"), -float("inf")):
        if "dropout" in attrs:
            yield Mutation(
                f"dropout = {value}", call.with_attr("dropout", value), ("dropout",), True
            )
    for name in ("rnn_mode", "input_mode", "direction", "activation", "recurrent_activation"):
        if name in attrs:
            for value in ("", "bogus", attrs[name].upper()):
                yield Mutation(f"{name} = {value!r}", call.with_attr(name, value), (name,), True)
    for name in INT_SIZES:
        if name in attrs:
            for value in (0, -1, 2**40):
                yield Mutation(f"{name} = {value}", call.with_attr(name, value), SIZE_NAMES, True)
    if call.op.startswith("LayerRNN"):
        yield from _layer_attribute_mutations(call)
    if call.op == "LinearRecurrence":
        names = ("cell_input", "recurrent_kernel", "rnn_mode", *SLOPES)
        for mode in {"lstm", "gru", "rnn_tanh"} - {attrs["rnn_mode"]}:
            yield Mutation(f"rnn_mode {mode}", call.with_attr("rnn_mode", mode), names, True)
    if "num_proj" not in attrs:
        return
    if attrs["rnn_mode"] == "lstm":
        units = _units(call)
        # A projection changes the width of h, the parameters or the count of the weights.
        for value in (-1, -(2**40), units + 1, 2**40):
            names = ("num_proj", "input_h", "output")
            static = value < 0 or "input_h" in call.tensors
            yield Mutation(f"num_proj = {value}", call.with_attr("num_proj", value), names, static)
    else:
        for value in (-1, 1, 2**40):
            yield Mutation(
                f"num_proj = {value}", call.with_attr("num_proj", value), ("num_proj",), True
            )
    if "num_params_weights" in attrs:
        for name in ("num_params_weights", "num_params_biases"):
            for value in (attrs[name] - 1, attrs[name] + 1, 0, -1):
                names = (name, name.rsplit("_", 1)[1])
                yield Mutation(f"{name} = {value}", call.with_attr(name, value), names, value < 1)
    if call.op.startswith("CudnnRNN") and "input_h" in call.tensors:
        yield from _consistent_attribute_mutations(call)


def _units(call):
    if "num_units" in call.attrs:
        return call.attrs["num_units"]
    if "num_units" in call.tensors:
        return int(call.tensors["num_units"])
    return int(call.tensors["input_c"].shape[-1])


def _consistent_attribute_mutations(call):
    """Other valid values of an attribute that do not fit the tensors."""
    names = (
        "direction",
        "params",
        "output",
        "input_h",
        "rnn_mode",
        "input_mode",
        "input_c",
        "reserve_space",
        "packed",
    )
    other = {"unidirectional": "bidirectional", "bidirectional": "unidirectional"}
    width = call.tensors["input_h"].shape[-1]
    flipped = call.with_attr("direction", other[call.attrs["direction"]])
    rows = call.tensors["input_h"].shape[0 if call.attrs["time_major"] else 1]
    # Two layers and two directions of one layer have equal parameters where I is the width of h.
    alike = call.op == "CudnnRNNV3" and rows == 2 and call.tensors["input"].shape[-1] == width
    if rows > 1 and not alike:
        yield Mutation("direction flipped", flipped, names, True)
    units = _units(call) if call.attrs["rnn_mode"] == "lstm" else width
    if call.tensors["input"].shape[-1] != units:
        skipped = call.with_attr("input_mode", "skip_input")
        yield Mutation("skip_input with I != H", skipped, names, True)
    for mode in ("lstm", "gru", "rnn_tanh"):
        if mode != call.attrs["rnn_mode"] and not (
            {mode, call.attrs["rnn_mode"]} <= {"rnn_tanh", "rnn_relu"}
        ):
            changed = call.with_attr("rnn_mode", mode).with_attr("num_proj", 0)
            yield Mutation(f"rnn_mode {mode}", changed, names, True)


def _layer_attribute_mutations(call):
    """Other valid values of an attribute that do not fit the tensors, rates of zoneout, epsilons."""
    for value in (0.0, float("nan")):
        name = "layer_norm_epsilon"
        if name in call.attrs:
            yield Mutation(f"{name} = {value}", call.with_attr(name, value), (name,), True)
    for name in ("cell_clip", "proj_clip"):
        for value in (-0.5, float("nan"), 1e-39):
            if name in call.attrs:
                yield Mutation(f"{name} = {value}", call.with_attr(name, value), (name,), True)
    for name in ("zoneout_h", "zoneout_c"):
        for value in (-0.1, 1.001, float("nan"), float("inf")):
            if name in call.attrs:
                yield Mutation(f"{name} = {value}", call.with_attr(name, value), (name,), True)
    names = ("input_c", "kernel", "recurrent_kernel", "bias", "input_mask", "rnn_mode")
    for mode in GATES:
        if GATES[mode] != GATES[call.attrs["rnn_mode"]]:
            yield Mutation(f"rnn_mode {mode}", call.with_attr("rnn_mode", mode), names, True)
    for name in ("activation", "recurrent_activation"):
        if name in call.attrs and not getattr(CELLS[call.attrs["rnn_mode"]], name):
            yield Mutation(f"{name} linear", call.with_attr(name, "linear"), (name,), True)
    first, second, _ = call.tensors["input"].shape
    if first != second:
        flipped = call.with_attr("time_major", not call.attrs["time_major"])
        yield Mutation("time_major flipped", flipped, ("input", "sequence_lengths"), True)


def reserve_mutations(call, ops):
    """reserve_space of other calls: a backward op must know its own."""
    if call.op == "LayerRNNBackprop":
        yield from _layer_reserve_mutations(call, ops)
    if call.op != "CudnnRNNBackpropV3":
        return
    names = ("reserve_space",)
    own = call.tensors["reserve_space"]

    def mutation(label, value, static=False):
        return Mutation(
            f"reserve_space {label}", call.with_tensor("reserve_space", value), names, static
        )

    yield mutation("of inference", np.float32(0), static=True)
    if not own.size:  # without steps or rows: that of all other such calls
        return
    yield mutation("of zeros", np.zeros_like(own))
    yield mutation("of ones", np.ones_like(own))
    yield mutation("of NaN", np.full_like(own, np.nan))
    yield mutation("shifted", np.roll(own, 1))
    inputs = {
        n: call.tensors[n] for n in ("input", "input_h", "input_c", "params", "sequence_lengths")
    }
    attrs = dict(call.attrs)
    for label, changes in (("dropout", {"dropout": 0.25}), ("twice the batch", None)):
        if changes is not None:
            result = ops.CudnnRNNV3(**inputs, **{**attrs, **changes})
        else:
            axis = 1 if attrs["time_major"] else 0
            doubled = {n: np.concatenate([inputs[n]] * 2, axis) for n in ("input", "input_h")}
            if attrs["rnn_mode"] == "lstm":
                doubled["input_c"] = np.concatenate([inputs["input_c"]] * 2, axis)
            doubled["sequence_lengths"] = np.concatenate([inputs["sequence_lengths"]] * 2)
            result = ops.CudnnRNNV3(**{**inputs, **doubled}, **attrs)
        yield mutation(f"of a call with {label}", np.asarray(result.reserve_space))
    shorter = inputs["sequence_lengths"] // 2
    if np.any(shorter != inputs["sequence_lengths"]):
        result = ops.CudnnRNNV3(**{**inputs, "sequence_lengths": shorter}, **attrs)
        yield mutation("of other lengths", np.asarray(result.reserve_space))


def _layer_reserve_mutations(call, ops):
    own = call.tensors["reserve_space"]
    inputs = {n: call.tensors[n] for n in ("input", "input_h", "input_c", "kernel")}
    inputs |= {n: call.tensors[n] for n in ("recurrent_kernel", *OPTIONAL)}

    def mutation(label, value, static=False):
        changed = call.with_tensor("reserve_space", value)
        return Mutation(f"reserve_space {label}", changed, ("reserve_space",), static)

    yield mutation("of inference", np.float32(0), static=True)
    if not own.size:  # without steps or rows: that of all other such calls
        return
    yield mutation("of zeros", np.zeros_like(own))
    yield mutation("of NaN", np.full_like(own, np.nan))
    yield mutation("shifted", np.roll(own, 1))

    def of_call(label, **changes):
        result = ops.LayerRNN(**{**inputs, **call.attrs, **changes})
        return mutation(f"of a call with {label}", np.asarray(result.reserve_space))

    if call.attrs["zoneout_h"]:
        yield of_call("other zoneout", zoneout_h=call.attrs["zoneout_h"] / 2)
    nothing = np.zeros(0, np.float32)
    for name in ("input_mask", "recurrent_mask"):
        if inputs[name].size:
            yield of_call(f"no {name}", **{name: nothing})
    batch = inputs["input_h"].shape[0]
    axis = 0 if call.attrs["time_major"] else 1
    steps = inputs["input"].shape[axis]
    lengths = inputs["sequence_lengths"]
    full = lengths if lengths.size else np.full(batch, steps, np.int32)
    if np.any(full):
        yield of_call("other lengths", sequence_lengths=full // 2)
    yield of_call("more steps", input=np.concatenate([inputs["input"]] * 2, axis))


def packed_mutations(call, ops):
    """Packed weights that are none, or those of another network."""
    packed = call.tensors.get("packed")
    if packed is None or not packed.size:
        return
    others = {"of zeros": np.zeros_like(packed), "shifted": np.roll(packed, 1)}
    if "kernel" in call.tensors:
        others |= _packed_of_others(call, ops)
    for label, value in others.items():
        yield Mutation(f"packed {label}", call.with_tensor("packed", value), ("packed",), False)


def _packed_of_others(call, ops):
    """Packed weights of a layer with one more input."""
    mode = {"rnn_mode": call.attrs["rnn_mode"]}
    weights = {n: call.tensors[n] for n in packed_calls.PACKED_WEIGHTS}
    rows, columns = weights["kernel"].shape
    weights["kernel"] = resized(weights["kernel"], (rows + 1, columns))
    if call.op != "QuantizedLayerRNN":
        return {"of another layer": ops.PackLayerRNN(**weights, **mode).numpy()}
    scales = {n: a for n, a in call.tensors.items() if n.endswith("_scale")}
    floats = {n: a.astype(np.float32) for n, a in weights.items()}
    return {
        "of another layer": ops.PackQuantizedLayerRNN(**weights, **scales, **mode).numpy(),
        "of another float layer": ops.PackLayerRNN(**floats, **mode).numpy(),
    }


def all_mutations(call, ops):
    yield from shape_mutations(call)
    yield from value_mutations(call)
    yield from attribute_mutations(call)
    yield from reserve_mutations(call, ops)
    yield from packed_mutations(call, ops)
