"""Every rnn_mode of LayerRNN has the gates, bias and states that the reference says, and has tests.

The op reads them from one table, kCellFacts of cc/core/op/rnn_types.h.
"""

import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from support.layer_cases import MODES
from support.reference.spec import GATES
from tf_rnn_ops import raw_ops

COLUMNS = 12  # of kernel: G*H for every G


def _modes():
    attrs = {attr.name: attr for attr in op_def_registry.get("TfRnnOps>LayerRNN").attr}
    return [mode.decode() for mode in attrs["rnn_mode"].allowed_values.list.s]


def _shapes(mode, bias):
    """The shapes of a LayerRNN whose bias has the shape `bias`, from the op's shape function."""
    units = COLUMNS // GATES[mode]
    with tf.Graph().as_default():
        x, h, kernel, recurrent, b = (
            tf.zeros(shape)
            for shape in ([5, 2, 7], [2, units], [7, COLUMNS], [units, COLUMNS], bias)
        )
        result = raw_ops.LayerRNN(
            **{"input": x, "input_h": h, "input_c": h, "kernel": kernel},
            **{"recurrent_kernel": recurrent, "bias": b, "rnn_mode": mode},
        )
        return result.output.shape, result.output_h.shape, result.output_c.shape


def test_every_mode_has_a_reference_and_cases():
    assert set(_modes()) == set(GATES)
    assert set(_modes()) <= set(MODES)


@pytest.mark.parametrize("mode", _modes())
def test_gates_bias_and_states(mode):
    bias, other = [COLUMNS], [2, COLUMNS]
    if mode == "gru":
        bias, other = other, bias
    units = COLUMNS // GATES[mode]
    c = [2, units] if mode == "lstm" else []
    assert _shapes(mode, bias) == ([5, 2, units], [2, units], c)
    with pytest.raises(ValueError, match="bias must have shape"):
        _shapes(mode, other)
