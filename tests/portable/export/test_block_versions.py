"""TensorFlow's BlockLSTM and BlockLSTMV2 in the formats without a node for them: the results of TensorFlow's kernels."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from support.selection import all_but
from tf_rnn_ops._formats import formats

TIME, BATCH, SIZE, UNITS = 5, 3, 2, 4
FILES = {"onnx": "m.onnx", "litert": "m.tflite", "openvino": "m.xml"}
# The first version adds 1 to the forget gate and clips at 3 by default.
OPTIONS = {
    "defaults": {},
    "peepholes": {"use_peephole": True, "cell_clip": 0.4},
}


class Layer(tf.Module):
    """A call of one of the ops, with weights in variables or in constants."""

    def __init__(self, version, weights, options):
        super().__init__()
        rng = np.random.default_rng(5)
        shapes = {"w": (SIZE + UNITS, 4 * UNITS), "b": (4 * UNITS,)}
        shapes |= dict.fromkeys(("wci", "wcf", "wco"), (UNITS,))
        make = tf.Variable if weights == "variables" else tf.constant
        self.weights = {
            n: make(rng.uniform(-0.9, 0.9, s), dtype=tf.float32) for n, s in shapes.items()
        }
        self.run, self.options = getattr(tf.raw_ops, version), options

    @tf.function(
        autograph=False,
        input_signature=[
            tf.TensorSpec([TIME, BATCH, SIZE], name="x"),
            tf.TensorSpec([BATCH, UNITS], name="h"),
            tf.TensorSpec([BATCH, UNITS], name="c"),
            tf.TensorSpec([], tf.int64, "length"),
        ],
    )
    def __call__(self, x, h, c, length):
        weights = {name: tf.convert_to_tensor(weight) for name, weight in self.weights.items()}
        result = self.run(seq_len_max=length, x=x, cs_prev=c, h_prev=h, **weights, **self.options)
        # TensorFlow leaves the other steps of cs as they are.
        return {"y": result.h, "first_c": result.cs[0]}


CASES = list(
    itertools.product(FILES, ["BlockLSTM", "BlockLSTMV2"], ["constants", "variables"], OPTIONS)
)
USUAL = [
    ("onnx", "BlockLSTMV2", "variables", "peepholes"),
    ("litert", "BlockLSTM", "constants", "defaults"),
    ("openvino", "BlockLSTM", "variables", "peepholes"),
]


@pytest.mark.parametrize("case", all_but(CASES, *USUAL), ids="-".join)
def test_results(case, tmp_path):
    format, version, weights, options = case
    layer = Layer(version, weights, OPTIONS[options])
    tf.saved_model.save(layer, str(tmp_path / "saved"), signatures=layer.__call__)
    writer, path = formats.writer(format), str(tmp_path / FILES[format])
    nodes = writer.write(str(tmp_path / "saved"), path)
    assert [(node.op, node.target_op) for node in nodes] == [("BlockLSTMV2", "loop")]
    rng = np.random.default_rng(6)
    feed = {
        "x": 2 * rng.standard_normal((TIME, BATCH, SIZE)),
        "h": rng.uniform(-1, 1, (BATCH, UNITS)),
    }
    feed["c"] = rng.uniform(-4, 4, (BATCH, UNITS))
    feed = {name: array.astype(np.float32) for name, array in feed.items()}
    for length in (TIME, 2):
        given = {**feed, "length": np.array(length, np.int64)}
        got = writer.load(path)(given)
        for name, want in layer(**given).items():
            np.testing.assert_allclose(got[name], want, rtol=0, atol=2e-6, err_msg=name)
