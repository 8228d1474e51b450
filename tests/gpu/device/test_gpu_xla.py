"""The ops compiled by XLA for a GPU: the bits of the same calls outside of it, and the same errors.

Most of these computations do not run kernels of XLA, which a mock GPU cannot run.
"""

import re

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import calls, cases, devices, handler_calls, layer_ops, packed_calls, tf_ops
from support.layer_cases import layer_case
from support.reference.spec import RnnSpec
from tf_rnn_ops.native import xla

ops = tf_rnn_ops.raw_ops
# Computations by XLA's own kernels.
PARAMETER_OPS = (
    "CudnnRNNParamsSize",
    "CudnnRNNCanonicalToParamsV2",
    "CudnnRNNParamsToCanonicalV2",
)
# kReserveOfProgram in cc/gpu/rnn_gpu.h.
OF_PROGRAM = 64
# kOtherSizes in cc/core/op/shapes.h.
OTHER_SIZES = np.iinfo(np.int32).min

pytestmark = [
    pytest.mark.usefixtures("everything_else_on_the_cpu"),
    pytest.mark.skipif(
        xla.unavailable() is not None, reason=f"there are no ops for XLA: {xla.unavailable()}"
    ),
]


def compiled(function):
    """The function compiled for the device; what it is given may lie on the host."""
    run = tf.function(function, jit_compile=True)

    def on_the_device(*arguments):
        with devices.scope():
            return run(*arguments)

    return on_the_device


def run_compiled(call, known=()):
    """Runs a call of support/calls.py; inputs named in `known` are constants of the computation."""
    known = {"num_layers", "num_units", "input_size", *known}
    constants = {n: v for n, v in call.tensors.items() if n in known}
    tensors = {n: tf.nest.map_structure(tf.constant, v) for n, v in call.tensors.items()}
    tensors = {n: v for n, v in tensors.items() if n not in known}

    def run(tensors):
        return getattr(ops, call.op)(**tensors, **constants, **call.attrs)

    return compiled(run)(tensors)


def valid_calls(rng, steps=5, batch=3):
    """Calls of every op with a GPU kernel, made on the GPU. A reserve space belongs to its device."""
    specs = (
        (RnnSpec("lstm", 2, 6, 4, "bidirectional", num_proj=3), True),
        (RnnSpec("gru", 2, 6, 6), False),
        (RnnSpec("rnn_tanh", 1, 6, 4), True),
    )
    for spec, time_major in specs:
        found = calls.rnn_calls(devices.ops, spec, steps, batch, rng, time_major)
        yield from found
        yield found[1].with_attr("is_training", False)
        yield packed_calls.of_rnn(devices.ops, spec, found[-2])
        yield from calls.params_calls(spec, rng)
    for use_peephole in (True, False):
        yield from calls.block_calls(devices.ops, (steps, batch, 4, 6), rng, use_peephole)
    for mode, time_major in (("lstmp", True), ("gru", False)):
        case = layer_case(mode, (steps, batch, 4, 6), rng, "float32")
        found = layer_ops.calls(devices.ops, case, time_major)
        yield from found
        yield found[0].with_attr("is_training", False)
        yield packed_calls.of_layer(devices.ops, found[0])


def assert_same_bits(got, want):
    """Compares all results except reserve_space, which XLA allocates for full lengths and marks so."""
    got, want = (v._asdict() if hasattr(v, "_asdict") else {"": v} for v in (got, want))
    if "host_reserved" in want and want["reserve_space"].shape.rank > 0:  # in training
        want["host_reserved"] = want["host_reserved"] + OF_PROGRAM
    for name, value in want.items():
        for a, b in zip(tf.nest.flatten(got[name]), tf.nest.flatten(value), strict=True):
            if name != "reserve_space":
                np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=name)


