"""Lets the tests find a fixed list of faults: `python -m robustness.mutants.run_faults LIST`.

`python_faults`: each fault is put into a copy of the package, and the usual tests of its line run until one
fails. `instruction_sets`: each fault is compiled into an object that emulates the instruction set, or for
aarch64. The C++ tests of the kernels run with that object on the level AVX2, so that it is as on a CPU without
AVX-512. In the end the tests that found a fault run without any. Exits with 1 if a fault survives, or if a
test fails without a fault. `make mutants` builds the libraries and the C++ tests first.
"""

import argparse
import concurrent.futures
import dataclasses
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from support import native_build
from support.native_build import ROOT

HERE = pathlib.Path(__file__).resolve().parent
LISTS = ("instruction_sets", "python_faults")
PROBLEMS = [ROOT / f"tests/robustness/problem/{name}.txt" for name in ("smoke", "kept")]
FOLDER = "tests/cc/cpu"
LINK = ["-shared", "-nostartfiles", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-Wl,--gc-sections"]
CROSS = "aarch64-linux-gnu-g++"
SECONDS = 1800


@dataclasses.dataclass(frozen=True)
class Fault:
    path: str
    text: str
    replacement: str
    found_by: str  # tests, or the object that is compiled again

    def __str__(self):
        return f"{self.path}: {self.text} -> {self.replacement}"

    def mutated(self):
        """The text of the file with the fault."""
        text = (ROOT / self.path).read_text()
        assert text.count(self.text) == 1, f"{self.path} must have the text once: {self.text}"
        return text.replace(self.text, self.replacement)

    def write(self, folder):
        """Writes the file with the fault below a folder."""
        file = folder / self.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.mutated())


def recorded(name):
    """The faults of a list."""
    lines = (HERE / f"{name}.txt").read_text().splitlines()
    return [Fault(*line.split(" | ")) for line in lines if line and line[0] != "#"]


# Each class below runs tests: tests_of(fault) has those of a fault, and first_failure(tests, fault) is the
# first that fails with it, or None. Without a fault the sources are as they are.


