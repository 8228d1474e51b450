# Visibility is the layering rule: TensorFlow for cc/tf alone, Eigen for cc/cpu, XLA's FFI for
# cc/xla/handlers.
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "headers",
    hdrs = glob(
        ["include/**"],
        exclude = [
            # Nothing that an op includes; leaving them out saves Bazel thousands of files.
            "include/external/com_github_grpc_grpc/**",
            "include/external/boringssl/**",
            "include/external/curl/**",
            "include/external/envoy_api/**",
            "include/external/icu/**",
            "include/external/jpegxl/**",
            "include/external/llvm-project/**",
            "include/external/onednn/**",
            "include/external/python_*/**",
            "include/external/local_config_python/**",
        ],
    ),
    defines = %{defines},
    includes = ["include"],
    visibility = [
        "@//cc/tf:__subpackages__",
        "@//tests/cc/fuzz:__pkg__",
    ],
    deps = [":eigen"],
)

# What XlaOpKernel needs beyond the headers of ordinary kernels.
cc_library(
    name = "xla_headers",
    includes = [
        "include/external/farmhash_archive/src",
        "include/external/highwayhash",
    ],
    visibility = ["@//cc/xla/lowering:__pkg__"],
    deps = [
        ":ffi",
        ":headers",
    ],
)

# XLA's interface for handlers: three headers on the C and C++ libraries only. TensorFlow before 2.20
# has none.
cc_library(
    name = "ffi",
    hdrs = glob(
        ["include/xla/ffi/api/*.h"],
        allow_empty = True,
    ),
    includes = ["include"],
    visibility = [
        "@//cc/xla/handlers:__pkg__",
        "@//tests/cc/xla:__pkg__",
    ],
)

# The one that TensorFlow's headers include.
cc_library(
    name = "eigen",
    hdrs = glob(["eigen/**"]),
    includes = ["eigen"],
)

# The one that our kernels include.
%{kernel_eigen}

# Linked by name (see tf.bzl), not as a library of Bazel's, which would write a run path of the
# build tree into the wheel.
filegroup(
    name = "library",
    srcs = ["lib/%{library}"],
    visibility = ["//visibility:public"],
)

# The one that has XLA; empty where TensorFlow is too old for the ops under XLA.
filegroup(
    name = "xla_library",
    srcs = %{xla_library},
    visibility = ["//visibility:public"],
)
