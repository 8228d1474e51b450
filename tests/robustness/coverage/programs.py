"""Builds the C++ tests and the library of ops with gcov's counters, and runs the tests."""

import functools
import os
import pathlib
import shutil
import subprocess
import sys

from support import native_build

ROOT = native_build.ROOT
CORE_TESTS = native_build.core_sources("tests/cc/core")
# Not all: the smoke set of problems_test runs what the larger tests of the kernels do, which take
# minutes each with counters that threads share.
CPU_TESTS = [
    f"tests/cc/cpu/{name}.cc"
    for name in (
        "concurrent_kernels_test", "dispatch_test", "heuristics_test", "packed_header_test",
        "piece_test", "problems_test", "reserve_test", "rnn_memory_test", "sequence_test",
        "variant_test",
    )
]  # fmt: skip
PIECES = "tests/cc/cpu/piece_checks.cc"
# The kernels of these ops on a CPU. The GPU kernels run on the mock GPU of tests/gpu/mock.
TF_FOLDERS = ("cc/tf", "cc/tf/kernels", "cc/tf/ops")
GPU_ROOMS = ("cudnn", "launch", "libraries", "memory", "problem", "steps")
GPU_FOLDERS = ("cc/gpu", *(f"cc/gpu/{room}" for room in GPU_ROOMS))
STOCK_FOLDER = "cc/tf/stock"
PYTHON_TESTS = [
    *(
        f"tests/ops/test_{name}.py"
        for name in (
            "bad_inputs", "shape_functions", "params_ops", "kept_weights", "packed_weights",
            "dropout", "unusual_tensors",
        )
    ),
    "tests/robustness/anomalies",
]  # fmt: skip
# Every branch of the core counts, and only without optimisation each of them is a branch in the code.
PLAIN = ("--coverage", "-O0", "-g0")
# The kernels would take hours without. WHY atomic: GCC may keep the variable of a loop only in a counter,
# which other threads change (seen in GRU: wrong results on several threads).
OPTIMISED = ("--coverage", "-fprofile-update=atomic", "-O1", "-g0")
CHECKED = ("-DRNN_OPS_DCHECK", "-DRNN_OPS_ISA_BASELINE")
LINK = ("-lgtest_main", "-lgtest", "-lgmock", "-lpthread", "-ldl")


