"""Problems of the GPU kernels with float64 references: stacks, LayerRNN and the block LSTM.

The program of this folder runs them. Its backend has these methods, in which arrays are time-major and float64,
and a type is its name:

    stack(spec, arrays, lengths, dtype, **settings)    STACK_RESULTS of the arrays of stack_inputs()
    layer(case, **settings)                            the results under the names of LayerCase.reference()
    block(arrays, steps, dtype, **settings)            outputs and gradients of the arrays of block_inputs()

A check is a label and a function that returns whether the result is good and a text. The text of a
comparison begins with its error as a share of its bound.
"""

import dataclasses
import functools
import itertools

import numpy as np

from support import layer_cases
from support.reference import block_lstm, layout, rnn
from support.reference.rounding import eps, rounder
from support.reference.spec import RnnSpec

TYPES = ("float32", "float16", "bfloat16", "float64")
# Largest difference relative to the largest element, or to 1. cuDNN keeps 16-bit types between steps, and
# LayerRNN rounds h and the gradients of gates at each step. The block LSTM rounds its outputs.
BOUNDS = {
    "stack": {"float64": 1e-11, "float16": 2e-2, "bfloat16": 1.5e-1},
    "layer": {"float64": 1e-11, "float32": 1e-5, "float16": 2e-2, "bfloat16": 1.5e-1},
    "block": {"float64": 1e-12, "float32": 5e-6, "float16": 8e-3, "bfloat16": 6e-2},
}
# The bounds of stacks in float32, by algorithm. The tanh of cuDNN's persistent kernels is up to 7.2e-6 off (`stack
# activations`), and a step carries the errors of earlier steps.
FLOAT32_STACKS = {"heuristic": 6e-5, "standard": 5e-6}
FLOAT32_STACKS.update({"steps": 1e-5, "persistent": 1e-5})
STACK_RESULTS = ("y", "h_n", "c_n", "dx", "dh0", "dc0", "dparams")
MODES = ("rnn_relu", "rnn_tanh", "lstm", "gru")
LENGTHS = {"full": [6, 6, 6], "mixed": [2, 6, 4], "empty rows": [3, 0, 6]}
# Names of LayerRNN's tensors in the order of the ops.
LAYER_INPUTS = ("x", "h0", "c0", "kernel", "recurrent_kernel", "bias", "projection", "peepholes")
LAYER_INPUTS += ("layer_norm", "lengths", "input_mask", "recurrent_mask", "seed")
LAYER_OUTPUTS = ("output", "output_h", "output_c")
LAYER_GRADIENTS = ("input", "input_h", "input_c", *LAYER_INPUTS[3:9])


def is_narrow(dtype):
    return dtype in ("float16", "bfloat16")


def bound_of(kind, dtype, algo="heuristic", tf32=False):
    if dtype == "float32" and tf32:
        # Products of TF32 keep 10 bits of each factor, as float16 does.
        return BOUNDS[kind]["float16"]
    if dtype == "float32" and kind == "stack":
        return FLOAT32_STACKS.get(algo, FLOAT32_STACKS["heuristic"])
    return BOUNDS[kind][dtype]


def difference(actual, expected):
    if expected is None:
        return 0.0
    actual = actual.astype(np.float64)
    if actual.shape != expected.shape or not np.isfinite(actual).all():
        return float("inf")
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    return float(np.abs(actual - expected).max(initial=0)) / scale


def verdict(errors, bound):
    """Whether the largest of the errors, by name, is within the bound, and the text that says so."""
    worst = max(errors, key=errors.get)
    text = " ".join(f"{name} {error:.1e}" for name, error in errors.items())
    return errors[worst] <= bound, f"{errors[worst] / bound:.2g} of the bound; {text}"


# ---- Stacks ----


def weight_of(spec):
    """The size of weights that keeps gates and gradients of order 1."""
    return min(0.8, 2.0 / np.sqrt(spec.units + spec.input_size))


def stack_inputs(spec, steps, batch, dtype, seed=0):
    """x, h0, c0, params, dy, dh_n, dc_n, which the type holds exactly; c is None without LSTM.

    For ReLU in 16 bits no gate is near 0, because rounding would turn slopes.
    """
    rng, rounded = np.random.default_rng(seed), rounder(dtype)

    def draw(*shape, size=0.8):
        return rounded(rng.uniform(-size, size, shape))

    turns = spec.rnn_mode == "rnn_relu" and is_narrow(dtype)
    # Sums have a standard deviation of about 0.1, biases are 1 or -1.
    weight = 0.2 / np.sqrt(2 * spec.units + spec.input_size) if turns else weight_of(spec)
    states = (spec.state_rows, batch)
    c = (lambda: draw(*states, spec.units)) if spec.is_lstm else (lambda: None)
    arrays = [draw(steps, batch, spec.input_size), draw(*states, spec.output_units), c()]
    arrays.append(draw(layout.params_size(spec), size=weight))
    arrays += [draw(steps, batch, spec.output_size), draw(*states, spec.output_units), c()]
    if turns:
        cells = layout.unpack(spec, arrays[3])
        for cell in cells:
            cell.bw[:] = np.where(cell.bw < 0, -1.0, 1.0)
        arrays[3] = layout.pack(spec, cells)
    return tuple(arrays)


