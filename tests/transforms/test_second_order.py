"""Second derivatives of the ops: against central differences of the references' gradients, torch's
double backward, and in 16-bit types against float32."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import cases, layer_cases, layer_ops, tf_ops
from support.reference import layout, rounding
from support.reference.spec import RnnSpec
from support.second_order import assert_slopes, second
from support.selection import all_but
from tf_rnn_ops.autodiff import second_gradients
from tf_rnn_ops.plain.recurrence import Loops

ops = tf_rnn_ops.raw_ops

SPECS = [
    RnnSpec("lstm", 2, 4, 3, num_proj=2),
    RnnSpec("lstm", 1, 3, 3, input_mode="skip_input"),
    RnnSpec("gru", 1, 4, 3, "bidirectional"),
    RnnSpec("rnn_tanh", 2, 4, 4, input_mode="auto_select"),
    RnnSpec("rnn_relu", 1, 4, 3),
]
# By name in the op: the field of the case.
RNN_FIELDS = {"input": "x", "input_h": "h0", "input_c": "c0", "params": "params"}
UPSTREAM = ("dy", "dh", "dc")


def _fields(case):
    """RNN_FIELDS and the upstream gradients, without those of a cell state that is not there."""
    fields = {**RNN_FIELDS, **{name: name for name in UPSTREAM}}
    return {n: f for n, f in fields.items() if case.spec.is_lstm or f not in ("c0", "dc")}


def _first(case, time_major=True, **attrs):
    """A function from a dict of tensors (see _fields) to the gradients of the op."""
    tensors = tf_ops.rnn_tensors(case, time_major)

    def first(values):
        inputs = {n: values[n] for n in RNN_FIELDS if n in values}
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            result = ops.CudnnRNNV3(
                **{**tensors.inputs(), **inputs},
                **case.spec.attrs(),
                time_major=time_major,
                **attrs,
            )
            outputs = list(result[: 3 if case.spec.is_lstm else 2])
        upstream = [values[n] for n in UPSTREAM if n in values]
        return tape.gradient(outputs, inputs, output_gradients=upstream)

    return first


def _reference_total(case, cotangents, masks=None):
    """The sum of cotangents times the reference's gradients, as a function of a dict of arrays."""

    def total(arrays):
        fields = _fields(case)
        moved = dataclasses.replace(case, **{fields[n]: a for n, a in arrays.items()})
        _, gradients = moved.reference(masks)
        return sum(float(np.sum(getattr(gradients, n) * c)) for n, c in cotangents.items())

    return total


def _problem(spec, rng):
    case = cases.rnn_case(spec, 4, 3, rng, lengths=[4, 0, 2])
    arrays = {n: getattr(case, f) for n, f in _fields(case).items()}
    cotangents = {n: rng.standard_normal(a.shape) for n, a in arrays.items() if n in RNN_FIELDS}
    return case, arrays, cotangents


def _tensors(arrays, time_major=True):
    swapped = {
        n: a if time_major or n == "params" else np.swapaxes(a, 0, 1) for n, a in arrays.items()
    }
    return {n: tf.constant(a) for n, a in swapped.items()}


def _time_major(tensors):
    return {n: t if n == "params" else tf.transpose(t, [1, 0, 2]) for n, t in tensors.items()}


@pytest.mark.parametrize("spec", all_but(SPECS, *SPECS[:2]), ids=str)
def test_cudnn_rnn(spec, rng):
    case, arrays, cotangents = _problem(spec, rng)
    got = second(_first(case), _tensors(arrays), cotangents)
    assert_slopes(got, _reference_total(case, cotangents), arrays, rng)


@pytest.fixture
def tensorflow_loops(monkeypatch):
    """Loops over time as where TensorFlow sees a GPU."""
    monkeypatch.setattr(second_gradients, "_loops", Loops)
    second_gradients._function.cache_clear()
    yield
    second_gradients._function.cache_clear()


@pytest.mark.parametrize("spec", SPECS[1:3], ids=str)
def test_without_kernels(spec, tensorflow_loops, rng):
    test_cudnn_rnn(spec, rng)


def test_batch_major_in_a_function_at_inference(rng):
    case, arrays, cotangents = _problem(RnnSpec("gru", 1, 4, 3), rng)
    first = _first(case, time_major=False, is_training=False)
    swapped = {n: np.swapaxes(c, 0, 1) if n != "params" else c for n, c in cotangents.items()}
    run = tf.function(lambda values: second(first, values, swapped), autograph=False)
    got = _time_major(run(_tensors(arrays, time_major=False)))
    assert_slopes(got, _reference_total(case, cotangents), arrays, rng)