@pytest.mark.parametrize(("steps", "batch"), [(5, 3), (0, 3), (5, 0)])
def test_every_op_that_a_gpu_has(steps, batch, rng):
    seen = set()
    for call in valid_calls(rng, steps, batch):
        if call.op in PARAMETER_OPS:
            continue
        seen.add(call.op)
        want = calls.run_eagerly(devices.ops, call)
        assert_same_bits(run_compiled(call), want)
        if not call.op.startswith("LayerRNN"):  # it reads the lengths on the device
            assert_same_bits(run_compiled(call, ("sequence_lengths", "seq_len_max")), want)
    # The nine handlers of cc/xla/handlers/gpu_handlers.cc.
    assert len(seen) == 9


def turned(tensor):
    """With the first two of three dimensions swapped, which XLA may express by a layout."""
    return tf.transpose(tensor, [1, 0, 2]) if tensor.shape.rank == 3 else tensor


def custom_calls(function, *arguments):
    """The custom calls of a compiled function, as lines of text."""
    compiler = tf.function(function, jit_compile=True).experimental_get_compiler_ir(*arguments)
    text = compiler(stage="optimized_hlo", platform_name="GPU")
    return [line for line in text.splitlines() if " custom-call(" in line and "TfRnnOps" in line]


def beside_transpositions(call):
    def run(tensors):
        found = getattr(ops, call.op)(**tf.nest.map_structure(turned, tensors), **call.attrs)
        return [turned(tensor) for tensor in tf.nest.flatten(found)]

    return run


def test_tensors_of_handlers_are_row_major(rng):
    """A transposition next to a call must not become a layout of its operand or of its result."""
    seen = set()
    found = {(call.op, call.attrs.get("time_major")): call for call in valid_calls(rng)}
    for call in found.values():
        if call.op in PARAMETER_OPS:
            continue
        tensors = tf.nest.map_structure(lambda v: turned(tf.constant(v)), dict(call.tensors))

        lines = custom_calls(beside_transpositions(call), tensors)
        assert lines, call.op
        for line in lines:
            signature = line.split(", metadata=")[0]
            layouts = re.findall(r"\w\[[\d,]*\]\{([\d,]+)\}", signature)
            seen.update(layouts)
            dims = [[int(d) for d in v.split(",")] for v in layouts]
            assert all(d == sorted(d, reverse=True) for d in dims), line
    assert "2,1,0" in seen


@pytest.mark.real_gpu
def test_parameter_ops(rng):
    for call in valid_calls(rng):
        if call.op in PARAMETER_OPS:
            assert_same_bits(run_compiled(call), calls.run_eagerly(devices.ops, call))


@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_forward_and_gradient_in_one_computation(mode, rng):
    """The reserve space goes from op to op, in and out of XLA."""
    case = cases.rnn_case(RnnSpec(mode, 2, 6, 4, "bidirectional"), 5, 3, rng, "float32")
    want = tf_ops.rnn_forward(devices.ops, case)
    gradients = tf_ops.rnn_backward(devices.ops, case, want)
    tensors = tf_ops.rnn_tensors(case)

    @compiled
    def step(inputs, dy, dh_n, dc_n):
        outputs = ops.CudnnRNNV3(**inputs, **case.spec.attrs())
        found = ops.CudnnRNNBackpropV3(
            **inputs,
            output=outputs.output,
            output_h=outputs.output_h,
            output_c=outputs.output_c,
            output_backprop=dy,
            output_h_backprop=dh_n,
            output_c_backprop=dc_n,
            reserve_space=outputs.reserve_space,
            host_reserved=outputs.host_reserved,
            **case.spec.attrs(),
        )
        return outputs, found

    outputs, found = step(tensors.inputs(), tensors.dy, tensors.dh, tensors.dc)
    assert_same_bits(outputs, want)
    assert_same_bits(found, gradients)
    assert_same_bits(tf_ops.rnn_backward(devices.ops, case, outputs), gradients)


def test_the_reserve_space_has_the_size_for_tf32(rng):
    """The mock cuDNN needs more of it than without TF32."""
    tf.config.experimental.enable_tensor_float_32_execution(True)
    case = cases.rnn_case(RnnSpec("lstm", 2, 6, 4), 5, 3, rng, "float32")
    inputs = tf_ops.rnn_tensors(case).inputs()
    want = tf_ops.rnn_forward(devices.ops, case)
    found = compiled(lambda inputs: ops.CudnnRNNV3(**inputs, **case.spec.attrs()))(inputs)
    assert_same_bits(found, want)
    assert_same_bits(
        tf_ops.rnn_backward(devices.ops, case, found), tf_ops.rnn_backward(devices.ops, case, want)
    )


