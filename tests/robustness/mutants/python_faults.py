"""Lets the Python tests find a fixed set of faults: `python -m robustness.mutants.python_faults`.

Each fault of python_faults.txt is put into a copy of the package, and the usual tests of its line run
until one fails. In the end the tests that found a fault run without any. Exits with 1 if a fault survives,
or if a test fails without a fault. `make mutants-python` builds the shared objects first.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from support.native_build import ROOT

RECORDED = pathlib.Path(__file__).with_suffix(".txt")


@dataclasses.dataclass(frozen=True)
class Fault:
    path: str
    text: str
    replacement: str
    tests: str

    def __str__(self):
        return f"{self.path}: {self.text} -> {self.replacement}"

    def mutated(self):
        """The text of the file with the fault."""
        text = (ROOT / self.path).read_text()
        assert text.count(self.text) == 1, f"{self.path} must have the text once: {self.text}"
        return text.replace(self.text, self.replacement)


def recorded():
    lines = [line for line in RECORDED.read_text().splitlines() if line and line[0] != "#"]
    return [Fault(*line.split(" | ")) for line in lines]


def copy_package(folder):
    """Copies the package to a folder; the shared objects are links."""
    package = folder / "tf_rnn_ops"
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "tf_rnn_ops", package, ignore=ignored)
    for library in (ROOT / "tf_rnn_ops").glob("*.so"):
        (package / library.name).symlink_to(library)


def first_failure(folder, tests, jobs):
    """The first test that fails with the package in a folder, or None."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n",
        jobs,
        "-p",
        "no:cacheprovider",
        *tests,
    ]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if not found:
        raise RuntimeError(
            f"pytest ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        )
    return os.path.normpath(folder / found[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="processes that run tests (2)")
    parser.add_argument("--only", default="", help="only faults of which the file or text has this")
    options = parser.parse_args()
    faults = [fault for fault in recorded() if options.only in str(fault)]
    survivors, killers = [], set()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        copy_package(folder)
        for fault in faults:
            file = folder / fault.path
            file.write_text(fault.mutated())
            tests = [ROOT / "tests" / name for name in fault.tests.split()]
            killer = first_failure(folder, tests, options.jobs)
            file.write_text((ROOT / fault.path).read_text())
            print(f"{f'killed by {killer}' if killer else 'SURVIVED'}: {fault}", flush=True)
            survivors += [] if killer else [fault]
            killers |= {killer} - {None}
        wrong = first_failure(folder, sorted(killers), options.jobs) if killers else None
    if wrong:
        print(f"{wrong} fails without a fault")
    print(f"{len(faults)} faults, {len(survivors)} survived")
    return 1 if survivors or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
