"""Gates on the shared objects inside the wheel (docs/design.md: one wheel for every CPU)."""

import os
import pathlib
import re

import pytest
import tensorflow as tf

import elf

ROOT = pathlib.Path(__file__).resolve().parents[3]
# ./pip_pkg.sh --release names what it builds for; any other wheel is for the TensorFlow at hand.
TENSORFLOWS = [
    re.search(r"\d+\.\d+", version)[0]
    for version in os.environ.get("TF_RNN_OPS_TENSORFLOWS", "").split() or [tf.__version__]
]
MAIN = [f"_tf_rnn_ops.tf{version}.so" for version in TENSORFLOWS]
STOCK = [f"_tf_rnn_ops_stock.tf{version}.so" for version in TENSORFLOWS]
# TensorFlow's packages have what the ops for XLA are built with since 2.20.
XLA = [
    f"_tf_rnn_ops_xla.tf{version}.so"
    for version in TENSORFLOWS
    if tuple(map(int, version.split("."))) >= (2, 20)
]
OP_LIBRARIES = [*MAIN, *STOCK, *XLA]
# ./pip_pkg.sh --aarch64 builds for another processor, whose baseline is all that there is.
MACHINE = os.environ.get("TF_RNN_OPS_MACHINE", "x86_64")
VARIANTS = ["_tf_rnn_ops_avx2.so", "_tf_rnn_ops_avx512.so"] if MACHINE == "x86_64" else []
BASELINE = "_tf_rnn_ops_baseline.so"
KERNELS = [BASELINE, *VARIANTS]
# The libraries that call the kernels without TensorFlow: a C interface, and the same for Python.
STEP = "_tf_rnn_ops_step.so"
STEP_PYTHON = "_tf_rnn_ops_step_python.abi3.so"
STEP_LIBRARIES = [STEP, STEP_PYTHON]
x86_64_only = pytest.mark.skipif(MACHINE != "x86_64", reason="about instructions of x86-64")
TENSORFLOW = "libtensorflow_framework.so.2"
TENSORFLOW_XLA = "libtensorflow_cc.so.2"
SYSTEM = {
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "libstdc++.so.6",
}


@pytest.fixture(scope="module")
def libraries(unpacked):
    return {path.name: path for path in (unpacked / "tf_rnn_ops").glob("*.so*")}


def test_wheel_has_the_expected_libraries(libraries):
    assert set(libraries) == {*OP_LIBRARIES, *KERNELS, *STEP_LIBRARIES}


# The functions that a header declares.
STEP_FUNCTIONS = re.findall(
    r"^[\w *]+?\b(rnn_step_\w+)\(", (ROOT / "cc/step/rnn_step.h").read_text(), re.MULTILINE
)
EXPORTS = {
    **dict.fromkeys(MAIN, {"tf_rnn_ops_cpu_isa", "tf_rnn_ops_cpu_isa_reason"}),
    **dict.fromkeys(STOCK, {"tf_rnn_ops_stock_ops"}),
    **dict.fromkeys(XLA, {"tf_rnn_ops_xla_enable_stock_ops"}),
    **dict.fromkeys(VARIANTS, {"tf_rnn_ops_kernel_table"}),
    STEP: set(STEP_FUNCTIONS),
    STEP_PYTHON: {"PyInit__tf_rnn_ops_step_python"},
}


@pytest.mark.parametrize("name", EXPORTS)
def test_exported_symbols(libraries, name):
    assert elf.exported_symbols(libraries[name]) == EXPORTS[name]


def test_the_baseline_exports_what_libraries_of_ops_share(libraries):
    """The persistent kernels of GPUs, whose name has a checksum, and the table of kernels, whose name has the
    version."""
    archive, name = sorted(
        elf.exported_symbols(libraries[BASELINE]), key=lambda one: "Kernel" in one
    )
    header = (ROOT / "cc/gpu/kernels/persistent/archive_name.h").read_text()
    assert re.search(r"kPersistentArchive_\w+", header)[0] in archive
    for library in [*MAIN, *XLA]:
        assert archive in elf.dynamic_symbols(libraries[library])
    header = (ROOT / "cc/cpu/dispatch/kernel_table.h").read_text()
    version = re.search(r"kKernelTableVersion = (\d+);", header)[1]
    assert re.fullmatch(rf"_Z\w+BaselineKernelTableILi{version}E\w+", name)
    for library in [*OP_LIBRARIES, STEP]:
        assert name in elf.dynamic_symbols(libraries[library])