def test_dropout_with_a_seed(rng):
    case = cases.rnn_case(RnnSpec("gru", 3, 8, 4), 6, 3, rng, "float32")
    tensors = tf_ops.rnn_tensors(case)

    def forward(tensors, seed):
        inputs = tensors.inputs()
        return ops.StatelessCudnnRNNV3(**inputs, seed=seed, dropout=0.5, **case.spec.attrs())

    def backward(tensors, result):
        return tf_ops.rnn_backward_of(ops, case, result, tensors, dropout=0.5)

    for number in (1, 2):
        seed = tf.constant([number, 3], tf.int64)
        with devices.scope():
            want = forward(tensors, seed)
            gradients = backward(tensors, want)
        found = compiled(lambda seed: forward(tensors, seed))(seed)
        assert_same_bits(found, want)
        assert_same_bits(compiled(lambda result: backward(tensors, result))(found), gradients)


def test_each_call_drops_other_units(rng):
    case = cases.rnn_case(RnnSpec("gru", 3, 8, 4), 6, 3, rng, "float32")
    run = compiled(lambda: tf_ops.rnn_forward(ops, case, dropout=0.5, seed=5).output)
    first, second = run(), run()
    assert (first.numpy() != second.numpy()).any()


def test_values_are_refused_when_the_computation_runs(rng):
    found = list(valid_calls(rng))
    call = next(c for c in found if c.op == "CudnnRNNV3")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"sequence_lengths.*6"):
        run_compiled(call.with_tensor("sequence_lengths", np.array([6, 1, 1], np.int32)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="when the compiled function ran"):
        run_compiled(call.with_tensor("sequence_lengths", np.full(3, OTHER_SIZES, np.int32)))
    block = next(c for c in found if c.op == "BlockLSTMV2")
    with pytest.raises(tf.errors.InvalidArgumentError, match="seq_len_max"):
        run_compiled(block.with_tensor("seq_len_max", np.int64(6)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="when the compiled function ran"):
        run_compiled(block.with_tensor("seq_len_max", np.int64(OTHER_SIZES)))


def test_a_gradient_with_the_reserve_space_of_another_call(rng):
    call = next(c for c in valid_calls(rng) if c.op == "CudnnRNNBackpropV3")
    short = call.tensors["reserve_space"][:-8]
    with pytest.raises(tf.errors.InvalidArgumentError, match="reserve_space must be the output"):
        run_compiled(call.with_tensor("reserve_space", short))


def test_a_program_that_was_compiled_for_another_algorithm(rng, monkeypatch):
    """A reserve space that is too large serves both passes; one that is too small is an error."""
    case = cases.rnn_case(RnnSpec("lstm", 2, 6, 4), 5, 3, rng, "float32")
    sizes, programs = {}, {}
    for algorithm in ("cudnn", "persistent"):
        monkeypatch.setenv("TF_RNN_OPS_GPU_ALGO", algorithm)
        programs[algorithm] = compiled(lambda: tf_ops.rnn_forward(ops, case))
        sizes[algorithm] = programs[algorithm]().reserve_space.shape[0]
    small, large = sorted(sizes, key=sizes.get)
    assert sizes[small] < sizes[large]

    with pytest.raises(tf.errors.InvalidArgumentError, match="Compile it again"):
        monkeypatch.setenv("TF_RNN_OPS_GPU_ALGO", large)
        programs[small]()
    monkeypatch.setenv("TF_RNN_OPS_GPU_ALGO", small)
    found = programs[large]()
    want = tf_ops.rnn_forward(devices.ops, case)
    assert_same_bits(found, want)
    gradients = compiled(lambda result: tf_ops.rnn_backward(ops, case, result))(found)
    assert_same_bits(gradients, tf_ops.rnn_backward(devices.ops, case, want))


# ---- Calls of a handler by another user of XLA ----

RNN_CALL = {
    "arguments": "3x2x3xf32 1x2x4xf32 1x2x4xf32 144xf32 2xi32",
    "results": "3x2x4xf32 1x2x4xf32 1x2x4xf32 f32 i8",
    "attrs": 'rnn_mode = "lstm", input_mode = "linear_input", direction = "unidirectional", '
    "num_proj = 0 : i64, dropout = 0.0 : f32, seed = 0 : i64, seed2 = 0 : i64, call_site = 0 : i64, "
    "is_training = false, time_major = true, allow_tf32 = false",
}
LAYER_CALL = {
    "arguments": "2x1x3xf32 1x4xf32 f32 3x4xf32 4x4xf32 4xf32 0xf32 0xf32 0xf32 0xi32 0xf32 0xf32 0xi64",
    "results": "2x1x4xf32 1x4xf32 f32 f32",
    "attrs": 'rnn_mode = "rnn_tanh", activation = "tanh", recurrent_activation = "sigmoid", '
    "cell_clip = 0.0 : f32, proj_clip = 0.0 : f32, zoneout_h = 0.0 : f32, zoneout_c = 0.0 : f32, "
    "layer_norm_epsilon = 0.001 : f32, is_training = false, time_major = true, allow_tf32 = false",
}
DIRECT_CALLS = {"CudnnRNNV3": RNN_CALL, "LayerRNN": LAYER_CALL}


def call_directly(op, *changes):
    """Calls a handler with zeros. A change is a part of the call, a text in it and the text to put there."""
    call = dict(DIRECT_CALLS[op])
    for part, old, new in changes:
        assert call[part].count(old) == 1
        call[part] = call[part].replace(old, new)
    arguments, results = (handler_calls.zeros(call[name]) for name in ("arguments", "results"))
    with devices.scope():
        return handler_calls.run(op, arguments, results, call["attrs"], platform="CUDA")


@pytest.mark.parametrize("op", DIRECT_CALLS)
def test_a_handler_called_directly(op):
    assert not np.any(call_directly(op)[0])


KNOWN = "sequence_lengths = array<i32: 3, 2, 1>, is_training"


@pytest.mark.parametrize(
    ("op", "part", "old", "new", "message"),
    [
        ("CudnnRNNV3", "attrs", "is_training", KNOWN, "sequence_lengths must have the 2 elements"),
        ("CudnnRNNV3", "attrs", ", allow_tf32 = false", "", "allow_tf32 is missing"),
        ("CudnnRNNV3", "arguments", "144xf32", "143xf32", "params must have 144 elements"),
        ("LayerRNN", "attrs", ", allow_tf32 = false", "", "allow_tf32 is missing"),
        ("LayerRNN", "arguments", "4x4xf32", "4x5xf32", "recurrent_kernel must have shape"),
    ],
)
def test_a_handler_checks_what_it_gets(op, part, old, new, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        call_directly(op, (part, old, new))


def test_a_handler_of_layer_rnn_checks_the_size_of_the_reserve_space():
    training = ("attrs", "is_training = false", "is_training = true")
    with pytest.raises(tf.errors.InvalidArgumentError, match="reserve_space must be the vector of"):
        call_directly("LayerRNN", ("results", " f32 f32", " f32 8xf32"), training)


@pytest.mark.real_gpu
def test_a_gradient_beside_kernels_of_xla(rng):
    case = cases.rnn_case(RnnSpec("lstm", 2, 16, 8), 7, 5, rng, "float32")
    inputs = tf_ops.rnn_tensors(case).inputs()

    def loss(inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs["params"])
            result = ops.CudnnRNNV3(**{**inputs, "input": inputs["input"] * 2}, **case.spec.attrs())
            value = tf.reduce_sum(tf.tanh(result.output) ** 2)
        return value, tape.gradient(value, inputs["params"])

    with devices.scope():
        found = loss(inputs)
    for got, want in zip(compiled(loss)(inputs), found, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
