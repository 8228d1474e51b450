"""The guides and the README run from top to bottom, and print what they say that they print."""

import outputs
import pages
import pytest

from support import subproc

GUIDES = (
    "docs/getting-started.md",
    "docs/masks-and-lengths.md",
    "docs/streaming.md",
    "docs/training.md",
    "docs/raw-ops.md",
    pytest.param("docs/speech.md", marks=pytest.mark.thorough),
    pytest.param("docs/forecasting.md", marks=pytest.mark.thorough),
)
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


@pytest.mark.parametrize("name", GUIDES)
def test_the_blocks_run_and_print_what_the_page_shows(name, tmp_path):
    outputs.check(pages.ROOT / name, tmp_path)


def test_the_readme(tmp_path):
    made = subproc.run(["-c", GPU_MODEL], tmp_path)
    assert made.returncode == 0, made.stderr
    outputs.check(pages.README, tmp_path)


def test_the_code_of_the_readme_fits_a_narrow_page():
    codes, _ = outputs.found(pages.README)
    lines = [line for language, code in codes if language == "python" for line in code.splitlines()]
    assert [line for line in lines if len(line) > 80] == []


def test_the_first_block_of_the_readme_prints_a_speed():
    _, shown = outputs.found(pages.README)
    assert "training step" in shown[0] and " x  " in shown[0]
    assert len(pages.README.read_text().splitlines()) <= 120


def test_another_output_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint('a 1.5')\n```\n\n```text\nb 2.5\n```\n")
    with pytest.raises(AssertionError):
        outputs.check(page, tmp_path)


def test_a_failing_command_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\nfalse\n```\n")
    with pytest.raises(AssertionError, match="CalledProcessError"):
        outputs.check(page, tmp_path)
