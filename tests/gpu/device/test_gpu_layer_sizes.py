"""LayerRNN compiled by XLA for a GPU with a dynamic batch or time dimension.

A mock GPU cannot run XLA's own kernels, which such a computation has. So the computation for the GPU is
compared with the one for the CPU, which tests/transforms runs: they differ in the size of reserve_space and
in an attribute. The handler for GPUs runs the lengths that they give it in tests/gpu/ffi.
"""

import re

import pytest
import tensorflow as tf

import tf_rnn_ops
from support import devices, layer_cases, layer_ops
from tf_rnn_ops.native import xla

ops = tf_rnn_ops.raw_ops

pytestmark = [
    pytest.mark.usefixtures("everything_else_on_the_cpu"),
    pytest.mark.skipif(xla.unavailable() is not None, reason="there are no ops for XLA"),
]

BATCH = ("input_h", "input_c", "sequence_lengths")


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


@pytest.mark.parametrize("lengths", [None, "random"])
@pytest.mark.parametrize("dims", ["rows", "steps", "both"])
@pytest.mark.parametrize("mode", ["lstm", "lstmp", "gru", "gru_reset_before", "rnn"])
def test_the_computation_is_that_of_the_cpu(mode, dims, lengths, rng):
    case = layer_cases.layer_case(
        mode, (5, 3, 4, 7), rng, "float32", lengths=lengths, input_mask=False, recurrent_mask=False
    )
    tensors = layer_ops.tensors(case)
    rows = tf.constant([True, False, True]) if dims != "steps" else None
    steps = tf.constant([True, True, False, True, False]) if dims != "rows" else None

    def step(given, rows, steps):
        given = _kept(given, rows, steps)
        with tf.GradientTape() as tape:
            tape.watch(given["input"])
            result = ops.LayerRNN(**given, **case.attrs())
        return result[:3], tape.gradient(result.output, given["input"])

    arguments = (tensors, rows, steps)
    texts = [_computation(step, arguments, device) for device in ("CPU:0", devices.NAME)]
    assert texts[0] == texts[1]
    assert "<=" in texts[0] and "set-dimension-size" in texts[0]
