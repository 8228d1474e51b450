"""Tests an installed wheel with every pair of Python and TensorFlow in PAIRS that this machine has.

    python tools/test_matrix.py build/release/*.whl

Each pair gets its own environment in build/matrix, which is removed afterwards. Writes the row of each
pair in the table of docs/versions.md, also if tests failed or there is no such Python.
"""

import argparse
import datetime
import pathlib
import re
import shutil
import subprocess
import sys
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "versions.md"
MARKS = ("<!-- begin: tools/test_matrix.py -->\n", "<!-- end -->\n")


class Pair(NamedTuple):
    python: str
    tensorflow: str
    keras: str = ""  # a requirement; empty for the newest version for this Python and TensorFlow

    @property
    def name(self):
        return f"{self.python}-{self.tensorflow}"


PAIRS = (
    Pair("3.10", "2.21"),
    Pair("3.11", "2.18", "keras==3.5.0"),
    Pair("3.11", "2.19", "keras==3.8.0"),
    Pair("3.11", "2.20", "keras==3.10.0"),
    Pair("3.11", "2.21"),
    Pair("3.12", "2.18", "keras==3.5.0"),
    Pair("3.12", "2.19", "keras==3.8.0"),
    Pair("3.13", "2.20", "keras==3.10.0"),
    Pair("3.13", "2.21"),
)

# Tests that another TensorFlow or Keras may break: ops against references, gradients, Keras layers and
# models, contrib's classes, TensorFlow's own ops, SavedModels, XLA, and the private names that the package
# reads. Tests that only depend on our code are left out.
TESTS = (
    "package/doors",
    "ops/test_rnn_reference.py",
    "ops/test_shape_functions.py",
    "transforms/test_tape.py",
    "transforms/test_saved_model.py",
    "keras/test_layer_sweep.py",
    "keras/test_layer_models.py",
    "keras/test_cudnn_stack.py",
    "keras/test_stack_files.py",
    "keras/test_stack_initializers.py",
    "keras/test_stack_interface.py",
    "keras/test_stack_masks.py",
    "keras/test_keras_convert.py",
    "keras/test_keras_saving.py",
    "keras/test_convert_state.py",
    "keras/test_rnn_variants.py",
    "keras/test_layers_under_xla.py",
    "contrib/test_cells.py",
    "contrib/test_saveables.py",
    "contrib/test_sessions.py",
    "contrib/test_rnn_params_saveable.py",
    "ops/stock/test_stock_parity.py",
    "ops/stock/test_stock_saved_model.py",
    "ops/stock/test_stock_enable.py",
    "transforms/test_xla.py",
    "transforms/test_xla_loads.py",
)


class Outcome(NamedTuple):
    pair: Pair
    versions: str
    result: str
    passed: bool

    def row(self):
        """The line of the table."""
        return f"| {self.versions} | {self.result} | {datetime.date.today().isoformat()} |"


def find_python(version):
    """The path of a Python of that minor version on PATH or in pyenv; None if there is none."""
    found = [shutil.which(f"python{version}")]
    pyenv = pathlib.Path.home() / ".pyenv" / "versions"
    found += sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)
    for python in filter(None, found):
        # A shim of pyenv may exist without its version of Python.
        command = [str(python), "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.stdout.strip() == version:
            return str(python)
    return None


def install(pair, python, wheel, folder):
    """Returns the path of the Python of a new environment with the pair and the wheel."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    own = str(folder / "bin" / "python")
    pip = [own, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    keras = [pair.keras] if pair.keras else []
    wanted = [f"tensorflow-cpu~={pair.tensorflow}.0", *keras, "pytest>=8", "pytest-xdist"]
    subprocess.run([*pip, *wanted], check=True)
    # WHY without dependencies: the versions from above must not change.
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    return own


VERSIONS = """
import importlib.metadata as metadata, platform
names = ("tensorflow-cpu", "keras", "numpy")
print(platform.python_version(), *(metadata.version(name) for name in names), sep=" | ")
"""


def test(pair, wheel, jobs, more):
    """Runs the tests on one pair."""
    python = find_python(pair.python)
    if python is None:
        return Outcome(pair, f"{pair.python} | {pair.tensorflow} | |", "no such Python here", False)
    folder = ROOT / "build" / "matrix" / pair.name
    try:
        own = install(pair, python, wheel, folder)
        run = subprocess.run([own, "-c", VERSIONS], capture_output=True, text=True, check=True)
        versions = run.stdout.strip()
        print(f"testing with Python | TensorFlow | Keras | numpy: {versions}", flush=True)
        command = [own, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(jobs), *more]
        start = time.monotonic()
        # WHY from build/: the package under test must be the installed one.
        run = subprocess.run(
            [*command, *(f"../tests/{name}" for name in TESTS)],
            cwd=ROOT / "build",
            stdout=subprocess.PIPE,
            text=True,
        )
        print(run.stdout, flush=True)
        counts = re.findall(r"\d+ (?:passed|failed|skipped|errors?)", run.stdout.splitlines()[-1])
        minutes = (time.monotonic() - start) / 60
        result = f"{', '.join(counts) or 'nothing ran'}; {minutes:.0f} min"
        return Outcome(pair, versions, result, run.returncode == 0)
    except subprocess.CalledProcessError as error:
        reason = f"failed: {' '.join(map(str, error.cmd[1:5]))}"
        return Outcome(pair, f"{pair.python} | {pair.tensorflow} | |", reason, False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pair_of(row):
    """The pair of a line of the table, such as '3.12-2.19'; '' for another line."""
    found = re.match(r"\| (3\.\d+)[^|]*\| (2\.\d+)[^|]*\|", row)
    return "-".join(found.groups()) if found else ""


def table(outcomes, wheel, old):
    """The lines of Markdown: a row for each pair. A pair that was not run keeps its old row."""
    rows = {pair_of(line): line for line in old.splitlines()}
    rows |= {pair_of(outcome.row()): outcome.row() for outcome in outcomes}
    lines = [
        f"With `{wheel.name}`, {wheel.stat().st_size / 1e6:.1f} MB:",
        "",
        "| Python | TensorFlow | Keras | numpy | tests | run on |",
        "|---|---|---|---|---|---|",
    ]
    lines += [rows[pair.name] for pair in PAIRS if pair.name in rows]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=pathlib.Path, help="the wheel to test")
    parser.add_argument("--only", help="one pair, such as 3.12-2.18")
    parser.add_argument("--jobs", type=int, default=2, help="parallel pytest workers")
    parser.add_argument("rest", nargs="*", help="more arguments for pytest, after --")
    options = parser.parse_args()
    pairs = [pair for pair in PAIRS if options.only in (None, pair.name)]
    if not pairs:
        parser.error(f"--only {options.only} is not one of the pairs")
    wheel = options.wheel.resolve(strict=True)
    outcomes = []
    for pair in pairs:
        outcomes.append(test(pair, wheel, options.jobs, options.rest))
        print(f"== {outcomes[-1].row()}", flush=True)
    before, rest = PAGE.read_text().split(MARKS[0])
    old, after = rest.split(MARKS[1])
    text = table(outcomes, wheel, old)
    PAGE.write_text(before + MARKS[0] + text + MARKS[1] + after)
    print(f"{PAGE.relative_to(ROOT)} has now:\n{text}")
    return 0 if all(outcome.passed for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
