"""The mutated sources, and the build and the run of the tests of a mutant."""

import contextlib
import filecmp
import importlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from support import native_build
from support.native_build import ROOT

FLAGS = ("-g0", "-w", "-DRNN_OPS_DCHECK", "-DRNN_OPS_ISA_BASELINE")
# A program has what its test reaches and nothing that tells where it was compiled, so that one that
# a mutant does not change is the same to the byte.
FLAGS += ("-ffunction-sections", "-fdata-sections")
LINK = ("-s", "-Wl,--gc-sections,--build-id=none", "-lgtest_main", "-lgtest", "-lgmock")
LINK += ("-lpthread", "-ldl")

ENVIRONMENT = {"TF_RNN_OPS_CPU_ISA": "baseline"}

# Multiplications of a quick problem.
SMALL = 20_000


class NotBuilt(Exception):
    """The mutant does not compile, so it is none."""


class SameCode(Exception):
    """The compiler makes the same code of the mutant, so it is none."""


class Native:
    """C++ tests whose objects are built once, and for a mutant those again that include it."""

    def __init__(
        self, folder, sources, tests, helpers=(), arguments=None, jobs=2, optimise="-O1", limit=300
    ):  # fmt: skip
        """arguments: of a test, by its source. limit: seconds of CPU that a test may take."""
        self.folder, self.limit = pathlib.Path(folder).resolve(), limit
        self.overlay = self.folder / "overlay"
        names = [f"-fmacro-prefix-map={folder}/=" for folder in (self.overlay, ROOT)]
        self.flags = (optimise, *FLAGS, *names)
        self.build = native_build.NativeBuild(self.folder / "base", self.flags, jobs=jobs)
        self.changed = native_build.NativeBuild(self.folder / "changed", self.flags, jobs=jobs)
        self.sources, self.tests, self.helpers = list(sources), list(tests), list(helpers)
        self.arguments = arguments or {}
        self.build.compile(self.sources + self.tests + self.helpers)

    def _includes(self, source, path):
        rule = self.build.object_of(source).with_suffix(".d").read_text()
        return any(word == path or word.endswith("/" + path) for word in rule.split())

    def _object(self, source, path):
        if path is None or not self._includes(source, path):
            return self.build.object_of(source)
        made = self.changed.object_of(source)
        if not made.exists():
            own = self.overlay / source
            given = own if own.exists() else ROOT / source
            flags = [*native_build.project_flags(), "-fPIC", f"-iquote{self.overlay}"]
            flags += [*native_build.include_flags(), *self.flags]
            made.parent.mkdir(parents=True, exist_ok=True)
            try:
                native_build.run(["g++", *flags, "-c", given, "-o", made], cwd=ROOT, timeout=3600)
            except (native_build.BuildError, subprocess.TimeoutExpired) as error:
                raise NotBuilt(str(error)) from error
        return made

    def _order(self, path):
        stem = pathlib.Path(path).stem
        return sorted(self.tests, key=lambda test: pathlib.Path(test).stem != f"{stem}_test")

    def _run(self, test, path, limit):
        program = self._linked(test, path)
        if path is not None and filecmp.cmp(program, self._linked(test, None), shallow=False):
            return None
        command = [program, *self.arguments.get(test, []), "--gtest_brief=1", "--gtest_fail_fast"]
        environment = {**os.environ, **ENVIRONMENT}
        started = subprocess.Popen(
            list(map(str, command)), cwd=self.folder, env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return _failure(started.pid, limit)

    def _linked(self, test, path):
        inputs = [test, *self.helpers, *self.sources]
        name = pathlib.Path(test).stem
        try:
            if path is None:
                return self.build.link(name, list(map(self.build.object_of, inputs)), LINK)
            program = self.folder / name
            objects = [self._object(source, path) for source in inputs]
            native_build.run(["g++", *objects, *LINK, "-o", program])
        except native_build.BuildError as error:
            raise NotBuilt(str(error)) from error
        return program

    def _check_code(self, path):
        if any(self._includes(s, path) for s in [*self.tests, *self.helpers]):
            return
        sources = [s for s in self.sources if self._includes(s, path)]
        pairs = ((self._object(s, path), self.build.object_of(s)) for s in sources)
        if all(filecmp.cmp(*pair, shallow=False) for pair in pairs):
            raise SameCode(path)

    def killed_by(self, path, text):
        """The test that fails with `text` as the file `path`, or None."""
        shutil.rmtree(self.overlay, ignore_errors=True)
        shutil.rmtree(self.changed.folder, ignore_errors=True)
        file = self.overlay / path
        file.parent.mkdir(parents=True)
        file.write_text(text)
        self._check_code(path)
        for test in self._order(path):
            if any(self._includes(s, path) for s in [test, *self.helpers, *self.sources]):
                failure = self._run(test, path, self.limit)
                if failure:
                    return f"{pathlib.Path(test).stem}{failure}"
        return None

    def check(self):
        """The tests that fail without any mutant."""
        return [test for test in self.tests if self._run(test, None, self.limit)]


class InTurn:
    """Quick tests first; slow ones for the mutants that survive them."""

    def __init__(self, *groups):
        self.groups = groups

    def killed_by(self, path, text):
        return next((k for k in (g.killed_by(path, text) for g in self.groups) if k), None)

    def check(self):
        return [test for group in self.groups for test in group.check()]


class Package:
    """The Python package with one file changed, and selections of the Python tests.

    They run in a fork of this process, which has imported all their modules except the package: that takes
    longer than most of them.
    """

    IMPORTED = ("tensorflow", "keras", "ml_dtypes", "pytest", "torch", "onnx", "onnxruntime")

    def __init__(self, folder, selections):
        """selections: tests for the files that begin with a path; the first that fits counts."""
        self.folder = pathlib.Path(folder).resolve()
        self.selections = selections
        self.package = self.folder / "tf_rnn_ops"
        shutil.rmtree(self.package, ignore_errors=True)
        ignored = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / "tf_rnn_ops", self.package, ignore=ignored)
        for library in (ROOT / "tf_rnn_ops").glob("*.so"):
            (self.package / library.name).symlink_to(library)
        for name in self.IMPORTED:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        assert "tf_rnn_ops" not in sys.modules

    def _run(self, selection, limit):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = self._run_here([str(ROOT / test) for test in selection])
            finally:
                os._exit(status)
        return _failure(child, limit)

    def _run_here(self, selection):
        import pytest

        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.chdir(self.folder)
        os.environ.update(ENVIRONMENT)
        sys.path[:] = [str(self.folder), *(p for p in sys.path if pathlib.Path(p) != ROOT)]
        sys.dont_write_bytecode = True
        status = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "--no-header", *selection])
        used = pathlib.Path(sys.modules["tf_rnn_ops"].__file__).parent
        return int(status) if used == self.package else 99

    def killed_by(self, path, text):
        file = self.folder / path
        before = file.read_text()
        file.write_text(text)
        try:
            for prefix, selection in self.selections.items():
                if path.startswith(prefix):
                    failure = self._run(selection, limit=300)
                    return failure and f"{prefix}{failure}"
        finally:
            file.write_text(before)
        raise ValueError(f"no tests for {path}")

    def check(self):
        return [p for p, selection in self.selections.items() if self._run(selection, limit=300)]


