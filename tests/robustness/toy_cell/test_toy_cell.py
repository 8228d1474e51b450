"""docs/adding-a-cell.md lists all that a new cell needs: a toy cell that changes only these files passes the tests."""

import re
import shutil

import pytest

from robustness.toy_cell import copies, fragments
from support.native_build import ROOT

PAGE = ROOT / "docs/adding-a-cell.md"
DRAW = """
from robustness.problem import draw
drawn = (draw.problem(0, number, 100_000) for number in range(8000))
print(*(p for p in drawn if p.cell == "toy"), sep="\\n")
"""
# The op and its documentation, the numpy reference, the plain cell, and all on them.
PYTHON_TESTS = (
    "tests/ops/test_cell_facts.py",
    "tests/ops/test_layer_reference.py",
    "tests/ops/test_packed_weights.py",
    "tests/ops/test_quantized_layer_rnn.py",
    "tests/ops/parity/test_reference_layer.py",
    "tests/portable/test_portable_layers.py",
    "tests/transforms/test_second_order.py",
)


def _files_of_page():
    """{heading of a table of files: the files}."""
    text = PAGE.read_text().partition("## The list of files")[2].partition("\n## ")[0]
    sections = dict(part.split("\n", 1) for part in text.split("\n### ")[1:])
    rows = {name: re.findall(r"^\| `([^`]+)` \|", text, re.M) for name, text in sections.items()}
    return {name: [row.replace("NAME", "toy") for row in found] for name, found in rows.items()}


def test_the_page_lists_the_files_of_the_toy_cell():
    found = _files_of_page()
    assert found["C++"] == list(fragments.CPP)
    assert found["Python"] == list(fragments.PYTHON)
    assert len(found["C++"]) + len(found["Python"]) <= 10
    assert found["Tests"] == list(fragments.TESTS) and len(found["Tests"]) <= 3


def test_the_fragments_fit(tmp_path):
    for path, fragment in (fragments.CPP | fragments.PYTHON | fragments.TESTS).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(fragment, str):
            shutil.copy(ROOT / path, tmp_path / path)
    fragments.apply(tmp_path)
    with pytest.raises(ValueError, match="exists|expected once"):
        fragments.apply(tmp_path)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return copies.Copy(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="module")
def lines(copy):
    """A file of random cases with the toy cell."""
    file = copy.root / "toy.txt"
    file.write_text(copy.python("-c", DRAW))
    return file


@pytest.mark.thorough
def test_kernels(copy, lines):
    """Against the reference in C++, with other threads, layouts and slices to the bit."""
    printed = copy.run([copy.test("cpu/problems_test"), lines])
    assert printed.count("problem\tok\t") == len(lines.read_text().splitlines()) > 50
    copy.run([copy.test("cpu/rnn_memory_test")])


@pytest.mark.thorough
def test_gpu_kernels(copy, lines):
    """On host memory, with the kernels compiled for the host."""
    copy.run([copy.gpu_test("gpu/layer_gpu_test"), lines, "--gtest_filter=*.Problems/*"])


@pytest.mark.thorough
def test_python(copy, lines):
    copy.build_package()
    options = ["-q", "-p", "no:cacheprovider", "--tests=all", "-k", "toy"]
    printed = copy.python("-m", "pytest", *options, *PYTHON_TESTS)
    assert int(re.search(r"(\d+) passed", printed)[1]) > len(PYTHON_TESTS)
    problems = lines.read_text().splitlines()[:20]
    copy.python("-m", "tests.robustness.problem", *problems)
