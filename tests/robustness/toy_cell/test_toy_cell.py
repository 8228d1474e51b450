"""docs/adding-a-cell.md lists all that a new cell needs: a toy cell that changes only these files
is right in the kernels of the CPU."""

import os
import re
import shutil
import sys

import pytest

from robustness.coverage.programs import CHECKED, LINK
from robustness.toy_cell import fragments
from support import native_build
from support.native_build import ROOT

PAGE = ROOT / "docs/adding-a-cell.md"
DRAW = """
from robustness.problem import draw
drawn = (draw.problem(0, number, 100_000) for number in range(8000))
print(*(p for p in drawn if p.cell == "toy"), sep="\\n")
"""


def _files_of_page():
    """{heading of a table of files: the files}."""
    text = PAGE.read_text().partition("## The list of files")[2].partition("\n## ")[0]
    sections = dict(part.split("\n", 1) for part in text.split("\n### ")[1:])
    rows = {name: re.findall(r"^\| `([^`]+)` \|", text, re.M) for name, text in sections.items()}
    return {name: [row.replace("NAME", "toy") for row in found] for name, found in rows.items()}


def test_the_page_lists_the_files_of_the_toy_cell():
    found = _files_of_page()
    assert found["C++"] == list(fragments.CPP) and len(found["C++"]) <= 8
    assert found["Python"] == list(fragments.PYTHON) and len(found["Python"]) < 3
    assert found["Tests"] == list(fragments.TESTS) and len(found["Tests"]) <= 3


def test_the_fragments_fit(tmp_path):
    for path, fragment in (fragments.CPP | fragments.PYTHON | fragments.TESTS).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(fragment, str):
            shutil.copy(ROOT / path, tmp_path / path)
    fragments.apply(tmp_path)
    with pytest.raises(ValueError, match="exists|expected once"):
        fragments.apply(tmp_path)


@pytest.mark.thorough
def test_kernels(tmp_path):
    """Against the reference in C++, with other threads, layouts and slices to the bit."""
    root = tmp_path / "tree"
    for name in ("cc", "tests", "tf_rnn_ops", "build_defs"):
        ignored = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / name, root / name, ignore=ignored)
    fragments.apply(root)

    def run(*command):
        path = f"{root}{os.pathsep}{root / 'tests'}"
        environment = {**os.environ, "TF_RNN_OPS_CPU_ISA": "baseline", "PYTHONPATH": path}
        return native_build.run(command, cwd=root, env=environment)

    lines = root / "toy.txt"
    lines.write_text(run(sys.executable, "-c", DRAW))
    # Not optimised: what compiles for minutes runs for seconds.
    build = native_build.NativeBuild(tmp_path / "build", ("-O0", "-g0"), jobs=2)
    sources = ["tests/cc/cpu/problems_test.cc", *native_build.KERNEL_HELPERS]
    sources += [*native_build.core_sources(), *native_build.sources_of("cc/cpu")]
    objects = build.compile(sources, CHECKED, root)
    printed = run(build.link("problems_test", objects, LINK), lines)
    assert printed.count("problem\tok\t") == len(lines.read_text().splitlines()) > 50