def _activity(pid):
    """(seconds of CPU used, whether all threads sleep) of a process."""
    used, asleep = 0, True
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            state, *rest = task.read_text().rpartition(") ")[2].split()
        except OSError:  # it has ended
            continue
        used += int(rest[10]) + int(rest[11])
        asleep = asleep and state == "S"
    return used / os.sysconf("SC_CLK_TCK"), asleep


def _failure(pid, limit):
    """How a process failed, for the name of the test, or None.

    Args:
        pid: The id of a child.
        limit: Seconds of CPU. The clock says little on a machine with other work; a deadlock shows
            in 20 seconds in which every thread sleeps.
    """
    idle = 0
    while True:
        for _ in range(20):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return ", which failed" if status else None
            time.sleep(0.05)
        used, asleep = _activity(pid)
        idle = idle + 1 if asleep else 0
        if used > limit or idle > 20:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return ", which did not end"


def _files(*patterns):
    found = {pattern: list(ROOT.glob(pattern)) for pattern in patterns}
    assert all(found.values()), f"patterns without a file: {[p for p in found if not found[p]]}"
    return sorted(path.relative_to(ROOT).as_posix() for paths in found.values() for path in paths)


CORE_FILES = _files(
    "cc/core/**/*.cc", "cc/core/**/*.h", "cc/cpu/heuristics.h", "cc/cpu/call/packed_header.cc"
)
KERNEL_FILES = _files("cc/cpu/cell/*.h", "cc/cpu/pass/**/*.h", "cc/cpu/rows/*.h")
PYTHON_TESTS = {
    "tf_rnn_ops/params/layout": ["tests/params/test_layout.py"],
    "tf_rnn_ops/params/torch": [
        "tests/params/test_convert_torch.py", "tests/params/test_convert_objects.py",
    ],
    "tf_rnn_ops/params/keras/weights": ["tests/params/test_convert_keras.py", "tests/params"],
    "tf_rnn_ops/params/onnx/": [
        "tests/params/test_convert_onnx.py", "tests/params", "tests/keras/test_onnx_layers.py",
    ],
    "tf_rnn_ops/params/keras/": ["tests/params/test_convert_objects.py", "tests/params"],
    "tf_rnn_ops/params/lstm_cell": ["tests/params/test_lstm_cell_weights.py"],
    "tf_rnn_ops/params/": ["tests/params"],
    "tf_rnn_ops/keras/_convert/convert": ["tests/keras/test_keras_convert.py"],
    "tf_rnn_ops/keras/_convert/": [
        "tests/keras/test_keras_convert.py", "tests/keras/test_convert_state.py",
        "tests/keras/test_convert_optimizer.py",
    ],
}  # fmt: skip
# How a model is copied, with its weights and its optimizer.
_COPYING = ("carry", "convert", "copying", "pairs", "recompile", "slots")
PYTHON_FILES = _files(
    "tf_rnn_ops/params/**/*.py", *(f"tf_rnn_ops/keras/_convert/{name}.py" for name in _COPYING)
)