def test_dropout(rng):
    """The masks of the op, which a stack of the identity shows, in both derivatives."""
    spec = RnnSpec("rnn_tanh", 3, 5, 3)
    case = cases.rnn_case(spec, 4, 3, rng, lengths=[4, 0, 2])
    masks = _visible_masks(spec, 4, 3, dropout=0.4, seed=21)
    fields = _fields(case)
    arrays = {n: getattr(case, f) for n, f in fields.items()}
    cotangents = {n: rng.standard_normal(a.shape) for n, a in arrays.items() if n in RNN_FIELDS}
    first = _first(case, dropout=0.4, seed=21)
    # A function has kernels of its own, so this call draws what the first one of a kernel draws.
    got = tf.function(lambda v: second(first, v, cotangents), autograph=False)(_tensors(arrays))
    assert_slopes(got, _reference_total(case, cotangents, masks), arrays, rng)


def _visible_masks(spec, steps, batch, **attrs):
    """The masks between the layers of the first call of a kernel, one after the other."""
    masks = []
    for layer in range(1, spec.layers):
        # Layers of the identity up to this mask; behind it each shows its own and all before.
        relu = RnnSpec("rnn_relu", layer + 1, spec.units, spec.units)
        weights = layout.unpack(relu, np.zeros(layout.params_size(relu)))
        for cell in weights:
            cell.w[0] = np.eye(spec.units)
            cell.bw[0] = 1.0
        case = cases.RnnCase(
            relu,
            "float64",
            np.zeros((steps, batch, spec.units)),
            *[np.zeros((layer + 1, batch, spec.units))] * 2,
            layout.pack(relu, weights),
            np.full(batch, steps),
            *[np.zeros(())] * 3,
        )
        tensors = tf_ops.rnn_tensors(case)
        run = tf.function(
            lambda: ops.CudnnRNNV3(**tensors.inputs(), **relu.attrs(), **attrs).output,
            autograph=False,
        )
        below = 1.0
        for mask in masks:
            below = below * mask + 1.0
        masks.append((run().numpy() - 1.0) / below)
    return masks


@pytest.mark.each_value
# Each cell with one or two pairs of functions, each pair with two or three cells; all of them are
# differentiated once in tests/transforms.
@pytest.mark.parametrize(
    "mode, functions",
    [
        pytest.param(
            mode,
            functions,
            id="-".join((mode, *functions)),
            marks=[pytest.mark.thorough] * bool(at),
        )
        for at, mode in enumerate(layer_cases.WITH_FUNCTIONS)
        for k, functions in enumerate(layer_cases.FUNCTIONS)
        if (k - at) % 3 == 0
    ],
)
def test_layer_rnn_with_other_activations(mode, functions, rng):
    test_layer_rnn(mode, rng, functions=functions)


@pytest.mark.parametrize(
    "mode", all_but(layer_cases.MODES, "lstm", "gru_reset_before", "lstm_layer_norm")
)
def test_layer_rnn(mode, rng, **given):
    if mode == "rnn_relu":
        given |= {"bias": False, "lengths": None, "input_mask": False}
    else:
        given["lengths"] = np.array([3, 0, 4, 1])
    if mode == "lstmp":
        given["clips"] = (0.5, 0.75)  # with any activation some values reach them, others do not
    case = layer_cases.layer_case(mode, (4, 4, 3, 5), rng, **given)
    inputs = layer_ops.tensors(case)
    fields = {n: f for n, f in layer_ops.INPUTS.items() if n in layer_ops.DIFFERENTIABLE}
    fields = {n: f for n, f in fields.items() if getattr(case.inputs, f) is not None}
    if not case.is_lstm:
        del fields["input_c"]
    upstream = UPSTREAM if case.is_lstm else UPSTREAM[:2]
    arrays = {n: getattr(case.inputs, f) for n, f in fields.items()}
    cotangents = {n: rng.standard_normal(a.shape) for n, a in arrays.items()}
    arrays |= {n: getattr(case, n) for n in upstream}

    def first(values):
        watched = {n: values[n] for n in fields}
        with tf.GradientTape() as tape:
            tape.watch(watched)
            result = ops.LayerRNN(**{**inputs, **watched}, **case.attrs())
        return tape.gradient(
            list(result[: len(upstream)]), watched, output_gradients=[values[n] for n in upstream]
        )

    def total(arrays):
        moved = {f: arrays[n] for n, f in fields.items()}
        at = dataclasses.replace(
            case,
            inputs=dataclasses.replace(case.inputs, **moved),
            **{n: arrays[n] for n in upstream},
        )
        found = at.reference()
        return sum(float(np.sum(found[f"{n}_backprop"] * c)) for n, c in cotangents.items())

    assert_slopes(second(first, _tensors(arrays), cotangents), total, arrays, rng)


def _block_first(case, **attrs):
    tensors = tf_ops.block_tensors(case)

    def first(values):
        watched = {n: t for n, t in values.items() if not n.endswith("_grad")}
        with tf.GradientTape() as tape:
            tape.watch(watched)
            result = ops.BlockLSTMV2(seq_len_max=tensors["seq_len_max"], **watched, **attrs)
        upstream = [values["cs_grad"], values["h_grad"]]
        return tape.gradient([result.cs, result.h], watched, output_gradients=upstream)

    return first


