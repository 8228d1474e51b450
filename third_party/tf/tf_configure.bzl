"""The pip TensorFlow of the configured Python as a Bazel repository."""

_INCLUDE_DIR = "TF_INCLUDE_DIR"
_LIBRARY_DIR = "TF_LIBRARY_DIR"
_LIBRARY_NAME = "TF_LIBRARY_NAME"
_DEFINES = "TF_DEFINES"
_KERNEL_EIGEN_DIR = "KERNEL_EIGEN_DIR"
_VERSION = "TF_VERSION"
_MACHINE = "TF_MACHINE"

# What the ops for XLA are compiled and linked with. TensorFlow's packages have it since 2.20.
_XLA_HEADERS = ["xla/ffi/api/ffi.h", "xla/hlo/builder/xla_builder.h", "external/highwayhash"]
_XLA_LIBRARY = "libtensorflow_cc.so.2"

# Headers that TensorFlow 2.19 includes but does not bring.
_LLVM_HEADERS = ["llvm/ADT/ArrayRef.h", "llvm/ADT/SmallVector.h"]

# Seen by every file that includes TensorFlow. Eigen stands apart: see //third_party/tf:tf.BUILD.tpl.
_EIGEN_FOLDERS = ["Eigen", "unsupported"]

_SAME_EIGEN = """
alias(
    name = "kernel_eigen",
    actual = ":eigen",
    visibility = ["@//cc/cpu:__subpackages__"],
)
"""
_OTHER_EIGEN = """
cc_library(
    name = "kernel_eigen",
    hdrs = glob(["kernel_eigen/**"]),
    includes = ["kernel_eigen"],
    visibility = ["@//cc/cpu:__subpackages__"],
)
"""

def _required(repository_ctx, variable):
    value = repository_ctx.os.environ.get(variable, "")
    if not value:
        fail("%s is not set: run ./configure.sh first, it writes .tf_configure.bazelrc" % variable)
    return value

def _tf_configure_impl(repository_ctx):
    include_dir = repository_ctx.path(_required(repository_ctx, _INCLUDE_DIR))
    library_name = _required(repository_ctx, _LIBRARY_NAME)
    library = repository_ctx.path(_required(repository_ctx, _LIBRARY_DIR)).get_child(library_name)
    for path in [include_dir, library]:
        if not path.exists:
            fail("%s is gone: run ./configure.sh again" % path)

    for entry in include_dir.readdir():
        folder = "eigen" if entry.basename in _EIGEN_FOLDERS else "include"
        repository_ctx.symlink(entry, folder + "/" + entry.basename)
    if _required(repository_ctx, _VERSION).startswith("2.19."):
        for header in _LLVM_HEADERS:
            repository_ctx.symlink(Label("//third_party/tf:" + header), "include/" + header)
    kernel_eigen = repository_ctx.path(_required(repository_ctx, _KERNEL_EIGEN_DIR))
    same_eigen = kernel_eigen == include_dir
    if not same_eigen:
        repository_ctx.symlink(kernel_eigen.get_child("Eigen"), "kernel_eigen/Eigen")
    repository_ctx.symlink(library, "lib/" + library_name)
    xla_library = library.dirname.get_child(_XLA_LIBRARY)
    needed = [repository_ctx.path("%s/%s" % (include_dir, header)) for header in _XLA_HEADERS]
    has_xla = all([path.exists for path in needed + [xla_library]])
    if has_xla:
        repository_ctx.symlink(xla_library, "lib/" + _XLA_LIBRARY)
    defines = [d for d in repository_ctx.os.environ.get(_DEFINES, "").split(",") if d]
    repository_ctx.template(
        "BUILD",
        Label("//third_party/tf:tf.BUILD.tpl"),
        {
            "%{defines}": repr(defines),
            "%{kernel_eigen}": (_SAME_EIGEN if same_eigen else _OTHER_EIGEN).strip(),
            "%{library}": library_name,
            "%{xla_library}": repr(["lib/" + _XLA_LIBRARY] if has_xla else []),
        },
    )
    linkopts = ["-L" + str(repository_ctx.path("lib")), "-l:" + library_name]
    major, minor = _required(repository_ctx, _VERSION).split(".")[:2]
    repository_ctx.file("tf.bzl", "\n".join([
        "TF_LINKOPTS = %r" % linkopts,
        "TF_HAS_XLA = %r" % has_xla,
        "XLA_LINKOPTS = %r" % ["-l:" + _XLA_LIBRARY],
        "TF_MAJOR, TF_MINOR = %d, %d" % (int(major), int(minor)),
        "TF_MACHINE = %r" % _required(repository_ctx, _MACHINE),
        "",
    ]))

tf_configure = repository_rule(
    implementation = _tf_configure_impl,
    environ = [_INCLUDE_DIR, _LIBRARY_DIR, _LIBRARY_NAME, _DEFINES, _VERSION, _MACHINE, _KERNEL_EIGEN_DIR],
    local = True,
)
