"""The macros that BUILD files use instead of the native rules."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load("@tf//:tf.bzl", "TF_LINKOPTS", "TF_MAJOR", "TF_MINOR")
load("//build_defs:copts.bzl", "BASELINE_LIBRARY", "EMULATED_COPTS", "ISA_COPTS", "RNN_COPTS", "SANITIZER_COPTS", "SHARED_LINKOPTS", "VARIANT_LINKOPTS")

def rnn_cc_library(name, copts = [], **kwargs):
    """A cc_library with the project's flags, linked statically into what uses it."""
    cc_library(
        name = name,
        copts = RNN_COPTS + copts + SANITIZER_COPTS,
        linkstatic = True,
        **kwargs
    )

def rnn_tf_library(name, srcs, deps, hdrs = [], **kwargs):
    """A library of sources that include TensorFlow's headers, compiled as one file.

    WHY: those headers take 4 of the 5 seconds of CPU that one source alone would take.

    Args:
      name: Name of the target.
      srcs: The .cc files.
      deps: What they include, TensorFlow's headers apart.
      hdrs: The headers.
      **kwargs: Passed to cc_library.
    """
    folder = native.package_name()
    native.genrule(
        name = name + "_as_one",
        outs = [name + "_as_one.cc"],
        cmd = "printf '#include \"%s\"\\n' " + " ".join([folder + "/" + src for src in srcs]) + " >$@",
    )
    rnn_cc_library(
        name = name,
        srcs = [name + "_as_one.cc"],
        hdrs = hdrs,
        textual_hdrs = srcs,
        deps = deps + ["@tf//:headers"],
        **kwargs
    )

def rnn_cc_test(name, copts = [], deps = [], size = "small", **kwargs):
    """A GoogleTest binary with the project's flags, which checks preconditions (cc/core/check.h)."""
    cc_test(
        name = name,
        size = size,
        # -O1: the tests of all folders compile in half a minute less, and what they test is at -O3.
        copts = RNN_COPTS + ["-O1", "-DRNN_OPS_DCHECK"] + copts + SANITIZER_COPTS,
        linkstatic = True,
        deps = deps + ["//third_party/gtest:gtest_main"],
        **kwargs
    )

def rnn_cc_binary(name, linkopts = [], **kwargs):
    """A program with the project's flags that needs nothing but the standard libraries."""
    cc_binary(
        name = name,
        copts = RNN_COPTS + SANITIZER_COPTS,
        linkopts = ["-lpthread"] + linkopts,
        linkstatic = True,
        **kwargs
    )

def rnn_isa_library(name, isa, srcs, exports, copts = [], deps = [], **kwargs):
    """The kernels of one instruction set as a shared object of their own.

    WHY a shared object: objects of two levels in one link share the weak symbols of inlined
    templates, and the linker keeps one copy for both levels.

    Args:
      name: File name, ending in .so.
      isa: A key of ISA_COPTS.
      srcs: The sources, the same for every level.
      exports: The version script.
      copts: Flags after those of the level.
      deps: Header-only libraries.
      **kwargs: Passed to cc_binary.
    """
    cc_binary(
        name = name,
        srcs = srcs,
        additional_linker_inputs = [exports],
        copts = RNN_COPTS + ISA_COPTS[isa] + copts + SANITIZER_COPTS,
        linkopts = VARIANT_LINKOPTS + [
            "-Wl,--version-script=$(location %s)" % exports,
            "-Wl,-soname,%s" % name,
        ],
        linkshared = True,
        linkstatic = True,
        deps = deps,
        **kwargs
    )

def rnn_emulated_library(name, isa, deps, **kwargs):
    """The kernels of one instruction set on emulations, for tests on every CPU with AVX2.

    It checks preconditions, and so the types of tensors (cc/core/check.h).

    Args:
      name: File name, ending in .so.
      isa: "avx2" or "avx512".
      deps: Header-only libraries.
      **kwargs: As for rnn_isa_library.
    """
    rnn_isa_library(
        name = name,
        testonly = True,
        isa = "avx2",
        copts = EMULATED_COPTS[isa],
        deps = deps + ["//tests/cc/cpu/simd"],
        **kwargs
    )

