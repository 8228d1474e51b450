"""Compiles the C++ sources with special flags, without Bazel: fuzzers, fixed faults.

The project's flags come from build_defs/copts.bzl. Objects that are up to date are not compiled again.
"""

import concurrent.futures
import os
import pathlib
import platform
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGURED = ROOT / ".tf_configure.bazelrc"
# The common sources of the tests of the kernels.
KERNEL_HELPERS = [
    f"tests/cc/cpu/{name}.cc"
    for name in (
        "guarded_buffer", "kernel_harness", "kernel_reference", "kernel_tables", "layer_reference",
        "linear_reference", "problem_line",
    )
]  # fmt: skip


# The folders in cc/core and in tests/cc/core.
CORE_ROOMS = ("op", "runtime")


class BuildError(Exception):
    """A command of the build failed; the message has what it printed."""


def _copts(name):
    found = {
        "load": lambda *names: None,
        "select": lambda choices: [],
        "TF_MACHINE": platform.machine(),
    }
    exec((ROOT / "build_defs/copts.bzl").read_text(), found)  # a .bzl file of constants is Python
    return found[name]


def project_flags():
    """RNN_COPTS without the level of optimisation."""
    return [flag for flag in _copts("RNN_COPTS") if not flag.startswith("-O")]


def isa_flags():
    """The flags of each instruction set that this machine's processor family has, by its name."""
    flags = _copts("ISA_COPTS")
    return {isa: flags[isa] for isa in ["baseline", *_copts("ISA_LEVELS")]}


def emulated_flags(isa):
    """The flags of an object that emulates an instruction set on AVX2."""
    return [*isa_flags()["avx2"], *_copts("EMULATED_COPTS")[isa]]


def configured(name):
    """A line of .tf_configure.bazelrc."""
    for line in CONFIGURED.read_text().splitlines():
        if line.startswith(f"common --repo_env={name}="):
            return line.split("=", 2)[2].strip('"')
    raise BuildError(f"{name} is not in {CONFIGURED.name}: run ./configure.sh")


def include_flags():
    """For cc/cpu, which needs Eigen, and cc/tf."""
    folders = dict.fromkeys([configured("KERNEL_EIGEN_DIR"), configured("TF_INCLUDE_DIR")])
    return [f"-iquote{ROOT}", *(flag for folder in folders for flag in ("-isystem", folder))]


def run(command, **options):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, **options
    )
    if done.returncode:
        raise BuildError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


class NativeBuild:
    """Objects and programs in one folder, all with the same flags."""

    def __init__(self, folder, flags, compiler="g++", jobs=None):
        """flags: after those of the project, for compiler and linker."""
        self.folder = pathlib.Path(folder)
        self.flags = list(flags)
        self.compiler = compiler
        self.jobs = jobs or os.cpu_count()
        self._forget_other_flags()

    def _forget_other_flags(self):
        record, flags = self.folder / "flags.txt", " ".join([self.compiler, *self.flags])
        if not record.exists() or record.read_text() != flags:
            shutil.rmtree(self.folder / "objects", ignore_errors=True)
            self.folder.mkdir(parents=True, exist_ok=True)
            record.write_text(flags)

    def object_of(self, source):
        return self.folder / "objects" / f"{source}.o"

    def _is_current(self, target):
        rule = target.with_suffix(".d")
        if not target.exists() or not rule.exists():
            return False
        made = target.stat().st_mtime
        files = rule.read_text().replace("\\\n", " ").split(":", 1)[1].split()
        return all(os.path.exists(f) and os.stat(f).st_mtime <= made for f in files)

    def _compile(self, source, more):
        target = self.object_of(source)
        if self._is_current(target):
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        flags = project_flags()
        if "clang" in self.compiler:
            flags.remove("-fno-gnu-unique")
        flags += ["-fPIC", *include_flags(), *more, *self.flags]
        depends = ["-MD", "-MF", target.with_suffix(".d")]
        run([self.compiler, *flags, *depends, "-c", source, "-o", target], cwd=ROOT)
        return target

    def compile(self, sources, more=()):
        """Objects of sources, which are relative to the root of the project."""
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(lambda source: self._compile(source, more), sources))

    def link(self, name, inputs, more=()):
        """A program, or with "-shared" among `more` a library; returns its path."""
        target = self.folder / name
        inputs = [pathlib.Path(path) for path in inputs]
        newest = max(path.stat().st_mtime for path in inputs)
        if target.exists() and target.stat().st_mtime > newest:
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        run([self.compiler, *inputs, *self.flags, *more, "-o", target])
        return target

    def archive(self, name, objects):
        target = self.folder / name
        if self._has_all(target, objects):
            return target
        target.unlink(missing_ok=True)
        run(["ar", "rcs", target, *objects])
        return target

    @staticmethod
    def _has_all(archive, objects):
        """Whether an archive was made of these objects, as they are."""
        if not archive.exists():
            return False
        made = archive.stat().st_mtime
        return run(["ar", "t", archive]).split() == [path.name for path in objects] and all(
            path.stat().st_mtime <= made for path in objects
        )


def sources_of(*folders):
    """The .cc files of folders of the project, without those below them."""
    found = [p for folder in folders for p in sorted((ROOT / folder).glob("*.cc"))]
    return [p.relative_to(ROOT).as_posix() for p in found]


def core_sources(root="cc/core"):
    return sources_of(*(f"{root}/{room}" for room in CORE_ROOMS))


def cpu_sources():
    """The sources of cc/cpu, with the kernels of one instruction set."""
    return sources_of("cc/cpu/call", "cc/cpu/dispatch")


def step_sources():
    """The sources of cc/step without the module for Python."""
    return [source for source in sources_of("cc/step") if "/python_" not in source]