@pytest.mark.parametrize("name", OP_LIBRARIES)
def test_op_library_needs_tensorflow_the_baseline_and_the_system_only(libraries, name):
    needed = elf.needed(libraries[name])
    assert {TENSORFLOW, BASELINE} <= needed
    optional = {TENSORFLOW_XLA} if name in XLA else set()
    assert needed <= SYSTEM | {TENSORFLOW, BASELINE} | optional


@pytest.mark.parametrize("name", OP_LIBRARIES)
def test_op_library_names_no_function_of_nvidias(libraries, name):
    # TensorFlow exports some of these names. Our functions are only reached through tables.
    names = elf.dynamic_symbols(libraries[name])
    assert "dlopen" in names
    assert {n for n in names if re.match(r"(cudnn|cublas|nvrtc|cuda)[A-Z]|cu[A-Z]", n)} == set()


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_need_the_system_only(libraries, name):
    assert elf.needed(libraries[name]) <= SYSTEM


@pytest.mark.parametrize(("name", "own"), [(STEP, BASELINE), (STEP_PYTHON, STEP)])
def test_step_libraries_need_one_library_beside_them_and_the_system_only(libraries, name, own):
    needed = elf.needed(libraries[name])
    assert own in needed and needed <= SYSTEM | {own}
    # Where a system before glibc 2.34 has the functions of cc/compat/old_libc.cc.
    assert {"libdl.so.2", "libpthread.so.0"} <= needed


def test_the_extension_module_uses_the_stable_abi_of_python(libraries):
    """With one file for every Python since 3.10, no name may be private or newer."""
    names = {n for n in elf.dynamic_symbols(libraries[STEP_PYTHON]) if re.match("_?Py", n)}
    names -= EXPORTS[STEP_PYTHON]
    assert names and {n for n in names if n.startswith("_")} == set()
    header = (ROOT / "cc/step/python_min.h").read_text()
    assert {n for n in names if not re.search(rf"\b{n}\b", header)} == set()
    assert not any(re.match("_?Py", n) for n in elf.dynamic_symbols(libraries[STEP]))


@pytest.mark.parametrize("name", [*OP_LIBRARIES, *KERNELS])
def test_no_thread_is_started(libraries, name):
    # All threads belong to the framework, so we have no thread that can fail to start. A stepper has
    # no framework: cc/step/workers.cc starts threads.
    assert {n for n in elf.dynamic_symbols(libraries[name]) if "thread_create" in n} == set()
    assert not any("_M_start_thread" in n for n in elf.dynamic_symbols(libraries[name]))


@pytest.mark.parametrize("name", [*OP_LIBRARIES, *KERNELS, *STEP_LIBRARIES])
def test_run_path(libraries, name):
    assert elf.run_paths(libraries[name]) == ([] if name in KERNELS else ["$ORIGIN"])


# Those of manylinux_2_27, TensorFlow 2.21's own tag.
NEWEST = {"GLIBC": (2, 27), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}


@pytest.mark.parametrize("name", [*OP_LIBRARIES, *KERNELS, *STEP_LIBRARIES])
def test_symbol_versions(libraries, name):
    """cc/compat/old_libc.cc replaces what the linker would take in a newer version."""
    needed = elf.needed_versions(libraries[name])
    assert needed and {library for library, _ in needed} <= set(NEWEST)
    too_new = {key: sorted(names) for key, names in needed.items() if key[1] > NEWEST[key[0]]}
    assert not too_new


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_have_no_static_constructors(libraries, name):
    # They would run before anyone has asked cpuid whether this machine can.
    sizes = elf.section_sizes(libraries[name])
    assert sizes[".text"] > 0
    assert sizes.get(".init_array", 0) == 0
    assert sizes.get(".ctors", 0) == 0


@x86_64_only
@pytest.mark.parametrize("name", [*OP_LIBRARIES, BASELINE, *STEP_LIBRARIES])
def test_baseline_code(libraries, name):
    code = elf.Code(libraries[name])
    # The extension module does not compute.
    assert code.registers["xmm"] > 1000 or name == STEP_PYTHON
    assert code.registers["ymm"] == code.registers["zmm"] == 0
    # AVX code with only xmm registers would pass the test above.
    assert code.instructions("v(mov|mul|add|fmadd|xor)[a-z0-9]*") == []


@x86_64_only
@pytest.mark.parametrize(("isa", "register"), [("avx2", "ymm"), ("avx512", "zmm")])
def test_variant_code(libraries, isa, register):
    code = elf.Code(libraries[f"_tf_rnn_ops_{isa}.so"])
    assert code.registers[register] > 1000
    assert register == "zmm" or code.registers["zmm"] == 0
    fused = code.instructions(r"vfmadd[0-9]+ps")
    assert any(f"%{register}" in line for line in fused)