def op_library_file(name):
    """The file of an op library: its name tells which TensorFlow it was built for."""
    return "%s.tf%d.%d.so" % (name, TF_MAJOR, TF_MINOR)

def rnn_op_library(name, exports, deps, linkopts = [], inputs = [], **kwargs):
    """A shared object for tf.load_op_library, linked to libtensorflow_framework.

    The kernels of the baseline are found beside it, as they lie in the wheel.

    Args:
      name: Name without the ending; the file is op_library_file(name).
      exports: The version script.
      deps: Libraries with alwayslink, whose static registrations make the ops.
      linkopts: More flags of the linker.
      inputs: The files that these name.
      **kwargs: Passed to cc_binary.
    """
    cc_binary(
        name = op_library_file(name),
        additional_linker_inputs = [exports, BASELINE_LIBRARY, "@tf//:library"] + inputs,
        # By its path, since a dependency would add Bazel's own run paths.
        linkopts = SHARED_LINKOPTS + TF_LINKOPTS + linkopts + [
            "-Wl,--version-script=$(location %s)" % exports,
            "$(location %s)" % BASELINE_LIBRARY,
            "-Wl,-rpath,$$ORIGIN",
        ],
        linkshared = True,
        linkstatic = True,
        deps = deps + ["//cc/compat:old_libc"],
        **kwargs
    )

def rnn_c_library(name, exports, deps, linkopts = [], inputs = [], of_python = False, **kwargs):
    """A shared object that needs no TensorFlow and is linked to the baseline's kernels, which lie beside it.

    Args:
      name: File name, ending in .so.
      exports: The version script.
      deps: Libraries with alwayslink.
      linkopts: More flags of the linker.
      inputs: The files that these name.
      of_python: Whether it calls functions of the Python that imports it.
      **kwargs: Passed to cc_binary.
    """
    cc_binary(
        name = name,
        additional_linker_inputs = [exports, BASELINE_LIBRARY] + inputs,
        linkopts = [o for o in SHARED_LINKOPTS if not of_python or o != "-Wl,-z,defs"] + linkopts + [
            "-Wl,--version-script=$(location %s)" % exports,
            "$(location %s)" % BASELINE_LIBRARY,
            "-Wl,-rpath,$$ORIGIN",
            "-Wl,-soname,%s" % name,
            # Where an old system has the functions of //cc/compat:old_libc; see there.
            "-Wl,--no-as-needed,-l:libdl.so.2,-l:libpthread.so.0,--as-needed",
        ],
        linkshared = True,
        linkstatic = True,
        deps = deps + ["//cc/compat:old_libc"],
        **kwargs
    )

def rnn_stand_in_library(name, deps, **kwargs):
    """A shared object for tests that exports the functions of one of NVIDIA's libraries.

    Args:
      name: File name, ending in .so.
      deps: Libraries with alwayslink, whose functions of default visibility are exported.
      **kwargs: Passed to cc_binary.
    """
    cc_binary(
        name = name,
        testonly = True,
        linkopts = ["-Wl,-Bsymbolic", "-Wl,-z,defs"],
        linkshared = True,
        linkstatic = True,
        deps = deps,
        **kwargs
    )

def rnn_embedded_file(name, src, header, namespace, variable, kind = "text"):
    """A C++ source that defines the contents of a file as a string.

    Args:
      name: File name of the source.
      src: The file.
      header: The header that declares the string.
      namespace: Namespace of the string.
      variable: Name of the string.
      kind: "text", or "bytes" for any contents.
    """
    tool = "//build_defs:embed_%s.sh" % kind
    native.genrule(
        name = name.replace(".", "_"),
        srcs = [src],
        outs = [name],
        cmd = "$(location %s) $< %s %s %s >$@" % (tool, header, namespace, variable),
        tools = [tool],
    )
