"""Each node of docs/step-format.md at large sizes next to its formula in float64, within the bounds of docs/numerics.md."""

import functools
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from support.reference import layer, layout, quantized, rnn
from support.reference.spec import CELLS, GATES, RnnSpec
from tf_rnn_ops._step import file_format
from tf_rnn_ops.stepper import Stepper

EPS = 2.0**-23
SMALLEST = 2.0**-126  # a call takes smaller numbers for 0
STEPS = 300


def stepper_of(op, inputs, weights=None, **fields):
    """A stepper with one node, for inputs [B, T, ...]."""
    names = [f"x{k}" for k in range(len(inputs))]
    graph = {
        "inputs": [
            {"name": name, "dtype": str(x.dtype), "has_time": True, "dims": list(x.shape[2:])}
            for name, x in zip(names, inputs)
        ],
        "nodes": [
            {
                **{"op": op, "name": "node", "inputs": names, "outputs": ["y"]},
                **{"weights": {name: name for name in weights or {}}, **fields},
            }
        ],
        "outputs": [{"name": "y", "value": "y"}],
    }
    return Stepper(file_format.content(graph, weights or {}), *inputs[0].shape[:2])


def call(op, inputs, *weights, **fields):
    """The output of a stepper with one node, in float64."""
    return stepper_of(op, inputs, *weights, **fields)(list(inputs)).astype(np.float64)


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def double(array):
    return np.asarray(array, np.float64)


def product(x, kernel, bias):
    """The product of rows with a kernel and the sum of the absolute values of its terms."""
    x, kernel, bias = double(x), double(kernel), double(bias)
    return x @ kernel + bias, np.abs(x) @ np.abs(kernel) + np.abs(bias)


# ---- Products ----

# K products: of random signs, of one sign, and such that one is as large as all others together.
PRODUCTS = {
    "random signs": (normal, lambda depth: 4),
    "one sign": (lambda *args: np.abs(normal(*args)), lambda depth: depth**0.5),
    "one large": (
        lambda rng, *shape: (
            np.where(np.arange(shape[0]) == 0, 1, 2.0**-13)[:, None] * np.ones(shape, np.float32)
        ),
        lambda depth: depth / 2 + 1,
    ),
}


def dense(rng, rows, products):
    depth = 50_000
    draw, bound = PRODUCTS[products]
    x = draw(rng, depth, rows).T[:, None].astype(np.float32)
    kernel, bias = draw(rng, depth, 33).astype(np.float32), normal(rng, 33)
    want, terms = product(x, kernel, bias)
    return call("dense", [x], {"kernel": kernel, "bias": bias}), want, bound(depth) * EPS * terms


def quantized_dense(rng):
    depth = 2**17
    # The inputs are at the levels, and all products have one sign.
    levels = rng.integers(1, 128, (3, 1, depth))
    levels[..., 0] = 127
    x = (levels * [[[0.7]], [[1e-20]], [[1e20]]]).astype(np.float32)
    kernel = rng.integers(1, 128, (depth, 5), np.int8)
    scale, bias = np.abs(normal(rng, 5)) + 1, normal(rng, 5)
    weights = {"kernel": kernel, "kernel_scale": scale, "bias": bias}
    x_scale = 127 / double(x).max(axis=2, keepdims=True)
    quotient = levels @ kernel.astype(np.int64) / (double(scale) * x_scale)
    got = call("quantized_dense", [x], weights, epsilon=0)
    return got, quotient + bias, 4 * EPS * (quotient + np.abs(bias))


