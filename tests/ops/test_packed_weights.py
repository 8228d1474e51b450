"""The ops that pack weights once and those that take them: the results of the ops that do not."""

import struct

import numpy as np
import pytest
import tensorflow as tf

from support import cases, layer_ops, packed_calls, subproc, tf_ops
from support.layer_cases import FUNCTIONS, MODES, WITH_FUNCTIONS, layer_case
from support.problem_lines import TYPES, check_lines, keys_of, lines
from support.reference.spec import RnnSpec
from tf_rnn_ops import raw_ops as ops

NO_MASKS = {"input_mask": False, "recurrent_mask": False, "seed": False}
HEADER = 128
CHECKSUM = 8


def _same(got, want):
    for name, tensor in got._asdict().items():
        a, b = tensor.numpy(), getattr(want, name).numpy()
        assert a.dtype == b.dtype and a.shape == b.shape
        assert a.tobytes() == b.tobytes(), name


def _layer(case, time_major=True):
    """(inputs of LayerRNNPacked but packed, its weights)."""
    inputs = layer_ops.tensors(case, time_major)
    inputs = {n: t for n, t in inputs.items() if n not in packed_calls.TRAINING}
    return inputs, {n: inputs[n] for n in packed_calls.PACKED_WEIGHTS}


# Zoneout of packed weights has no masks.
@pytest.mark.parametrize("mode", MODES)
def test_layer_gives_the_same_bits(mode):
    """The shortest calls of the plain op do not pack and sum in another order; then only the values count."""
    found = lines("{size} bias={bias} lengths={lengths} order={order} type={type}", type=TYPES,
                  size=("T=7 B=3 I=5 H=17", "T=5 B=20 I=33 H=64"), bias=("yes", "no"),
                  lengths=("full", "random"), order=("time", "batch"))  # fmt: skip
    found += lines(
        "T={size} I=6 H=19 type=float64", size=("1 B=1", "4 B=1", "1 B=4", "0 B=3", "3 B=0")
    )
    check_lines(f"op=LayerRNN {keys_of(mode).replace('drawn=yes', '')} run=packed", found)


@pytest.mark.parametrize("functions", FUNCTIONS, ids="-".join)
@pytest.mark.parametrize("mode", WITH_FUNCTIONS)
def test_layer_with_other_activations(mode, functions):
    keys = f"activation={functions[0]}"
    keys += f" recurrent_activation={functions[1]}" * (mode != "rnn")
    found = lines("T=4 B=7 I=6 H=17 type={type}", type=TYPES)
    check_lines(f"op=LayerRNN {keys_of(mode).replace('drawn=yes', '')} {keys} run=packed", found)


@pytest.mark.parametrize("cell", ["lstm", "gru", "tanh", "relu"])
def test_stack_gives_the_same_bits(cell):
    sizes = ["I=9 H=17", "I=33 H=40 L=3", "I=5 H=12 L=2 D=2", "I=20 H=20 L=2 D=2 input=skip"]
    if cell == "lstm":
        sizes += ["I=20 H=20 L=2 D=2 input=skip P=7", "I=3 H=31 P=31"]
    found = lines("T=5 B=7 {size} order={order} type={type}", size=sizes, order=("time", "batch"),
                  type=TYPES)  # fmt: skip
    check_lines(f"cell={cell} lengths=random run=packed", found)


def test_in_a_graph(rng):
    case = layer_case("gru", (5, 4, 3, 6), rng, **NO_MASKS)
    inputs, weights = _layer(case)
    function = tf.function(
        lambda inputs, weights: ops.LayerRNNPacked(
            **inputs, rnn_mode="gru", packed=ops.PackLayerRNN(**weights, rnn_mode="gru")
        )
    )
    _same(function(inputs, weights), layer_ops.forward(ops, case, is_training=False))
    spec = RnnSpec("lstm", 2, 6, 4, "bidirectional", num_proj=3)
    stack = cases.rnn_case(spec, 5, 3, rng)

    @tf.function
    def run(inputs):
        packed = packed_calls.pack_params(ops, spec, inputs["params"])
        return ops.CudnnRNNV3Packed(**inputs, packed=packed, **spec.attrs())

    _same(
        run(tf_ops.rnn_tensors(stack).inputs()), tf_ops.rnn_forward(ops, stack, is_training=False)
    )


def test_packed_is_independent_of_old_memory(rng):
    """Nothing of what was in the memory before, so equal weights give equal bytes."""
    case = layer_case("rnn_tanh", (2, 2, 5, 17), rng, "float32", **NO_MASKS)
    _, weights = _layer(case)
    first = ops.PackLayerRNN(**weights, rnn_mode="rnn_tanh").numpy()
    for _ in range(5):
        tf.fill([first.size], np.uint8(0xAB)).numpy()  # freed at once
        again = ops.PackLayerRNN(**weights, rnn_mode="rnn_tanh").numpy()
        np.testing.assert_array_equal(again, first)


