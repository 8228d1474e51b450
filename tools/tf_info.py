"""Prints the place of this Python's TensorFlow as KEY=value lines, for configure.sh.

python tools/tf_info.py          fails for a TensorFlow that is not supported
python tools/tf_info.py --any prints it for every TensorFlow
"""

import os
import pathlib
import platform
import runpy
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # otherwise TensorFlow logs that they are on

_VERSIONS = pathlib.Path(__file__).resolve().parents[1] / "tf_rnn_ops" / "native" / "versions.py"
SUPPORTED = runpy.run_path(str(_VERSIONS))["TENSORFLOW"]


def main() -> int:
    """Returns the exit status. It is 1, with one line on stderr, if there is no usable TensorFlow."""
    try:
        import tensorflow as tf
    except ImportError as error:
        print(f"{sys.executable} has no usable TensorFlow: {error}", file=sys.stderr)
        return 1
    fits = ".".join(tf.__version__.split(".")[:2]) in SUPPORTED
    if not fits and sys.argv[1:] != ["--any"]:
        print(
            f"TensorFlow {tf.__version__} found; tf_rnn_ops builds for {', '.join(SUPPORTED)}",
            file=sys.stderr,
        )
        return 1
    link_flags = tf.sysconfig.get_link_flags()
    library = next(flag[len("-l:") :] for flag in link_flags if flag.startswith("-l:"))
    defines = [flag[2:] for flag in tf.sysconfig.get_compile_flags() if flag.startswith("-D")]
    print(f"TF_VERSION={tf.__version__}")
    print(f"TF_MACHINE={platform.machine()}")
    print(f"TF_INCLUDE_DIR={tf.sysconfig.get_include()}")
    print(f"TF_LIBRARY_DIR={tf.sysconfig.get_lib()}")
    print(f"TF_LIBRARY_NAME={library}")
    print(f"TF_DEFINES={','.join(d for d in defines if not d.startswith('EIGEN_'))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