def conv(rng, groups):
    width, channels, columns, dilation = 9, 1024, 128, 3
    x = normal(rng, 2, STEPS, channels)
    kernel, bias = normal(rng, width, channels // groups, columns), normal(rng, columns)
    padded = np.pad(x, [(0, 0), ((width - 1) * dilation, 0), (0, 0)])
    want, terms = np.zeros((2, 2, STEPS, columns)) + [[[bias]], [[np.abs(bias)]]]
    for k in range(width):
        window = padded[:, k * dilation : k * dilation + STEPS]
        parts = zip(np.split(window, groups, 2), np.split(kernel[k], groups, 1))
        sums = [product(a, b, 0) for a, b in parts]
        want += np.concatenate([value for value, _ in sums], 2)
        terms += np.concatenate([size for _, size in sums], 2)
    weights = {"kernel": kernel, "bias": bias}
    got = call("conv", [x], weights, dilation=dilation, groups=groups, states=["x"])
    return got, want, 4 * EPS * terms


# ---- Activations ----


def sigmoid(x):
    return np.exp(-np.logaddexp(0, -x))


def softplus(x):
    return np.logaddexp(0, x)


def hard_sigmoid(x):
    return np.clip(x / 6 + 0.5, 0, 1)


def elu(x, alpha=0.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


ACTIVATIONS = {
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "hard_sigmoid": hard_sigmoid,
    "exponential": np.exp,
    "softplus": softplus,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "elu": elu,
    "selu": lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772),
    "silu": lambda x: x * sigmoid(x),
    "hard_silu": lambda x: x * hard_sigmoid(x),
    "gelu": lambda x: x / 2 * np.vectorize(math.erfc)(-x / 2**0.5),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "relu": lambda x, alpha, threshold, largest: np.where(
        x > threshold, np.minimum(x, largest), alpha * (x - threshold)
    ),
}
# The line and the error function of these are 0 or 1 up to a rounding error.
ROUNDED_AT_ONE = ("hard_sigmoid", "hard_silu", "gelu")


def activation(rng, name, **fields):
    powers = np.logspace(-44, 37, 4_000)
    x = np.concatenate([np.linspace(-120, 120, 8_000), 5 * normal(rng, 8_000), powers, -powers])
    if name == "exponential":
        x = np.minimum(x, 88.7)
    x = x.astype(np.float32)[None, None]
    want = ACTIVATIONS[name](double(x), **fields)
    size = np.maximum(1, np.abs(want)) if name in ROUNDED_AT_ONE else np.abs(want)
    return call("activation", [x], activation=name, **fields), want, 3 * EPS * size + 2e-36


def softmax(rng, log):
    classes = 50_000
    one = np.arange(classes) == 0
    draws = normal(rng, classes)
    # One large and many small terms, many terms of one size, large differences, an offset.
    rows = [np.where(one, 0, -16.6), np.where(one, 0.3, -17), np.where(one, 0, -10.8)]
    rows += [np.full(classes, 7.3), 3 * draws, 40 * draws, 1e4 + draws, 1e-40 * draws]
    x = np.array(rows, np.float32)[:, None]
    want = double(x) - np.max(x, axis=2, keepdims=True)
    want -= np.log(np.exp(want).sum(axis=2, keepdims=True))
    if log:
        got = call("activation", [x], activation="log_softmax")
        return got, want, 8 * EPS * np.maximum(1, np.abs(want))
    got, want = call("activation", [x], activation="softmax"), np.exp(want)
    return got, want, 8 * EPS * want.max(axis=2, keepdims=True)


# ---- Normalization and tables ----


def columns_of(rng):
    """Rows of 50,000 columns: usual ones, large offsets, tiny and huge numbers, and one large number."""
    draws = normal(rng, 50_000)
    rows = [draws, 1e4 + draws, -1e6 + draws, 1e-39 * draws, 1e-30 * draws, 1e37 * draws]
    rows.append(np.where(np.arange(len(draws)) == 0, 1e4, 1e-3))
    return np.array(rows, np.float32)[:, None]


def scale(rng):
    x, factor, offset = columns_of(rng), normal(rng, 50_000), normal(rng, 50_000)
    factor[0], offset[:100] = 1, -1e4 * factor[:100]  # the sum of the second row cancels
    terms = double(x) * factor, double(offset)
    got = call("scale", [x], {"scale": factor, "offset": offset})
    return got, sum(terms), EPS * sum(map(np.abs, terms))


def norm(rng, centered):
    x, factor, offset = columns_of(rng), normal(rng, 50_000), normal(rng, 50_000)
    epsilon = 2.0**-10
    deviation = double(x) - (double(x).mean(axis=2, keepdims=True) if centered else 0)
    variance = np.mean(deviation**2, axis=2, keepdims=True)
    terms = deviation / np.sqrt(variance + epsilon) * factor, double(offset)
    weights = {"scale": factor, "offset": offset}
    got = call("norm", [x], weights, epsilon=epsilon, centered=centered)
    return got, sum(terms), EPS * sum(map(np.abs, terms))


def embedding(rng, int8):
    words = rng.integers(0, 50_000, (2, STEPS), np.int32)
    words[0, :2] = 0, 49_999
    if not int8:
        table = normal(rng, 50_000, 7)
        return call("embedding", [words], {"table": table}), double(table)[words], 0
    table = rng.integers(-128, 128, (50_000, 7), np.int8)
    factor = np.abs(normal(rng, 50_000)) + 0.1
    want = table[words] / double(factor)[words][..., None]
    got = call("embedding", [words], {"table": table, "scale": factor})
    return got, want, EPS * np.abs(want)


def cast(rng):
    limits = np.iinfo(np.int32)
    x = rng.integers(limits.min, limits.max, (1, STEPS, 50), np.int32)
    x[0, 0, :4] = limits.min, limits.max, 2**24 + 1, 0
    got = call("cast", [x], smallest=int(limits.min), largest=int(limits.max))
    return got, double(x), EPS / 2 * np.abs(double(x))


# ---- Several inputs, and shapes ----

FUNCTIONS = {
    "add": lambda x: x.sum(axis=0),
    "subtract": lambda x: x[0] - x[1:].sum(axis=0),
    "multiply": lambda x: x.prod(axis=0),
    "average": lambda x: x.mean(axis=0),
    "maximum": lambda x: x.max(axis=0),
    "minimum": lambda x: x.min(axis=0),
}


def combine(rng, function, count):
    x = normal(rng, count, 1, STEPS, 50)
    want = FUNCTIONS[function](double(x))
    if function in ("maximum", "minimum"):
        terms = 0
    elif function == "multiply":
        terms = np.abs(want)
    else:
        terms = np.abs(double(x)).sum(axis=0) / (count if function == "average" else 1)
    return call("combine", list(x), function=function), want, (count + 1) / 2 * EPS * terms


def concatenate(rng):
    parts = [normal(rng, 2, STEPS, 3, width) for width in (1, 7, 500, 4_000)]
    return call("concatenate", parts), np.concatenate(parts, 3), 0


def reshape(rng):
    x = normal(rng, 2, STEPS, 5_000)
    return call("reshape", [x], dims=[50, 100]), x.reshape(2, STEPS, 50, 100), 0


def last_step(rng):
    x = normal(rng, 3, STEPS, 5_000)
    return call("last_step", [x]), x[:, -1], 0


# ---- Recurrent layers ----


def recurrent_bound(want, depth):
    """32 eps up to the depth of the problems in tests/cc/cpu; a sum grows with the root of its length."""
    return 32 * max(1, depth / 600) ** 0.5 * EPS * max(1, np.abs(want).max())


def weights_of(rng, mode, inputs, units, **more):
    """The weights of a LayerRNN. Those of a sum of K products have the size of 1 / sqrt(K)."""
    columns = GATES[mode] * units
    shapes = {"kernel": (inputs, columns), "recurrent_kernel": (units, columns), **more}
    weights = {name: normal(rng, *shape) / shape[0] ** 0.5 for name, shape in shapes.items()}
    weights["bias"] = normal(rng, *((2, columns) if CELLS[mode].bias_rows == 2 else (columns,)))
    return {name: array.astype(np.float32) for name, array in weights.items()}


def layer_rnn(rng, mode, inputs, units, steps, **more):
    x, weights = normal(rng, 2, steps, inputs), weights_of(rng, mode, inputs, units, **more)
    zeros = np.zeros((2, units))
    tensors = {name: double(array) for name, array in weights.items()}
    want, _ = layer.forward(
        mode, layer.LayerInputs(double(x).swapaxes(0, 1), zeros, zeros, **tensors)
    )
    want = want["output"].swapaxes(0, 1)
    attrs, states = {"rnn_mode": mode, **layer.USUAL}, ["h", "c"][: 1 + CELLS[mode].has_c]
    got = call("rnn", [x], weights, kind="LayerRNN", attrs=attrs, states=states)
    return got, want, recurrent_bound(want, max(inputs, units))


def in_int8(weights):
    """The weights of a QuantizedLayerRNN."""
    made = {"bias": weights["bias"]}
    for name in ("kernel", "recurrent_kernel"):
        made[f"{name}_scale"] = np.abs(weights[name]).max(axis=0) / np.float32(127)
        made[name] = np.rint(weights[name] / made[f"{name}_scale"]).astype(np.int8)
    return made


def quantized_fields(mode, **functions):
    attrs, states = {"rnn_mode": mode, **layer.USUAL, **functions}, ["h", "c"]
    return {"kind": "QuantizedLayerRNN", "attrs": attrs, "states": states[: 1 + CELLS[mode].has_c]}


def quantized_layer_rnn(rng, mode, inputs, units, steps):
    x, weights = normal(rng, 2, steps, inputs), in_int8(weights_of(rng, mode, inputs, units))
    reference = {"bias": double(weights["bias"])}
    for name in ("kernel", "recurrent_kernel"):
        reference[name] = weights[name].astype(int), double(weights[f"{name}_scale"])
    fields = quantized_fields(mode)
    got = call("rnn", [x], weights, **fields)
    states = [np.zeros((2, units))] * len(fields["states"])
    want, slack = quantized.layer(mode, x.swapaxes(0, 1), states, reference, got.swapaxes(0, 1))
    want = want["output"].swapaxes(0, 1)
    return got, want, recurrent_bound(want, max(inputs, units)) + slack.swapaxes(0, 1)


def quantized_product(rng):
    """int8 weights next to float weights, in a layer without activation from h = 0."""
    inputs, units = 5_000, 40
    x, weights = normal(rng, 3, 1, inputs), weights_of(rng, "rnn", inputs, units)
    # Nearly all errors of the last row and column have one sign, and half a level.
    x[2], weights["kernel"][:, -1] = 100.45 / 127, 100.45 / 127
    x[2, 0, 0] = weights["kernel"][0, -1] = 1
    largest = np.abs(weights["kernel"]).max(axis=0) * np.abs(x).max(axis=2, keepdims=True)
    want, _ = product(x, weights["kernel"], weights["bias"])
    got = call("rnn", [x], in_int8(weights), **quantized_fields("rnn", activation="linear"))
    return got, want, inputs * double(largest) / 127


def cudnn_rnn(rng, mode, inputs, units, steps):
    spec = RnnSpec(mode, layers=2, units=units, input_size=inputs)
    x = normal(rng, 2, steps, inputs)
    params = normal(rng, layout.params_size(spec))
    for cell in layout.unpack(spec, params):  # views
        for matrix in (cell.w, cell.r):
            matrix /= matrix.shape[2] ** 0.5
    zeros = np.zeros((2, 2, units))
    want = rnn.forward(spec, double(x).swapaxes(0, 1), zeros, zeros, double(params))
    want = want.output.swapaxes(0, 1)
    states = ["h", "c"][: 1 + CELLS[mode].has_c]
    sizes = {"num_layers": 2, "num_units": units, "attrs": spec.attrs(), "states": states}
    got = call("rnn", [x], {"params": params}, kind="CudnnRNNV3", **sizes)
    return got, want, recurrent_bound(want, max(inputs, units))


def cases():
    """{name: function of a generator that returns the output, the right one and the largest error}."""
    of, found = functools.partial, {}
    for products in PRODUCTS:
        for rows in (1, 5):
            found[f"dense {products} {rows}"] = of(dense, rows=rows, products=products)
    found["quantized dense"] = quantized_dense
    for groups in (1, 64):
        found[f"conv {groups}"] = of(conv, groups=groups)
    fields = {"elu": {"alpha": 0.75}, "relu": {"alpha": 0.25, "threshold": 0.5, "largest": 30.0}}
    for name in ACTIVATIONS:
        found[name] = of(activation, name=name, **fields.get(name, {}))
    found |= {"softmax": of(softmax, log=False), "log_softmax": of(softmax, log=True)}
    found |= {"scale": scale, "norm": of(norm, centered=True), "rms": of(norm, centered=False)}
    found |= {"embedding": of(embedding, int8=False), "embedding int8": of(embedding, int8=True)}
    found["cast"] = cast
    for function in FUNCTIONS:
        found[function] = of(combine, function=function, count=20)
    found |= {"concatenate": concatenate, "reshape": reshape, "last_step": last_step}
    found["QuantizedLayerRNN and float weights"] = quantized_product
    # A long sum of inputs, one of units, and many steps.
    for sizes in ((20_000, 8, 5), (30, 1_000, 5), (30, 20, STEPS)):
        size = dict(zip(("inputs", "units", "steps"), sizes))
        for mode in ("lstm", "gru", "gru_reset_before", "rnn_tanh"):
            found[f"LayerRNN {mode} {sizes}"] = of(layer_rnn, mode=mode, **size)
        for mode in ("lstm", "gru"):
            found[f"CudnnRNNV3 {mode} {sizes}"] = of(cudnn_rnn, mode=mode, **size)
            found[f"QuantizedLayerRNN {mode} {sizes}"] = of(quantized_layer_rnn, mode=mode, **size)
        more = {"peepholes": (3, sizes[1]), "layer_norm": (18, sizes[1])}
        for name, shape in more.items():
            found[f"{name} {sizes}"] = of(layer_rnn, mode="lstm", **size, **{name: shape})
    return found


CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_node_is_within_the_bounds_of_numerics(name, rng):
    got, want, bound = CASES[name](rng)
    assert got.shape == want.shape
    worst = np.max(np.abs(got - want) / (bound + SMALLEST))
    assert worst <= 1


@pytest.mark.parametrize("isa", ["baseline", "avx2"])
def test_int8_weights_on_another_instruction_set(isa, rng, tmp_path):
    modes = ["lstm", "gru", "gru_reset_before", "rnn_tanh"]
    x, want = normal(rng, 4, 200, 20), {}
    np.save(tmp_path / "x.npy", x)
    for mode in modes:
        weights = in_int8(weights_of(rng, mode, 20, 64))
        stepper = stepper_of("rnn", [x], weights, **quantized_fields(mode))
        stepper.save(tmp_path / f"{mode}.rnn")
        want[mode] = stepper(x)
    code = (
        "import sys, numpy as np\n"
        "from tf_rnn_ops import stepper\n"
        "folder, *modes = sys.argv[1:]\n"
        "x = np.load(f'{folder}/x.npy')\n"
        "y = {mode: stepper.load(f'{folder}/{mode}.rnn', 4, 200)(x) for mode in modes}\n"
        "np.savez(f'{folder}/y.npz', **y)\n"
    )
    environment = {**os.environ, "TF_RNN_OPS_CPU_ISA": isa}
    subprocess.run([sys.executable, "-c", code, tmp_path, *modes], env=environment, check=True)
    with np.load(tmp_path / "y.npz") as got:
        for mode in modes:
            differences = np.abs(got[mode] - want[mode])
            assert differences[:, 0].max() <= recurrent_bound(want[mode], 64)
            # A last digit of h can change the rounding to 255 levels in the next step.
            assert differences.max() <= 0.02
