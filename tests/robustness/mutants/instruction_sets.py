"""Lets the tests find faults in code that this CPU lacks: `python -m robustness.mutants.instruction_sets`.

Each fault of instruction_sets.txt is compiled into an object that emulates the instruction set, or for
aarch64. The C++ tests of the kernels run with that object on the level AVX2, so that it is as on a CPU without
AVX-512. Exits with 1 if a fault survives, or if a test fails without a fault. `make mutants-isa` builds the
tests first.
"""

import concurrent.futures
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile

from support import native_build
from support.native_build import ROOT

RECORDED = pathlib.Path(__file__).with_suffix(".txt")
PROBLEMS = [ROOT / f"tests/robustness/problem/{name}.txt" for name in ("smoke", "kept")]
FOLDER = "tests/cc/cpu"
KERNEL_TESTS = ("rnn_memory_test", "problems_test", "rnn_special_values_test")
LINK = ["-shared", "-nostartfiles", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-Wl,--gc-sections"]
CROSS = "aarch64-linux-gnu-g++"
SECONDS = 1800


@dataclasses.dataclass(frozen=True)
class Fault:
    object: str
    path: str
    text: str
    replacement: str

    def __str__(self):
        return f"{self.object}: {self.path}: {self.text} -> {self.replacement}"

    def write(self, folder):
        """Writes the file with the fault below a folder."""
        text = (ROOT / self.path).read_text()
        assert text.count(self.text) >= 1, f"{self.path} has no line: {self.text}"
        file = folder / self.path
        file.parent.mkdir(parents=True)
        file.write_text(text.replace(self.text, self.replacement))


def recorded():
    lines = [line for line in RECORDED.read_text().splitlines() if line and line[0] != "#"]
    return [Fault(*line.split(" | ")) for line in lines]


def _compile(compiler, flags, source, target, overlay):
    quote = [f"-iquote{overlay}"] if overlay else []
    flags = [
        *native_build.project_flags(),
        "-fPIC",
        "-g0",
        "-w",
        *quote,
        *native_build.include_flags(),
        *flags,
    ]
    native_build.run([compiler, *flags, "-c", source, "-o", target], cwd=ROOT)
    return target


class Emulated:
    """The tests of `make cc-test` with one object of their folder compiled again."""

    SOURCES = {
        "kernels": ("emulated_kernels", "emulated_avx512.so"),
        "pieces": ("piece_checks", "pieces_avx512_emulated.so"),
    }
    TESTS = {"kernels": KERNEL_TESTS, "pieces": ("piece_test",)}

    def __init__(self, object_name):
        self.source, self.name = self.SOURCES[object_name]
        self.tests = self.TESTS[object_name]
        self.flags = native_build.emulated_flags("avx512")

    def failing(self, overlay, folder):
        """The first test that fails with the files of `overlay`, or None."""
        for file in [*ROOT.glob(f"bazel-bin/{FOLDER}/*.so"), *ROOT.glob("bazel-bin/cc/cpu/*.so")]:
            link = folder / file.relative_to(ROOT / "bazel-bin")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file)
        library = folder / FOLDER / self.name
        library.unlink(missing_ok=True)
        made = _compile(
            "g++", self.flags, f"{FOLDER}/{self.source}.cc", folder / "object.o", overlay
        )
        native_build.run(["g++", *LINK, made, "-o", library])
        for test in self.tests:
            arguments = [*PROBLEMS, "random"] if test == "problems_test" else []
            command = [
                ROOT / "bazel-bin" / FOLDER / test,
                *arguments,
                "--gtest_brief=1",
                "--gtest_fail_fast",
            ]
            if _fails(command, folder, TF_RNN_OPS_CPU_ISA="avx2"):
                return test
        return None


class Neon:
    """The problems on kernels for aarch64, under qemu."""

    def __init__(self):
        sources = [
            *native_build.core_sources(),
            *native_build.KERNEL_HELPERS,
            "cc/cpu/dispatch/variant.cc",
        ]
        sources += [f"{FOLDER}/problems_test.cc", "/usr/src/googletest/googletest/src/gtest-all.cc"]
        self.folder = pathlib.Path(tempfile.mkdtemp())
        google = ["-I/usr/src/googletest/googletest"]
        flags = ["-O1", "-DRNN_OPS_DCHECK", *google]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            self.objects = list(
                pool.map(
                    lambda s: _compile(
                        CROSS, flags, s, self.folder / f"{s.replace('/', '_')}.o", None
                    ),
                    sources,
                )
            )

    def failing(self, overlay, folder):
        flags = ["-O1", "-DRNN_OPS_DCHECK", "-DRNN_OPS_ISA_BASELINE"]
        kernels = _compile(
            CROSS, flags, "cc/cpu/dispatch/kernels_isa.cc", folder / "kernels.o", overlay
        )
        program = folder / "problems_test"
        native_build.run([CROSS, *self.objects, kernels, "-lpthread", "-ldl", "-o", program])
        quantized = [line for line in PROBLEMS[0].read_text().splitlines() if "int8" in line]
        command = [
            "qemu-aarch64-static",
            "-cpu",
            "cortex-a57",
            "-L",
            "/usr/aarch64-linux-gnu",
            program,
            *quantized,
        ]
        return "problems_test" if _fails(command, folder) else None


def _fails(command, folder, **environment):
    environment = {**os.environ, **environment}
    # A test that does not end is neither a killed fault nor a survivor: it ends this program.
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, timeout=SECONDS, check=False,
    )  # fmt: skip
    return done.returncode != 0


def main():
    faults = recorded()
    runners = {
        name: Neon() if name == "neon" else Emulated(name)
        for name in dict.fromkeys(f.object for f in faults)
    }
    survivors = []
    for fault in [None, *faults]:
        for name, runner in runners.items():
            if fault is not None and fault.object != name:
                continue
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                overlay = folder / "overlay"
                if fault is not None:
                    fault.write(overlay)
                found = runner.failing(overlay, folder)
            if fault is None:
                assert found is None, f"{name}: {found} fails without a fault"
                continue
            print(f"{f'killed by {found}' if found else 'SURVIVED'}: {fault}", flush=True)
            survivors += [] if found else [fault]
    print(f"{len(faults)} faults, {len(survivors)} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