class Coverage:
    """The instrumented programs in a folder."""

    def __init__(self, folder, jobs):
        self.folder = pathlib.Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.plain = native_build.NativeBuild(self.folder / "plain", PLAIN, jobs=jobs)
        self.optimised = native_build.NativeBuild(self.folder / "optimised", OPTIMISED, jobs=jobs)

    def _core(self):
        return self.plain.compile(native_build.core_sources())

    def _kernels(self):
        return self.optimised.compile(native_build.cpu_sources(), ["-DRNN_OPS_ISA_BASELINE"])

    def build_core_tests(self):
        library = self.plain.archive("libcore.a", self._core())
        objects = self.plain.compile(CORE_TESTS, CHECKED)
        return [
            self.plain.link(source.removesuffix(".cc"), [made, library], LINK)
            for source, made in zip(CORE_TESTS, objects, strict=True)
        ]

    def build_tests(self):
        library = self.plain.archive("libtested.a", self._core() + self._kernels())
        helpers = self.optimised.archive(
            "libhelpers.a", self.optimised.compile(native_build.KERNEL_HELPERS)
        )
        pieces = self.optimised.compile([PIECES], CHECKED)
        # piece_test looks for it in this folder.
        self.optimised.link(
            "tests/cc/cpu/pieces_baseline.so", pieces, ["-shared", "-Wl,-Bsymbolic", "-lpthread"]
        )
        objects = self.optimised.compile(CPU_TESTS, CHECKED)
        return self.build_core_tests() + [
            self.optimised.link(source.removesuffix(".cc"), [made, helpers, library], LINK)
            for source, made in zip(CPU_TESTS, objects, strict=True)
        ]

    def _embedded_ptx(self):
        """The C++ source that Bazel's rule rnn_embedded_file makes of the PTX."""
        source = self.plain.folder / "kernels_ptx.cc"
        text = native_build.run([ROOT / "build_defs/embed_ptx.sh"])
        if not source.exists() or source.read_text() != text:
            source.write_text(text)
        return source

    def build_package(self):
        """The package with instrumented libraries; returns the folder for PYTHONPATH."""
        defines, link = native_build.tensorflow_flags()
        sources = [s for folder in TF_FOLDERS for s in native_build.sources_of(folder)]
        objects = self.plain.compile(sources, defines) + self._core() + self._kernels()
        objects += self.plain.compile(["cc/compat/old_libc.cc"])
        gpu = [*native_build.sources_of(*GPU_FOLDERS), self._embedded_ptx()]
        stock = self.plain.compile(native_build.sources_of(STOCK_FOLDER), defines)
        # The kernels of TensorFlow's own ops link the functions that they call from an archive of all
        # others.
        stock.append(self.plain.archive("libops.a", objects))
        objects += self.plain.compile(gpu)
        package = self.plain.folder / "package/tf_rnn_ops"
        shutil.copytree(
            ROOT / "tf_rnn_ops", package, ignore=shutil.ignore_patterns("*.so", "__pycache__"),
            dirs_exist_ok=True,
        )  # fmt: skip
        import tensorflow as tf

        minor = ".".join(tf.__version__.split(".")[:2])
        for name, inputs, exports in (
            ("_tf_rnn_ops", objects, "cc/tf/exports.lds"),
            ("_tf_rnn_ops_stock", stock, f"{STOCK_FOLDER}/exports.lds"),
        ):
            flags = ["-shared", "-Wl,-Bsymbolic", f"-Wl,--version-script={ROOT / exports}", *link]
            file = f"package/tf_rnn_ops/{name}.tf{minor}.so"
            self.plain.link(file, inputs, [*flags, "-ldl", "-lpthread"])
        # The loader looks for it; the kernels that run are in each library, as in the C++ tests.
        kernels = "package/tf_rnn_ops/_tf_rnn_ops_baseline.so"
        self.plain.link(kernels, self._kernels(), ["-shared", "-Wl,-Bsymbolic", "-lpthread"])
        return package.parent

    def steps(self, tests, package, jobs):
        """[(name, function that returns whether it passed)] of all that is to run.

        package: None for only the C++ tests.
        """
        found = [(program.name, functools.partial(self._run_test, program)) for program in tests]
        if package is None:
            return found
        return found + [
            (test, functools.partial(self._run_python, package, test, jobs))
            for test in PYTHON_TESTS
        ]

    def done(self, tests, package):
        """The file with the names of the steps that have passed since the last build.

        Counts of an earlier build are forgotten with it.
        """
        record = self.folder / "done.txt"
        built = [*tests, *(package.rglob("*.so") if package else ())]
        newest = max(path.stat().st_mtime for path in built)
        if not record.exists() or record.stat().st_mtime < newest:
            for path in self.folder.rglob("*.gcda"):
                path.unlink()
            record.write_text("")
        return record

    def _run(self, command, **environment):
        print("$", *command, flush=True)
        environment = {**os.environ, "TF_RNN_OPS_CPU_ISA": "baseline", **environment}
        done = subprocess.run(command, cwd=self.optimised.folder, env=environment, check=False)
        return done.returncode == 0

    def _run_test(self, program):
        smoke = {"problems_test": [ROOT / "tests/robustness/problem/smoke.txt"]}
        return self._run(list(map(str, [program, *smoke.get(program.name, []), "--gtest_brief=1"])))

    def _run_python(self, package, test, jobs):
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tests=all"]
        path = f"{package}{os.pathsep}{ROOT / 'tests'}"
        return self._run([*pytest, str(ROOT / test), "-n", str(jobs)], PYTHONPATH=path)