def core(folder, jobs):
    tests = native_build.core_sources("tests/cc/core")
    tests += ["tests/cc/cpu/heuristics_test.cc", "tests/cc/cpu/packed_header_test.cc"]
    sources = [*native_build.core_sources(), "cc/cpu/call/packed_header.cc"]
    return Native(folder, sources, tests, jobs=jobs, limit=10)


def kernels(folder, jobs):
    # Not above: it imports the package, which the Python mutants change.
    from robustness.problem import draw

    tests = [
        f"tests/cc/cpu/{name}.cc"
        for name in (
            "problems_test", "rnn_special_values_test", "rnn_exactness_test", "rnn_memory_test",
        )
    ]  # fmt: skip
    sources = native_build.core_sources() + native_build.cpu_sources()
    arguments = {
        tests[0]: [
            *(ROOT / f"tests/robustness/problem/{name}.txt" for name in ("smoke", "kept")),
            ROOT / "tests/cc/cpu/problems.txt",
            "random",
        ]
    }
    folder = pathlib.Path(folder)
    quick = folder / "quick.txt"
    quick.parent.mkdir(parents=True, exist_ok=True)
    quick.write_text("".join(f"{draw.problem(1, k, SMALL)}\n" for k in range(80)))
    helpers = native_build.KERNEL_HELPERS
    # Not optimised: the kernels compile in a third of the time, which is most of a mutant's.
    return InTurn(
        Native(folder / "quick", sources, tests[:1], helpers, {tests[0]: [quick]}, jobs, "-O0"),
        Native(folder / "slow", sources, tests, helpers, arguments, jobs),
    )


def python(folder, jobs):
    del jobs
    return Package(folder, PYTHON_TESTS)


# Name: files, how many of the 1,000 mutants, and what tests them.
GROUPS = {
    "core": (CORE_FILES, 500, core),
    "kernels": (KERNEL_FILES, 200, kernels),
    "python": (PYTHON_FILES, 300, python),
}
