"""run.py on a mock driver, cuBLAS and cuDNN: it runs as on a GPU."""

import importlib.util
import pathlib
import shutil

import pytest

# run.py takes its memory from PyTorch, which is not imported here: that takes four seconds in each worker.
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch"),
]

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def counts(done):
    """Passed and failed, from the last line."""
    words = done.stdout.splitlines()[-1].replace(",", "").split()
    assert words[1] == "passed" and words[3] == "failed", done.stdout[-3000:] + done.stderr[-3000:]
    return int(words[0]), int(words[2])


@pytest.mark.parametrize(
    ("sections", "least", "variables"),
    [
        (("stack",), 500, {}),
        (("stack",), 500, {"FAKE_CUDNN_PADDED_WEIGHTS": "1", "FAKE_CUDNN_REFUSE_BFLOAT16": "1"}),
        (("engine",), 800, {}),
        (("block", "layers"), 250, {}),
        (("persistent", "sanitizer"), 140, {}),
        (("stack-times", "block-times", "layer-times", "engine-times", "streams"), 60, {}),
    ],
    ids=["stack", "other layout, no bfloat16", "engine", "block", "persistent", "times"],
)
def test_all_checks(rehearse, tmp_path, sections, least, variables):
    page = tmp_path / "page.md"
    page.write_text("# Title\n<!-- begin core -->\nold\n<!-- end core -->\nafter\n")
    done = rehearse("--only", *sections, "--report", page, **variables)
    passed, failed = counts(done)
    assert (done.returncode, failed) == (0, 0), done.stdout[-3000:] + done.stderr[-3000:]
    assert passed > least
    text = page.read_text()
    assert text.startswith("# Title\n") and text.endswith("after\n") and "old" not in text
    rows = [line for line in text.splitlines() if line.startswith("| lstm | float32 |")]
    assert len(rows) == (4 if "stack-times" in sections else 0)
    assert not any("error |" in row for row in rows)


def test_a_wrong_value_is_found(rehearse, tmp_path):
    """In a copy of the programs with another clip, next to links to what they import."""
    core = tmp_path / "tests/gpu/core"
    shutil.copytree(HERE, core, ignore=shutil.ignore_patterns("__pycache__"))
    for link in ("tests/support", "tools"):
        (tmp_path / link).symlink_to(ROOT / link)
    text = (core / "problems.py").read_text()
    clip = 'settings.get("cell_clip", 0.0)'
    assert clip in text
    (core / "problems.py").write_text(text.replace(clip, "0.01"))
    done = rehearse("--only", "block", script=core / "run.py")
    assert done.returncode == 1, done.stderr
    assert counts(done)[1] > 20


@pytest.mark.parametrize(
    ("variables", "section", "parts"),
    [
        ({"TF_RNN_OPS_CUDNN": "/no/lib.so"}, "stack", ("/no/lib.so", "nvidia-cudnn-cu12")),
        ({"TF_RNN_OPS_CUBLAS": "/no/lib.so"}, "block", ("/no/lib.so", "nvidia-cublas-cu12")),
        ({"TF_RNN_OPS_CUDNN_ALGO": "fastest"}, "stack", ("TF_RNN_OPS_CUDNN_ALGO",)),
    ],
)
def test_what_is_missing_is_named(rehearse, variables, section, parts):
    done = rehearse("--only", section, **variables)
    assert done.returncode == 1
    assert all(part in done.stdout + done.stderr for part in parts)
