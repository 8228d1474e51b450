"""The parts of Eigen's private packets that cc/cpu/simd/vec.h needs, in each TensorFlow on this machine.

The kernels take Eigen from the newest supported TensorFlow. Newer ones that tools/fetch_tensorflow.py
has unpacked, such as a nightly build, say early what the next one lacks.
"""

import pathlib
import re
import subprocess

import pytest

from support import native_build

VEC = "cc/cpu/simd/vec.h"

# Every name of Note [Eigen], in both types.
USES = """
#include "cc/cpu/simd/vec.h"

namespace isa = rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE;

template <typename T>
void Use(T* p) {
  const auto a = isa::Load(p), b = isa::Set(*p);
  const auto c = isa::pmadd(isa::padd(a, b), isa::psub(a, b), isa::pmul(a, b));
  const auto d = isa::Select(isa::And(isa::Less(a, b), isa::Less(b, c)), isa::Min(a, b), isa::Max(b, c));
  const auto e = isa::Select(isa::LessOrEqual(isa::Abs(a), b), c, d);
  isa::Store(p, isa::padd(isa::EigenTanh(e), isa::EigenLogistic<T>(d)));
  *p += isa::SumOfLanes(e) + isa::LargestOfLanes(e);
  if constexpr (sizeof(T) == sizeof(float)) isa::Store(p, isa::PowerOfTwo(e));
  isa::TransposeBlock(p, isa::kLanes<T>, p, isa::kLanes<T>);
}
template void Use(float*);
template void Use(double*);
static_assert(sizeof(isa::Packet<float>) == BYTES && isa::kLanes<double> * 8 == BYTES,
              "the packets are not those of the instruction set");
"""
BYTES = {"baseline": 16, "avx2": 32, "avx512": 64}


def complaints(include_folder, isa):
    """The parts that the Eigen in a folder lacks, according to the compiler; may be empty."""
    command = ["g++", "-x", "c++", "-fsyntax-only", "-fdiagnostics-color=never"]
    command += [*native_build.project_flags(), *native_build.isa_flags()[isa]]
    command += [
        f"-DBYTES={BYTES[isa]}",
        f"-iquote{native_build.ROOT}",
        "-isystem",
        include_folder,
        "-",
    ]
    done = subprocess.run(command, input=USES, capture_output=True, text=True, check=False)
    errors = re.findall(r"error: (.*)", done.stderr)
    assert bool(errors) == bool(done.returncode), done.stderr
    return list(dict.fromkeys(errors))


def check(include_folder, isa):
    found = complaints(include_folder, isa)
    assert not found, (
        f"Eigen in {include_folder} lacks what {VEC} needs at {isa}. That file alone names"
        " Eigen::internal: find there what took its place.\n  " + "\n  ".join(found)
    )


def minor(version):
    return tuple(int(part) for part in version.split(".")[:2])


def folders():
    """The Eigen of the kernels, and those of newer TensorFlows."""
    found = [pathlib.Path(native_build.configured("KERNEL_EIGEN_DIR"))]
    newest = minor(native_build.configured("TF_VERSION"))
    for version in sorted((native_build.ROOT / ".tools/tensorflow").glob("*/version")):
        if minor(version.read_text()) > newest:
            found.append(version.parent / "tensorflow/include")
    return found


@pytest.mark.parametrize("isa", native_build.isa_flags())
@pytest.mark.parametrize("folder", folders(), ids=lambda f: f.parts[-3])
def test_eigen_has_what_the_kernels_need(folder, isa):
    check(folder, isa)