class Package:
    """The Python tests of a fault, on a copy of the package with links to the shared objects."""

    def __init__(self, folder, jobs):
        self._folder, self._jobs = folder, jobs
        package, ignored = folder / "tf_rnn_ops", shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / "tf_rnn_ops", package, ignore=ignored)
        for library in (ROOT / "tf_rnn_ops").glob("*.so"):
            (package / library.name).symlink_to(library)

    def tests_of(self, fault):
        return [ROOT / "tests" / name for name in fault.found_by.split()]

    def first_failure(self, tests, fault=None):
        if fault is None:
            return self._failure(tests)
        fault.write(self._folder)
        found = self._failure(tests)
        shutil.copy(ROOT / fault.path, self._folder / fault.path)
        return found

    def _failure(self, tests):
        options = ["-x", "-q", "-n", self._jobs, "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        path = {"PYTHONPATH": str(self._folder), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            list(map(str, command)), cwd=self._folder, env={**os.environ, **path},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode == 0:
            return None
        found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
        if not found:
            printed = done.stdout[-3000:] + done.stderr[-3000:]
            raise RuntimeError(f"pytest ended with {done.returncode}:\n{printed}")
        return os.path.normpath(self._folder / found[1])


class Emulated:
    """The tests of `make cc-test` with one object of their folder compiled again."""

    SOURCES = {
        "kernels": ("emulated_kernels", "emulated_avx512.so"),
        "pieces": ("piece_checks", "pieces_avx512_emulated.so"),
    }
    TESTS = {
        "kernels": ["rnn_memory_test", "problems_test", "rnn_special_values_test"],
        "pieces": ["piece_test"],
    }

    def __init__(self, object_name):
        self._source, self._library = self.SOURCES[object_name]
        self._tests = self.TESTS[object_name]

    def tests_of(self, fault):
        del fault  # each test opens the object
        return self._tests

    def first_failure(self, tests, fault=None):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            built = ROOT / "bazel-bin"
            for file in [*built.glob(f"{FOLDER}/*.so"), *built.glob("cc/cpu/*.so")]:
                link = folder / file.relative_to(built)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(file)
            library = folder / FOLDER / self._library
            library.unlink()
            flags, source = native_build.emulated_flags("avx512"), f"{FOLDER}/{self._source}.cc"
            made = _compile("g++", flags, source, folder / "object.o", _overlay(fault, folder))
            native_build.run(["g++", *LINK, made, "-o", library])
            return next((test for test in tests if self._fails(test, folder)), None)

    def _fails(self, test, folder):
        arguments = [*PROBLEMS, "random"] if test == "problems_test" else []
        options = ["--gtest_brief=1", "--gtest_fail_fast"]
        command = [ROOT / "bazel-bin" / FOLDER / test, *arguments, *options]
        return _fails(command, folder, TF_RNN_OPS_CPU_ISA="avx2")


class Neon:
    """The problems on kernels for aarch64, under qemu."""

    GOOGLE = "/usr/src/googletest/googletest"
    FLAGS = ("-O1", "-DRNN_OPS_DCHECK", f"-I{GOOGLE}")
    RUN = ("qemu-aarch64-static", "-cpu", "cortex-a57", "-L", "/usr/aarch64-linux-gnu")

    def __init__(self, folder):
        sources = [*native_build.core_sources(), *native_build.KERNEL_HELPERS]
        sources += ["cc/cpu/dispatch/variant.cc", f"{FOLDER}/problems_test.cc"]
        sources.append(f"{self.GOOGLE}/src/gtest-all.cc")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = (folder / f"{source.replace('/', '_')}.o" for source in sources)
            compile_one = functools.partial(_compile, CROSS, self.FLAGS)
            self._objects = list(pool.map(compile_one, sources, objects))

    def tests_of(self, fault):
        del fault
        return ["problems_test"]

    def first_failure(self, tests, fault=None):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            flags = [*self.FLAGS, "-DRNN_OPS_ISA_BASELINE"]
            source, kernels = "cc/cpu/dispatch/kernels_isa.cc", folder / "kernels.o"
            _compile(CROSS, flags, source, kernels, _overlay(fault, folder))
            (test,) = tests
            program = folder / test
            native_build.run([CROSS, *self._objects, kernels, "-lpthread", "-ldl", "-o", program])
            lines = [line for line in PROBLEMS[0].read_text().splitlines() if "int8" in line]
            return test if _fails([*self.RUN, program, *lines], folder) else None


def _overlay(fault, folder):
    """The folder with the changed file, or None without a fault."""
    if fault is None:
        return None
    fault.write(folder / "overlay")
    return folder / "overlay"


def _compile(compiler, flags, source, target, overlay=None):
    quote = [f"-iquote{overlay}"] if overlay else []
    usual = [*native_build.project_flags(), "-fPIC", "-g0", "-w"]
    command = [compiler, *usual, *quote, *native_build.include_flags(), *flags]
    native_build.run([*command, "-c", source, "-o", target], cwd=ROOT)
    return target


def _fails(command, folder, **environment):
    # A test that does not end is neither a killed fault nor a survivor: it ends this program.
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env={**os.environ, **environment},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS, check=False,
    )  # fmt: skip
    return done.returncode != 0


def runner(fault, folder, jobs):
    """(a name, a function that makes what runs the tests of a fault)."""
    if fault.found_by in Emulated.SOURCES:
        return fault.found_by, lambda: Emulated(fault.found_by)
    if fault.found_by == "neon":
        return "neon", lambda: Neon(folder)
    return "package", lambda: Package(folder, jobs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("list", choices=LISTS)
    parser.add_argument("--jobs", type=int, default=2, help="processes that run Python tests (2)")
    parser.add_argument("--only", default="", help="only faults of which the file or text has this")
    options = parser.parse_args()
    faults = [fault for fault in recorded(options.list) if options.only in str(fault)]
    runners, killers, survivors = {}, {}, []
    with tempfile.TemporaryDirectory() as folder:
        for fault in faults:
            name, make = runner(fault, pathlib.Path(folder), options.jobs)
            if name not in runners:
                runners[name], killers[name] = make(), set()
            tests = runners[name].tests_of(fault)
            killer = runners[name].first_failure(tests, fault)
            print(f"{f'killed by {killer}' if killer else 'SURVIVED'}: {fault}", flush=True)
            if killer:
                killers[name].add(killer)
            else:
                survivors.append(fault)
        wrong = [
            runners[name].first_failure(sorted(found)) for name, found in killers.items() if found
        ]
    wrong = [test for test in wrong if test]
    for test in wrong:
        print(f"{test} fails without a fault")
    print(f"{len(faults)} faults, {len(survivors)} survived")
    return 1 if survivors or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
