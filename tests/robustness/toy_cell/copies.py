"""A copy of the tree with the toy cell, and what is built in it, for the baseline instruction set only."""

import os
import pathlib
import shutil
import subprocess
import sys

from robustness.coverage.programs import GPU_FOLDERS, LINK, TF_FOLDERS
from robustness.toy_cell import fragments
from support import native_build
from support.native_build import ROOT

FOLDERS = ("cc", "tests", "tf_rnn_ops", "build_defs")
# Not optimised: what compiles for minutes runs for seconds.
FLAGS = ("-O0", "-g0")
CHECKED = ("-DRNN_OPS_DCHECK", "-DRNN_OPS_ISA_BASELINE")
GPU_HELPERS = [
    f"tests/cc/gpu/{name}.cc"
    for name in ("fake_cuda", "fibers", "host_kernels", "host_persistent", "layer_runs")
]


class Copy:
    """The copy in a folder.

    Attributes:
        root: Its path.
    """

    def __init__(self, folder, jobs=2):
        self.root = pathlib.Path(folder) / "tree"
        for name in FOLDERS:
            shutil.copytree(
                ROOT / name, self.root / name, ignore=shutil.ignore_patterns("*.so", "__pycache__")
            )
        shutil.copy(ROOT / "pyproject.toml", self.root)
        fragments.apply(self.root)
        self._build = native_build.NativeBuild(pathlib.Path(folder) / "build", FLAGS, jobs=jobs)

    def run(self, command):
        """The output of a command that runs in the copy; AssertionError if it fails."""
        environment = {**os.environ, "TF_RNN_OPS_CPU_ISA": "baseline"}
        environment["PYTHONPATH"] = f"{self.root}{os.pathsep}{self.root / 'tests'}"
        done = subprocess.run(
            list(map(str, command)), cwd=self.root, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def python(self, *arguments):
        return self.run([sys.executable, *arguments])

    def _compile(self, sources, more=CHECKED):
        return self._build.compile(sources, more, self.root)

    def _library(self):
        return self._compile(native_build.core_sources() + native_build.cpu_sources())

    def _gpu(self):
        embedded = self.root / "kernels_ptx.cc"
        if not embedded.exists():
            embedded.write_text(native_build.run([self.root / "build_defs/embed_ptx.sh"]))
        return self._compile([*native_build.sources_of(*GPU_FOLDERS), embedded.name])

    def test(self, name, helpers=()):
        """A C++ test of tests/cc, linked with the kernels and the helpers of their tests."""
        sources = [f"tests/cc/{name}.cc", *native_build.KERNEL_HELPERS, *helpers]
        objects = self._compile(sources) + self._library()
        return self._build.link(name, objects + (self._gpu() if helpers else []), LINK)

    def gpu_test(self, name):
        return self.test(name, GPU_HELPERS)

    def build_package(self):
        """The libraries in the package of the copy. They lack the kernels for XLA."""
        import tensorflow as tf

        defines, link = native_build.tensorflow_flags()
        sources = native_build.sources_of(*TF_FOLDERS)
        on_gpu = [name for name in sources if "/gpu_" in name]
        groups = {"gpu": on_gpu, "others": [name for name in sources if name not in on_gpu]}
        for name, group in groups.items():  # TensorFlow's headers take most of the time
            text = "".join(f'#include "{source}"\n' for source in group)
            (self.root / f"{name}.cc").write_text(text)
        names = [*(f"{name}.cc" for name in groups), "cc/compat/old_libc.cc"]
        objects = self._compile(names, [*CHECKED, *defines])
        minor = ".".join(tf.__version__.split(".")[:2])
        package = self.root / "tf_rnn_ops"
        exports = f"-Wl,--version-script={self.root / 'cc/tf/exports.lds'}"
        flags = ["-shared", "-Wl,-Bsymbolic", "-ldl", "-lpthread"]
        self._build.link(
            package / f"_tf_rnn_ops.tf{minor}.so",
            [*objects, *self._library(), *self._gpu()],
            [exports, *flags, *link],
        )
        self._build.link(package / "_tf_rnn_ops_baseline.so", self._library(), flags)