def stack_expected(spec, arrays, lengths):
    """STACK_RESULTS."""
    x, h0, c0, params, dy, dh, dc = arrays
    lengths = np.asarray(lengths, np.int64)
    if x.shape[0] == 0 or x.shape[1] == 0:
        # The states pass, and the gradients of x and of the parameters are zero.
        return np.zeros_like(dy), h0, c0, np.zeros_like(x), dh, dc, np.zeros_like(params)
    forward = rnn.forward(spec, x, h0, c0, params, lengths)
    # Gradients beyond a row's end count for nothing.
    inside = np.arange(x.shape[0])[:, None, None] < lengths[None, :, None]
    back = rnn.backward(spec, params, forward.tape, np.where(inside, dy, 0.0), dh, dc)
    outputs = (forward.output, forward.output_h, forward.output_c)
    return (*outputs, back.input, back.input_h, back.input_c, back.params)


def compare_stack(backend, spec, lengths, dtype, *, steps=None, padding=None, **settings):
    """With `padding` it fills x and dy beyond the rows' ends, where nothing may read it.

    `algo` among the settings is the algorithm that decides on the bound.
    """
    steps = max(lengths) if steps is None else steps
    arrays = stack_inputs(spec, steps, len(lengths), dtype)
    want = stack_expected(spec, arrays, lengths)
    if padding is not None:
        beyond = np.arange(steps)[:, None, None] >= np.asarray(lengths)[None, :, None]
        filled = [np.where(beyond, padding, arrays[k]) for k in (0, 4)]
        arrays = (filled[0], *arrays[1:4], filled[1], *arrays[5:])
    got = backend.stack(spec, arrays, lengths, dtype, **settings)
    errors = {n: difference(a, e) for n, a, e in zip(STACK_RESULTS, got, want)}
    algo, tf32 = settings.get("algo", "heuristic"), settings.get("allow_tf32")
    return verdict(errors, bound_of("stack", dtype, algo, tf32))


def stack_sweep():
    """Label, spec, name in LENGTHS and time_major."""
    products = itertools.product(
        MODES, ("unidirectional", "bidirectional"), (1, 2), LENGTHS, (True, False)
    )
    for mode, direction, layers, name, time_major in products:
        label = f"{mode} {direction} L={layers} {name} time_major={time_major}"
        yield label, RnnSpec(mode, layers, 5, 4, direction), name, time_major


def stack_special(check):
    """`check`: makes a function of spec, lengths and settings of compare_stack()."""
    projecting = RnnSpec("lstm", 2, 5, 4, "bidirectional", num_proj=3)
    yield "projection", check(projecting, [6, 2, 4])
    skipping = RnnSpec("gru", 2, 5, 5, input_mode="skip_input")
    yield "skip_input", check(skipping, [6, 2, 4])
    short = RnnSpec("lstm", 1, 5, 4, "bidirectional")
    yield "longer than any row", check(short, [3, 1, 2], steps=7)
    for time_major in (True, False):
        label = f"rows shorter than T, time_major={time_major}"
        yield label, check(short, [4, 4, 4], steps=7, time_major=time_major, padding=np.nan)
    yield "no steps", check(short, [0, 0], steps=3)
    yield "no time", check(short, [0, 0], steps=0)
    yield "no rows", check(short, [], steps=3)
    yield "second gradient", check(short, [6, 2, 4], twice=True)
    yield "NaN in the padding", check(short, [6, 2, 4], padding=np.nan)
    yield "TF32", check(short, [6, 2, 4], allow_tf32=True)


def dropout_checks(backend, **more):
    """The same seed gives the same masks; backward uses forward's, seen along one direction."""
    spec, lengths = RnnSpec("gru", 3, 8, 4), [6, 3, 5]
    arrays = stack_inputs(spec, 6, 3, "float64")

    def outputs(changed=arrays, seed=11):
        settings = {"dropout": 0.5, "seed": seed, **more}
        return backend.stack(spec, changed, lengths, "float64", **settings)

    first = functools.cache(outputs)

    def repeats():
        return all(np.array_equal(a, b) for a, b in zip(first(), outputs()) if a is not None), ""

    def differs():
        return not np.array_equal(first()[0], outputs(seed=12)[0]), ""

    direction = np.random.default_rng(3).standard_normal(arrays[3].shape)
    inside = np.arange(6)[:, None, None] < np.array(lengths)[None, :, None]

    def loss(scale):
        changed = list(arrays)
        changed[3] = arrays[3] + scale * direction
        result = outputs(changed)
        return (result[0] * arrays[4] * inside).sum() + (result[1] * arrays[5]).sum()

    def gradient():
        step = 1e-5
        slope = (loss(step) - loss(-step)) / (2 * step)
        error = abs(slope - (first()[6] * direction).sum()) / max(1, abs(slope))
        return error < 1e-7, f"{error:.1e}"

    yield "dropout: the same seed repeats", repeats
    yield "dropout: another seed differs", differs
    yield "dropout: gradient along a direction", gradient