# ---- Rejected weights ----


def _refused(inputs, packed, mode="lstm"):
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        ops.LayerRNNPacked(**inputs, packed=packed, rnn_mode=mode)
    return str(caught.value)


@pytest.fixture
def problem(rng):
    """(inputs of LayerRNNPacked, its packed weights as an array)."""
    case = layer_case("lstm", (5, 4, 3, 6), rng, "float32", **NO_MASKS)
    inputs, weights = _layer(case)
    return inputs, ops.PackLayerRNN(**weights).numpy()


def test_every_byte_of_the_header_counts(problem):
    """Except those of its checksum, which the op reads only if another byte differs."""
    inputs, packed = problem
    used = np.flatnonzero(packed[:HEADER])[-1] + 1
    for k in range(used - CHECKSUM):
        for flip in (1, 0x80):
            forged = packed.copy()
            forged[k] ^= flip
            message = _refused(inputs, forged)
            assert "packed must" in message and "num_units = 6, input_size = 3" in message


def test_another_length_is_refused(problem):
    inputs, packed = problem
    for size in (1, 4, HEADER - 1, HEADER, HEADER + 1, packed.size - 1, packed.size + 1):
        message = _refused(inputs, np.resize(packed, size))
        assert "packed must" in message and str(size) in message
    for shape in ([1, packed.size], []):
        assert "packed must be a vector" in _refused(inputs, np.resize(packed, shape))


def _checksum(fields):
    total = 0xCBF29CE484222325
    for byte in fields:
        total = (total ^ byte) * 0x100000001B3 % 2**64
    return struct.pack("<Q", total)


def test_sizes_are_never_those_of_the_header(problem):
    """A header with a right checksum and any sizes raises an error, and its sizes are not used for reading."""
    inputs, packed = problem
    end = np.flatnonzero(packed[:HEADER])[-1] + 1
    fields, stored = packed[: end - CHECKSUM].tobytes(), packed[end - CHECKSUM : end].tobytes()
    assert _checksum(fields) == stored
    for at in range(0, len(fields), 4):
        for value in (0, -1, 7, 2**31 - 1, -(2**31)):
            forged = bytearray(fields)
            struct.pack_into("<i", forged, at, value)
            if bytes(forged) == fields:
                continue
            data = np.frombuffer(
                bytes(forged) + _checksum(forged) + packed[end:].tobytes(), np.uint8
            )
            if 8 <= at < 20:  # version, vector and element: for other kernels, so not read
                want = ops.LayerRNNPacked(**inputs, packed=np.zeros(0, np.uint8))
                _same(ops.LayerRNNPacked(**inputs, packed=data), want)
            else:
                assert "packed must" in _refused(inputs, data)


def test_weights_of_another_network_are_refused_with_both_named(rng, problem):
    inputs, _ = problem
    others = {
        "num_units = 7": ("lstm", (5, 4, 3, 7), "float32"),
        "input_size = 4": ("lstm", (5, 4, 4, 6), "float32"),
        "rnn_mode = gru": ("gru", (5, 4, 3, 6), "float32"),
        "T = double": ("lstm", (5, 4, 3, 6), "float64"),
        "T = half": ("lstm", (5, 4, 3, 6), "float16"),
    }
    for text, (mode, shape, dtype) in others.items():
        _, weights = _layer(layer_case(mode, shape, rng, dtype, **NO_MASKS))
        message = _refused(inputs, ops.PackLayerRNN(**weights, rnn_mode=mode))
        assert text in message
        assert "(rnn_mode = lstm, T = float, layers = 1, directions = 1, num_units = 6," in message
    spec = RnnSpec("lstm", 2, 6, 6)
    tensors = tf_ops.rnn_tensors(cases.rnn_case(spec, 5, 4, rng, "float32")).inputs()
    for other in (
        RnnSpec("lstm", 1, 6, 6),
        RnnSpec("lstm", 2, 6, 6, "bidirectional"),
        RnnSpec("lstm", 2, 6, 6, input_mode="skip_input"),
        RnnSpec("lstm", 2, 6, 6, num_proj=5),
    ):
        params = tf_ops.rnn_tensors(cases.rnn_case(other, 5, 4, rng, "float32")).params
        packed = packed_calls.pack_params(ops, other, params)
        with pytest.raises(tf.errors.InvalidArgumentError, match="packed must be the packed weig"):
            ops.CudnnRNNV3Packed(**tensors, packed=packed, **spec.attrs())


def test_an_empty_call_refuses_too(rng):
    case = layer_case("lstm", (0, 4, 3, 6), rng, "float32", **NO_MASKS)
    assert "packed must" in _refused(_layer(case)[0], np.zeros(200, np.uint8))


