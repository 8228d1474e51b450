"""The build backend: setuptools, plus TensorFlow where the target Python has none.

A build needs TensorFlow's headers. The isolated environment of `pip install .` sees nothing of the
environment it installs into, but setup.py finds a TensorFlow there. Only where there is none is one
downloaded for the build.
"""

import os
import pathlib
import runpy
import sysconfig

from setuptools.build_meta import *  # noqa: F403  (the hooks of PEP 517)
from setuptools.build_meta import get_requires_for_build_wheel as _requires

_VERSIONS = pathlib.Path(__file__).resolve().parents[1] / "tf_rnn_ops" / "native" / "versions.py"
TENSORFLOW = f"tensorflow-cpu~={runpy.run_path(str(_VERSIONS))['TENSORFLOW'][-1]}.0"


def get_requires_for_build_wheel(config_settings=None):
    requires = _requires(config_settings)
    installed = os.path.join(sysconfig.get_path("purelib"), "tensorflow", "include")
    return requires if os.path.isdir(installed) else [*requires, TENSORFLOW]


get_requires_for_build_editable = get_requires_for_build_wheel