# ---- LayerRNN ----


def compare_layer(backend, case, **settings):
    return layer_verdict(case, backend.layer(case, **settings), settings.get("allow_tf32"))


def layer_verdict(case, got, tf32=False):
    # Whether an output has reached its limit depends on its rounding.
    want = case.reference(output=got["output"] if is_narrow(case.dtype) else None)
    errors = {name: difference(got[name], want[name]) for name in want if name in got}
    return verdict(errors, bound_of("layer", case.dtype, tf32=tf32))


def random_layer(mode, dtype, number, **options):
    case = layer_cases.random_layer_case(mode, np.random.default_rng(number), dtype, **options)
    if case.cell_clip > 0 and is_narrow(dtype):
        _avoid_the_limit(case)
    return case


def _avoid_the_limit(case):
    """Moves the limit of c to where no c is near it.

    The gradients jump where rounding moves a c across the limit.
    """
    first, nearness = case.cell_clip, eps(case.dtype) / 2
    jumps = {}
    for k in range(20):
        limit = first * (1 + 0.02 * k)
        below, above = (
            dataclasses.replace(case, cell_clip=limit * (1 + s * nearness)).reference()
            for s in (-1, 1)
        )
        jumps[limit] = max(difference(below[n], above[n]) for n in below)
        if jumps[limit] <= BOUNDS["layer"][case.dtype] / 10:
            break
    case.cell_clip = min(jumps, key=jumps.get)


# ---- The block LSTM ----


def block_inputs(shape, steps, dtype, seed=0):
    """Inputs of forward, then cs_grad and h_grad, which the type holds exactly.

    Steps beyond `steps` are NaN, since nobody may read them.
    """
    time, batch, width, units = shape
    rng, rounded = np.random.default_rng(seed), rounder(dtype)
    weight = 1.5 / np.sqrt(width + units)

    def draw(*dims, size=1.0):
        return rounded(rng.uniform(-size, size, dims))

    inputs = [draw(time, batch, width), draw(batch, units), draw(batch, units)]
    inputs += [draw(width + units, 4 * units, size=weight), *(draw(units) for _ in range(3))]
    inputs.append(draw(4 * units, size=weight))
    gradients = [draw(time, batch, units), draw(time, batch, units)]
    for array in (inputs[0], *gradients):
        array[steps:] = np.nan
    return inputs, gradients


def compare_block(backend, shape, steps, dtype, **settings):
    arrays = block_inputs(shape, steps, dtype)
    outputs, gradients = backend.block(arrays, steps, dtype, **settings)
    peephole, inputs = settings.get("use_peephole", False), block_lstm.BlockLstmInputs(*arrays[0])
    forward = block_lstm.forward(inputs, steps, settings.get("cell_clip", 0.0), peephole)
    backward = block_lstm.backward(inputs, forward, *arrays[1], steps, peephole)
    errors = {n: difference(a, forward[n]) for n, a in zip(block_lstm.FORWARD_NAMES, outputs)}
    for name, actual in zip(block_lstm.GRAD_NAMES, gradients):
        errors[f"d{name}"] = difference(actual, backward[name])
    return verdict(errors, bound_of("block", dtype, tf32=settings.get("allow_tf32")))


def block_sweep():
    """Label, shape, steps, type and settings."""
    shapes = ((1, 1, 1, 1), (3, 2, 5, 7), (6, 13, 17, 31), (4, 33, 8, 64))
    shapes += ((0, 3, 4, 5), (3, 0, 4, 5))
    for shape, dtype, peephole, clip in itertools.product(shapes, TYPES, (False, True), (0.0, 0.5)):
        for steps in sorted({0, shape[0] // 2, shape[0]}):
            settings = {"use_peephole": peephole, "cell_clip": clip}
            label = f"{dtype} {shape} steps={steps} peephole={peephole} clip={clip}"
            yield label, shape, steps, dtype, settings
    for dtype in TYPES:
        settings = {"use_peephole": True, "allow_tf32": True}
        yield f"{dtype} TF32", (5, 3, 16, 16), 5, dtype, settings