def test_wrong_weights_are_refused():
    zeros = np.zeros
    for name, weights in (
        ("kernel", {"kernel": zeros([3, 25])}),
        ("recurrent_kernel", {"kernel": zeros([3, 28])}),
        ("recurrent_kernel", {"recurrent_kernel": zeros([6])}),
        ("bias", {"bias": zeros([23])}),
        ("bias", {"bias": zeros([2, 24])}),
        ("kernel", {"kernel": zeros([0, 24])}),
    ):
        good = {"kernel": zeros([3, 24]), "recurrent_kernel": zeros([6, 24]), "bias": zeros([24])}
        run = tf.function(lambda **w: ops.PackLayerRNN(**w), reduce_retracing=False)
        unknown = {n: tf.TensorSpec(None, tf.float64) for n in good}
        in_graph = run.get_concrete_function(**unknown)
        for call in (ops.PackLayerRNN, in_graph):
            tensors = {n: tf.constant(w) for n, w in {**good, **weights}.items()}
            with pytest.raises(tf.errors.InvalidArgumentError, match=rf"\b{name}\b"):
                call(**tensors)
    sizes = {"num_layers": 1, "num_units": 3, "input_size": 2}
    for name, params, attrs in (
        ("params", zeros([83]), {}),
        ("params", zeros([84, 1]), {}),
        ("num_layers", zeros([84]), {"num_layers": 0}),
        ("num_proj", zeros([84]), {"num_proj": 4}),
        ("num_proj", zeros([84]), {"rnn_mode": "gru", "num_proj": 1}),
        ("input_mode", zeros([84]), {"input_mode": "skip_input"}),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=name):
            ops.PackCudnnRNNParams(params=params, **{**sizes, **attrs})


# ---- Memory that is not aligned, and weights of other kernels ----


def test_unaligned_packed_weights(problem):
    inputs, packed = problem
    want = ops.LayerRNNPacked(**inputs, packed=packed)
    for offset in (1, 4, 63):
        whole = tf.constant(np.concatenate([np.zeros(offset, np.uint8), packed]))
        _same(ops.LayerRNNPacked(**inputs, packed=whole[offset:]), want)


def test_weights_packed_for_other_kernels(tmp_path):
    """With weights that another instruction set packed, the op returns its usual results."""
    levels = ("baseline", "avx2", "avx512")
    files = {}
    for isa in levels:
        files[isa] = tmp_path / f"{isa}.npz"
        subproc.run_module("ops.packed_elsewhere", "pack", files[isa], TF_RNN_OPS_CPU_ISA=isa)
    for isa in levels:
        subproc.run_module("ops.packed_elsewhere", "use", *files.values(), TF_RNN_OPS_CPU_ISA=isa)


def test_a_saved_model_with_packed_constants(tmp_path):
    """Frozen on one kind of CPU, served on others."""
    subproc.run_module(
        "ops.packed_elsewhere", "save", tmp_path / "model", TF_RNN_OPS_CPU_ISA="baseline"
    )
    for isa in ("baseline", "avx2", None):
        subproc.run_module(
            "ops.packed_elsewhere", "serve", tmp_path / "model", TF_RNN_OPS_CPU_ISA=isa
        )


# ---- Gradients ----


@pytest.mark.parametrize("mode", MODES)
def test_gradients_are_those_of_the_plain_op(mode, rng):
    case = layer_case(mode, (5, 4, 3, 6), rng, **NO_MASKS)
    inputs, weights = _layer(case)
    packed = ops.PackLayerRNN(**weights, rnn_mode=case.rnn_mode)
    found = []
    for call in (
        lambda: ops.LayerRNNPacked(**inputs, packed=packed, **case.attrs()),
        lambda: ops.LayerRNN(**inputs, **case.attrs(), is_training=False),
    ):
        watched = [t for t in inputs.values() if t.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(watched)
            result = call()
            loss = tf.reduce_sum(result.output**2) + tf.reduce_sum(tf.sin(result.output_h))
        found.append(tape.gradient(loss, watched))
    for got, want in zip(*found):
        assert got is not None
        np.testing.assert_array_equal(got, want)


def test_gradients_of_a_stack_and_of_packing(rng):
    spec = RnnSpec("lstm", 2, 6, 4, "bidirectional", num_proj=3)
    tensors = tf_ops.rnn_tensors(cases.rnn_case(spec, 5, 3, rng)).inputs()
    watched = [t for t in tensors.values() if t.dtype.is_floating]
    found = []
    for packs in (True, False):
        with tf.GradientTape() as tape:
            tape.watch(watched)
            if packs:
                packed = packed_calls.pack_params(ops, spec, tensors["params"])
                result = ops.CudnnRNNV3Packed(**tensors, packed=packed, **spec.attrs())
            else:
                result = ops.CudnnRNNV3(**tensors, **spec.attrs(), is_training=False)
            loss = tf.reduce_sum(result.output**2)
        found.append(tape.gradient(loss, watched))
    for got, want in zip(*found):
        assert got is not None
        np.testing.assert_array_equal(got, want)
