"""The compiler and linker flags of every target, in one place."""

load("@tf//:tf.bzl", "TF_MACHINE")

# WHY no -march=native and no -ffast-math: the wheel must run on every x86-64 CPU, and give the
# same results whichever compiler built it. -ffp-contract=off: what is fused is written as a fused
# operation, so a remainder loop rounds as the vector loop does.
RNN_COPTS = [
    "-std=c++17",
    "-O3",
    "-Wall",
    "-Wextra",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-fno-gnu-unique",
    "-fno-math-errno",
    "-ffp-contract=off",
    "-DEIGEN_MAX_ALIGN_BYTES=64",
    # A vector type as a template argument loses its alignment attribute, which is what Eigen wants.
    "-Wno-ignored-attributes",
]

# Later than -O3, so it wins: GCC takes many minutes over sanitized kernels at -O3.
SANITIZER_COPTS = select({
    "//build_defs:sanitize": ["-O1"],
    "//conditions:default": [],
})

# WHY: GCC orders instructions before it assigns registers on aarch64, but not on x86-64. The order
# needs more than 32 registers, so the largest register tile keeps sums on the stack.
AARCH64_COPTS = ["-fno-schedule-insns"] if TF_MACHINE == "aarch64" else []

# Each level's flags and the macro that tells the source which level it is compiled for.
ISA_COPTS = {
    "baseline": [
        "-DRNN_OPS_ISA_BASELINE",
    ] + AARCH64_COPTS,
    "avx2": [
        "-DRNN_OPS_ISA_AVX2",
        "-mavx2",
        "-mfma",
        "-mf16c",
    ],
    "avx512": [
        "-DRNN_OPS_ISA_AVX512",
        "-mavx2",
        "-mfma",
        "-mf16c",
        "-mavx512f",
        "-mavx512bw",
        "-mavx512cd",
        "-mavx512dq",
        "-mavx512vl",
        # For the intrinsics of cc/cpu/simd/operand.h, used where the CPU has them. Eigen must not see the
        # flag: it would convert with instructions that not every CPU of this level has.
        "-mavx512bf16",
        "-U__AVX512BF16__",
        "-mprefer-vector-width=512",
        # GCC 12 warns in its own AVX-512 intrinsics, hundreds of times a file.
        "-Wno-maybe-uninitialized",
        "-Wno-uninitialized",
    ],
}

# What an emulation is compiled with, after the flags of AVX2. At -O3 it compiles for minutes.
EMULATED_COPTS = {
    level: [
        "-O1",
        "-URNN_OPS_ISA_AVX2",
        "-DRNN_OPS_ISA_" + level.upper(),
        "-DRNN_OPS_EMULATE",
        "-DRNN_OPS_DCHECK",
    ]
    for level in ["avx2", "avx512"]
}

# The levels above the baseline, which is SSE2 on x86-64 and NEON on aarch64.
ISA_LEVELS = ["avx2", "avx512"] if TF_MACHINE == "x86_64" else []

# The kernels of the levels, which are found at run time beside the library or the program that uses
# them. The baseline's are linked to it.
ISA_LIBRARIES = ["//cc/cpu:_tf_rnn_ops_%s.so" % level for level in ISA_LEVELS]
BASELINE_LIBRARY = "//cc/cpu:_tf_rnn_ops_baseline.so"

# What every shared object of the wheel is linked with. TensorFlow exports weak symbols of Eigen by
# the thousand; -Bsymbolic keeps our references to our own copies. -z,defs: a symbol that nobody
# provides fails here, not at import.
SHARED_LINKOPTS = [
    "-Wl,-Bsymbolic",
    "-Wl,-z,defs",
    "-Wl,-z,relro",
    "-Wl,-z,now",
    "-Wl,--gc-sections",
    "-Wl,--as-needed",
]

# WHY: without the start files there is no .init_array entry and no __dso_handle, so a static
# constructor in a variant is visible at once and a static destructor does not link.
VARIANT_LINKOPTS = SHARED_LINKOPTS + ["-nostartfiles"]
