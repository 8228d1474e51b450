"""The guides and the README run from top to bottom, and print what they say that they print."""

import pytest

from support import pages, subproc

# The model of README.md's user.
GPU_MODEL = pages.ROOT / "examples" / "gpu_model_on_cpu" / "write_model.py"


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
        "docs/stepper-reference.md",
        "docs/windows.md",
        "docs/raw-ops.md",
        pytest.param("docs/speech.md", marks=pytest.mark.thorough),
        pytest.param("docs/forecasting.md", marks=pytest.mark.thorough),
    ],
)
def test_the_blocks_run_and_print_what_the_page_shows(name, tmp_path):
    if name == "README.md":
        made = subproc.run([GPU_MODEL, "trained_on_a_gpu"], tmp_path)
        assert made.returncode == 0, made.stderr
    for printed, shown in pages.run(pages.ROOT / name, tmp_path):
        assert pages.skeleton(printed) == pages.skeleton(shown or "")
