"""LayerRNN compiled by XLA for a GPU with a dynamic batch or time dimension.

A mock GPU cannot run XLA's own kernels, which such a computation has. So the computation for the GPU is
compared with the one for the CPU, which tests/transforms runs: they differ in the size of reserve_space and
in an attribute. And the handler for GPUs runs on the lengths and the padding that such a computation gives it.
"""

import dataclasses
import re

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import bounds, devices, layer_cases, layer_ops
from support.selection import all_but
from tf_rnn_ops.native import xla

ops = tf_rnn_ops.raw_ops

pytestmark = [
    pytest.mark.usefixtures("everything_else_on_the_cpu"),
    pytest.mark.skipif(xla.unavailable() is not None, reason="there are no ops for XLA"),
]

BATCH = ("input_h", "input_c", "sequence_lengths")
# kOtherSizes in cc/core/op/shapes.h.
OTHER_SIZES = np.iinfo(np.int32).min


def _kept(given, rows, steps):
    """The inputs with the chosen rows and steps, whose numbers XLA knows when it runs."""
    found = dict(given)
    if rows is not None:
        found["input"] = tf.boolean_mask(found["input"], rows, axis=1)
        present = [n for n in BATCH if found[n].shape.rank and found[n].shape[0]]
        found |= {name: tf.boolean_mask(found[name], rows) for name in present}
    if steps is not None:
        found["input"] = tf.boolean_mask(found["input"], steps)
    return found


def _computation(function, arguments, device):
    """The text of a computation before XLA optimizes it, without what may differ between devices."""
    # WHY not in the scope of the device: TensorFlow then runs a kernel there to learn its name.
    ir = tf.function(function, jit_compile=True).experimental_get_compiler_ir(*arguments)
    text = ir(stage="hlo_no_metadata", platform_name=device[:3])
    assert ("allow_tf32" in text) == device.startswith("GPU")
    assert text.count('custom_call_target="TfRnnOps>LayerRNN') == 2
    forward = re.search(r"(\w+\[\d+\])\{0\}\) custom-call\(.*\"TfRnnOps>LayerRNN\"", text)
    text = text.replace(forward[1], "reserve_space")
    return re.sub(r"a_inference_\w+|, allow_tf32 = \w+", "", text)


def _step(case):
    """A function that runs the op and its gradient on the chosen rows and steps."""

    def step(given, rows, steps):
        given = _kept(given, rows, steps)
        with tf.GradientTape() as tape:
            tape.watch(given["input"])
            result = ops.LayerRNN(**given, **case.attrs())
        return result[:3], tape.gradient(result.output, given["input"])

    return step


def _chosen(dims):
    """The rows and the steps that are kept; None if all are."""
    rows = tf.constant([True, False, True]) if dims != "steps" else None
    steps = tf.constant([True, True, False, True, False]) if dims != "rows" else None
    return rows, steps


@pytest.mark.parametrize("lengths", [None, "random"])
@pytest.mark.parametrize("dims", ["rows", "steps", "both"])
@pytest.mark.parametrize("mode", ["lstm", "lstmp", "gru", "gru_reset_before", "rnn"])
def test_the_computation_is_that_of_the_cpu(mode, dims, lengths, rng):
    case = layer_cases.layer_case(
        mode, (5, 3, 4, 7), rng, "float32", lengths=lengths, input_mask=False, recurrent_mask=False
    )
    arguments = (layer_ops.tensors(case), *_chosen(dims))
    texts = [_computation(_step(case), arguments, device) for device in ("CPU:0", devices.NAME)]
    assert texts[0] == texts[1]
    assert "<=" in texts[0] and "set-dimension-size" in texts[0]


@pytest.mark.real_gpu
@pytest.mark.parametrize("lengths", [None, [3, 2, 1]])
@pytest.mark.parametrize("dims", ["rows", "steps", "both"])
@pytest.mark.parametrize("mode", ["lstm", "lstmp", "gru", "gru_reset_before", "rnn"])
def test_the_results_are_those_of_the_cpu(mode, dims, lengths, rng):
    case = layer_cases.layer_case(
        mode, (5, 3, 4, 7), rng, "float32", lengths=lengths, input_mask=False, recurrent_mask=False
    )
    arguments = (layer_ops.tensors(case), *_chosen(dims))
    want = _step(case)(*arguments)
    with devices.scope():
        got = tf.function(_step(case), jit_compile=True)(*arguments)
    for one, other in zip(tf.nest.flatten(got), tf.nest.flatten(want), strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=0, atol=1e-5)


# ---- The lengths and the padding of such a computation, given to the handler ----


class _Compiled:
    """Each op compiled by XLA for the device. Without a dynamic dimension no kernel of XLA runs."""

    def __getattr__(self, name):
        run = tf.function(getattr(ops, name), jit_compile=True)

        def on_the_device(**arguments):
            with devices.scope():
                return run(**arguments)

        return on_the_device


def _padded(case, rows, steps):
    """The case with NaN in more rows and steps, and the lengths that leave them out.

    See Note [Padding in XLA] in cc/xla/lowering/padding.h.
    """
    inputs = case.inputs
    time, batch = inputs.x.shape[:2]
    lengths = np.full(batch, time, np.int32) if inputs.lengths is None else inputs.lengths

    def pad(array, *counts):
        if array is None:
            return None
        widths = [(0, n) for n in counts] + [(0, 0)] * (array.ndim - len(counts))
        return np.pad(array, widths, constant_values=np.nan)

    padded = dataclasses.replace(
        inputs,
        x=pad(inputs.x, steps, rows),
        h0=pad(inputs.h0, rows),
        c0=pad(inputs.c0, rows),
        lengths=np.pad(lengths, (0, rows)),
        input_mask=pad(inputs.input_mask, 0, rows),
        recurrent_mask=pad(inputs.recurrent_mask, 0, rows),
    )
    return dataclasses.replace(
        case,
        inputs=padded,
        dy=pad(case.dy, steps, rows),
        dh=pad(case.dh, rows),
        dc=pad(case.dc, rows),
    )


@pytest.mark.usefixtures("each_algorithm")
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("padding", all_but([(2, 0), (0, 3), (2, 3)], (2, 3)))
@pytest.mark.parametrize("mode", layer_cases.MODES)
def test_lengths_of_run_time(mode, padding, full, rng):
    """The results are those without the padding, which gives zeros in sequences."""
    lengths = {"lengths": None, "input_mask": False, "recurrent_mask": False} if full else {}
    # No seed, because the units that zoneout selects depend on the size of the batch.
    case = layer_cases.layer_case(mode, (5, 3, 4, 6), rng, "float32", seed=False, **lengths)
    got = layer_ops.run(_Compiled(), _padded(case, *padding))
    for name in ("output", "input_backprop"):
        assert not got[name][5:].any() and not got[name][:, 3:].any(), name
        got[name] = got[name][:5, :3]
    for name in ("output_h", "output_c", "input_h_backprop", "input_c_backprop"):
        if name in got:
            got[name] = got[name][:3]
    bounds.assert_close(got, case.reference(), "float32", str(case))


@pytest.mark.usefixtures("each_algorithm")
@pytest.mark.parametrize("mode", layer_cases.MODES)
def test_lengths_of_tensors_whose_sizes_differ(mode, rng):
    """Every result is NaN: the handler does not wait for the lengths, so it cannot raise an error."""
    case = layer_cases.layer_case(mode, (5, 3, 4, 6), rng, "float32")
    case.inputs.lengths = np.full(3, OTHER_SIZES, np.int32)
    for name, array in layer_ops.run(_Compiled(), case).items():
        assert np.isnan(array).all(), name
