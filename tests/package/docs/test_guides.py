"""The guides and the README run from top to bottom, and print what they say that they print."""

import pytest

from support import pages, subproc

# The model of README.md's user.
GPU_MODEL = """
import tensorflow as tf

@tf.function(input_signature=[tf.TensorSpec([5, 2, 3])])
def serve(x):
    states = tf.zeros([1, 2, 4])
    return tf.raw_ops.CudnnRNNV3(
        input=x, input_h=states, input_c=states, params=tf.zeros([144]), sequence_lengths=[5, 5])[0]

tf.saved_model.save(tf.Module(), "trained_on_a_gpu", signatures=serve)
"""


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "docs/getting-started.md",
        "docs/keras.md",
        "docs/int8.md",
        "docs/more-layers.md",
        "docs/migration.md",
        "docs/masks-and-lengths.md",
        "docs/streaming.md",
        "docs/raw-ops.md",
        pytest.param("docs/speech.md", marks=pytest.mark.thorough),
        pytest.param("docs/forecasting.md", marks=pytest.mark.thorough),
    ],
)
def test_the_blocks_run_and_print_what_the_page_shows(name, tmp_path):
    if name == "README.md":
        made = subproc.run(["-c", GPU_MODEL], tmp_path)
        assert made.returncode == 0, made.stderr
    for printed, shown in pages.run(pages.ROOT / name, tmp_path):
        assert pages.skeleton(printed) == pages.skeleton(shown or "")
