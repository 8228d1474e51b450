"""The ops compiled by XLA for a GPU: the bits of the same calls outside of it, and the same errors.

Most of these computations do not run kernels of XLA, which a mock GPU cannot run.
"""

import re

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import calls, cases, devices, layer_ops, packed_calls, tf_ops
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


def valid_calls(rng):
    """Calls of every op with a GPU kernel, made on the GPU. A reserve space belongs to its device."""
    specs = (
        (RnnSpec("lstm", 2, 6, 4, "bidirectional", num_proj=3), True),
        (RnnSpec("gru", 2, 6, 6), False),
        (RnnSpec("rnn_tanh", 1, 6, 4), True),
    )
    for spec, time_major in specs:
        found = calls.rnn_calls(devices.ops, spec, 5, 3, rng, time_major)
        yield from found
        yield packed_calls.of_rnn(devices.ops, spec, found[-2])
        yield from calls.params_calls(spec, rng)
    for use_peephole in (True, False):
        yield from calls.block_calls(devices.ops, (5, 3, 4, 6), rng, use_peephole)


def assert_same_bits(got, want):
    """Compares all results except reserve_space, which XLA allocates for full lengths and marks so."""
    got, want = (v._asdict() if hasattr(v, "_asdict") else {"": v} for v in (got, want))
    if "host_reserved" in want and want["reserve_space"].shape.rank > 0:  # in training
        want["host_reserved"] = want["host_reserved"] + OF_PROGRAM
    for name, value in want.items():
        for a, b in zip(tf.nest.flatten(got[name]), tf.nest.flatten(value), strict=True):
            if name != "reserve_space":
                np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=name)


def test_every_op_that_a_gpu_has(rng):
    seen = set()
    for call in valid_calls(rng):
        if call.op in PARAMETER_OPS:
            continue
        seen.add(call.op)
        want = calls.run_eagerly(devices.ops, call)
        for known in ((), ("sequence_lengths", "seq_len_max")):
            assert_same_bits(run_compiled(call, known), want)
    assert seen >= {"CudnnRNNV3", "CudnnRNNBackpropV3", "CudnnRNNV3Packed", "BlockLSTMGradV2"}


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
    layer = layer_case("lstm", (5, 3, 4, 6), rng, "float32")
    layer_call = calls.Call("LayerRNN", layer_ops.tensors(layer), layer.attrs())
    seen = set()
    for call in (*valid_calls(rng), layer_call):
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
    inputs = tf_ops.rnn_tensors(case).inputs()

    def run(inputs, seed):
        return ops.StatelessCudnnRNNV3(**inputs, seed=seed, dropout=0.5, **case.spec.attrs())

    for number in (1, 2):
        seed = tf.constant([number, 3], tf.int64)
        with devices.scope():
            want = run(inputs, seed)
        assert_same_bits(compiled(run)(inputs, seed), want)


def test_values_are_refused_when_the_computation_runs(rng):
    found = list(valid_calls(rng))
    call = next(c for c in found if c.op == "CudnnRNNV3")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"sequence_lengths.*6"):
        run_compiled(call.with_tensor("sequence_lengths", np.array([6, 1, 1], np.int32)))
    block = next(c for c in found if c.op == "BlockLSTMV2")
    with pytest.raises(tf.errors.InvalidArgumentError, match="seq_len_max"):
        run_compiled(block.with_tensor("seq_len_max", np.int64(6)))


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