@pytest.mark.parametrize("use_peephole", [False, True])
def test_block_lstm(use_peephole, rng):
    case = cases.block_case(4, 2, 3, 3, rng, seq_len_max=3, use_peephole=use_peephole)
    arrays = {n: t.numpy() for n, t in tf_ops.block_tensors(case).items() if n != "seq_len_max"}
    if not use_peephole:
        arrays = {n: a for n, a in arrays.items() if not n.startswith("wc")}
    cotangents = {n: rng.standard_normal(a.shape) for n, a in arrays.items()}
    arrays |= {"cs_grad": case.cs_grad, "h_grad": case.h_grad}
    peepholes = {} if use_peephole else {n: getattr(case.inputs, n) for n in ("wci", "wcf", "wco")}

    def first(values):
        constants = {n: tf.constant(a) for n, a in peepholes.items()}
        found = _block_first(case, use_peephole=use_peephole)({**values, **constants})
        return {n: found[n] for n in cotangents}

    def total(arrays):
        upstream = {n: arrays[n] for n in ("cs_grad", "h_grad")}
        inputs = {n: a for n, a in arrays.items() if n not in upstream}
        moved = dataclasses.replace(
            case, inputs=dataclasses.replace(case.inputs, **inputs), **upstream
        )
        _, gradients = moved.reference()
        return sum(float(np.sum(gradients[n] * c)) for n, c in cotangents.items())

    assert_slopes(second(first, _tensors(arrays), cotangents), total, arrays, rng)


@pytest.mark.parametrize("spec", [RnnSpec("lstm", 1, 4, 3), RnnSpec("gru", 1, 4, 3)], ids=str)
def test_torch(spec, rng):
    pytest.importorskip("torch")
    from ops.parity import torch_rnn

    case = cases.rnn_case(spec, 5, 3, rng, lengths="full")
    arrays = {n: getattr(case, f) for n, f in _fields(case).items()}
    cotangents = {n: rng.standard_normal(a.shape) for n, a in arrays.items() if n in RNN_FIELDS}
    want = torch_rnn.second_order(case, cotangents)
    got = second(_first(case), _tensors(arrays), cotangents)
    for name, array in want.items():
        np.testing.assert_allclose(got[name], array, rtol=1e-10, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_narrow_types(dtype, rng):
    """Inputs that are exact in the type: what is left is the rounding of states and results."""
    case = cases.rnn_case(RnnSpec("lstm", 1, 4, 3), 4, 3, rng, dtype)
    arrays = {n: getattr(case, f) for n, f in _fields(case).items()}
    cotangents = {n: np.ones(a.shape) for n, a in arrays.items() if n in RNN_FIELDS}
    found = {}
    for kind in (dtype, "float32"):
        first = _first(dataclasses.replace(case, dtype=kind))
        values = {n: tf.cast(t, kind) for n, t in _tensors(arrays).items()}
        found[kind] = second(first, values, cotangents)
    eps = rounding.eps(dtype)
    for name, want in found["float32"].items():
        got = found[dtype][name]
        assert got.dtype == dtype
        error = np.max(np.abs(tf_ops.to_float64(got) - want)) / np.max(np.abs(want))
        assert error < 4 * eps, (name, error / eps)


def test_third_order(rng):
    """Twice through the ordinary ops, against differences of the second."""
    case, arrays, _ = _problem(RnnSpec("gru", 1, 3, 2), rng)
    first = _first(case)

    def penalty(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            values = {**_tensors(arrays), "input": x}
            total = tf.reduce_sum(first(values)["input"] ** 3)
        return tape.gradient(total, x)

    run = tf.function(penalty, autograph=False)
    x = tf.constant(arrays["input"])
    direction = tf.constant(rng.standard_normal(x.shape))
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(run(x) * direction)
    got = {"input": tape.gradient(total, x)}
    assert_slopes(
        got,
        lambda a: float(tf.reduce_sum(run(tf.constant(a["input"])) * direction)),
        {"input": arrays["input"]},
        rng,
    )


def test_unknown_sizes_are_refused():
    spec = [tf.TensorSpec([None, None, None])] * 3 + [tf.TensorSpec([None])]

    @tf.function(input_signature=spec, autograph=False)
    def run(x, h, c, params):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                result = ops.CudnnRNNV3(
                    input=x,
                    input_h=h,
                    input_c=c,
                    params=params,
                    sequence_lengths=tf.fill([tf.shape(x)[1]], tf.shape(x)[0]),
                )
            first = inner.gradient(result.output, x)
        return outer.gradient(first, x)

    with pytest.raises(tf.errors.InvalidArgumentError, match="number of layers is not known"):
        run.get_concrete_function()


def test_derivative_with_respect_to_a_result_is_refused(rng):
    case = cases.rnn_case(SPECS[2], 4, 3, rng)
    result = tf_ops.rnn_forward(ops, case)
    for name in ("output", "reserve_space"):
        source = getattr(result, name)
        with tf.GradientTape() as tape:
            tape.watch(source)
            first = tf_ops.rnn_backward(ops, case, result)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="with respect to the results of the forward op"
        ):
            tape.gradient(first.input_backprop, source)
