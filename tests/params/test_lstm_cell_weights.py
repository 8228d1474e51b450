"""params.from_lstm_cell: the results of TensorFlow 1's LSTMCell from its weights in ProjectedLSTM."""

import numpy as np
import pytest
import tensorflow as tf

from support import bounds
from tf_rnn_ops.keras import ProjectedLSTM
from tf_rnn_ops.params import from_lstm_cell

BATCH, TIME, INPUT, UNITS, PROJ = 5, 6, 3, 4, 3
# Limits well inside what the random weights below reach.
PARTS = {
    "all": {"num_proj": PROJ, "use_peepholes": True, "cell_clip": 0.375, "proj_clip": 0.25},
    "projection": {"num_proj": PROJ},
    "peepholes": {"use_peepholes": True},
    "limit": {"cell_clip": 0.375},
    "none": {},
}


@pytest.mark.parametrize("forget_bias", [0.0, 1.0])
@pytest.mark.parametrize("part", PARTS)
def test_steps_of_tensorflow_1(part, forget_bias, rng):
    """Step by step, in the order of its gates: i, c, f, o."""
    parts = PARTS[part]
    layer = ProjectedLSTM(UNITS, return_sequences=True, dtype="float64", **parts)
    layer.build((BATCH, TIME, INPUT))
    hidden = layer.cell.output_size
    given = {"kernel": (INPUT + hidden, 4 * UNITS), "bias": (4 * UNITS,)}
    if "num_proj" in parts:
        given["projection"] = (UNITS, hidden)
    if "use_peepholes" in parts:
        given |= {f"w_{gate}_diag": (UNITS,) for gate in "ifo"}
    given = {name: rng.normal(size=shape) for name, shape in given.items()}
    layer.set_weights(from_lstm_cell(**given, forget_bias=forget_bias))
    x, h, c = (rng.normal(size=s) for s in ((BATCH, TIME, INPUT), (BATCH, hidden), (BATCH, UNITS)))
    got = layer(x, initial_state=[tf.constant(h), tf.constant(c)])
    w_i, w_f, w_o = (given.get(f"w_{gate}_diag", 0.0) for gate in "ifo")
    for t in range(TIME):
        sums = tf.matmul(tf.concat([x[:, t], h], 1), given["kernel"]) + given["bias"]
        i, j, f, o = tf.split(sums, 4, axis=1)
        c = tf.sigmoid(f + forget_bias + w_f * c) * c + tf.sigmoid(i + w_i * c) * tf.tanh(j)
        if "cell_clip" in parts:
            c = tf.clip_by_value(c, -parts["cell_clip"], parts["cell_clip"])
        h = tf.sigmoid(o + w_o * c) * tf.tanh(c)
        if "num_proj" in parts:
            h = tf.matmul(h, given["projection"])
        if "proj_clip" in parts:
            h = tf.clip_by_value(h, -parts["proj_clip"], parts["proj_clip"])
        assert bounds.error("output", got[:, t].numpy(), h.numpy()) < 1e-13, t


def test_a_kernel_of_one_feature():
    kernel = np.arange(3 * 8.0).reshape(3, 8)
    own, recurrent, _ = from_lstm_cell(kernel, np.zeros(8))
    columns = [0, 1, 4, 5, 2, 3, 6, 7]
    np.testing.assert_array_equal(own, kernel[:1, columns])
    np.testing.assert_array_equal(recurrent, kernel[1:, columns])


KERNEL, BIAS = np.zeros((5, 8)), np.zeros(8)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kernel": KERNEL[0]}, r"kernel must .*\(8,\)"),
        ({"bias": BIAS[:4]}, r"bias must be \[8\]"),
        ({"projection": np.zeros((3, 1))}, r"projection must be \[2, P\]"),
        ({"w_i_diag": np.zeros(2)}, "w_f_diag"),
        ({"kernel": KERNEL[:1]}, "has 1 rows"),
    ],
)
def test_weights_that_do_not_fit(given, message):
    with pytest.raises(ValueError, match=message):
        from_lstm_cell(**{"kernel": KERNEL, "bias": BIAS, **given})


def test_an_integer_bias():
    kernel, bias = np.ones((3 + 2, 4 * 2), "float32"), np.arange(8)
    got = from_lstm_cell(kernel, bias, forget_bias=0.5)[2]
    want = from_lstm_cell(kernel, bias.astype("float32"), forget_bias=0.5)[2]
    assert got.dtype == np.float64 and want.dtype == np.float32
    np.testing.assert_array_equal(got, want)
    assert want[2] == bias[4] + 0.5  # the forget gate is third there and second here
    np.testing.assert_array_equal(bias, np.arange(8))
